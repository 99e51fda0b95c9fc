// opencode loads this as a plugin of the agent's one process: what it does goes to muster. Written by muster.
import { execFile } from "node:child_process"
import { renameSync, writeFileSync } from "node:fs"

const { MUSTER_AGENT_ID, MUSTER_DIR, MUSTER_NOTE, MUSTER_OPENCODE, MUSTER_SESSION } = process.env

// Written aside, so that whoever reads it finds it whole.
function write(name, text) {
  writeFileSync(`${MUSTER_DIR}/${name}.new`, text)
  renameSync(`${MUSTER_DIR}/${name}.new`, `${MUSTER_DIR}/${name}`)
}

const STATUS = { 401: "authentication", 402: "billing", 403: "authentication", 429: "rate limit" }

function failure(error) {
  if (error?.name === "MessageAbortedError") return "interrupted"
  if (error?.name === "ProviderAuthError") return "API failure: authentication"
  const { statusCode: status, message } = error?.data ?? {}
  const known = STATUS[status] ?? (status >= 500 ? "overload or server error" : "")
  return `API failure: ${[known, message ?? error?.name].filter(Boolean).join(": ")}`
}

// Of what it tries again, only the provider's words are told.
function retried({ attempt, message = "" }) {
  let known = /rate.?limit|too many|quota/i.test(message) ? "rate limit: " : ""
  if (/overload|unavailable|server error/i.test(message)) known = "overload or server error: "
  return `API failure: ${known}tried again (${attempt}): ${message}`
}

function asked({ permission, patterns, metadata }) {
  return `permission: ${permission === "bash" ? "command" : permission}: ${metadata?.command ?? (patterns ?? []).join(" ")}`
}

export const Muster = async ({ client }) => {
  // A command of the agent's may be opencode, too, and is not the agent.
  if (String(process.pid) !== MUSTER_OPENCODE) return {}
  const known = new Set(MUSTER_SESSION ? [MUSTER_SESSION] : [])
  // Those of its own agents below it. A copy of a conversation has a parent, too, but one that is not here.
  const below = new Set()
  const users = new Set()
  const dialogs = new Set()
  let busy = false
  let retries = false
  let reason = ""
  let order = Promise.resolve()

  // One after the other: what is said last must be what is true.
  const then = (work) => {
    order = order.then(work).catch(() => {})
    return order
  }
  const note = (kind, why = "") => then(() => new Promise((done) => execFile(MUSTER_NOTE, [kind, why], done)))
  const now = () => note(busy ? "working" : "waiting", reason)

  // The conversation, as `opencode export` prints it; receipts are read from it, and the next start goes on with it.
  const keep = (id) =>
    then(async () => {
      const [info, messages] = await Promise.all([
        client.session.get({ path: { id } }),
        client.session.messages({ path: { id } }),
      ])
      write("conversation.json", JSON.stringify({ info: info.data, messages: messages.data }))
      write("session", `${MUSTER_AGENT_ID} ${id}\n`)
    })

  const handlers = {
    "session.created": ({ info }) => (known.has(info.parentID) ? below.add(info.id) : 0) || known.add(info.id),
    "message.updated": ({ info }) => info.role === "user" && users.add(info.id),
    "message.part.updated": ({ part }) =>
      part.type === "text" && users.has(part.messageID) && !below.has(part.sessionID) && keep(part.sessionID),
    "session.status": ({ sessionID, status }) => {
      if (below.has(sessionID)) return
      if (status.type === "idle") {
        busy = false
        // It gives up only when it is told to.
        if (retries) reason = "interrupted"
        retries = false
        keep(sessionID)
      } else {
        busy = true
        retries = status.type === "retry"
        reason = retries ? retried(status) : ""
      }
      if (!dialogs.size) now()
    },
    "session.error": ({ sessionID, error }) => {
      if (below.has(sessionID)) return
      reason = failure(error)
      if (!busy) now()
    },
    "permission.asked": (properties) => {
      dialogs.add(properties.id)
      keep(properties.sessionID)
      note("blocked", asked(properties))
    },
    "question.asked": ({ id, questions }) => {
      dialogs.add(id)
      note("blocked", `question: ${questions?.[0]?.question ?? ""}`)
    },
    "permission.replied": ({ requestID }) => dialogs.delete(requestID) && now(),
    "question.replied": ({ requestID }) => dialogs.delete(requestID) && now(),
    "question.rejected": ({ requestID }) => dialogs.delete(requestID) && now(),
  }
  return { event: async ({ event }) => void handlers[event.type]?.(event.properties) }
}
