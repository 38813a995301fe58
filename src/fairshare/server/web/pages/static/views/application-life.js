// The picture of an application's life: phases, reservations, its containers
// as spans, how many there were, all over one axis of time. Each cause has a pattern and a word, too.

import { h, svg } from "../document.js";
import { hatching } from "../bar.js";
import { count, duration, instant } from "../format.js";
import { store } from "../store.js";
import { clockMarks } from "../timeline.js";

const LABEL = 92;
const LANE = 7;
const MOST_LANES = 16;
const CURVE = 44;
const PHASES = { held: "held back", queued: "queued", running: "running" };
const KINDS = [["running", "runs"], ["succeeded", "succeeded"], ["failed", "failed"], ["preempted", "preempted"], ["stopped", "stopped"]];

export function drawLife(life, hue, width) {
  width = Math.max(320, width);
  const to = Math.max(life.finished_ms ?? life.now_ms, life.submitted_ms + 50);
  const from = life.submitted_ms;
  const x = (ms) => LABEL + ((Math.max(from, Math.min(to, ms)) - from) / (to - from)) * (width - LABEL - 8);
  const lanes = packed(life.containers, to);
  const shown = lanes.slice(0, MOST_LANES);
  const hidden = lanes.slice(MOST_LANES).reduce((sum, lane) => sum + lane.length, 0) + life.left_out;
  const parts = [];
  let y = 4;
  const label = (words, at) => parts.push(svg("text", { x: 4, y: at + 11, class: "lane-name" }, words));
  label("Phase", y);
  for (const phase of life.phases) {
    const [a, b] = [x(phase.since_ms), x(phase.until_ms ?? to)];
    parts.push(svg("g", { class: `phase ${phase.what}` }, svg("title", {}, `${PHASES[phase.what]} ${spanWords(phase, to)}`),
      svg("rect", { x: a, y, width: Math.max(1, b - a), height: 14, rx: 2, fill: phase.what === "held" ? "url(#life-held)" : null }),
      b - a > 58 && svg("text", { x: a + 5, y: y + 11 }, PHASES[phase.what])));
  }
  y += 22;
  if (life.reservations.length) {
    label("Reserved", y);
    for (const one of life.reservations) {
      const [a, b] = [x(one.since_ms), x(one.until_ms ?? to)];
      parts.push(svg("g", { class: "reservation" }, svg("title", {}, `${one.node} kept free for it ${spanWords(one, to)}`), svg("rect", { x: a, y: y + 3, width: Math.max(2, b - a), height: 8, rx: 2 })));
    }
    y += 20;
  }
  if (life.running.length > 1 && lanes.length > 1) {
    const most = Math.max(...life.running.map(([, n]) => n));
    const up = (n) => y + CURVE - (n / most) * (CURVE - 4);
    let line = `M${x(life.running[0][0])} ${y + CURVE}`;
    for (const [at, n] of life.running) line += `H${x(at).toFixed(1)}V${up(n).toFixed(1)}`;
    label("At a time", y);
    parts.push(svg("text", { x: 4, y: y + 25, class: "lane-name" }, `most ${count(most)}`),
      svg("path", { d: `${line}H${x(to).toFixed(1)}V${y + CURVE}Z`, class: "life-curve" }, svg("title", {}, `at most ${count(most)} containers at a time`)));
    y += CURVE + 10;
  }
  if (shown.length) {
    label("Each", y);
    shown.forEach((lane, n) => {
      for (const one of lane) parts.push(containerBar(one, x, y + n * LANE, to));
    });
    y += shown.length * LANE + 8;
  }
  for (const mark of life.marks) {
    const at = x(mark.at_ms);
    parts.push(svg("g", { class: "life-mark" }, svg("title", {}, `${markWords(mark)}, ${instant(mark.at_ms)}`),
      svg("path", { d: `M${at} 2V${y}` }), svg("path", { d: `M${at} 0l4 4-4 4-4-4z`, class: "diamond" })));
  }
  const axis = y + 2;
  parts.push(svg("path", { d: `M${LABEL} ${axis}H${width - 8}`, class: "life-axis" }));
  for (const [place, words] of clockMarks(from, to, width - LABEL - 8)) {
    parts.push(svg("path", { d: `M${LABEL + place} ${axis}v4`, class: "life-axis" }), svg("text", { x: LABEL + place, y: axis + 15, "text-anchor": "middle", class: "lane-name" }, words));
  }
  const total = duration(to - from);
  return [h("header", {}, h("h2", {}, "From submission to end"), h("span", { class: "soft small" }, `${instant(from)} – ${endWords(life.finished_ms, to)} (${total})`), legend(life, hue)),
    h("div", { class: "life-plot", style: { "--hue": hue } }, svg("svg", { width, height: axis + 20, viewBox: `0 0 ${width} ${axis + 20}`, role: "img", "aria-label": words(life, total) },
      svg("defs", {}, hatching("life-preempted", "var(--c-owed)"), hatching("life-held", "var(--warn)")), parts)),
    hidden > 0 && h("p", { class: "faint small pad-line" }, `${count(hidden)} more containers stand in the list below, not in the picture.`)];
}

