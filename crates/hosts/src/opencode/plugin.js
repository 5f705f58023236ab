// Herdbook's plugin for OpenCode. Written by `herdbook install opencode`, removed by `herdbook uninstall opencode`.
//
// It tells Herdbook what goes on: each event is one JSON object on the standard input of a short command, one command
// after the other. The host waits PATIENCE_MS at most, and not at all while an earlier event is late; without the
// command nothing happens.
//
// The events in LIMITS can be answered, by routes of the human's. There the host waits so many milliseconds at most, and
// the command may print one JSON object: {"throw": "…"} lets the call fail with that reason, {"set": {"output.args": {…}}}
// changes what the host goes on with, {"append": {"output.parts": "…"}} adds a text for the model. Nothing else is ever
// thrown into the host, and whatever goes wrong, it goes on.
import { spawn, spawnSync } from "node:child_process"

const COMMAND = @@COMMAND@@
const LIMITS = @@LIMITS@@
const EVENTS = new Set([
  "session.created", "session.deleted", "session.updated", "session.idle", "session.error", "session.status",
  "session.compacted", "permission.asked", "permission.updated", "permission.replied",
  "question.asked", "question.replied", "question.rejected", "file.edited",
])
const PATIENCE_MS = 1000
const KILL_MS = 5000
const MOST_QUEUED = 256
const MOST_TEXT = 4096
const MOST_ANSWER = 1 << 20

const short = (_, value) =>
  typeof value === "string" && value.length > MOST_TEXT ? value.slice(0, MOST_TEXT) + "…" : value

// Runs the command; the answer is what it printed where that is wanted, and nothing where it failed or took too long.
const run = (told) =>
  new Promise((done) => {
    try {
      const child = spawn("/bin/sh", ["-c", COMMAND], { stdio: ["pipe", told.wants ? "pipe" : "ignore", "ignore"] })
      const printed = []
      let size = 0
      told.kill = () => { child.kill("SIGKILL"); done("") }
      const timer = setTimeout(told.kill, told.wants ? LIMITS[told.name] : KILL_MS)
      timer.unref?.()
      const over = (code) => { clearTimeout(timer); done(code === 0 ? Buffer.concat(printed).toString() : "") }
      child.on("close", over)
      child.on("error", over)
      child.stdin.on("error", () => {})
      child.stdout?.on("data", (data) => {
        size += data.length
        if (size > MOST_ANSWER) told.kill()
        else printed.push(data)
      })
      child.stdin.end(told.text)
    } catch {
      done("")
    }
  })

const queue = []
let running = false
let late = false
let dropped = 0
const drain = async () => {
  if (running) return
  running = true
  while (queue.length) {
    const told = queue.shift()
    if (told.wants) {
      // An answer may take its time, and other calls and events must not wait for it.
      run(told).then(told.done)
      continue
    }
    told.done(await run(told))
    late = false
  }
  running = false
}

// `opencode run` ends while its last events still wait here, and at an exit nothing can be waited for.
process.on("exit", () => {
  try {
    const end = Date.now() + PATIENCE_MS
    for (const { text } of queue.splice(0)) {
      const timeout = end - Date.now()
      if (timeout <= 0) return
      spawnSync("/bin/sh", ["-c", COMMAND], { input: text, stdio: ["pipe", "ignore", "ignore"], timeout, killSignal: "SIGKILL" })
    }
  } catch {}
})

// Puts an event into the queue. A route must see the whole of what it decides about.
const enqueue = (name, data, wants) => {
  const lost = dropped ? { herdbook_dropped: dropped } : {}
  const text = JSON.stringify({ hook_event_name: name, ...data, ...lost }, wants ? undefined : short)
  dropped = 0
  const told = { name, text, wants }
  told.over = new Promise((done) => { told.done = done })
  queue.push(told)
  drain()
  return told
}

const within = (ms, promise, then) => {
  let timer
  const enough = new Promise((done) => { timer = setTimeout(() => { then(); done("") }, ms) })
  return Promise.race([promise, enough]).finally(() => clearTimeout(timer))
}

const tell = (name, data) => {
  try {
    if (queue.length >= MOST_QUEUED) {
      dropped += 1
      return Promise.resolve()
    }
    const hurry = late
    const told = enqueue(name, data, false)
    return hurry ? Promise.resolve() : within(PATIENCE_MS, told.over, () => { late = true })
  } catch {
    return Promise.resolve()
  }
}

const isObject = (value) => typeof value === "object" && value !== null && !Array.isArray(value)

// The host goes on with the object that it handed over, so that one is changed.
const set = (given, name, value) => {
  const old = given[name]
  if (!isObject(old) || !isObject(value)) {
    given[name] = value
    return
  }
  for (const key of Object.keys(old)) delete old[key]
  Object.assign(old, value)
}

// A part needs an id that comes after those of the other parts.
const append = (given, name, text, input) => {
  const last = given[name].at(-1)
  const part = {
    id: (last?.id ?? "prt_" + Date.now().toString(16)) + "z",
    sessionID: last?.sessionID ?? input?.sessionID,
    messageID: last?.messageID ?? given.message?.id,
    type: "text", synthetic: true, text,
  }
  given[name].push(name === "parts" ? part : text)
}

// Tells an event, and does what the answer says.
const ask = async (name, data, input, output) => {
  let denied
  try {
    const told = enqueue(name, data, true)
    const printed = await within(LIMITS[name], told.over, () => { told.wants = false; told.kill?.() })
    if (!printed.trim()) return
    const answer = JSON.parse(printed)
    denied = answer.throw
    const places = (members) => Object.entries(members ?? {}).map(([place, value]) => [place.replace(/^output\./, ""), value])
    for (const [place, value] of places(answer.set)) set(output, place, value)
    for (const [place, value] of places(answer.append)) append(output, place, value, input)
  } catch {}
  if (typeof denied === "string") throw new Error(denied)
}

const words = (parts) =>
  (Array.isArray(parts) ? parts : []).filter((part) => part?.type === "text").map((part) => part.text).join("\n")

export const Herdbook = async ({ directory }) => ({
  event: async ({ event }) => {
    if (EVENTS.has(event?.type)) await tell(event.type, { properties: event.properties, directory })
  },
  "chat.message": async (input, output) => {
    const data = {
      input: { ...input, messageID: input?.messageID ?? output?.message?.id },
      output: { prompt: words(output?.parts) },
      directory,
    }
    await ask("chat.message", data, input, output)
  },
  "tool.execute.before": async (input, output) => {
    await ask("tool.execute.before", { input, output: { args: output?.args }, directory }, input, output)
  },
  "tool.execute.after": async (input, output) => {
    await tell("tool.execute.after", { input, output: { title: output?.title, metadata: output?.metadata }, directory })
  },
  "experimental.session.compacting": async (input, output) => {
    await ask("experimental.session.compacting", { input, directory }, input, output)
  },
})
