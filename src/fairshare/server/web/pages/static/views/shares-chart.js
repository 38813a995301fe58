// The chart of a queue's shares over time: demand, fair share, entitled (the
// smaller of both), allocated (used), guaranteed. The gap between entitled and allocated is hatched.
//
// Dragging over it zooms (the span is in the address as from and to), the wheel and the buttons
// zoom and pan, a double click shows all. A click goes to that moment. Arrow keys move the cursor,
// Enter goes there. A point holds until the next one.

import { address } from "../address.js";
import { hatching } from "../bar.js";
import { fill, h, svg } from "../document.js";
import { hueOf } from "../families.js";
import { amount, count, duration, instant, memory } from "../format.js";
import { store } from "../store.js";
import { clockMarks } from "../timeline.js";

const HEIGHT = 190;
const EDGE = { left: 52, right: 104, top: 12, bottom: 20 };
const SPANS = [["5 min", 300e3], ["1 h", 3600e3], ["all", null]];
const LINES = [["fair_share", "fair-line"], ["demand", "demand-line"], ["guaranteed", "min-line"], ["used", "used-line"], ["entitled", "entitled-line"]];

export class SharesChart {
  constructor() {
    this.head = h("div", { class: "chart-head" });
    this.plot = h("div", { class: "plot", tabindex: "0", role: "group", "aria-label": "Shares over time", own: true, on: {
      pointerdown: (event) => this.press(event), pointermove: (event) => this.move(event), pointerup: (event) => this.release(event),
      pointerleave: () => { if (!this.drag) { this.cursor = null; this.draw(); } }, dblclick: () => address.set({ from: null, to: null }),
      keydown: (event) => this.keydown(event) } });
    this.plot.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
    this.told = h("p", { class: "chart-told", "aria-live": "off" });
    this.element = h("figure", { class: "chart" }, this.head, this.plot, this.told);
    this.entry = { data: null, error: null };
    this.watching = null;
    this.stop = null;
    this.cursor = null;
    this.drag = null;
    this.resizing = new ResizeObserver(() => this.draw());
    this.resizing.observe(this.plot);
  }

  close() { this.stop?.(); this.resizing.disconnect(); }

  show(queue, context) {
    this.queue = queue;
    this.context = context;
    const since = address.get("from");
    const until = address.get("to");
    const path = `/history?queue=${encodeURIComponent(queue.name)}&points=500${since ? `&since=${since}` : ""}${until ? `&until=${until}` : ""}`;
    if (path !== this.watching) {
      const other = this.shownQueue !== queue.name;
      this.stop?.();
      this.watching = path;
      this.shownQueue = queue.name;
      if (other) this.entry = { data: null, error: null };
      this.stop = store.watch(path, (entry) => { if (entry.data || entry.error) { this.entry = entry; this.draw(); } }, { every_ms: 2000 });
    }
    this.draw();
  }

  // The span that is shown, in milliseconds.
  get span() {
    const points = this.entry.data?.points ?? [];
    const to = Number(address.get("to")) || Math.max(this.entry.data?.now_ms ?? 0, Date.now());
    const from = Number(address.get("from")) || Math.min(points[0]?.at_ms ?? to, to - 30_000);
    return [from, to];
  }

  get width() { return Math.max(240, this.plot.clientWidth); }
  timeAt(event) {
    const [from, to] = this.span;
    const x = event.clientX - this.plot.getBoundingClientRect().left - EDGE.left;
    return from + Math.max(0, Math.min(1, x / (this.width - EDGE.left - EDGE.right))) * (to - from);
  }

  press(event) {
    if (event.button) return;
    this.plot.setPointerCapture(event.pointerId);
    this.drag = { from: this.timeAt(event), to: this.timeAt(event), x: event.clientX, last: event.clientX, pan: event.shiftKey };
  }

  move(event) {
    this.cursor = this.timeAt(event);
    if (this.drag?.pan) this.pan(event);
    else if (this.drag) this.drag.to = this.cursor;
    this.draw();
  }

  pan(event) {
    const [from, to] = this.span;
    const by = ((this.drag.last - event.clientX) / (this.width - EDGE.left - EDGE.right)) * (to - from);
    this.drag.last = event.clientX;
    this.zoomTo(from + by, to + by);
  }

  release(event) {
    const drag = this.drag;
    this.drag = null;
    if (!drag || drag.pan) return;
    if (Math.abs(event.clientX - drag.x) < 5) this.goTo(drag.from);
    else this.zoomTo(Math.min(drag.from, drag.to), Math.max(drag.from, drag.to));
    this.draw();
  }

  goTo(at_ms) {
    if (Date.now() - at_ms < 1500) address.set({ at: null });
    else address.set({ at: String(Math.round(at_ms)) });
  }

