// The short list of a queue's applications in the panel of the queue.

import { link } from "../address.js";
import { h } from "../document.js";
import { amounts, count } from "../format.js";
import { entryState } from "../states.js";

export function drawApplications(entry, queue) {
  const all = link("/cluster/apps", { queue: queue.name });
  if (!queue.leaf) {
    return h("p", { class: "pad soft" }, `${count(queue.running_applications)} run and ${count(queue.pending_applications)} are held back below this queue. `,
      h("a", { href: link("/cluster/apps", { search: queue.name }) }, "All of them"));
  }
  const blank = entryState(entry, `the applications of ${queue.name}`, 4);
  if (blank) return blank;
  const { applications: rows, page: { matching, at_ms } } = entry.data;
  if (!rows.length) return h("p", { class: "pad soft" }, at_ms === null ? "No application runs or waits here. " : "No application ran or waited here then. ", h("a", { href: all }, "Those that have ended"));
  const columns = ["Application", "Name", "User", "State", "Used", "Pending"];
  return [h("table", {},
    h("thead", {}, h("tr", {}, columns.map((title, n) => h("th", { scope: "col", class: n > 3 ? "num" : null }, title)))),
    h("tbody", {}, rows.map((one) => h("tr", { key: one.id },
      h("td", { class: "mono" }, h("a", { href: link(`/cluster/app/${one.id}`), title: one.id }, `…${one.id.slice(-6)}`)),
      h("td", {}, h("span", { class: "ell", title: one.name }, one.name)), h("td", {}, one.user),
      h("td", {}, h("span", { class: `state ${one.containers ? "run" : "wait"}`, title: one.diagnostics }, one.containers ? "runs" : one.runnable ? "waits" : "held back")),
      h("td", { class: "num" }, amounts(one.used)), h("td", { class: "num" }, amounts(one.pending)))))),
  h("p", { class: "pad" }, matching > rows.length && `The newest ${count(rows.length)} of ${count(matching)}. `, h("a", { href: all }, `All applications of ${queue.name}`))];
}
