// Recordings (asciicast v2) and their player: `new Player(cast(text)).element` is all there is to it.

const SPEEDS = [0.25, 0.5, 1, 2, 4, 8];
const PAUSE = 1; // "skip pauses" passes over more than so many seconds of nothing
const CHECKPOINT = 40000; // characters of output between two states that a jump can start from

// {columns, rows, events: [[seconds, kind, data]], seconds, note}; what can't be read is left out and the note says so.
function cast(text) {
  const lines = text.split("\n");
  const whole = lines.at(-1) === "";
  if (whole) lines.pop();
  const read = (line) => { try { return JSON.parse(line); } catch { return undefined; } };
  const head = read(lines[0] ?? "");
  const headed = head && typeof head === "object" && !Array.isArray(head);
  const notes = [];
  if (!headed) notes.push(text ? "its first line is no header" : "it is empty");
  else if (head.version !== 2) notes.push(`it is of version ${head.version}, not 2`);
  const events = [];
  let [last, bad] = [0, 0];
  lines.slice(headed || head === undefined ? 1 : 0).forEach((line, at, all) => {
    const event = read(line);
    const fits = Array.isArray(event) && Number.isFinite(event[0]) && typeof event[2] === "string";
    if (fits) events.push([(last = Math.max(last, event[0])), event[1], event[2]]);
    else if (at === all.length - 1 && !whole) notes.push("it is cut off in the middle of an event");
    else if (line.trim()) bad++;
  });
  if (bad) notes.push(`${bad} of its lines can't be read`);
  const number = (value, other) => (value > 0 && Number.isFinite(value) ? value : other);
  return { columns: number(head?.width, 80), rows: number(head?.height, 24), events, seconds: last, note: notes.join("; ") };
}

const clock = (seconds) => {
  const tenths = Math.floor(seconds * 10 + 1e-6);
  const rest = `${String(Math.floor((tenths % 600) / 10)).padStart(2, "0")}.${tenths % 10}`;
  return `${Math.floor(tenths / 600)}:${rest}`;
};

class Player {
  constructor(recording, title = "Recording") {
    Object.assign(this, { recording, speed: 1, playing: null, time: 0, next: 0, skips: false, fed: 0 });
    this.screen = new Terminal(recording.columns, recording.rows);
    this.checkpoints = [{ next: 0, state: this.screen.save() }];
    this.build(title);
    this.seek(0);
  }

  build(title) {
    const make = (name, properties) => Object.assign(document.createElement(name), properties);
    this.element = make("div", { className: "player" });
    this.element.setAttribute("role", "group");
    this.element.setAttribute("aria-label", `${title}, player`);
    this.glass = make("div", { className: "glass", tabIndex: 0 });
    this.glass.setAttribute("role", "group");
    this.glass.setAttribute("aria-label", "Terminal");
    this.button = make("button", { type: "button", className: "play", onclick: () => this.toggle() });
    this.slider = make("input", { type: "range", min: 0, max: this.recording.seconds || 1, step: "any", value: 0 });
    this.slider.setAttribute("aria-label", "Position");
    this.slider.oninput = () => this.seek(+this.slider.value);
    this.clock = make("span", { className: "clock" });
    this.choice = make("select", { onchange: () => (this.speed = +this.choice.value) });
    this.choice.setAttribute("aria-label", "Speed");
    for (const speed of SPEEDS) this.choice.append(make("option", { value: speed, textContent: `${speed}×` }));
    this.choice.value = 1;
    const skip = make("label", { className: "skip" });
    this.skip = make("input", { type: "checkbox", onchange: () => (this.skips = this.skip.checked) });
    skip.append(this.skip, "skip pauses");
    const controls = make("div", { className: "controls" });
    controls.append(this.button, this.slider, this.clock, this.choice, skip);
    const frame = make("div", { className: "frame" });
    frame.append(this.glass, controls);
    this.element.append(frame);
    if (this.recording.note) this.element.append(make("p", { className: "note", textContent: `This recording: ${this.recording.note}.` }));
    this.element.addEventListener("keydown", (event) => this.key(event));
    new ResizeObserver(() => this.fit()).observe(this.element);
    this.mark();
  }