  wheel(event) {
    if (!event.ctrlKey && !event.shiftKey) return; // the page scrolls
    event.preventDefault();
    const [from, to] = this.span;
    const by = (event.deltaY || event.deltaX) > 0 ? 1 : -1;
    if (event.shiftKey) { const step = 0.15 * by * (to - from); this.zoomTo(from + step, to + step); return; }
    const middle = this.timeAt(event);
    const factor = by > 0 ? 1.4 : 1 / 1.4;
    this.zoomTo(middle - (middle - from) * factor, middle + (to - middle) * factor);
  }

  zoomTo(from, to) {
    const now = Math.max(this.entry.data?.now_ms ?? 0, Date.now());
    const width = Math.max(2000, to - from);
    const end = Math.min(now, to);
    address.set({ from: String(Math.round(end - width)), to: end >= now - 1000 && !address.get("to") ? null : String(Math.round(end)) });
  }

  keydown(event) {
    const [from, to] = this.span;
    const step = (to - from) / 50;
    if (event.key === "ArrowLeft" || event.key === "ArrowRight") {
      this.cursor = Math.max(from, Math.min(to, (this.cursor ?? to) + (event.key === "ArrowLeft" ? -step : step)));
      this.draw();
    } else if (event.key === "Enter" && this.cursor !== null) this.goTo(this.cursor);
    else if (event.key === "+" || event.key === "-") {
      const middle = this.cursor ?? (from + to) / 2;
      const factor = event.key === "-" ? 1.4 : 1 / 1.4;
      this.zoomTo(middle - (middle - from) * factor, middle + (to - middle) * factor);
    } else return;
    event.preventDefault();
  }

  // Drawing.

  draw() {
    if (!this.queue) return;
    const type = this.queue.share.dominant;
    const now = Date.now();
    const zoomed = address.get("from") !== null;
    fill(this.head, h("span", {}, `Shares over time, ${type === "memory-mb" ? "memory" : type}`),
      h("div", { class: "seg", role: "group", "aria-label": "Span" }, SPANS.map(([words, ms]) => h("button", { type: "button",
        "aria-pressed": String(ms === null ? !zoomed : zoomed && !address.get("to") && Math.abs(now - Number(address.get("from")) - ms) < ms / 5),
        on: { click: () => address.set({ from: ms === null ? null : String(Date.now() - ms), to: null }) } }, words))));
    const points = this.entry.data?.points ?? [];
    if (this.entry.error && !points.length) { fill(this.told, this.entry.error.message); return; }
    this.drawPlot(points, type);
    this.tell(points, type);
  }

  drawPlot(points, type) {
    const { width } = this;
    const [from, to] = this.span;
    const innerWidth = width - EDGE.left - EDGE.right;
    const innerHeight = HEIGHT - EDGE.top - EDGE.bottom;
    const most = Math.max(1, ...points.flatMap((point) => [point.used[type], point.fair_share[type], point.guaranteed[type], Math.min(point.demand[type], 2 * Math.max(point.fair_share[type], point.used[type], 1))]));
    const steps = niceSteps(most, type);
    const top = steps.at(-1);
    const x = (ms) => EDGE.left + Math.max(0, Math.min(1, (ms - from) / (to - from))) * innerWidth;
    const y = (value) => EDGE.top + (1 - Math.min(1, value / top)) * innerHeight;
    const hue = hueOf(this.queue.name);
    const value = (point, line) => point[line][type];
    const step = (line) => points.map((point, n) => n ? `H${x(point.at_ms).toFixed(1)}V${y(value(point, line)).toFixed(1)}`
      : `M${x(point.at_ms).toFixed(1)} ${y(value(point, line)).toFixed(1)}`).join("") + (points.length ? `H${x(to).toFixed(1)}` : "");
    const bottom = EDGE.top + innerHeight;
    const spans = points.map((point, n) => ({ point, a: x(point.at_ms), b: x(points[n + 1]?.at_ms ?? to) }));
    const gap = spans.filter(({ point }) => point.owed[type] > 0).map(({ point, a, b }) =>
      `M${a.toFixed(1)} ${y(value(point, "entitled")).toFixed(1)}H${b.toFixed(1)}V${y(value(point, "used")).toFixed(1)}H${a.toFixed(1)}Z`).join("");
    const cursor = this.drag && !this.drag.pan && Math.abs(x(this.drag.to) - x(this.drag.from)) > 4 ? null : this.cursor;
    const bare = points.every((point) => !value(point, "guaranteed"));
    fill(this.plot, svg("svg", { height: HEIGHT, viewBox: `0 0 ${width} ${HEIGHT}`, role: "img", "aria-label": `Shares over time of ${this.queue.name}: ${this.summary(points, type)}` },
      svg("defs", {}, hatching("chart-owed", "var(--c-owed)")),
      steps.map((one) => [svg("path", { d: `M${EDGE.left} ${y(one).toFixed(1)}H${width - EDGE.right}`, class: "grid" }),
        svg("text", { x: EDGE.left - 6, y: y(one) + 4, "text-anchor": "end" }, type === "memory-mb" ? memory(one) : count(one))]),
      clockMarks(from, to, innerWidth).map(([place, words]) => [svg("path", { d: `M${(EDGE.left + place).toFixed(1)} ${bottom}v3`, class: "tick" }),
        svg("text", { x: (EDGE.left + place).toFixed(1), y: HEIGHT - 4, "text-anchor": "middle" }, words)]),
      points.length > 0 && [
        svg("path", { d: `${step("used")}V${bottom}H${x(points[0].at_ms).toFixed(1)}Z`, class: "used-area", fill: hue }),
        gap && svg("path", { d: gap, fill: "url(#chart-owed)", class: "gap-area" }),
        LINES.filter(([line]) => line !== "guaranteed" || !bare).map(([line, name]) => svg("path", { d: step(line), class: name, stroke: line === "used" ? hue : null })),
        this.ends(points.at(-1), type, y, bottom, hue, bare).map(([words, place, strong, fillWith]) => svg("text", { class: `end${strong ? " strong" : ""}`, x: width - EDGE.right + 7, y: place + 4, style: fillWith ? { fill: fillWith } : null }, words))],
      this.drag && !this.drag.pan && svg("rect", { class: "choice", x: Math.min(x(this.drag.from), x(this.drag.to)), y: EDGE.top, width: Math.abs(x(this.drag.to) - x(this.drag.from)), height: innerHeight }),
      store.moment !== null && store.moment >= from && store.moment <= to && svg("path", { d: `M${x(store.moment).toFixed(1)} ${EDGE.top}V${bottom}`, class: "then-line" }),
      cursor !== null && svg("path", { d: `M${x(cursor).toFixed(1)} ${EDGE.top}V${bottom}`, class: "cursor-line" })));
  }

