// "why it waits": the weightiest reason first, with the numbers that went
// into it and what would end the wait. The words and numbers are the server's.

import { link } from "../address.js";
import { h } from "../document.js";
import { amounts, count, typeTitle } from "../format.js";
import { OVER } from "./application-words.js";

const AMOUNTS = [["wanted", "One container needs"], ["used", "In use"], ["limit", "Limit"], ["available", "Free at most"]];

export function drawReasons(found, one) {
  if (OVER.has(one.state)) return h("p", { class: "pad soft" }, "It is over, and waits for nothing.");
  if (!found) return h("p", { class: "pad faint" }, "…");
  if (!found.reasons.length) return h("p", { class: "pad soft" }, h("b", {}, "It waits for nothing. "), "All that it has asked for is granted.");
  return drawList(found);
}

// Those of a past moment: {found, error}, of which one is there when it has been asked.
export function drawReasonsThen({ found, error }, one) {
  if (error) return h("p", { class: "pad soft" }, `Why it waited then cannot be shown: ${error.message}`);
  if (!found) return h("p", { class: "pad faint" }, "…");
  if (found.reasons.length) return drawList(found);
  return h("p", { class: "pad soft" }, OVER.has(one.state) ? "It was over, and waited for nothing." : [h("b", {}, "It waited for nothing. "), "All that it had asked for was granted."]);
}

function drawList(found) {
  return h("ol", { class: "reasons" }, found.reasons.map((reason, n) => h("li", { key: String(n), class: n ? "" : "first" },
    h("div", { class: "reason-text" },
      h("p", { class: "reason-sentence" }, n === 0 && h("span", { class: "hidden-text" }, "First reason: "), reason.sentence),
      reason.remedy && h("p", { class: "remedy" }, h("b", {}, "Remedy: "), reason.remedy),
      h("p", { class: "faint small" }, h("code", { class: "mono" }, reason.cause),
        reason.containers > 0 && ` · ${count(reason.containers)} ${reason.containers === 1 ? "container" : "containers"}`,
        reason.group && ` of group ${reason.group}`,
        reason.queue && [" · queue ", h("a", { href: link("/cluster/scheduler", { queue: reason.queue }) }, reason.queue)],
        reason.node && [" · node ", h("a", { href: link(`/cluster/node/${encodeURIComponent(reason.node)}`) }, reason.node)],
        reason.user && ` · user ${reason.user}`),
      reason.ahead.length > 0 && h("p", { class: "small" }, "Ahead of it: ", reason.ahead.map((id, place) => [place > 0 && ", ",
        h("a", { class: "mono", href: link(`/cluster/app/${id}`), title: id }, `…${id.slice(-6)}`)]),
        reason.count > reason.ahead.length && ` and ${count(reason.count - reason.ahead.length)} more`)),
    numbersOf(reason))));
}

function numbersOf(reason) {
  const given = AMOUNTS.filter(([field]) => reason[field]);
  if (!given.length) return null;
  const types = Object.keys(reason[given[0][0]]).filter((type, n) => n < 2 || given.some(([field]) => reason[field][type]));
  return h("div", { class: "scroll-x" }, h("table", { class: "reason-numbers" },
    h("thead", {}, h("tr", {}, h("th", {}, ""), types.map((type) => h("th", { scope: "col", class: "num" }, typeTitle(type))))),
    h("tbody", {}, given.map(([field, word]) => h("tr", { key: field }, h("th", { scope: "row" }, word),
      types.map((type) => h("td", { class: `num${short(reason, field, type) ? " short" : ""}` }, amounts({ [type]: reason[field][type] }))))))));
}

// The type in which what is free, or what the limit leaves, is less than one container needs.
function short(reason, field, type) {
  const wanted = reason.wanted?.[type] ?? 0;
  if (field === "available") return reason.available[type] < wanted;
  if (field === "limit" && reason.used) return reason.used[type] + wanted > reason.limit[type];
  return false;
}
