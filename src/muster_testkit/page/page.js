// The list of tests, what is open beside it, and the keys. Data goes on the page as text nodes only.

const GLYPHS = {
  failed: "✕", error: "!", "timed-out": "◷", crashed: "↯", unreadable: "?",
  running: "●", xpassed: "≠", passed: "✓", skipped: "–", xfailed: "~",
};
const [list, detail, search, filters] = ["list", "detail", "search", "filters"].map(find);
const page = { index: JSON.parse(find("index").textContent), live: false, run: null, rows: [], row: null, outcomes: new Set() };

// A part of the data: beside the page where it is one file, asked for where it is served.
async function load(part) {
  return page.live ? gunzip(await (await fetch(`part?name=${encodeURIComponent(part)}`)).blob()) : unpack(`part:${part}`);
}

const glyph = (outcome) => make("span", { class: "glyph", "aria-hidden": "true" }, GLYPHS[outcome]);
const lastOf = (name) => name.slice(name.indexOf("::") + 1 ? name.indexOf("::") + 2 : 0);

function address(test) {
  const asked = new URLSearchParams({ test: test.test });
  // Two processes may have run one test at once; each has left a folder.
  if (page.folders.get(test.test) !== test.part) asked.set("folder", test.part);
  if (page.run !== page.index.runs[0]) asked.set("run", page.run.name);
  return `#${asked}`;
}

// --- the list

function showRun() {
  const { run } = page;
  const counts = new Map(page.index.outcomes.map((one) => [one, 0]));
  for (const test of run?.tests ?? []) counts.set(test.outcome, counts.get(test.outcome) + 1);
  const present = [...counts].filter(([, number]) => number);
  page.folders = new Map([...(run?.tests ?? [])].reverse().map((test) => [test.test, test.part]));
  page.present = present.map(([outcome]) => outcome);
  const seconds = run?.tests.reduce((sum, test) => sum + test.seconds, 0) ?? 0;
  const wall = run && run.finished > run.started ? `, ${took(run.finished - run.started)} in all` : "";
  const facts = run ? [run.started && when(run.started), count(run.tests.length, "test") + (seconds ? `, ${took(seconds)} of tests${wall}` : "")] : [];
  find("facts").textContent = facts.filter(Boolean).join(" · ");
  const runs = page.index.runs.map((one) => make("option", { selected: one === run }, one.name));
  // A list that somebody has opened is left alone while it would stay the same.
  if (runs.map((one) => one.text).join("\n") !== [...find("run")].map((one) => one.text).join("\n")) find("run").replaceChildren(...runs);
  find("run").selectedIndex = page.index.runs.indexOf(run);
  find("run").hidden = !run;
  document.title = `${present.map(([outcome, number]) => `${number} ${outcome}`).join(", ") || "no tests"} · ${run?.name ?? "Tests"}`;
  find("share").replaceChildren(...present.map(([outcome, number]) => {
    const part = make("span", { class: outcome });
    part.style.flexGrow = number;
    return part;
  }));
  const focused = filters.contains(document.activeElement) && document.activeElement.dataset.outcome;
  filters.replaceChildren(...present.map(([outcome, number], at) => make(
    "button",
    { type: "button", class: outcome, "aria-pressed": String(page.outcomes.has(outcome)), "aria-keyshortcuts": at < 9 && at + 1, click: () => only(outcome), "data-outcome": outcome },
    glyph(outcome), make("b", {}, String(number)), outcome, at < 9 ? make("kbd", { "aria-hidden": "true" }, String(at + 1)) : "",
  )));
  if (focused) [...filters.children].find((one) => one.dataset.outcome === focused)?.focus();
  showCoverage();
  showList();
}

function ordered(tests) {
  const order = find("order").value;
  const by = { outcome: () => 0, seconds: (a, b) => b.seconds - a.seconds, file: (a, b) => a.file.localeCompare(b.file) || a.line - b.line };
  const group = { outcome: (test) => test.outcome, seconds: () => "", file: (test) => test.file };
  const groups = new Map();
  for (const test of [...tests].sort(by[order])) {
    const name = group[order](test);
    groups.has(name) ? groups.get(name).push(test) : groups.set(name, [test]);
  }
  return groups;
}