  key(event) {
    const native = event.target !== this.glass && event.target !== this.button;
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const steps = { ArrowLeft: -5, ArrowRight: 5, ",": -0.1, ".": 0.1, Home: -Infinity, End: Infinity };
    if (event.key === " " && event.target === this.glass) this.toggle();
    else if (event.key in steps && !native) this.seek(this.time + steps[event.key]);
    else if (event.key === "<" || event.key === ">") this.faster(event.key === ">" ? 1 : -1);
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  faster(step) {
    this.speed = SPEEDS[within(SPEEDS.indexOf(this.speed) + step, 0, SPEEDS.length - 1)];
    this.choice.value = this.speed;
  }

  toggle() {
    if (this.playing) return this.pause();
    if (this.time >= this.recording.seconds) this.seek(0);
    const turn = (this.playing = {}); // who pauses and plays within one frame has a new turn, and the old one ends
    this.mark();
    let before = performance.now();
    const tick = (now) => {
      if (this.playing !== turn) return undefined;
      if (!this.element.isConnected) return this.pause();
      this.advance((Math.max(0, now - before) / 1000) * this.speed);
      before = now;
      if (this.time < this.recording.seconds) return requestAnimationFrame(tick);
      return this.pause();
    };
    return requestAnimationFrame(tick);
  }

  play() {
    if (!this.playing) this.toggle();
  }

  pause() {
    this.playing = null;
    this.mark();
  }

  advance(seconds) {
    const upcoming = this.recording.events[this.next];
    const jumps = this.skips && upcoming && upcoming[0] - this.time > PAUSE;
    this.seek(jumps ? upcoming[0] : this.time + seconds);
  }

  // Shows the screen as it was then: from the nearest state that is known, by what came after it.
  seek(time) {
    time = within(time, 0, this.recording.seconds);
    const { events } = this.recording;
    if (time < this.time) {
      let i = this.checkpoints.length - 1;
      while (i && events[this.checkpoints[i].next - 1][0] > time) i--;
      this.screen.restore(this.checkpoints[i].state);
      this.next = this.checkpoints[i].next;
      this.fed = 0;
    }
    while (this.next < events.length && events[this.next][0] <= time) this.feed(events[this.next++]);
    this.time = time;
    this.draw();
  }

  feed([, kind, data]) {
    if (kind === "r") this.screen.resize(...data.split("x").map(Number));
    if (kind !== "o") return;
    this.screen.write(data);
    this.fed += data.length;
    if (this.fed < CHECKPOINT || this.next <= this.checkpoints.at(-1).next) return;
    this.fed = 0;
    this.checkpoints.push({ next: this.next, state: this.screen.save() });
  }

  draw() {
    const { screen } = this;
    while (this.glass.children.length > screen.rows) this.glass.lastChild.remove();
    while (this.glass.children.length < screen.rows) this.glass.append(document.createElement("div"));
    if (this.columns !== screen.columns) this.fit();
    screen.lines.forEach((line, y) => {
      if (!line.changed && y !== this.cursorLine && y !== screen.y) return;
      line.changed = false;
      this.glass.children[y].replaceChildren(...screen.runs(y).map(cell));
    });
    this.cursorLine = screen.y;
    this.slider.value = this.time;
    this.clock.textContent = `${clock(this.time)} / ${clock(this.recording.seconds)}`;
    this.slider.setAttribute("aria-valuetext", this.clock.textContent);
  }

  // The terminal is as wide as the page lets it be, and never wider than is good to read.
  fit() {
    this.columns = this.screen.columns;
    const room = this.element.clientWidth - 26;
    if (room > 0) this.glass.style.fontSize = `${within(room / this.columns / 0.605, 5, 13)}px`;
  }

  mark() {
    this.button.textContent = this.playing ? "❚❚" : "▶";
    this.button.setAttribute("aria-label", this.playing ? "Pause" : "Play");
    this.element.classList.toggle("playing", Boolean(this.playing));
  }
}

function cell([text, style, columns, cursor, alone]) {
  const node = painted(text, style);
  if (!alone) return node;
  const box = node.nodeType === Node.TEXT_NODE ? document.createElement("span") : node;
  if (box !== node) box.append(node);
  box.classList.add(columns === 2 ? "two" : "one");
  if (cursor) box.classList.add("cursor");
  return box;
}

// A button that becomes the player; `read` has the recording's text when it is wanted.
function recording(title, about, read) {
  const box = make("div", { class: "recording" });
  const button = make("button", { type: "button", "aria-label": `Play recording ${title}`, click: open },
    make("span", { "aria-hidden": "true" }, "▶"), make("span", { class: "title" }, title), make("span", { class: "dim" }, about));
  async function open() {
    let player;
    try {
      player = new Player(cast(await read()), title);
    } catch (error) {
      return button.after(make("p", { class: "note" }, `This recording can't be read: ${error}`));
    }
    box.replaceChildren(make("p", { class: "dim" }, title), player.element);
    box.player = player;
    player.button.focus();
    if (!matchMedia("(prefers-reduced-motion: reduce)").matches) player.play();
    return undefined;
  }
  box.append(button);
  return box;
}
