// How problems of a draft are shown: what is wrong, in which line and
// queue, what Hadoop does there.

import { h } from "../document.js";
import { count } from "../format.js";

export function problemCounts(problems) {
  const errors = problems.filter((one) => one.severity === "error").length;
  return { errors, others: problems.length - errors };
}

export function drawProblem(one, goTo) {
  return h("li", { class: `problem ${one.severity}`, key: `${one.rule} ${one.line} ${one.message}` },
    h("span", { class: "severity" }, one.severity),
    h("div", {}, h("p", {}, one.message), h("p", { class: "faint small" },
      one.queue && `${one.queue} · `, one.line > 0 && (goTo ? h("button", { class: "link", type: "button", on: { click: () => goTo(one) } }, `line ${one.line}`) : `line ${one.line}`), one.line > 0 && " · ",
      h("code", { class: "mono" }, one.rule), one.hadoop && ` · Hadoop ${one.hadoop}`)));
}

export function drawProblems(problems, fault, goTo) {
  if (fault) return h("p", { class: "pad fault" }, fault.message);
  if (!problems.length) return h("p", { class: "pad soft" }, h("b", {}, "No problem. "), "Every rule that the command fairshare lint knows was asked.");
  const { errors, others } = problemCounts(problems);
  return [h("p", { class: "told" }, errors ? `${count(errors)} ${errors === 1 ? "error keeps" : "errors keep"} it from being used; ` : "It can be used; ", `${count(others)} ${others === 1 ? "thing is" : "things are"} hardly meant, or without effect.`),
    h("ul", { class: "problems" }, problems.map((one) => drawProblem(one, goTo)))];
}