function showList() {
  const kept = page.row?.dataset.part;
  const hadFocus = list.contains(document.activeElement);
  const top = list.scrollTop;
  page.rows = [];
  page.row = null;
  const groups = [...ordered(page.run?.tests ?? [])].map(([name, tests]) => make(
    "section", {}, name ? make("h2", {}, name, make("span", {}, String(tests.length))) : "", make("ul", {}, tests.map((test) => make("li", {}, row(test)))),
  ));
  list.replaceChildren(...groups, make("p", { class: "none", hidden: true }));
  list.scrollTop = top;
  choose(page.rows.find((one) => one.dataset.part === kept), hadFocus);
  sift();
  mark();
}

function row(test) {
  const file = test.test.includes("::") ? test.test.slice(0, test.test.indexOf("::")) : test.file;
  const extras = [test.attempts > 1 && `${test.attempts} attempts`, test.recordings && `▶ ${test.recordings}`];
  const link = make(
    "a", { class: `row ${test.outcome}`, href: address(test), tabindex: -1, "data-part": test.part },
    glyph(test.outcome),
    make("span", { class: "what" },
      make("span", { class: "name" }, visible(lastOf(test.test))),
      make("span", { class: "file" }, [visible(file), ...extras.filter(Boolean)].join(" · ")),
      test.note ? make("span", { class: "said" }, ...coloured(test.note)[0]) : ""),
    make("span", { class: "took" }, test.outcome === "running" ? "…" : took(test.seconds)),
    make("span", { class: "unseen" }, test.outcome),
  );
  link.test = test;
  link.words = [test.test, test.outcome, test.note, ...test.blocks.map((at) => page.index.texts[at])].join("\n").toLowerCase();
  page.rows.push(link);
  return link;
}

// Shows the rows that the search and the outcomes leave.
function sift() {
  const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
  let left = 0;
  for (const one of page.rows) {
    const fits = (!page.outcomes.size || page.outcomes.has(one.test.outcome)) && words.every((word) => one.words.includes(word));
    one.parentElement.hidden = !fits;
    left += fits;
  }
  for (const section of list.querySelectorAll("section")) section.hidden = !section.querySelector("li:not([hidden])");
  const none = list.querySelector(".none");
  none.hidden = left > 0;
  none.textContent = page.rows.length ? "No test is like that. Esc clears the search, 0 the outcomes." : page.index.trouble ?? "There are no tests in this run.";
  find("said").textContent = words.length || page.outcomes.size ? count(left, "test") : "";
  if (page.row?.parentElement.hidden ?? true) choose(shownRows()[0], list.contains(document.activeElement));
}

const shownRows = () => page.rows.filter((one) => !one.parentElement.hidden);

// The one row that Tab reaches; the others are reached from it.
function choose(link, focus = false) {
  if (page.row) page.row.tabIndex = -1;
  page.row = link ?? null;
  if (!link) return;
  link.tabIndex = 0;
  if (focus) link.focus();
}

function step(by) {
  const rows = shownRows();
  const inList = list.contains(document.activeElement);
  const inDetail = !inList && page.open;
  const from = rows.indexOf(page.row);
  const fresh = !inDetail && !inList;
  const link = rows[Math.max(0, Math.min(rows.length - 1, fresh ? Math.max(0, from) : from + by))];
  choose(link, !inDetail);
  if (inDetail && link) location.hash = link.hash;
}

function only(outcome) {
  if (!outcome) page.outcomes.clear();
  else if (!page.outcomes.delete(outcome)) page.outcomes.add(outcome);
  for (const one of filters.children) one.setAttribute("aria-pressed", String(page.outcomes.has(one.dataset.outcome)));
  sift();
}

// --- what is open

