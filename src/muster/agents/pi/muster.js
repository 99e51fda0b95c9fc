// pi loads this as an extension of the agent's one process: what it does goes to muster. Written by muster.
import { execFile } from "node:child_process"
import { appendFileSync, renameSync, rmSync, symlinkSync } from "node:fs"

const { MUSTER_DIR, MUSTER_FIRST, MUSTER_NOTE, MUSTER_PI } = process.env
// A terminal that was just drawn takes a paste this many milliseconds later.
const READY = 300

let order = Promise.resolve()
const note = (kind, why = "") => {
  order = order.then(() => new Promise((done) => execFile(MUSTER_NOTE, [kind, why], done)))
  return order
}

const NAMES = { 401: "authentication", 402: "billing", 403: "authentication", 429: "rate limit" }

function failure(said) {
  const [, status] = /^(\d{3})\b/.exec(said) ?? []
  const name = NAMES[status] ?? (status >= 500 ? "overload or server error" : "")
  return name ? `${name}: ${said}` : said
}

function ended(messages) {
  const last = (messages ?? []).filter((one) => one.role === "assistant").at(-1)
  if (last?.stopReason === "aborted") return "interrupted"
  return last?.stopReason === "error" ? `API failure: ${failure(last.errorMessage ?? "")}` : ""
}

export default function (pi) {
  // A command of the agent's may be pi, too, and is not the agent.
  if (String(process.pid) !== MUSTER_PI) return
  pi.on("session_start", (_event, context) => {
    const path = context.sessionManager.getSessionFile()
    if (path) {
      rmSync(`${MUSTER_DIR}/conversation.new`, { force: true })
      symlinkSync(path, `${MUSTER_DIR}/conversation.new`)
      renameSync(`${MUSTER_DIR}/conversation.new`, `${MUSTER_DIR}/conversation.jsonl`)
    }
    if (!MUSTER_FIRST) setTimeout(() => note("waiting"), READY)
  })
  // Its own record has a message only when it was answered.
  pi.on("input", ({ text }) => {
    appendFileSync(`${MUSTER_DIR}/told.jsonl`, `${JSON.stringify({ role: "user", text, at: Date.now() / 1000 })}\n`)
  })
  pi.on("agent_start", () => void note("working"))
  pi.on("agent_end", ({ messages }) => void note("waiting", ended(messages)))
}
