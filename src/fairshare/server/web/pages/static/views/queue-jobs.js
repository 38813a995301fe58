// The table of jobs of a pool of the MapReduce scheduler: deficits, shares, and
// pool and priority changed in place.

import { link } from "../address.js";
import { fill, h } from "../document.js";
import { count, duration, instant, lastName } from "../format.js";
import { session } from "../session.js";
import { entryState } from "../states.js";
import { store } from "../store.js";

const PRIORITIES = ["VERY_LOW", "LOW", "NORMAL", "HIGH", "VERY_HIGH"];

export function drawJobs(entry, queue, { byName }) {
  if (!queue.leaf) return h("p", { class: "pad soft" }, "Jobs are in pools: choose one below.");
  if (store.moment !== null) return h("p", { class: "pad soft" }, "Deficits and shares of single jobs are not kept of past moments. ", h("a", { href: link("/cluster/apps", { queue: queue.name }) }, "The jobs that were here then"));
  const blank = entryState(entry, `the jobs of ${queue.name}`, 4);
  if (blank) return blank;
  const jobs = entry.data.applications.filter((application) => application.job);
  if (!jobs.length) return h("p", { class: "pad soft" }, "No job runs or waits in this pool.");
  const pools = [...byName.values()].filter((one) => one.leaf).map((one) => one.name);
  const fault = h("p", { class: "fault pad", role: "alert" });
  const columns = [["Job", ""], ["Pool", ""], ["Priority", ""], ["Tasks", ""], ["Done · run · wait", "num"], ["Fair Share", "num"], ["Weight", "num"], ["Deficit", "num"]];
  return [h("table", { class: "jobs" },
    h("thead", {}, h("tr", {}, columns.map(([title, name]) => h("th", { scope: "col", class: name }, title)))),
    h("tbody", {}, jobs.map((one) => jobRows(one, pools, fault)))), fault];
}

function jobRows(one, pools, fault) {
  const may = session.mayChange(one);
  const send = (path, body) => store.send(`/applications/${one.id}/${path}`, body).then(() => fill(fault), (error) => fill(fault, error.message));
  const choose = (label, value, choices, act) => may
    ? h("select", { "aria-label": `${label} of ${one.name}`, value, on: { change() { act(this.value); } } },
      choices.map(([key, said]) => h("option", { value: key, selected: key === value }, said)))
    : choices.find(([key]) => key === value)?.[1] ?? value;
  const priority = String(PRIORITIES.indexOf(one.job.priority) + 1);
  const slots = (name, kind) => [
    h("td", {}, name), h("td", { class: "num" }, `${count(kind.finished)} · ${count(kind.running)} · ${count(kind.needed)}`),
    h("td", { class: "num", title: `minimum ${kind.min_share}, demand ${kind.demand}` }, kind.fair_share.toFixed(1)),
    h("td", { class: "num" }, kind.weight.toFixed(2)), h("td", { class: "num" }, deficit(kind.deficit))];
  const both = (...parts) => h("td", { rowspan: 2 }, ...parts);
  return [
    h("tr", { key: `${one.id} maps`, class: "first" },
      both(h("a", { href: link(`/cluster/app/${one.id}`) }, one.name || one.id), h("div", { class: "faint" }, one.user), h("div", { class: "faint" }, instant(one.submitted_ms))),
      both(choose("Pool", one.queue, pools.map((name) => [name, lastName(name)]), (queue) => send("move", { queue }))),
      both(choose("Priority", priority, PRIORITIES.map((name, n) => [String(n + 1), name]), (value) => send("priority", { priority: Number(value) }))),
      slots("maps", one.job.maps)),
    h("tr", { key: `${one.id} reduces` }, slots("reduces", one.job.reduces))];
}

// Slot-milliseconds as slot-seconds, signed; newer releases know none.
function deficit(value) {
  if (value === null) return "–";
  return `${value < 0 ? "−" : ""}${duration(Math.abs(value))}`;
}