// Shows what the address asks for; `focus` where a person has asked.
async function route(focus) {
  const asked = new URLSearchParams(location.hash.slice(1));
  const run = page.index.runs.find((one) => one.name === asked.get("run")) ?? page.index.runs[0] ?? null;
  if (run !== page.run) (page.run = run), showRun();
  const like = run?.tests.filter((one) => one.test === asked.get("test")) ?? [];
  page.open = like.find((one) => one.part === asked.get("folder")) ?? like[0];
  const tutorial = asked.get("view") === "tutorial";
  document.body.classList.toggle("open", Boolean(page.open || tutorial || asked.get("test")));
  mark();
  page.rows.find((one) => one.test === page.open)?.scrollIntoView({ block: "nearest" });
  if (focus) detail.scrollTop = 0;
  if (page.open) await showTest(page.open);
  else if (tutorial) showTutorial();
  else if (asked.get("test")) detail.replaceChildren(back(), make("p", { class: "note" }, `There is no test ${visible(asked.get("test"))} in this run.`));
  else showOverview();
  if (focus && document.body.classList.contains("open")) detail.focus({ preventScroll: true });
}

function mark() {
  for (const one of page.rows) {
    const open = one.test === page.open;
    if (open) one.setAttribute("aria-current", "true");
    else one.removeAttribute("aria-current");
    if (open) choose(one, list.contains(document.activeElement));
  }
}

const back = () => make("a", { class: "back", href: "#" }, "← Tests");

async function showTest(test) {
  const head = [
    back(),
    make("p", { class: "where" }, visible(test.test.includes("::") ? test.test.slice(0, test.test.indexOf("::")) : "")),
    make("h2", {}, visible(lastOf(test.test))),
  ];
  let whole;
  try {
    whole = JSON.parse(await load(test.part));
  } catch (error) {
    return detail.replaceChildren(...head, make("p", { class: "note" }, `What this test has left can't be read: ${error}`));
  }
  if (page.open?.part !== test.part) return undefined; // another one was opened meanwhile
  page.stamp = test.stamp;
  const body = make("div");
  const attempts = [...whole.earlier, whole];
  const buttons = attempts.map((one, at) => make("button", { type: "button", class: one.outcome, click: () => pick(at) }, glyph(one.outcome), ` attempt ${at + 1}`));
  const pick = (at) => {
    buttons.forEach((button, i) => button.setAttribute("aria-pressed", String(i === at)));
    body.replaceChildren(...attempt(test, attempts[at]));
  };
  pick(attempts.length - 1);
  return detail.replaceChildren(...head, attempts.length > 1 ? make("div", { class: "attempts", role: "group", "aria-label": "Attempts" }, buttons) : "", body);
}

function attempt(test, one) {
  const bad = !["passed", "skipped", "xfailed", "running"].includes(one.outcome);
  const facts = [one.outcome !== "running" && took(one.seconds), test.started && when(test.started), test.file && `${visible(test.file)}:${test.line}`];
  const part = (title, children) => (children.length ? [make("h3", {}, title), ...children] : []);
  return [
    make("p", { class: `facts ${one.outcome}` }, make("span", { class: "outcome" }, glyph(one.outcome), ` ${one.outcome}`), facts.filter(Boolean).map((fact) => make("span", {}, fact))),
    ...(one.message ? [make("h3", {}, bad ? "What went wrong" : "Message"), words(one.message, `said ${one.outcome}`)] : []),
    ...part("Recordings", one.recordings.map(recorded)),
    ...part("Screens", one.screens.map(screen)),
    make("h3", {}, "Transcript"),
    one.transcript ? transcript(one.transcript) : make("p", { class: "dim" }, "It left none."),
    ...part("Tutorial blocks it cites", test.blocks.map((at) => block(page.index.tutorial?.blocks.find((one) => one.text === at) ?? { text: at }))),
    make("h3", {}, "Folder"),
    make("p", { class: "mono dim where" }, visible(one.folder)),
  ];
}

const KINDS = { "# ": "comment", "$ ": "command", "  ": "out", "! ": "err", "? ": "code" };

function transcript(text) {
  const box = make("div", { class: "text transcript", role: "group", "aria-label": "Transcript" });
  const lines = text.split("\n");
  if (lines.at(-1) === "") lines.pop();
  const sections = [];
  let said = false;
  for (const line of lines) {
    const kind = KINDS[line.slice(0, 2)] ?? (line.startsWith("…") ? "cut" : "");
    if (!sections.length || ((kind === "command" || kind === "comment") && said)) sections.push([]), (said = false);
    said ||= kind === "out" || kind === "err" || kind === "code";
    sections.at(-1).push([kind, KINDS[line.slice(0, 2)] ? line.slice(2) : line]);
  }
  for (const lines of sections) {
    const section = make("section");
    const states = { out: { style: PLAIN }, err: { style: PLAIN } };
    fold(lines, section, ([kind, line]) => {
      const element = shownLine(line, kind || "other", states[kind] ?? { style: PLAIN });
      if (kind === "code" && line.trim() !== "0") element.classList.add("bad");
      return element;
    });
    box.append(section);
  }
  return box;
}

