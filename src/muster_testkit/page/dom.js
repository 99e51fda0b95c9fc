// Elements, and long texts as elements, for every page of the project: text becomes text nodes, never markup.

const LINES_SHOWN = 3000; // of a transcript, at each end; the rest at a press of a button
const LINE_SHOWN = 5000;
const find = (id) => document.getElementById(id);

function make(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (typeof value === "function") element.addEventListener(key, value);
    else if (value !== false && value !== undefined) element.setAttribute(key, value === true ? "" : value);
  }
  element.append(...children.flat(2).filter((child) => child !== undefined && child !== ""));
  return element;
}

// A part of the data that is in the page: base64 of gzip, in an element that nothing runs.
const unpack = (id) => gunzip(Uint8Array.from(atob(find(id).textContent), (mark) => mark.charCodeAt(0)));

const gunzip = (bytes) => new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).text();

function took(seconds) {
  if (!seconds) return "";
  if (seconds >= 60) return `${Math.floor(seconds / 60)}m ${String(Math.floor(seconds % 60)).padStart(2, "0")}s`;
  return seconds >= 10 ? `${seconds.toFixed(1)} s` : seconds >= 0.01 ? `${seconds.toFixed(2)} s` : "< 10 ms";
}
const when = (epoch) => new Date(epoch * 1000).toLocaleString(undefined, { dateStyle: "medium", timeStyle: "medium" });
const count = (number, noun) => `${number.toLocaleString("en")} ${noun}${number === 1 ? "" : "s"}`;

function words(text, kind) {
  const element = make("div", { class: `text ${kind}`, tabindex: 0, role: "group", "aria-label": "Text" });
  fold(text.trimEnd().split("\n"), element, (line, state) => shownLine(line, "plain", state));
  return element;
}

// A line as an element; what goes on in `state` is the colour, from line to line.
function shownLine(text, kind, state) {
  const element = make("div", { class: `line ${kind}` });
  const [nodes, style] = coloured(text.slice(0, LINE_SHOWN).replace(/\r$/, ""), state.style);
  state.style = style;
  element.append(...nodes);
  if (text.length > LINE_SHOWN) element.append(make("span", { class: "cut" }, ` … ${count(text.length - LINE_SHOWN, "more character")} in this line`));
  return element;
}

// Puts lines into an element; of very many, those in the middle when asked.
function fold(lines, element, show) {
  const state = { style: PLAIN };
  const render = (some) => some.map((line) => show(line, state));
  const middle = lines.length > 2 * LINES_SHOWN ? lines.splice(LINES_SHOWN, lines.length - 2 * LINES_SHOWN) : [];
  if (!middle.length) return element.append(...render(lines));
  element.append(...render(lines.slice(0, LINES_SHOWN)));
  const button = make("button", { type: "button", click: () => {
    const next = middle.splice(0, LINES_SHOWN);
    button.before(...render(next));
    if (middle.length) button.textContent = label();
    else button.remove();
  } });
  const label = () => `Show more: ${count(middle.length, "line")} are folded here`;
  button.textContent = label();
  return element.append(button, ...render(lines.slice(LINES_SHOWN)));
}
