// The report of a run. What came from agents reaches the page as text nodes only, without marks that act.

const clean = (text) => JSON.parse(text, (_, value) => (typeof value === "string" ? visible(value).replace(/\p{Surrogate}/gu, "\ufffd") : value));
const report = clean(find("index").textContent);
const [overview, opened, list, search] = ["overview", "open", "list", "search"].map(find);
const GLYPHS = {
  fixed: "✓", improved: "↑", unchanged: "=", refused: "⊘", broken: "✕", blocked: "■", lost: "?", flaky: "≈",
  review: "◉", aside: "⇥", blocker: "!", shared: "⇄", interrupted: "‖",
};
const WANTS = ["interrupted", "refused", "broken", "blocked", "lost", "flaky", "blocker", "shared", "review", "aside"]; // the most urgent first
const RED = ["erroring", "failing", "uncollected"];
const ORDER = ["passing", "skipped", "flaky", ...RED];
const KINDS = { impl: "fix", test: "tests", docs: "docs", review: "review" };
const SHOWN = 6; // of one kind of thing that needs a person; the rest at a press of a button
const view = { verdicts: new Set(), present: [], rows: [], row: null, task: "", top: 0 };

const many = (number, [one, more]) => `${number.toLocaleString("en")} ${number === 1 ? one : more}`;
const short = (id) => (/^[0-9a-f]{12,}$/.test(id) ? id.slice(0, 9) : id);
const glyph = (kind) => make("span", { class: "glyph", "aria-hidden": "true" }, GLYPHS[kind] ?? "·");
const word = (text, kind = text) => make("b", { class: `word ${kind}` }, text);
const taskAddress = (slug) => `#${new URLSearchParams({ task: slug })}`;
const entryOf = new Map(report.entries.map((entry) => [entry.task, entry]));
const commitOf = new Map(report.commits.map((commit) => [commit.id, commit]));
const load = async (name) => JSON.parse(await unpack(`part:${name}`));
const joined = (nodes, between = ", ") => nodes.flatMap((node, at) => (at ? [between, node] : [node]));

// What is long of a task; its transcript, terminal and diff are cleaned line by line, as they are shown.
async function wholeOf(entry) {
  const whole = await load(`entry${report.entries.indexOf(entry)}`);
  return { ...whole, claim: clean(JSON.stringify(whole.claim)) };
}

function taskLink(slug) {
  const entry = entryOf.get(slug);
  return entry ? make("a", { href: taskAddress(slug), class: entry.verdict }, glyph(entry.verdict), titled(entry.title)) : slug;
}

function commitLink(id) {
  return commitOf.has(id) ? make("a", { class: "mono", href: `#${new URLSearchParams({ commit: id })}` }, short(id)) : make("span", { class: "mono" }, short(id));
}

