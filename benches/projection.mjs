// The peer of crates/hosts/benches/projection.rs: the same envelopes, the same line of bytes, in JavaScript.
//
//   node benches/projection.mjs BUILT ENVELOPES [key]
//
// BUILT is the package clients/ts, built. Prints the median of its rounds in nanoseconds of processor time an event, with
// the idempotency key only where asked for it.
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const [built, path, key] = process.argv.slice(2);
const load = (name) => import(pathToFileURL(`${built}/${name}.js`).href);
const { createEventRouteInput, projectPayload } = await load("route-input");
const { Envelope } = await load("envelope");

const envelopes = readFileSync(path, "utf8").split("\n").filter(Boolean).map((line) => {
  const { host, native } = JSON.parse(line);
  const envelope = new Envelope(native, host);
  const { family } = envelope.event(envelope.eventName()).table;
  return { host, family, bytes: Buffer.from(JSON.stringify(native)) };
});

function line({ host, family, bytes }) {
  const native = JSON.parse(bytes.toString("utf8"));
  if (key === "key") {
    const { canonical } = createEventRouteInput(family, native, { host, validate: false });
    return Buffer.from(JSON.stringify({ ...canonical, native }));
  }
  const envelope = new Envelope(native, host);
  const nativeEvent = envelope.eventName();
  const payload = projectPayload(envelope, envelope.event(nativeEvent).table.payload);
  return Buffer.from(JSON.stringify({ event: family, host, nativeEvent, payload, native }));
}

const ROUNDS = 21;
const EVENTS = 20_000;
const spent = () => Number(readFileSync("/proc/thread-self/schedstat", "utf8").split(" ")[0]);
const rounds = [];
let bytes = 0;
for (let round = 0; round < ROUNDS; round += 1) {
  const start = spent();
  for (let event = 0; event < EVENTS; event += 1) bytes += line(envelopes[event % envelopes.length]).length;
  rounds.push((spent() - start) / EVENTS);
}
if (bytes === 0) throw new Error("nothing was written");
rounds.sort((one, other) => one - other);
console.log(Math.round(rounds[(ROUNDS - 1) / 2]));
