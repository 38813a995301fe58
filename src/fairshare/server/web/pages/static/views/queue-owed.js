// The picture of what a queue is owed: one bar, a part for each cause with a pattern
// of its own, and the same in words. Causes and amounts are the server's.

import { link } from "../address.js";
import { h } from "../document.js";
import { number } from "../explain.js";
import { amount, count, percent } from "../format.js";
import { store } from "../store.js";

export function drawOwed(found, queue) {
  const type = found?.type ?? queue.share.dominant;
  if (store.moment !== null) return queue.share.owed[type] ? h("p", { class: "faint small" }, "Why it was owed is not kept of past moments.") : null;
  if (!found) return null;
  const unasked = queue.share.state !== "idle" && found.unasked > 0 && found.unasked < 2 ** 31 && h("p", { class: "faint small" }, `${amount(found.unasked, type)} of its share is not asked for.`);
  if (!found.owed) return unasked;
  return h("div", { class: "owed-parts" },
    h("div", { class: "owed-bar", role: "img", "aria-label": found.parts.map((part) => `${amount(part.amount, type)} ${part.words}`).join(", ") },
      found.parts.map((part) => h("i", { key: part.kind, class: `cause ${part.kind}`, style: { width: `${(100 * part.amount) / found.owed}%` }, title: `${amount(part.amount, type)}: ${part.words}` }))),
    h("ul", {}, found.parts.map((part) => h("li", { key: part.kind },
      h("i", { class: `cause ${part.kind}`, "aria-hidden": "true" }),
      number(amount(part.amount, type), { title: `Owed: ${part.words}`, text: `Of ${amount(found.owed, type)} that ${queue.name} is entitled to and does not have. Each application that waits claims what it lacks, the oldest first, until the gap is filled.`,
        formula: "part / owed", inputs: [["part", amount(part.amount, type)], ["owed", amount(found.owed, type)], ["that is", percent(part.amount / found.owed)], ["applications", count(part.applications)], ["asked why", `${count(found.looked)} of ${count(found.waiting)} that wait`]],
        source: `GET /api/v1/queues/${queue.name}/owed` }),
      h("span", {}, h("b", {}, part.words), part.kind === "preemption" && !part.sentence ? ": room is made by containers that end for it."
        : part.kind === "other" ? `: ${count(found.looked)} of ${count(found.waiting)} applications that wait were asked.`
          : [": ", part.sentence, part.first && [" ", h("a", { href: link(`/cluster/app/${part.first}`), title: part.first }, part.applications > 1 ? `first of ${count(part.applications)}` : "its application")]])))));
}
