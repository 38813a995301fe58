// The strip under the top bar: how full the cluster was as far as the server
// remembers, and the moment that the page shows. Dragging, a click, or the arrow keys choose it; it
// is in the address as `at`. Actions are off while it is past (store.moment !== null).

import { address } from "./address.js";
import { fill, h, svg } from "./document.js";
import { duration, instant, percent } from "./format.js";
import { shortcut } from "./keyboard.js";
import { store } from "./store.js";

const HEIGHT = 41;
const BASE = 28;
const LIVE_EDGE_PX = 6;
const STEPS_MS = [1e3, 5e3, 15e3, 30e3, 60e3, 300e3, 900e3, 1800e3, 3600e3, 7200e3, 14400e3, 28800e3];

export class Timeline {
  constructor() {
    this.data = null;
    this.dragging = false;
    this.clock = h("b", { class: "num" });
    this.said = h("span", { class: "faint" });
    this.dot = h("span", { class: "dot" });
    this.track = h("div", {
      class: "track", role: "slider", tabindex: "0", "aria-label": "Moment shown", own: true,
      on: {
        pointerdown: (event) => { if (this.data?.points.length) { this.dragging = true; this.track.setPointerCapture(event.pointerId); this.drag(event); } },
        pointermove: (event) => { if (this.dragging) this.drag(event); },
        pointerup: () => { this.dragging = false; },
        keydown: (event) => this.keydown(event),
      },
    });
    this.live = h("button", { class: "btn small", type: "button", title: "Live (l)", on: { click: () => address.set({ at: null }) } }, "Live");
    this.element = h("section", { class: "timeline", "aria-label": "Time" },
      h("div", { class: "when" }, this.dot, this.clock, this.said), this.track,
      h("div", { class: "ends" },
        h("button", { class: "icon", type: "button", "aria-label": "Back", title: "Back ([)", on: { click: () => this.step(-1) } }, "‹"),
        h("button", { class: "icon", type: "button", "aria-label": "Forward", title: "Forward (])", on: { click: () => this.step(1) } }, "›"),
        this.live));
    shortcut("[", "One step back in time", () => this.step(-1));
    shortcut("]", "One step forward in time", () => this.step(1));
    shortcut("l", "Live", () => address.set({ at: null }));
    address.onChange(() => this.draw());
    new ResizeObserver(() => this.draw()).observe(this.track);
    store.watch("/history?points=400", (entry) => { if (entry.data) { this.data = entry.data; this.draw(); } }, { every_ms: 10_000 });
    setInterval(() => { if (!document.hidden) this.drawClock(); }, 1000);
  }

  get range() {
    const to = Math.max(this.data?.now_ms ?? 0, Date.now());
    const from = this.data?.points[0]?.at_ms ?? to - 60_000;
    return [Math.min(from, to - 60_000), to];
  }

  drag(event) {
    const box = this.track.getBoundingClientRect();
    const [from, to] = this.range;
    const x = event.clientX - box.left;
    if (x > box.width - LIVE_EDGE_PX) address.set({ at: null });
    else this.show(from + (Math.max(0, x) / box.width) * (to - from));
  }

  show(at_ms) {
    const first = this.data?.points[0]?.at_ms ?? at_ms;
    address.set({ at: String(Math.round(Math.max(first, at_ms))) });
  }

  step(by) {
    const points = this.data?.points ?? [];
    const now = store.moment;
    if (by < 0) {
      const before = points.filter((point) => point.at_ms < (now ?? Infinity) - 1);
      if (before.length) this.show(before.at(-1).at_ms);
    } else if (now !== null) {
      const after = points.find((point) => point.at_ms > now + 1);
      if (after) this.show(after.at_ms); else address.set({ at: null });
    }
  }

  keydown(event) {
    const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (by) this.step(by);
    else if (event.key === "End") address.set({ at: null });
    else if (event.key === "Home" && this.data?.points.length) this.show(this.data.points[0].at_ms);
    else return;
    event.preventDefault();
  }

  drawClock() {
    const past = store.moment;
    const { state, since_ms } = store.connection;
    const words = { live: "live", stale: `silent for ${duration(Date.now() - since_ms)}`, disconnected: "not connected",
      connecting: "connecting", "signed-out": "signed out" };
    fill(this.clock, instant(past ?? Date.now()));
    fill(this.said, past !== null ? `${duration(Date.now() - past)} ago` : words[state]);
    this.dot.className = `dot ${past !== null ? "past" : state}`;
  }

  draw() {
    this.drawClock();
    const width = this.track.clientWidth;
    if (!width) return;
    const [from, to] = this.range;
    const x = (ms) => ((ms - from) / (to - from)) * width;
    const y = (ratio) => BASE - Math.min(1, ratio) * (BASE - 4);
    const points = this.data?.points ?? [];
    let line = "";
    points.forEach((point, n) => {
      line += n ? `H${x(point.at_ms).toFixed(1)}V${y(point.used_share).toFixed(1)}` : `M${x(point.at_ms).toFixed(1)} ${y(point.used_share).toFixed(1)}`;
    });
    if (line) line += `H${width}`;
    const at = store.moment === null ? width : x(store.moment);
    fill(this.track, svg("svg", { width, height: HEIGHT, "aria-hidden": "true" },
      line && svg("path", { d: `${line}V${BASE}H${x(points[0].at_ms).toFixed(1)}Z`, class: "full-area" }),
      line && svg("path", { d: line, class: "full-line" }),
      svg("path", { d: `M0 ${BASE}.5H${width}`, class: "base" }),
      clockMarks(from, to, width).map(([place, words]) => [
        svg("path", { d: `M${place.toFixed(1)} ${BASE}v3`, class: "base" }),
        svg("text", { x: place.toFixed(1), y: HEIGHT - 2, "text-anchor": "middle" }, words)]),
      at < width && svg("rect", { x: at, width: Math.max(0, width - at), height: HEIGHT, class: "later" }),
      svg("path", { d: `M${Math.max(1, Math.min(at, width - 1))} 0V${HEIGHT}`, class: store.moment === null ? "now" : "then" })));
    this.track.setAttribute("aria-valuemin", String(Math.round(from / 1000)));
    this.track.setAttribute("aria-valuemax", String(Math.round(to / 1000)));
    this.track.setAttribute("aria-valuenow", String(Math.round((store.moment ?? to) / 1000)));
    const shown = points.findLast((point) => point.at_ms <= (store.moment ?? to));
    this.track.setAttribute("aria-valuetext",
      `${store.moment === null ? "live" : instant(store.moment)}${shown ? `, cluster ${percent(shown.used_share)} used` : ""}`);
    this.track.title = this.data ? `The server remembers since ${instant(this.data.began_ms)}` : "";
  }
}

// Clock times at round places, about one for each 90 pixels: [[x, "14:30"], ...].
export function clockMarks(from, to, width) {
  const step = STEPS_MS.find((one) => (one / (to - from)) * width >= 90) ?? 86400e3;
  const zone = new Date(from).getTimezoneOffset() * 60_000;
  const marks = [];
  for (let ms = Math.ceil((from - zone) / step) * step + zone; ms < to; ms += step) {
    const place = ((ms - from) / (to - from)) * width;
    if (place > 24 && place < width - 30) marks.push([place, new Date(ms).toTimeString().slice(0, step < 60_000 ? 8 : 5)]);
  }
  return marks;
}
