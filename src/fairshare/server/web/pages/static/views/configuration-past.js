// What the page of the configuration shows of a past moment: the version
// that was in force then, its text, and what is different now. Nothing is staged or applied there.

import { difference, changesOf } from "../difference.js";
import { h } from "../document.js";
import { count, instant } from "../format.js";
import { drawDifference } from "./configuration-difference.js";

// `texts` are the versions whose text is kept, the newest first; `text` that of the one in force then,
// undefined while it is read.
export function versionAt(texts, at_ms) { return texts.find((one) => one.at_ms <= at_ms) ?? null; }

export function drawPast(found, then, text, at_ms) {
  const head = (...words) => h("section", { class: "card application-head", key: "head" },
    h("div", { class: "title" }, h("h1", {}, "Configuration"), h("span", { class: "mono faint small ell" }, found.file)), h("p", { class: "verdict" }, words));
  if (!then) return [head(h("b", {}, "The text of that moment is not kept. "), "What is in force now is shown when you go back to live.")];
  const lines = text === undefined ? [] : difference(text, found.text);
  const changes = changesOf(lines);
  return [
    head(h("b", {}, `Version ${then.version} was in force at ${instant(at_ms)}`), ` since ${instant(then.at_ms)}`, then.user ? `, applied by ${then.user}` : ", read from the file", then.note && ` (“${then.note}”)`, ". ",
      text === undefined ? "" : changes ? `${count(changes)} ${changes === 1 ? "line is" : "lines are"} different in version ${found.version}, which is in force now.` : "The same text is in force now."),
    h("section", { class: "card grow", key: "then", "aria-label": "Configuration of that moment" },
      text === undefined ? h("p", { class: "pad faint" }, "…")
        : changes ? [h("div", { class: "difference-head" }, h("span", {}, `Version ${then.version}, in force then`), h("span", {}, `Version ${found.version}, in force now`)), drawDifference(lines)]
          : h("pre", { class: "said then-text", tabindex: "0", "aria-label": "Text of that version" }, text)),
  ];
}
