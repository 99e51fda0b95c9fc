// Text with colours (SGR), and a small terminal: enough of xterm for what command-line programs show.
// Nothing here writes markup: text becomes text nodes, colours become properties.

const PLAIN = Object.freeze({});
const ON = { 1: "bold", 2: "dim", 3: "italic", 4: "under", 7: "inverse", 9: "strike", 21: "under" };
const OFF = { 22: ["bold", "dim"], 23: ["italic"], 24: ["under"], 27: ["inverse"], 29: ["strike"] };
const known = new Map();

function indexed(number) {
  if (!(number >= 0 && number < 256)) return undefined;
  if (number < 16) return `var(--t${number | 0})`;
  const level = (step) => (step ? 55 + 40 * step : 0);
  const grey = 8 + 10 * (number - 232);
  const cube = number - 16;
  return number > 231
    ? rgb([grey, grey, grey])
    : rgb([level((cube / 36) | 0), level(((cube / 6) | 0) % 6), level(cube % 6)]);
}

function rgb(parts) {
  const [red, green, blue] = [0, 1, 2].map((i) => Math.min(255, parts[i] | 0));
  return `rgb(${red} ${green} ${blue})`;
}

// The style after "\x1b[PARAMETERSm". Equal styles are one object, so they are compared by identity.
function sgr(style, parameters) {
  const words = parameters.split(";").map((word) => word.split(":").map(Number));
  let next = { ...style };
  for (let i = 0; i < words.length; i++) {
    const [code, ...parts] = words[i];
    if (code === 38 || code === 48 || code === 58) {
      let given = parts;
      if (!parts.length) {
        const count = { 5: 2, 2: 4 }[words[i + 1]?.[0]] ?? 1;
        given = words.slice(i + 1, i + 1 + count).map((word) => word[0]);
        i += count;
      } else if (parts.length > 4) given = [parts[0], ...parts.slice(2)]; // there is a colour space between
      const colour = given[0] === 5 ? indexed(given[1]) : given[0] === 2 ? rgb(given.slice(1)) : undefined;
      if (colour && code !== 58) next[code === 38 ? "fg" : "bg"] = colour;
    } else if (code === 0) next = {};
    else if (code === 4 && parts[0] === 0) delete next.under;
    else if (ON[code]) next[ON[code]] = true;
    else if (OFF[code]) OFF[code].forEach((name) => delete next[name]);
    else if (code >= 30 && code < 38) next.fg = indexed(code - 30);
    else if (code >= 40 && code < 48) next.bg = indexed(code - 40);
    else if (code >= 90 && code < 98) next.fg = indexed(code - 82);
    else if (code >= 100 && code < 108) next.bg = indexed(code - 92);
    else if (code === 39) delete next.fg;
    else if (code === 49) delete next.bg;
  }
  return same(next);
}

function same(style) {
  const key = Object.entries(style).sort().join();
  if (known.size > 5000) known.clear();
  if (!known.has(key)) known.set(key, key ? Object.freeze(style) : PLAIN);
  return known.get(key);
}

// A text node, or a span that looks like that style.
function painted(text, style) {
  if (style === PLAIN) return document.createTextNode(text);
  const span = document.createElement("span");
  span.textContent = text;
  let { fg, bg } = style;
  if (style.inverse) [fg, bg] = [bg ?? "var(--term-bg)", fg ?? "var(--term-fg)"];
  if (fg) span.classList.add("fc"), span.style.setProperty("--fc", fg);
  if (bg) span.classList.add("bc"), span.style.setProperty("--bc", bg);
  for (const name of ["bold", "dim", "italic", "under", "strike"]) if (style[name]) span.classList.add(`s-${name}`);
  return span;
}