  // The names of the lines at their right ends, pushed apart: [words, y, strong, colour].
  ends(point, type, y, bottom, hue, bare) {
    const short = (value) => type === "memory-mb" ? memory(value) : count(value);
    const { words } = this.context;
    const found = [["demand", point.demand[type], false, null], ["entitled", point.entitled[type], true, null], ["allocated", point.used[type], true, hue]];
    if (point.fair_share[type] !== point.entitled[type]) found.push([words.fair, point.fair_share[type], false, null]);
    if (!bare && words.kind !== "capacity") found.push([words.guaranteed, point.guaranteed[type], false, null]);
    const placed = found.map(([words, value, strong, colour]) => [`${words} ${short(value)}`, y(value), strong, colour]).sort((a, b) => a[1] - b[1]);
    for (let n = 1; n < placed.length; n += 1) placed[n][1] = Math.max(placed[n][1], placed[n - 1][1] + 13);
    // Who would stand below the axis pushes the others up, so far as they are in the way.
    placed.at(-1)[1] = Math.min(placed.at(-1)[1], bottom);
    for (let n = placed.length - 2; n >= 0; n -= 1) placed[n][1] = Math.min(placed[n][1], placed[n + 1][1] - 13);
    return placed;
  }

  summary(points, type) {
    const last = points.at(-1);
    if (!last) return "nothing is remembered yet";
    return `demand ${amount(last.demand[type], type)}, entitled ${amount(last.entitled[type], type)}, allocated ${amount(last.used[type], type)}`;
  }

  tell(points, type) {
    const began = this.entry.data?.began_ms;
    const at = this.cursor ?? store.moment;
    const point = at === null ? null : points.findLast((one) => one.at_ms <= at);
    if (point) {
      fill(this.told, h("b", {}, instant(at)), `: demand ${amount(point.demand[type], type)}, entitled ${amount(point.entitled[type], type)}, `,
        `allocated ${amount(point.used[type], type)}, guaranteed ${amount(point.guaranteed[type], type)}`,
        point.owed[type] > 0 && `; owed ${amount(point.owed[type], type)}`, ". ",
        this.cursor !== null && h("span", { class: "faint" }, "Click to go there, drag to zoom."));
    } else if (began) {
      fill(this.told, points.length ? "" : "Nothing is remembered of this queue yet. ", h("span", { class: "faint" },
        `Remembered since ${instant(began)} (${duration(Date.now() - began)}), when this server started. Hatched: owed, the gap between entitled and allocated.`));
    }
  }
}

// 0, and three to five round values up to at least the largest.
export function niceSteps(most, type) {
  const unit = type === "memory-mb" ? (most >= 1048576 ? 1048576 : most >= 1024 ? 1024 : 1) : 1;
  const rough = most / unit / 4;
  const power = 10 ** Math.floor(Math.log10(Math.max(rough, 1e-9)));
  let step = [1, 2, 2.5, 5, 10].map((factor) => factor * power).find((one) => one >= rough) ?? 1;
  if (type !== "memory-mb") step = Math.max(1, Math.ceil(step));
  const steps = [];
  for (let value = 0; value < most / unit + step; value += step) steps.push(value * unit);
  return steps;
}