// Text of agents: as it is, with code and bold, and in prose the points of lists.
function rich(text) {
  const parts = visible(text.trim()).split(/(`[^`\n]+`|\*\*[^*\n]+\*\*)/);
  return parts.map((part, at) => (at % 2 === 0 ? part : part[0] === "`" ? make("code", {}, part.slice(1, -1)) : make("b", {}, part.slice(2, -2))));
}

const prose = (text) => make("div", { class: "prose" }, rich(text.replace(/^( *)[-*] /gm, "$1• ")));

// A test's own name, with its file beside it; any other title as it is.
function titled(text) {
  const [file, ...names] = text.split("::");
  return names.length && !/\s/.test(file) ? [names.join("::"), " ", make("small", {}, file)] : rich(text);
}

// A line that says it all; what is behind it is made when it is opened.
function folded(line, fill, attributes = {}) {
  const inside = make("div", { class: "inside" });
  let filled = false;
  const details = make("details", { ...attributes, toggle: async () => {
    if (!details.open || filled) return;
    filled = true;
    try {
      inside.append(...[await fill()].flat(3).filter(Boolean));
    } catch (error) {
      inside.append(make("p", { class: "note" }, `This can't be read: ${error}`));
    }
    details.dataset.filled = "";
  } }, make("summary", {}, line), inside);
  return details;
}

const part = (title, ...children) => (children.flat(2).some(Boolean) ? make("section", { class: "part" }, make("h3", {}, title), ...children) : "");
const listed = (title, items, kind = "plain") => (items.length ? make("div", {}, make("h3", {}, title), make("ul", { class: kind }, items.map((item) => make("li", {}, item)))) : "");
const code = (text) => make("code", {}, text);
const bullets = (items) => make("ul", { class: "bullets" }, items.map((item) => make("li", {}, item)));

// --- commands to copy

function command(about, line) {
  const text = code(line);
  const button = make("button", { type: "button", "aria-label": `Copy: ${line}`, click: () => {
    button.textContent = copied(text, line) ? "Copied" : "Press ^C";
    find("said").textContent = button.textContent;
    setTimeout(() => (button.textContent = "Copy"), 2000);
  } }, "Copy");
  return make("div", { class: "command" }, make("span", { class: "dim" }, about), text, button);
}

// What is copied is what is seen. No permission is asked for this way; where it fails, the text is selected.
function copied(element, text) {
  getSelection().selectAllChildren(element);
  const put = (event) => (event.clipboardData.setData("text/plain", text), event.preventDefault());
  document.addEventListener("copy", put, { once: true });
  const done = document.execCommand("copy");
  document.removeEventListener("copy", put);
  if (done) getSelection().removeAllRanges();
  return done;
}

// --- the head: the whole in a minute

function showHead() {
  document.title = `${report.title} · ${report.project}`;
  find("run").textContent = report.run;
  find("title").textContent = report.title;
  find("facts").replaceChildren(...joined([report.project, when(report.at), `took ${took(report.seconds) || "no time"}`, many(report.entries.length, ["task", "tasks"])].map((fact) => make("span", {}, fact)), " · "));
  const tip = report.branch ? [make("span", {}, report.branch), make("span", { class: "dim" }, ` at ${short(report.tip)}`)] : [make("span", { class: "dim" }, "no branch: nothing held")];
  find("route").replaceChildren(make("span", { class: "dim" }, `${short(report.base)} → `), ...tip);
  find("interrupted").hidden = !report.interrupted;
  find("interrupted").textContent = `The run was interrupted${report.undone.length ? `: ${many(report.undone.length, ["task was", "tasks were"])} not done` : ", not all tasks were done"}. What follows is what was finished.`;
  showBalance();
  showAnswers();
}

// Both bars on one scale, so that tests that went away would be missed.
function showBalance() {
  const [before, after] = [new Map(report.before), new Map(report.after)];
  const total = (counts) => [...counts.values()].reduce((sum, number) => sum + number, 0);
  const most = Math.max(total(before), total(after), 1);
  const states = [...new Set([...before.keys(), ...after.keys()])].filter((state) => before.get(state) || after.get(state));
  states.sort((a, b) => ORDER.indexOf(a) - ORDER.indexOf(b));
  const bar = (title, counts, change) => {
    const track = make("div", { class: "track", "aria-hidden": "true" }, states.filter((state) => counts.get(state)).map((state) => {
      const piece = make("span", { class: `state ${state}`, title: `${counts.get(state)} ${state}` });
      piece.style.width = `${(100 * counts.get(state)) / most}%`;
      return piece;
    }));
    const legend = states.map((state) => {
      const by = (counts.get(state) ?? 0) - (before.get(state) ?? 0);
      return make("span", { class: `state ${state}` }, make("b", {}, String(counts.get(state) ?? 0)), ` ${state}`, change && by ? make("small", {}, ` ${by > 0 ? "+" : "−"}${Math.abs(by)}`) : "");
    });
    return [make("span", { class: "dim" }, title), track, make("p", { class: "legend" }, legend)];
  };
  const nothing = make("p", { class: "dim" }, "No test was run.");
  find("balance").replaceChildren(...(states.length ? [...bar("before", before), ...(total(after) ? bar("at the tip", after, true) : [])] : [nothing]));
}

function showAnswers() {
  const wanting = wants();
  const tally = (kinds, things) => kinds.map((kind) => [things.filter((one) => (one.verdict ?? one.kind) === kind).length, kind]).filter(([number]) => number);
  const said = (some, words = {}) => some.map(([number, kind]) => (words[kind] ? many(number, words[kind]) : `${number} ${kind}`)).join(", ");
  const sum = (key) => report.commits.reduce((total, one) => total + one[key], 0);
  const red = (counts) => counts.reduce((total, [state, number]) => total + (RED.includes(state) ? number : 0), 0);
  const green = report.turned.length;
  const twice = report.commits.filter((one) => one.agents.length > 1).length;
  const refused = tally(["refused", "broken"], report.entries);
  const made = said(tally(["impl", "test", "docs", "review"], report.commits), { docs: ["for documents", "for documents"], impl: ["fix", "fixes"], test: ["for tests", "for tests"], review: ["to review", "to review"] });
  const number = (some) => some.reduce((total, [one]) => total + one, 0);
  const lines = [
    ["What changed", "#changes", report.commits.length && many(report.commits.length, ["commit", "commits"]), report.commits.length ? `${made} · +${sum("added")} −${sum("removed")}` : "no change holds"],
    ["What proves it", "#changes", green && `${many(green, ["test", "tests"])} turned green`, [report.after.length && `${red(report.before)} red before, ${red(report.after)} at the tip`, twice && `${many(twice, ["change", "changes"])} found by several agents`].filter(Boolean).join(" · ")],
    ["What was refused", "#needs", number(refused) && many(number(refused), ["claim", "claims"]), refused.length ? `${said(refused, { refused: ["by the gate", "by the gate"], broken: ["did not hold", "did not hold"] })}` : "no claim was refused"],
    ["What needs you", "#needs", wanting.length && many(wanting.length, ["thing", "things"]), said(tally(WANTS, wanting)) || "no task asks for a person"],
  ];
  find("answers").replaceChildren(...lines.map(([question, where, answer, more]) => make("a", { href: where }, make("span", { class: "dim" }, question), make("b", {}, answer || "Nothing"), make("span", {}, more))));
}

// --- what needs a person

// {kind, title, reason, fill}, the most urgent first.
function wants() {
  const found = [];
  const add = (kind, title, reason, fill) => found.push({ kind, title, reason, fill });
  if (report.interrupted) add("interrupted", "The run", report.undone.length ? `${many(report.undone.length, ["task was", "tasks were"])} not done` : "not all tasks were done", () => bullets(report.undone));
  for (const entry of report.entries) if (WANTS.includes(entry.verdict)) add(entry.verdict, entry.title, entry.reason, () => brief(entry));
  const told = new Set(report.entries.filter((entry) => entry.verdict === "flaky").flatMap((entry) => entry.tests.map((test) => test.id)));
  report.flaky.forEach((seen, at) => told.has(seen.id) || add("flaky", seen.id, `${seen.before} before, ${seen.after} after`, async () => words((await load("flaky"))[at] || "Nothing was kept of it.", "")));
  const stuck = (task) => entryOf.get(task)?.verdict === "blocked"; // what stands in its way is told with it
  for (const { tasks, escalation } of report.handed) {
    if (escalation.kind === "blocker" && tasks.every(stuck)) continue;
    add(escalation.kind, escalation.title, tasks.length > 1 ? `said by ${tasks.length} agents, each by itself` : `said by the agent of ${entryOf.get(tasks[0])?.title ?? tasks[0]}`, () => [escalation.detail && prose(escalation.detail), bullets(tasks.map(taskLink))]);
  }
  report.commits.forEach((commit, at) => commit.kind === "review" && add("review", commit.subject, "only a person can judge this one", () => commitInside(commit, at)));
  report.asides.forEach((aside, at) => add("aside", aside.subject, aside.reason, async () => [
    bullets([taskLink(aside.task)]), diff(await load(`aside${at}`)), /^[0-9a-f]{7,64}$/.test(aside.commit) && command("look", `git show ${aside.commit}`),
  ]));
  return found.sort((a, b) => WANTS.indexOf(a.kind) - WANTS.indexOf(b.kind));
}

async function brief(entry) {
  const whole = await wholeOf(entry);
  return [
    findings(entry), results(entry, whole), whole.claim ? handedOn(whole.claim) : "",
    make("p", {}, make("a", { href: taskAddress(entry.task) }, "All of this task: claim, diff, transcript →")),
  ];
}

function showNeeds() {
  const found = wants();
  find("needs-count").textContent = found.length || "";
  const item = (one) => make("li", { class: one.kind }, folded([glyph(one.kind), word(one.kind), make("span", { class: "what" }, make("span", { class: "name" }, titled(one.title)), make("span", { class: "reason" }, rich(one.reason)))], one.fill));
  const rows = WANTS.flatMap((kind) => {
    const all = found.filter((one) => one.kind === kind);
    const [first, rest] = all.length > SHOWN + 1 ? [all.slice(0, SHOWN), all.slice(SHOWN)] : [all, []];
    if (!rest.length) return first.map(item);
    const more = make("li", { class: "more" }, make("button", { type: "button", click: () => {
      const items = rest.map(item);
      more.replaceWith(...items);
      items[0].querySelector("summary").focus();
    } }, `${rest.length} more ${kind}`));
    return [...first.map(item), more];
  });
  find("needs").append(found.length ? make("ul", { class: "items" }, rows) : make("p", { class: "fixed" }, make("b", { class: "word" }, "✓ Nothing needs you.")));
}

// --- what changed

function showChanges() {
  find("changes-count").textContent = report.commits.length || "";
  const item = (commit, at) => {
    const green = commit.green.length && `${many(commit.green.length, ["test", "tests"])} turned green`;
    const facts = [
      commit.kind === "review" && make("span", { class: "note" }, "only a person can judge this one"), green && make("span", { class: "fixed" }, make("span", { class: "hue" }, green)),
      commit.agents.length > 1 && make("b", {}, `found by ${commit.agents.length} agents, each by itself`),
      commit.severity !== 3 && commit.kind === "impl" && `severity ${commit.severity} of 5`, commit.needed_by.length ? `needed by ${many(commit.needed_by.length, ["later commit", "later commits"])}` : commit.reverts ? "" : "does not revert cleanly",
      commit.conflicts.length && make("span", { class: "note" }, `touches what ${many(commit.conflicts.length, ["other change touches", "other changes touch"])}`),
    ];
    const line = [
      make("code", { class: "dim" }, short(commit.id)), make("span", { class: `tag ${commit.kind}` }, KINDS[commit.kind]),
      make("span", { class: "what" }, make("span", { class: "name" }, rich(commit.subject)), make("span", { class: "reason" }, joined(facts.filter(Boolean), " · "))), size(commit.added, commit.removed),
    ];
    return make("li", {}, folded(line, () => commitInside(commit, at), { "data-commit": commit.id }));
  };
  find("changes").append(report.commits.length ? make("ol", { class: "items commits" }, report.commits.map(item)) : make("p", { class: "dim" }, "No change holds, so there is no branch."));
}

const bulletsOf = (items, show) => (items.length ? [bullets(items.map(show))] : []);
const size = (added, removed) => make("span", { class: "size" }, make("span", { class: "added" }, `+${added}`), " ", make("span", { class: "removed" }, `−${removed}`));

async function commitInside(commit, at) {
  const row = (name, ...value) => (value.flat().length ? [make("dt", {}, name), make("dd", {}, value)] : []);
  const undo = [...report.commits.filter((one) => commit.needed_by.includes(one.id)).reverse(), commit].map((one) => one.id);
  const safe = undo.every((id) => /^[0-9a-f]{7,64}$/.test(id));
  return [
    make("dl", { class: "about" },
      row("turns green", bulletsOf(commit.green, code)), row("found by", commit.agents.join(", ") || "nobody", commit.agents.length > 1 ? `, ${commit.agents.length} agents, each by itself` : ""),
      row("in", bulletsOf(commit.tasks, taskLink)), row("severity", `${commit.severity} of 5, as declared`),
      row("reverts", commit.needed_by.length ? ["only together with ", ...joined(commit.needed_by.map(commitLink))] : commit.reverts ? "alone, cleanly" : "not cleanly"),
      row("conflicts", bulletsOf(commit.conflicts, commitLink)), row("files", bulletsOf(commit.files, code))),
    diff(await load(`commit${at}`)), safe && [command("look", `git show ${commit.id}`), command("revert", `git revert --no-edit ${undo.join(" ")}`)],
  ];
}

// --- diffs

// [{name, added, removed, lines: [[kind, text, number in the old file, in the new one]]}]
function filesOf(text) {
  const files = [];
  let [file, left, right, before, after] = [null, 0, 0, 0, 0];
  for (const line of text.split("\n")) {
    const hunk = /^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@/.exec(line);
    if (left > 0 || right > 0) {
      const kind = { "+": "added", "-": "removed", "\\": "head" }[line[0]] ?? "same";
      file.lines.push([kind, line, kind === "added" || kind === "head" ? 0 : before, kind === "removed" || kind === "head" ? 0 : after]);
      if (kind === "added" || kind === "same") after++, right--;
      if (kind === "removed" || kind === "same") before++, left--;
      if (kind === "added" || kind === "removed") file[kind]++;
    } else if (line.startsWith("diff --git ")) files.push((file = { name: line.slice(11), added: 0, removed: 0, lines: [] }));
    else if (!file && line) files.push((file = { name: "change", added: 0, removed: 0, lines: [["head", line, 0, 0]] }));
    else if (hunk) {
      [before, left, after, right] = [+hunk[1], +(hunk[2] ?? 1), +hunk[3], +(hunk[4] ?? 1)];
      file.lines.push(["hunk", line, 0, 0]);
    } else if (/^(---|\+\+\+) /.test(line)) file.name = /^.{4}"?[ab]\/(.*?)"?\t?$/.exec(line)?.[1] ?? file.name; // not of /dev/null
    else if (line && !line.startsWith("index ")) file?.lines.push(["head", line, 0, 0]);
  }
  return files;
}

// A diff, with what the gate has to say beside the lines that it says it of.
function diff(text, said = [], cut = false) {
  if (!text) return make("p", { class: "dim" }, "There is no diff.");
  const unsaid = new Set(said);
  const line = ([kind, text, before, after]) => make("div", { class: `line ${kind}`, "data-line": after || before || "" }, visible(text.slice(0, LINE_SHOWN)) + (text.length > LINE_SHOWN ? " …" : ""));
  const box = (file) => {
    const body = make("div", { class: "text diff" });
    const show = (one) => {
      const here = [...unsaid].filter((found) => found.file === visible(file.name) && one[0] !== "same" && found.line && found.line === (one[3] || one[2]));
      if (!here.length) return line(one);
      here.forEach((found) => unsaid.delete(found));
      return make("div", {}, line(one), here.map((found) => make("div", { class: `remark ${found.level}` }, make("b", {}, `${found.rule}: `), rich(found.detail))));
    };
    fold(file.lines, body, show);
    return make("details", { class: "file", open: file.lines.length <= 400 }, make("summary", {}, make("code", {}, visible(file.name)), size(file.added, file.removed)), body);
  };
  return make("div", { class: "files" }, filesOf(text).map(box), cut ? make("p", { class: "note" }, "The diff is longer than this: it was cut for the page.") : "");
}

// --- all tasks

function showTasks() {
  const order = [...WANTS, ...Object.keys(GLYPHS)];
  const counts = new Map();
  for (const { verdict } of report.entries) counts.set(verdict, (counts.get(verdict) ?? 0) + 1);
  view.present = [...counts.keys()].sort((a, b) => order.indexOf(a) - order.indexOf(b));
  find("tasks-count").textContent = report.entries.length || "";
  find("filters").replaceChildren(...view.present.map((verdict, at) => make("button", { type: "button", class: verdict, "aria-pressed": "false", "data-verdict": verdict, "aria-keyshortcuts": at < 9 && at + 1, click: () => only(verdict) }, glyph(verdict), make("b", {}, String(counts.get(verdict))), verdict, at < 9 ? make("kbd", { "aria-hidden": "true" }, String(at + 1)) : "")));
  const sorted = [...report.entries].sort((a, b) => order.indexOf(a.verdict) - order.indexOf(b.verdict));
  view.rows = sorted.map(row);
  list.replaceChildren(...view.rows.map((one) => make("li", {}, one)));
  find("tasks").querySelectorAll(".tools, .columns").forEach((one) => (one.hidden = !view.rows.length));
  if (!view.rows.length) find("none").replaceWith(make("p", { class: "dim" }, "No task was made."));
  choose(view.rows[0]);
}

const claimOf = (entry) => (entry.claim ? [entry.claim.status, many(entry.claim.changes, ["change", "changes"])].join(", ") : "no outcome");

function row(entry) {
  const first = entry.tests[0]?.id ?? "";
  const more = [first === entry.title ? "" : first, entry.tests.length > 1 ? `${first === entry.title ? "" : " "}and ${entry.tests.length - 1} more` : ""].join("");
  const link = make("a", { class: `row ${entry.verdict}`, href: taskAddress(entry.task), tabindex: -1 },
    make("span", { class: "verdict" }, glyph(entry.verdict), entry.verdict),
    make("span", { class: "what" }, make("span", { class: "name" }, titled(entry.title)), more && make("span", { class: "reason" }, more)),
    make("span", { class: "claimed" }, claimOf(entry)), make("span", { class: "found" }, rich(entry.reason)), make("span", { class: "took" }, took(entry.seconds)));
  link.entry = entry;
  link.words = [entry.task, entry.title, entry.verdict, entry.reason, entry.agent, entry.type, entry.why, ...entry.tests.map((test) => test.id), ...entry.findings.flatMap((one) => [one.rule, one.file]), ...entry.commits, ...entry.left].join("\n").toLowerCase();
  return link;
}

function sift() {
  const asked = search.value.toLowerCase().split(/\s+/).filter(Boolean);
  let left = 0;
  for (const one of view.rows) {
    const fits = (!view.verdicts.size || view.verdicts.has(one.entry.verdict)) && asked.every((word) => one.words.includes(word));
    one.parentElement.hidden = !fits;
    left += fits;
  }
  if (view.rows.length) find("none").hidden = left > 0;
  find("said").textContent = asked.length || view.verdicts.size ? many(left, ["task", "tasks"]) : "";
  if (view.row?.parentElement.hidden ?? true) choose(shownRows()[0]);
}

const shownRows = () => view.rows.filter((one) => !one.parentElement.hidden);

// The one row that Tab reaches; the others are reached from it.
function choose(link, focus = false) {
  if (view.row) view.row.tabIndex = -1;
  view.row = link ?? null;
  if (!link) return;
  link.tabIndex = 0;
  if (focus) link.focus();
}

function only(verdict) {
  if (!verdict) view.verdicts.clear();
  else if (!view.verdicts.delete(verdict)) view.verdicts.add(verdict);
  for (const one of find("filters").children) one.setAttribute("aria-pressed", String(view.verdicts.has(one.dataset.verdict)));
  sift();
}

// --- one task: what the agent says beside what muster saw

const back = () => make("a", { class: "back", href: "#tasks" }, "← Report");

async function showTask(entry) {
  const whole = await wholeOf(entry);
  if (view.task !== entry.task) return; // another one was opened meanwhile
  const facts = [`agent ${entry.agent}`, entry.type, entry.state && `${entry.state} at the end`, `took ${took(entry.seconds)}`, `given because ${{ failing: "it fails", passing: "it passes", error: "it can't be collected", again: "it still failed", conflict: "two changes conflict" }[entry.why] ?? entry.why}`, entry.asked && "asked for its outcome", entry.retried && "started a second time"];
  opened.replaceChildren(
    back(), make("p", { class: `verdict ${entry.verdict}` }, glyph(entry.verdict), entry.verdict), make("h1", {}, titled(entry.title)),
    make("p", { class: "dim facts" }, joined(facts.filter(Boolean), " · ")),
    make("div", { class: "sides" }, claimed(entry, whole), foundSide(entry, whole)),
    part("Diff, of what it committed", diff(whole.diff, entry.findings, entry.cut)),
    part("Recordings", entry.recordings.map(recorded)),
    part("Transcript", whole.transcript.length ? folded(many(whole.transcript.length, ["event", "events"]), () => transcript(whole.transcript), { class: "quietly", "data-part": "transcript" }) : make("p", { class: "dim" }, "It left none.")),
    whole.terminal ? part("Terminal, at its end", folded(many(whole.terminal.trimEnd().split("\n").length, ["line", "lines"]), () => words(whole.terminal, "terminal"), { class: "quietly", "data-part": "terminal" })) : "",
    entry.files.length ? part("Files it left, in the run's folder", bullets(entry.files.map(code))) : "",
    part("Commands", entry.commands.map(([about, line]) => command(about, line))));
  opened.querySelector(":scope .quietly")?.toggleAttribute("open", whole.transcript.length > 0 && whole.transcript.length <= 20);
  opened.dataset.task = entry.task;
}

function claimed(entry, { claim }) {
  const side = (...children) => make("section", { class: "side claimed" }, make("h2", {}, "Claimed", make("small", {}, "by the agent")), ...children);
  if (!claim) return side(make("p", {}, word("no outcome", "lost")), entry.said ? prose(entry.said) : "");
  const change = (one) => [make("span", { class: `tag ${one.kind}` }, KINDS[one.kind]), " ", commitLink(one.commit), make("span", { class: "dim" }, ` severity ${one.severity} of 5`), one.summary ? prose(one.summary) : ""];
  return side(
    make("p", {}, word(claim.status, { done: "plain", failed: "broken" }[claim.status] ?? claim.status)), claim.summary ? prose(claim.summary) : make("p", { class: "dim" }, "It said no more."),
    listed(many(claim.changes.length, ["change", "changes"]), claim.changes.map(change)), handedOn(claim));
}

function handedOn({ escalations }) {
  return listed("Handed on by its agent", escalations.map((one) => make("div", { class: one.kind }, word(one.kind), " ", rich(one.title), one.detail ? prose(one.detail) : "")));
}

function foundSide(entry, whole) {
  return make("section", { class: `side found ${entry.verdict}` }, make("h2", {}, "Found", make("small", {}, "by muster, in a clean checkout")),
    make("p", {}, word(entry.verdict), " ", make("span", {}, rich(entry.reason))), results(entry, whole), findings(entry),
    listed("On the branch", entry.commits.map((id) => [commitLink(id), " ", commitOf.get(id)?.subject ?? ""])), listed("Not on the branch", entry.aside.map(rich)),
    listed(`${many(entry.left.length, ["file", "files"])} not committed`, entry.left.map(code)));
}

// Each test before and after, with what pytest printed behind it.
function results(entry, { texts, hurt }) {
  const line = (seen) => [make("code", {}, seen.id), make("span", { class: "seen" }, make("span", { class: `state ${seen.before}` }, seen.before), seen.after && [" → ", make("b", { class: `state ${seen.after}` }, seen.after)])];
  const item = (seen, text) => (text ? folded(line(seen), () => words(text, "")) : make("div", { class: "summary" }, line(seen)));
  const group = (title, tests, texts) => listed(title, tests.map((seen, at) => item(seen, texts[at])), "tests");
  return make("div", {}, group(many(entry.tests.length, ["test, before → after", "tests, before → after"]), entry.tests, texts), group("Other tests, hurt by it", entry.hurt, hurt));
}

function findings(entry) {
  const level = (found) => (found.level === "refuse" ? "refused" : "review");
  return listed("The gate", entry.findings.map((found) => make("div", { class: level(found) }, word(level(found)), " ", code(found.rule), " ", make("span", { class: "dim mono" }, `${found.file}:${found.line}`), make("div", {}, rich(found.detail)))));
}

function recorded([name, at]) {
  if (at !== null) return recording(name, "", () => unpack(`part:recording${at}`));
  return make("p", { class: "dim mono" }, `${name} is in the run's folder`);
}

// Who said what; of what is long, the beginning.
function transcript(events) {
  const box = make("div", { class: "transcript" });
  fold(events, box, (event) => {
    const lines = event.text.trimEnd().split("\n");
    const limit = event.role === "user" || event.role === "assistant" ? 40 : 8;
    const body = make("div", { class: "text" });
    const state = { style: PLAIN };
    const show = (line) => shownLine(line, "plain", state);
    body.append(...lines.slice(0, limit).map(show));
    const more = make("button", { type: "button", click: () => (more.remove(), fold(lines.slice(limit), body, show)) }, many(lines.length - limit, ["more line", "more lines"]));
    if (lines.length > limit) body.append(more);
    return make("article", { class: event.role }, make("p", { class: "who" }, event.role, event.tool ? ` ${visible(event.tool)}` : "", event.at ? make("time", { class: "dim" }, new Date(event.at * 1000).toLocaleTimeString()) : ""), body);
  });
  return box;
}

// --- what nobody got, and how to go on

function showRest() {
  const skips = report.skips.map(([reason, tests]) => make("li", {}, folded([make("span"), make("b", {}, many(tests.length, ["test", "tests"])), make("span", { class: "what" }, reason)], () => bullets(tests.map(code)))));
  find("rest").hidden = !skips.length;
  find("rest").append(make("ul", { class: "items skips" }, skips));
  find("next").append(...report.commands.map(([about, line]) => command(about, line)), report.commands.length ? "" : make("p", { class: "dim" }, "There is nothing to do."));
}

// --- addresses and keys

async function route(focus) {
  const asked = new URLSearchParams(location.hash.slice(1));
  const before = view.task;
  view.task = asked.get("task") ?? "";
  if (view.task && !before) view.top = scrollY;
  overview.hidden = Boolean(view.task);
  opened.hidden = !view.task;
  if (view.task) {
    const entry = entryOf.get(view.task);
    choose(view.rows.find((one) => one.entry === entry) ?? view.row);
    const instead = (text) => opened.replaceChildren(back(), make("p", { class: "warning" }, text));
    if (entry) await showTask(entry).catch((error) => instead(`This task can't be read: ${error}`));
    else instead(`There is no task ${visible(view.task)} in this run.`);
    scrollTo(0, 0);
    if (focus) opened.focus({ preventScroll: true });
  } else if (before) {
    opened.replaceChildren();
    scrollTo(0, view.top);
    view.row?.focus({ preventScroll: true });
    view.row?.scrollIntoView({ block: "nearest" });
    if (view.seeks) search.focus(), search.select();
    view.seeks = false;
  }
  const commit = [...document.querySelectorAll("#changes details[data-commit]")].find((one) => one.dataset.commit === asked.get("commit"));
  if (commit) (commit.open = true), commit.scrollIntoView(), commit.querySelector("summary").focus({ preventScroll: true });
  else if (!view.task && !(before && location.hash === "#tasks")) find(location.hash.slice(1))?.scrollIntoView();
}

function step(by) {
  if (view.task) {
    const rows = shownRows();
    const link = rows[within(rows.indexOf(view.row) + by, 0, rows.length - 1)];
    if (link) choose(link), location.replace(link.hash); // chosen at once: a key pressed before the page has followed counts from there
    return undefined;
  }
  const stops = [...overview.querySelectorAll(".items > li > details > summary, .items > .more > button, #list a.row")].filter((one) => one.offsetParent);
  const from = stops.findIndex((one) => one === document.activeElement || one.parentElement.contains(document.activeElement));
  const next = stops[within(from + by, 0, stops.length - 1)];
  if (next?.matches(".row")) choose(next);
  next?.focus();
  return undefined;
}

function key(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || find("help").open) return;
  if (event.target.matches("input, select") && !(event.target === search && ["Escape", "ArrowDown", "Enter"].includes(event.key))) return;
  const inList = list.contains(event.target);
  if (event.key === "/" && view.task) (view.seeks = true), (location.hash = "#tasks");
  else if (event.key === "/") search.focus(), search.select();
  else if (event.key === "?") find("help").showModal();
  else if (event.key >= "1" && event.key <= "9" && !view.task) view.present[event.key - 1] && only(view.present[event.key - 1]);
  else if (event.key === "0" && !view.task) only(null);
  else if (event.target === search && event.key !== "Escape") choose(shownRows()[0], true);
  else if (event.key === "j" || (event.key === "ArrowDown" && inList)) step(1);
  else if (event.key === "k" || (event.key === "ArrowUp" && inList)) step(-1);
  else if (event.key === "Escape" && view.task) location.hash = "#tasks";
  else if (event.key === "Escape") (search.value = ""), sift(), event.target === search && choose(view.row, true);
  else return;
  event.preventDefault();
}

document.addEventListener("keydown", key);
search.addEventListener("input", sift);
find("ask").addEventListener("click", () => find("help").showModal());
addEventListener("hashchange", () => route(true));
showHead();
showNeeds();
showChanges();
showTasks();
showRest();
route(false).then(() => document.documentElement.setAttribute("data-ready", ""));