function containerBar(one, x, y, to) {
  const [a, b] = [x(one.allocated_ms), x(one.finished_ms ?? to)];
  const kind = ["out of memory", "timed out"].includes(one.outcome) ? "failed" : one.outcome === "starting" ? "running" : one.outcome === "ended" ? "stopped" : one.outcome;
  const what = one.task ?? (one.master ? "the driver" : "a container");
  return svg("g", { class: `span ${kind}` },
    svg("title", {}, `${what}${one.attempt > 1 ? `, attempt ${one.attempt}` : ""} on ${one.node}: ${one.outcome} ${spanWords({ since_ms: one.allocated_ms, until_ms: one.finished_ms }, to)}`),
    svg("rect", { x: a, y, width: Math.max(1.5, b - a), height: LANE - 2, rx: 1, fill: kind === "preempted" ? "url(#life-preempted)" : null }),
    one.attempt > 1 && svg("path", { d: `M${a} ${y}v${LANE - 2}`, class: "retry" }));
}

// Spans into as few lanes as it takes, the earliest first: none covers another.
function packed(spans, to) {
  const lanes = [];
  for (const one of [...spans].sort((a, b) => a.allocated_ms - b.allocated_ms)) {
    const lane = lanes.find((those) => (those.at(-1).finished_ms ?? to + 1) <= one.allocated_ms);
    if (lane) lane.push(one); else lanes.push([one]);
  }
  return lanes;
}

function spanWords(span, to) {
  return `${instant(span.since_ms)}–${endWords(span.until_ms, to)} (${duration((span.until_ms ?? to) - span.since_ms)})`;
}

// What has not ended goes on until now, or until the moment that is looked at.
function endWords(until_ms, to) {
  return until_ms || store.moment !== null ? instant(until_ms || to) : "now";
}

function markWords(mark) {
  return { moved: `moved to ${mark.what}`, priority: `priority ${mark.what}`, attempt: `attempt ${mark.what} began` }[mark.kind] ?? mark.kind;
}

function legend(life, hue) {
  const there = new Set(life.containers.map((one) => one.outcome));
  const retried = life.containers.some((one) => one.attempt > 1);
  return h("div", { class: "right life-legend", style: { "--hue": hue } }, KINDS.filter(([kind]) => there.has(kind)).map(([kind, word]) => h("span", { key: kind }, h("i", { class: `key ${kind}` }), word)),
    life.reservations.length > 0 && h("span", {}, h("i", { class: "key reserved" }), "a node kept free"), retried && h("span", {}, h("i", { class: "key retried" }), "retried"));
}

function words(life, total) {
  const phases = life.phases.map((phase) => PHASES[phase.what]).join(", then ");
  return `Life of ${total}: ${phases}; ${count(life.containers.length + life.left_out)} containers, ${count(life.reservations.length)} reservations. The list of containers has the same as a table.`;
}