const SEQUENCE =
  /\x1b\[([0-9;:]*)m|\x1b\[[0-?]*[ -/]*[@-~]|\x1b[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b[ -/]+[0-~]|\x1b[0-OQ-WYZ\\`-~]/g;
const UNSEEN = /[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

// Controls that would do something are shown as pictures of themselves.
function visible(text) {
  return text.replace(UNSEEN, (mark) => {
    const code = mark.charCodeAt(0);
    return code < 32 ? String.fromCharCode(0x2400 + code) : code === 127 ? "\u2421" : "\ufffd";
  });
}

// A line of output as nodes; colours are the only sequences that have an effect. Returns [nodes, the style at its end].
function coloured(text, style = PLAIN) {
  const nodes = [];
  let from = 0;
  const add = (part) => part && nodes.push(painted(visible(part), style));
  for (const match of text.matchAll(SEQUENCE)) {
    add(text.slice(from, match.index));
    from = match.index + match[0].length;
    if (match[1] !== undefined) style = sgr(style, match[1]);
  }
  add(text.slice(from));
  return [nodes, style];
}

const NO_WIDTH = /[\p{Mn}\p{Me}\u200b-\u200f\u2060\ufe00-\ufe0f]/u;
const WIDE =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{20000}-\u{3fffd}]|\p{Emoji_Presentation}/u;
const LINES = "▒␉␌␍␊°±␤␋┘┐┌└┼⎺⎻─⎼⎽├┤┴┬│≤≥π≠£·";
const widthOf = (mark) =>
  mark.codePointAt(0) < 0x300 ? 1 : NO_WIDTH.test(mark) ? 0 : WIDE.test(mark) ? 2 : 1;
const within = (value, low, high) => Math.max(low, Math.min(high, value));

class Terminal {
  constructor(columns, rows) {
    this.columns = within(columns | 0, 1, 1000);
    this.rows = within(rows | 0, 1, 500);
    this.reset();
  }

  reset() {
    Object.assign(this, { x: 0, y: 0, style: PLAIN, rest: "", pending: false, saved: null, other: null });
    Object.assign(this, { wraps: true, inserts: false, origin: false, cursor: true, charsets: ["B", "B"], shift: 0 });
    Object.assign(this, { top: 0, bottom: this.rows - 1, last: " ", tabs: null });
    this.lines = Array.from({ length: this.rows }, () => this.blank());
  }

  // A line is its characters and their styles; the second half of a wide character is "".
  blank(style = PLAIN) {
    const empty = style.bg ? same({ bg: style.bg }) : PLAIN;
    return { text: Array(this.columns).fill(" "), style: Array(this.columns).fill(empty), changed: true };
  }

  // All that it is, to come back to; lines are copied, as they change in place.
  save() {
    const copy = (lines) => lines && lines.map((one) => ({ text: [...one.text], style: [...one.style], changed: true }));
    return { ...this, lines: copy(this.lines), other: copy(this.other), charsets: [...this.charsets] };
  }

  restore(state) {
    Object.assign(this, Terminal.prototype.save.call(state));
  }

  resize(columns, rows) {
    columns = within(columns | 0, 1, 1000);
    rows = within(rows | 0, 1, 500);
    const lost = Math.max(0, this.y - rows + 1);
    this.columns = columns;
    for (const lines of [this.lines, this.other]) {
      if (!lines) continue;
      lines.splice(0, lost);
      while (lines.length < rows) lines.push(this.blank());
      lines.length = rows;
      for (const line of lines) {
        const more = Math.max(0, columns - line.text.length);
        line.text = line.text.slice(0, columns).concat(Array(more).fill(" "));
        line.style = line.style.slice(0, columns).concat(Array(more).fill(PLAIN));
        line.changed = true;
      }
    }
    Object.assign(this, { rows, top: 0, bottom: rows - 1, pending: false, tabs: null });
    this.to(this.x, this.y - lost);
  }

  to(x, y) {
    this.x = within(x, 0, this.columns - 1);
    this.y = within(y, 0, this.rows - 1);
    this.pending = false;
  }

  write(text) {
    text = this.rest + text;
    this.rest = "";
    const token =
      /([^\x00-\x1f\x7f-\x9f]+)|\x1b\[([<-?]?)([0-9;:]*)([ -/]*)([@-~])|\x1b[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\|(?=\x1b[^\\]))|\x1b([ -/]*)([0-OQ-WYZ\\`-~])|(\x1b(?:\[[0-?]*[ -/]*|[\]PX^_][^\x07\x1b]*\x1b?|[ -/]*)$)|([\s\S])/g;
    for (const match of text.matchAll(token)) {
      const [, plain, mark, numbers, between, final, prefix, escape, half, control] = match;
      if (plain) for (const one of plain) this.print(one);
      else if (final) this.sequence(mark + between, numbers, final);
      else if (escape) this.escape(prefix, escape);
      else if (half) this.rest = half.length < 65536 ? half : "";
      else if (control) this.control(control);
    }
  }

  print(mark) {
    if (this.charsets[this.shift] === "0" && mark >= "`" && mark <= "~") mark = LINES[mark.charCodeAt(0) - 97] ?? "◆";
    const width = widthOf(mark);
    if (!width) return this.combine(mark);
    if (width > this.columns) return;
    if (this.pending || this.x + width > this.columns) {
      if (this.wraps) this.x = 0, this.index();
      else this.x = this.columns - width;
    }
    if (this.inserts) this.shiftCells(width);
    this.put(this.x, mark);
    if (width === 2) this.put(this.x + 1, ""), (this.lines[this.y].text[this.x] = mark);
    this.last = mark;
    this.pending = this.x + width >= this.columns;
    this.x = Math.min(this.x + width, this.columns - 1);
  }

  put(x, mark) {
    const line = this.lines[this.y];
    if (line.text[x] === "" && x) line.text[x - 1] = " ";
    if (line.text[x + 1] === "") line.text[x + 1] = " ";
    line.text[x] = mark;
    line.style[x] = this.style;
    line.changed = true;
  }

  combine(mark) {
    const line = this.lines[this.y];
    let x = this.pending ? this.x : this.x - 1;
    if (x > 0 && line.text[x] === "") x--;
    if (x >= 0 && line.text[x].length < 16) line.text[x] += mark, (line.changed = true);
  }

  // Opens a gap at the cursor, or with a negative count closes one.
  shiftCells(count) {
    const line = this.lines[this.y];
    const blank = this.blank(this.style);
    for (const name of ["text", "style"]) {
      if (count > 0) line[name].splice(this.x, 0, ...blank[name].slice(0, count));
      else line[name].splice(this.x, -count), line[name].push(...blank[name].slice(0, -count));
      line[name].length = this.columns;
    }
    line.changed = true;
  }

  scroll(count, top = this.top) {
    const span = this.bottom - top + 1;
    for (let i = Math.min(Math.abs(count), span); i > 0; i--) {
      const [from, to] = count > 0 ? [top, this.bottom] : [this.bottom, top];
      this.lines.splice(from, 1);
      this.lines.splice(to, 0, this.blank(this.style));
    }
    for (let y = top; y <= this.bottom; y++) this.lines[y].changed = true;
  }

  index() {
    this.pending = false;
    if (this.y === this.bottom) this.scroll(1);
    else if (this.y < this.rows - 1) this.y++;
  }

  control(mark) {
    if (mark === "\r") this.to(0, this.y);
    else if (mark === "\b") this.to(this.x - 1, this.y);
    else if (mark === "\n" || mark === "\v" || mark === "\f" || mark === "\x84") this.index();
    else if (mark === "\x85") this.to(0, this.y), this.index();
    else if (mark === "\t") this.tab(1);
    else if (mark === "\x0e" || mark === "\x0f") this.shift = mark === "\x0e" ? 1 : 0;
  }

  tab(count) {
    const step = Math.sign(count);
    const stop = (x) => (this.tabs ? this.tabs.has(x) : x % 8 === 0);
    let x = this.x;
    for (let i = 0; i < Math.min(Math.abs(count), this.columns); i++)
      do x += step;
      while (x > 0 && x < this.columns - 1 && !stop(x));
    this.to(x, this.y);
  }

  setTab(on) {
    this.tabs = new Set(this.tabs ?? Array.from({ length: Math.ceil(this.columns / 8) }, (_, i) => i * 8));
    if (on) this.tabs.add(this.x);
    else this.tabs.delete(this.x);
  }

  escape(prefix, final) {
    if (prefix === "(" || prefix === ")") this.charsets[prefix === "(" ? 0 : 1] = final;
    else if (prefix === "#" && final === "8") for (const line of this.lines) line.text.fill("E"), (line.changed = true);
    if (prefix) return;
    if (final === "7") this.keep();
    else if (final === "8") this.recall();
    else if (final === "D") this.index();
    else if (final === "E") this.to(0, this.y), this.index();
    else if (final === "H") this.setTab(true);
    else if (final === "M") this.y === this.top ? this.scroll(-1) : this.to(this.x, this.y - 1);
    else if (final === "c") this.reset();
  }

  keep() {
    const { x, y, style, origin, shift } = this;
    this.saved = { x, y, style, origin, shift, charsets: [...this.charsets] };
  }

  recall() {
    const { x, y, ...rest } = this.saved ?? { x: 0, y: 0, style: PLAIN, origin: false };
    Object.assign(this, rest, rest.charsets && { charsets: [...rest.charsets] });
    this.to(x, y);
  }

  sequence(mark, numbers, final) {
    if (mark === "?" && (final === "h" || final === "l"))
      return numbers.split(";").forEach((number) => this.mode(+number, final === "h"));
    if (mark === "!" && final === "p") {
      Object.assign(this, { style: PLAIN, wraps: true, inserts: false, origin: false, cursor: true });
      return Object.assign(this, { top: 0, bottom: this.rows - 1, charsets: ["B", "B"], shift: 0 });
    }
    if (mark) return undefined;
    const given = numbers.split(";").map((number) => Math.min(parseInt(number, 10) || 0, 9999));
    const one = given[0] || 1;
    const row = (number) => (this.origin ? Math.min(this.top + number, this.bottom + 1) : number) - 1;
    switch (final) {
      case "A": return this.to(this.x, Math.max(this.y - one, this.y >= this.top ? this.top : 0));
      case "B": case "e": return this.to(this.x, Math.min(this.y + one, this.y <= this.bottom ? this.bottom : this.rows));
      case "C": case "a": return this.to(this.x + one, this.y);
      case "D": return this.to(this.x - one, this.y);
      case "E": return this.to(0, this.y + one);
      case "F": return this.to(0, this.y - one);
      case "G": case "`": return this.to(one - 1, this.y);
      case "H": case "f": return this.to((given[1] || 1) - 1, row(one));
      case "d": return this.to(this.x, row(one));
      case "I": return this.tab(one);
      case "Z": return this.tab(-one);
      case "J": return this.eraseScreen(given[0]);
      case "K": return this.erase(this.y, given[0] ? 0 : this.x, given[0] === 1 ? this.x : this.columns - 1);
      case "X": return this.erase(this.y, this.x, this.x + one - 1);
      case "@": return this.shiftCells(Math.min(one, this.columns - this.x));
      case "P": return this.shiftCells(-Math.min(one, this.columns - this.x));
      case "L": case "M":
        if (this.y < this.top || this.y > this.bottom) return undefined;
        this.scroll(final === "M" ? one : -one, this.y);
        return this.to(0, this.y);
      case "S": return this.scroll(one);
      case "T": return given.length < 2 && this.scroll(-one);
      case "b": for (let i = Math.min(one, this.columns * this.rows); i > 0; i--) this.print(this.last); return undefined;
      case "g": return given[0] === 3 ? (this.tabs = new Set()) : this.setTab(false);
      case "m": return (this.style = sgr(this.style, numbers));
      case "r": return this.region(one - 1, (given[1] || this.rows) - 1);
      case "s": return this.keep();
      case "u": return this.recall();
      case "h": case "l": if (given.includes(4)) this.inserts = final === "h";
    }
    return undefined;
  }

  region(top, bottom) {
    bottom = Math.min(bottom, this.rows - 1);
    if (top < bottom) Object.assign(this, { top, bottom }), this.to(0, this.origin ? top : 0);
  }

  erase(y, from, to) {
    const line = this.lines[y];
    const blank = this.blank(this.style);
    for (let x = from; x <= Math.min(to, this.columns - 1); x++) (line.text[x] = " "), (line.style[x] = blank.style[x]);
    if (line.text[from - 1] && line.text[from] === "") line.text[from - 1] = " ";
    if (line.text[to + 1] === "") line.text[to + 1] = " ";
    line.changed = true;
  }

  eraseScreen(what) {
    if (what > 2) return; // what has scrolled away is not kept here
    if (what !== 2) this.erase(this.y, what ? 0 : this.x, what ? this.x : this.columns - 1);
    for (let y = 0; y < this.rows; y++)
      if (what === 2 || (what ? y < this.y : y > this.y)) this.lines[y] = this.blank(this.style);
  }

  mode(number, on) {
    if (number === 6) (this.origin = on), this.to(0, on ? this.top : 0);
    else if (number === 7) this.wraps = on;
    else if (number === 25) this.cursor = on;
    else if (number === 1048) on ? this.keep() : this.recall();
    else if (number === 47 || number === 1047 || number === 1049) this.alternate(on, number === 1049);
  }

  alternate(on, keeping) {
    if (on === Boolean(this.other)) return;
    if (on && keeping) this.keep();
    const lines = on ? Array.from({ length: this.rows }, () => this.blank()) : this.other;
    this.other = on ? this.lines : null;
    this.lines = lines;
    for (const line of lines) line.changed = true;
    if (!on && keeping) this.recall();
  }

  // What is on that line, in runs of one style: [text, style, columns, whether the cursor is on it].
  runs(y) {
    const { text, style } = this.lines[y];
    const runs = [];
    let fresh = true;
    for (let x = 0; x < text.length; x++) {
      const columns = text[x + 1] === "" ? 2 : 1;
      const here = this.cursor && y === this.y && (x === this.x || x + columns - 1 === this.x);
      const code = text[x].codePointAt(0);
      // A character from another font may be of another width, so it gets a box of its own.
      const alone = here || columns === 2 || (code > 0x2ff && !(code >= 0x2500 && code < 0x25a0)) || text[x].length > 1;
      const run = runs.at(-1);
      if (text[x] === "") fresh = true;
      else if (run && !fresh && !alone && run[1] === style[x]) (run[0] += text[x]), run[2]++;
      else runs.push([text[x], style[x], columns, here, alone]), (fresh = alone);
    }
    return runs;
  }
}
