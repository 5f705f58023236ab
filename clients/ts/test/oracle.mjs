// Reads lines from stdin, answers each with one: what the package, built into the folder that is named first, makes of it.
// The tests of the tables compare that with what the daemon's own code makes of the same bytes.
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { Ajv2020 } from "ajv/dist/2020.js";

const [built, schema, sessionSchema] = process.argv.slice(2);
const herdbook = await import(pathToFileURL(`${built}/index.js`).href);
const ajv = new Ajv2020({ strict: false }).addSchema(JSON.parse(readFileSync(schema, "utf8")), "events");
ajv.addSchema(JSON.parse(readFileSync(sessionSchema, "utf8")), "session-events");
const isLine = ajv.compile({ $ref: "session-events#/$defs/Durable" });
const isEvent = ajv.getSchema("events");
const isRouteInput = ajv.compile({ $ref: "events#/$defs/routeInput" });
const isRouteAnswer = ajv.compile({ $ref: "events#/$defs/routeAnswer" });

const answers = {
  project({ family, native, host, nativeEvent }) {
    const options = nativeEvent === undefined ? { host } : { host, nativeEvent };
    const { canonical } = herdbook.createEventRouteInput(family, native, { ...options, validate: false });
    const { event, host: whose, nativeEvent: name, idempotencyKey, payload, lineage } = canonical;
    const line = { event, host: whose, nativeEvent: name, idempotencyKey, payload, native, lineage };
    let fault = null;
    try {
      herdbook.createEventRouteInput(family, native, options);
    } catch (error) {
      if (!(error instanceof herdbook.InvalidEnvelope)) throw error;
      fault = error.message;
    }
    const [field = "sessionId", present = { value: "", nativeKey: "" }] = Object.entries(payload)[0] ?? [];
    const more = { ...line, payload: { ...payload, [field]: { ...present, from: "host" } } };
    const foreign = { ...line, payload: { ...payload, nobody: present } };
    const route = [canonical, line].map((one) => isRouteInput({ canonical: one, native }));
    return { line: JSON.stringify(line), fault, schema: [line, more, foreign].map((one) => isEvent(one)), route };
  },
  refuse({ family, native, host }) {
    try {
      herdbook.createEventRouteInput(family, native, { host });
    } catch (error) {
      return error.message;
    }
    return null;
  },
  answer({ answer }) {
    return isRouteAnswer(answer);
  },
  line({ line }) {
    return isLine(line) && herdbook.DURABLE_EVENT_TYPES.includes(line.type);
  },
  guard({ event }) {
    return herdbook.isNormalizedEvent(event);
  },
  normalized({ event }) {
    const guards = ["isStuckEvent", "isUnstuckEvent", "isSessionRegistered", "isSessionEnded"];
    const valid = guards.filter((guard) => herdbook[guard](event));
    const is = herdbook.isNormalizedEvent(event);
    return valid.length === (is ? 1 : 0) && isEvent(event) === is ? is : `${valid} ${is} ${isEvent(event)}`;
  },
};

const lines = readFileSync(0, "utf8").split("\n");
lines.pop();
for (const line of lines) {
  const asked = JSON.parse(line);
  process.stdout.write(`${JSON.stringify(answers[asked.do](asked))}\n`);
}
