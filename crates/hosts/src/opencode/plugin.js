// Herdbook's plugin for OpenCode. Written by `herdbook install opencode`, removed by `herdbook uninstall opencode`.
//
// It tells Herdbook what goes on and decides nothing: each event is one JSON object on the standard input of a short
// command, one command after the other. The host waits PATIENCE_MS at most, and not at all while an earlier event is
// late; nothing is thrown into it; without the command nothing happens.
import { spawn, spawnSync } from "node:child_process"

const COMMAND = @@COMMAND@@
const EVENTS = new Set([
  "session.created", "session.deleted", "session.updated", "session.idle", "session.error", "session.status",
  "session.compacted", "permission.asked", "permission.updated", "permission.replied",
  "question.asked", "question.replied", "question.rejected", "file.edited",
])
const PATIENCE_MS = 1000
const KILL_MS = 5000
const MOST_QUEUED = 256
const MOST_TEXT = 4096

const short = (_, value) =>
  typeof value === "string" && value.length > MOST_TEXT ? value.slice(0, MOST_TEXT) + "…" : value

const run = (text) =>
  new Promise((done) => {
    try {
      const child = spawn("/bin/sh", ["-c", COMMAND], { stdio: ["pipe", "ignore", "ignore"] })
      const timer = setTimeout(() => { child.kill("SIGKILL"); done() }, KILL_MS)
      timer.unref?.()
      const over = () => { clearTimeout(timer); done() }
      child.on("close", over)
      child.on("error", over)
      child.stdin.on("error", () => {})
      child.stdin.end(text)
    } catch {
      done()
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
    const { text, done } = queue.shift()
    await run(text)
    late = false
    done()
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

const tell = (name, data) => {
  try {
    if (queue.length >= MOST_QUEUED) {
      dropped += 1
      return Promise.resolve()
    }
    const lost = dropped ? { herdbook_dropped: dropped } : {}
    const text = JSON.stringify({ hook_event_name: name, ...data, ...lost }, short)
    dropped = 0
    const told = new Promise((done) => queue.push({ text, done }))
    const hurry = late
    drain()
    if (hurry) return Promise.resolve()
    let timer
    const enough = new Promise((done) => { timer = setTimeout(() => { late = true; done() }, PATIENCE_MS) })
    return Promise.race([told, enough]).finally(() => clearTimeout(timer))
  } catch {
    return Promise.resolve()
  }
}

const words = (parts) =>
  (Array.isArray(parts) ? parts : []).filter((part) => part?.type === "text").map((part) => part.text).join("\n")

export const Herdbook = async ({ directory }) => ({
  event: async ({ event }) => {
    if (EVENTS.has(event?.type)) await tell(event.type, { properties: event.properties, directory })
  },
  "chat.message": async (input, output) => {
    await tell("chat.message", {
      input: { ...input, messageID: input?.messageID ?? output?.message?.id },
      output: { prompt: words(output?.parts) },
      directory,
    })
  },
  "tool.execute.before": async (input, output) => {
    await tell("tool.execute.before", { input, output: { args: output?.args }, directory })
  },
  "tool.execute.after": async (input, output) => {
    await tell("tool.execute.after", { input, output: { title: output?.title, metadata: output?.metadata }, directory })
  },
  "experimental.session.compacting": async (input) => {
    await tell("experimental.session.compacting", { input, directory })
  },
})