function recorded(one) {
  const size = one.columns && one.rows ? `${one.columns} × ${one.rows}` : "";
  return recording(visible(one.title), [one.seconds && took(one.seconds), size].filter(Boolean).join(" · "), () => load(one.part));
}

function screen({ title, txt, svg }) {
  // A picture that is an image can run nothing and fetch nothing.
  const picture = () => make("img", { src: `data:image/svg+xml,${encodeURIComponent(svg)}`, alt: txt ?? title });
  return make("figure", { class: "screen" }, make("figcaption", {}, visible(title)), svg ? picture() : words(txt ?? "", "glassy"));
}

// --- the tutorial and the overview

function citations() {
  const cited = new Map();
  for (const test of page.run?.tests ?? []) for (const at of test.blocks) cited.set(at, [...(cited.get(at) ?? []), test]);
  return cited;
}

function showCoverage() {
  const { tutorial } = page.index;
  const cited = citations();
  const commands = tutorial?.blocks.filter((one) => !one.heading) ?? [];
  find("coverage").hidden = !tutorial && !cited.size;
  find("coverage").textContent = tutorial ? `Tutorial ${commands.filter((one) => cited.has(one.text)).length}/${commands.length}` : "Tutorial";
}

function block({ text, line, heading }, tests) {
  const lines = page.index.texts[text].split("\n");
  const code = make("pre", {}, lines.flatMap((one, at) => [at ? "\n" : "", make("span", { class: /^\s*#/.test(one) ? "remark" : "" }, visible(one))]));
  const cites = tests?.map((test) => make("a", { href: address(test), class: test.outcome }, glyph(test.outcome), visible(lastOf(test.test))));
  const uncited = tests && !heading && !tests.length;
  return make("div", { class: `block ${heading ? "heading" : uncited ? "uncited" : ""}` },
    make("span", { class: "line" }, line ? String(line) : ""), code,
    tests && !heading ? make("div", { class: "cites" }, uncited ? make("span", { class: "note" }, "no test cites it") : cites) : "");
}

function showTutorial() {
  const { tutorial } = page.index;
  const cited = citations();
  const commands = tutorial?.blocks.filter((one) => !one.heading) ?? [];
  const covered = commands.filter((one) => cited.has(one.text)).length;
  const meter = make("div", { class: "meter" }, make("span"));
  meter.firstChild.style.width = `${(100 * covered) / (commands.length || 1)}%`;
  const texts = new Set(tutorial?.blocks.map((one) => one.text));
  const strange = [...cited].filter(([at]) => !texts.has(at));
  const blocks = make("div", {}, (tutorial?.blocks ?? []).map((one) => block(one, cited.get(one.text) ?? [])));
  const less = make("input", { type: "checkbox", change: () => { for (const one of blocks.children) one.hidden = less.checked && !one.classList.contains("uncited"); } });
  detail.replaceChildren(
    back(),
    ...(tutorial ? [
      make("p", { class: "where" }, visible(tutorial.file)),
      make("h2", {}, `${covered} of ${count(commands.length, "block")} cited by this run's tests`), meter,
      make("label", { class: "facts" }, make("span", {}, less, " only blocks that no test cites")), blocks,
    ] : [make("h2", {}, "Blocks that tests cite")]),
    ...(strange.length ? [...(tutorial ? [make("h3", {}, "Cited, but not in the tutorial")] : []), ...strange.map(([at, tests]) => block({ text: at }, tests))] : []),
  );
}

function showOverview() {
  const tests = page.run?.tests ?? [];
  const trouble = tests.filter((test) => ["failed", "error", "timed-out", "crashed", "unreadable"].includes(test.outcome)).length;
  const slow = [...tests].sort((a, b) => b.seconds - a.seconds).slice(0, 12).filter((test) => test.seconds > 0);
  detail.replaceChildren(
    make("h2", {}, !tests.length ? "No tests" : trouble ? `${count(trouble, "test")} of ${tests.length.toLocaleString("en")} went wrong` : tests.some((test) => test.outcome === "running") ? "Nothing has gone wrong so far" : "Nothing went wrong"),
    make("p", { class: "facts" }, tests.length ? "Choose a test to see what it did." : "A test that is run leaves its transcript and its recordings here."),
    ...(slow.length ? [make("h3", {}, "The slowest"), make("ol", { class: "slow" }, slow.map((test) => make("li", {}, make("span", { class: "took" }, took(test.seconds)), make("a", { href: address(test) }, visible(lastOf(test.test))))))] : []),
  );
}

// --- keys

function key(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || find("help").open) return;
  const typing = event.target.matches("input, select, textarea");
  const inList = !detail.contains(event.target);
  if (typing && !(event.target === search && ["Escape", "ArrowDown", "Enter"].includes(event.key)) && event.key !== "Escape") return;
  if (event.key === "/") search.focus(), search.select();
  else if (event.key === "?") find("help").showModal();
  else if (event.key === "t" && !find("coverage").hidden) location.hash = "#view=tutorial";
  else if (event.key >= "1" && event.key <= "9") page.present[event.key - 1] && only(page.present[event.key - 1]);
  else if (event.key === "0") only(null);
  else if (event.key === "Enter" && event.target === search) shownRows()[0] && (location.hash = shownRows()[0].hash);
  else if (event.target === search && event.key === "ArrowDown") choose(shownRows()[0], true);
  else if (event.key === "j" || (event.key === "ArrowDown" && inList)) step(1);
  else if (event.key === "k" || (event.key === "ArrowUp" && inList)) step(-1);
  else if (event.key === "Home" && list.contains(event.target)) choose(shownRows()[0], true);
  else if (event.key === "End" && list.contains(event.target)) choose(shownRows().at(-1), true);
  else if (event.key === "Escape") return leave(event);
  else return;
  event.preventDefault();
}

function leave(event) {
  if (search.value && !detail.contains(event.target)) (search.value = ""), sift();
  else if (!list.checkVisibility?.()) location.hash = "#";
  choose(page.row, true);
  event.preventDefault();
}

document.addEventListener("keydown", key);
search.addEventListener("input", sift);
find("order").addEventListener("change", showList);
find("ask").addEventListener("click", () => find("help").showModal());
find("run").addEventListener("change", (event) => {
  const run = page.index.runs[event.target.selectedIndex];
  location.hash = run === page.index.runs[0] ? "#" : `#${new URLSearchParams({ run: run.name })}`;
});
addEventListener("hashchange", () => route(true).then(() => document.body.classList.contains("open") || choose(page.row, true)));

// --- live

// Asks for what has changed, for as long as there is somebody to answer.
async function follow(version) {
  const say = (text, lost) => ((find("live").textContent = text), find("live").classList.toggle("lost", lost));
  for (;;) {
    try {
      const answer = await (await fetch(`index?since=${version}`)).json();
      say("live", false);
      if (answer.version !== version) take(answer.index);
      version = answer.version;
    } catch {
      say("not live any more", true);
      await new Promise((done) => setTimeout(done, 2000));
    }
  }
}

function take(index) {
  const [name, open, stamp] = [page.run?.name, page.open, page.stamp];
  page.index = index;
  const asked = new URLSearchParams(location.hash.slice(1)).has("run");
  page.run = index.runs.find((one) => asked && one.name === name) ?? index.runs[0] ?? null;
  page.open = page.run?.tests.find((one) => one.part === open?.part);
  showRun();
  // What somebody is looking at stays as it is, unless there is more of it and no recording is open.
  if (open && (page.open?.stamp === stamp || detail.querySelector(".player"))) return;
  const top = detail.scrollTop;
  route(false).then(() => (detail.scrollTop = top));
}

page.live = page.index === null;
page.index ??= { outcomes: [], tutorial: null, runs: [], texts: [] };
page.run = page.index.runs[0] ?? null;
showRun();
route(false).then(() => document.documentElement.setAttribute("data-ready", ""));
if (page.live) follow("");
