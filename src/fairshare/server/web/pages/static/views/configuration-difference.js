// Two texts side by side; in a narrow window the lines that are gone
// stand above those that are new.

import { sideBySide } from "../difference.js";
import { h } from "../document.js";
import { count } from "../format.js";

const MOST_ROWS = 2000;

export function drawDifference(lines) {
  const rows = sideBySide(lines);
  return h("div", { class: "difference", role: "table", "aria-label": "Difference", key: "difference" },
    rows.slice(0, MOST_ROWS).map((row, n) => row.skipped
      ? h("div", { class: "skipped", role: "row", key: `s${n}` }, h("span", { role: "cell" }, `${count(row.skipped)} ${row.skipped === 1 ? "line is" : "lines are"} the same`))
      : h("div", { class: `pair${row.left === row.right ? " same" : ""}`, role: "row", key: `r${n}` }, side(row.left, "left"), side(row.right, "right"))),
    rows.length > MOST_ROWS && h("p", { class: "pad soft", key: "more" }, `${count(rows.length - MOST_ROWS)} more lines differ.`));
}

function side(line, where) {
  if (!line) return h("div", { class: "side none", role: "cell" });
  const word = { gone: "gone", new: "new", same: null }[line.kind];
  return h("div", { class: `side ${line.kind} ${where}`, role: "cell" }, h("span", { class: "line-number" }, String(line[where])),
    h("span", { class: "sign" }, word && h("span", { class: "hidden-text" }, `${word}: `), h("span", { "aria-hidden": "true" }, { gone: "−", new: "+", same: " " }[line.kind])), h("code", {}, line.text || " "));
}
