// The bar of a queue: one row, one type of resource, all the words of the documents.
//
//   bar({unit, used, fair, min, steady, max, demand, active})   a node; amounts of one type
//       unit    what the whole width represents
//       used    filled; what lies beyond `fair` is hatched (borrowed)
//       fair    the black line: instantaneous fair share, or guaranteed capacity; dotted if idle
//       min     filled triangle above     steady  open triangle below     null leaves them out
//       demand  whisker, beyond used      max     end of the rail and a stroke
//       what lies between used and min(fair, demand) is owed and drawn in a warm pattern
//   meter(ratio, label)     a plain meter 0 to 1, for nodes and limits
//   barLegend(words)        the same bar drawn large with its words on it
//
// The hue comes from --hue of the row. Positions are parts of `unit`, so one markup serves any width.

import { h, svg } from "./document.js";

export function bar({ unit, used, fair = 0, min = null, steady = null, max = null, demand = null, active = true }) {
  const x = (value) => Math.min(100, (100 * value) / (unit || 1));
  const span = (from, to) => ({ left: `${x(from)}%`, width: `${Math.max(0, x(to) - x(from))}%` });
  const mine = fair > 0 ? Math.min(used, fair) : used;
  const due = active && demand !== null ? Math.min(demand, fair) : 0;
  const whisker = demand !== null && demand > Math.max(used, due) * 1.005 ? [Math.max(used, due), demand] : null;
  const part = (name, style) => h("i", { class: name, style });
  return h("span", { class: "bar", "aria-hidden": "true" },
    part("rail", { width: `${x(max ?? unit)}%` }),
    used > 0 && part("used", { width: `${Math.max(0.8, x(mine))}%` }),
    used > mine && part("over", span(mine, used)),
    due > used && part("gap", span(used, due)),
    whisker && part(`want${whisker[1] > unit ? " off" : ""}`, span(...whisker)),
    max !== null && max < unit && part("wall", { left: `${x(max)}%` }),
    min > 0 && part("min", { left: `${x(min)}%` }),
    steady > 0 && part("steady", { left: `${x(steady)}%` }),
    part(`fair${active && fair > 0 ? "" : " none"}`, { left: `${x(active && fair > 0 ? fair : steady ?? fair)}%` }),
    used > unit * 1.005 && h("span", { class: "clip" }, "»"));
}

export function meter(ratio, label) {
  const part = Math.max(0, Math.min(1, ratio || 0));
  return h("span", { class: "meter", role: "img", "aria-label": label }, h("i", { style: { width: `${100 * part}%` } }));
}

// words: {fair, min, steady, over}; min and steady may be null, as in the Capacity Scheduler.
export function barLegend(words) {
  const text = (x, y, said, strong = false, anchor = "middle") =>
    svg("text", { x, y, "text-anchor": anchor, class: strong ? "strong" : null }, said);
  const lead = (x, up) => svg("path", { d: `M${x} ${up ? 17 : 57}V${up ? 24 : 51}`, class: "lead" });
  return svg("svg", { viewBox: "0 0 640 74", preserveAspectRatio: "xMinYMid meet", role: "img", "aria-label": "How to read a row" },
    hatching("legend-over", "var(--f2)"), hatching("legend-owed", "var(--c-owed)"),
    svg("rect", { x: 1, y: 30, width: 392, height: 16, rx: 2, fill: "var(--rail)" }),
    svg("rect", { x: 1, y: 30, width: 150, height: 16, rx: 2, fill: "var(--f3)" }),
    svg("rect", { x: 151, y: 30, width: 79, height: 16, fill: "url(#legend-owed)" }),
    svg("path", { d: "M232 38h98M330 33v10M393 27v22", class: "whisker" }),
    svg("path", { d: "M230 20V54", class: "line" }),
    words.min && [svg("path", { d: "M114 23h12l-6 7z", fill: "var(--ink)" }), text(120, 13, words.min)],
    words.steady && [svg("path", { d: "M265 47l5 6h-10z", fill: "var(--surface)", stroke: "var(--ink-2)" }), text(268, 68, words.steady)],
    text(230, 13, words.fair, true), text(348, 13, "demand"), lead(330, true), text(44, 68, "used"), lead(44, false),
    text(188, 68, "owed"), lead(188, false), text(393, 68, "maximum", false, "end"),
    svg("rect", { x: 455, y: 30, width: 160, height: 16, rx: 2, fill: "var(--rail)" }),
    svg("rect", { x: 455, y: 30, width: 70, height: 16, rx: 2, fill: "var(--f2)" }),
    svg("rect", { x: 525, y: 30, width: 60, height: 16, fill: "url(#legend-over)" }),
    svg("path", { d: "M525 20V54", class: "line" }),
    text(556, 68, words.over), lead(556, false), text(500, 13, "a queue that borrows"));
}

// A pattern of slanting stripes for SVG, the same drawing as .over and .gap in parts.css.
export function hatching(id, colour) {
  return svg("pattern", { id, width: 6, height: 6, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" },
    svg("rect", { width: 6, height: 6, fill: colour, opacity: 0.3 }), svg("rect", { width: 3, height: 6, fill: colour }));
}
