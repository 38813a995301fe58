// The fields of a queue with the names of the Fair Scheduler's document: one row
// for each, one column for each type of resource. Every number explains itself.

import { h } from "../document.js";
import { number } from "../explain.js";
import { amount, amounts, count, duration, isUnlimited, percent, typeTitle } from "../format.js";
import { meter } from "../bar.js";

const API = "GET /api/v1/queues";

export function drawResources(queue, { total, byName, words }) {
  const types = Object.keys(total).filter((type) => total[type] > 0 || queue.used[type] > 0);
  const rows = fieldsOf(queue, words);
  return h("table", { class: "matrix" },
    h("thead", {}, h("tr", {}, h("th", { scope: "col" }, h("span", { class: "hidden-text" }, "Field")),
      types.map((type) => h("th", { scope: "col", class: type === queue.share.dominant ? "num dominant" : "num" },
        typeTitle(type), type === queue.share.dominant && h("span", { title: "the scarcest for this queue" }, " · dominant"))))),
    h("tbody", {}, rows.filter((row) => row.values).map((row) => h("tr", { key: row.title },
      h("th", { scope: "row" }, row.title),
      types.map((type) => h("td", { class: type === queue.share.dominant ? "num dominant" : "num" },
        number(amount(shown(row, type, total), type, true), () => explain(row, type, queue, { total, byName })))))))); 
}

// A maximum beyond the cluster is shown as the cluster, as YARN's page does.
function shown(row, type, total) { return row.capped ? Math.min(row.values[type], total[type]) : row.values[type]; }

function fieldsOf(queue, words) {
  return [
    { title: "Used Resources", key: "used", values: queue.used, text: "What is allocated to containers in this queue and below it. Reservations are not part of it." },
    { title: "Demand Resources", key: "demand", values: queue.demand, formula: "used + asked for, at most the maximum", text: "What the queue would use if there was room." },
    { title: "Pending Resources", key: "pending", values: queue.pending, text: "Asked for by its applications, and not allocated." },
    { title: "Reserved Resources", key: "reserved", values: queue.reserved, text: "Nodes are kept free for this much." },
    { title: words.kind === "capacity" ? "Effective Min Capacity" : "Min Resources", key: "min_share", values: queue.min_share, text: "What the queue is guaranteed before others get more." },
    { title: words.kind === "capacity" ? "Effective Max Capacity" : "Max Resources", key: "max_share", values: queue.max_share, capped: true, text: "Never more than this is allocated; what is configured beyond the cluster is shown as the cluster." },
    words.kind !== "capacity" && { title: words.instantaneous, key: "fair_share", values: queue.fair_share, formula: "weight × r, at least the minimum, at most the maximum",
      text: "Its share now: only queues with running applications count. r is chosen so that the shares of the parent's active children use up the parent's share.", shares: true },
    words.steady && { title: words.steady, key: "steady_fair_share", values: queue.steady_fair_share, formula: "weight × r, at least the minimum, at most the maximum",
      text: "Its share if every queue was active: what it can count on. It decides nothing.", shares: true },
    queue.past && { title: "Used in the past", key: "past.average", values: queue.past.average, formula: "∫ used · 2^(−age / half-life), as an average",
      text: `What it used on average, the present counting most, and what is ${duration(queue.past.half_life_s * 1000)} old half.` },
    queue.master_used && { title: "AM Used Resources", key: "master_used", values: queue.master_used, text: "Used by application masters." },
    queue.master_limit && { title: "AM Max Resources", key: "master_limit", values: queue.master_limit, text: "An application whose master would go beyond this waits." },
    queue.max_container && { title: "Max Container Allocation", key: "max_container", values: queue.max_container, capped: true, text: "No container may be larger." },
    { title: "Entitled", key: "share.entitled", values: queue.share.entitled, formula: "min(demand, fair share)", text: "What it would have if everything was as the shares say.", due: true },
    { title: "Owed", key: "share.owed", values: queue.share.owed, formula: "entitled − used, if more than 0", text: "What it lacks of what it is entitled to.", due: true },
  ].filter(Boolean);
}

function explain(row, type, queue, { total, byName }) {
  const say = (value) => amount(value, type);
  const inputs = [[row.title, say(row.values[type])]];
  if (row.shares) {
    const parent = byName.get(queue.parent);
    inputs.push(["weight", String(queue.weight)], ["minimum", say(queue.min_share[type])], ["maximum", say(queue.max_share[type])], ["demand", say(queue.demand[type])]);
    if (parent) {
      inputs.push([`share of ${parent.name}`, say(parent[row.key][type])]);
      for (const name of parent.children.slice(0, 8)) {
        const one = byName.get(name);
        if (one && one !== queue) inputs.push([`${one.name}, weight ${one.weight}`, say(one[row.key][type])]);
      }
      if (parent.children.length > 8) inputs.push(["and others", String(parent.children.length - 8)]);
    }
  }
  if (row.due) inputs.push(["demand", say(queue.demand[type])], ["fair share", say(queue.fair_share[type])], ["used", say(queue.used[type])]);
  if (row.key === "demand") inputs.push(["used", say(queue.used[type])], ["pending", say(queue.pending[type])]);
  if (row.capped && row.values[type] > total[type]) inputs.push(["cluster", say(total[type])]);
  return { title: `${row.title}, ${typeTitle(type)}`, text: row.text, formula: row.formula, inputs, source: `${API}: ${queue.name}, ${row.key}` };
}

const fact = (term, value) => value === null || value === undefined ? null : h("div", { key: term }, h("dt", {}, term), h("dd", {}, value));

export function drawFacts(queue) {
  const timeout = (ms) => ms === null ? null : ms >= 9e15 ? "never" : duration(ms);
  return h("dl", { class: "facts" },
    fact("Num Active Applications", queue.active_applications === null ? null : number(count(queue.active_applications), { title: "Num Active Applications",
      text: "Applications that may run and have had a container.", inputs: [["running", count(queue.running_applications)]], source: `${API}: active_applications` })),
    fact("Num Pending Applications", queue.waiting_applications === null ? null : number(count(queue.waiting_applications), { title: "Num Pending Applications",
      text: "Applications without any container yet, those that a limit holds back too.", inputs: [["held back by a limit", count(queue.pending_applications)]], source: `${API}: waiting_applications` })),
    fact("Running Applications", `${count(queue.running_applications)}${queue.max_running_applications === null ? "" : ` of ${count(queue.max_running_applications)}`}`),
    fact("Held back by limits", count(queue.pending_applications)),
    fact("Containers", `${count(queue.containers)} allocated, ${count(queue.reserved_containers)} reserved`),
    fact("Preempted so far", `${count(queue.preempted)} containers`),
    fact("Scheduling Policy", queue.policy), fact("Weight", queue.capacity ? null : String(queue.weight)),
    fact("Share by its past", queue.past && queue.past.factor !== null ? number(`× ${queue.past.factor.toFixed(2)}`, { title: "Share by its past",
      text: "Its share with what it and its siblings used in the past, divided by its share without: below 1, others are served first.", formula: "(w · (total + charges) − charge) / (w · total)",
      inputs: [["of what its siblings used", percent(queue.past.part)]], source: `${API}: past.factor` }) : null),
    fact("Preemptable", queue.preemptable ? "yes" : "no"),
    fact("Min share preemption after", timeout(queue.min_share_timeout_ms)), fact("Fair share preemption after", timeout(queue.fair_share_timeout_ms)),
    fact("Fair share preemption below", queue.fair_share_threshold === null ? null : percent(queue.fair_share_threshold)));
}

export function drawLimits(queue, { total, byName }) {
  const rows = [];
  const type = queue.share.dominant;
  const add = (what, now, most, said, where) => rows.push(h("tr", { key: what }, h("th", { scope: "row" }, what),
    h("td", {}, meter(most ? now / most : 0, `${what}: ${said}`)), h("td", { class: "num" }, said), h("td", { class: "soft" }, where)));
  for (const one of chain(queue, byName)) {
    const limited = !isUnlimited(one.max_share[type]) && one.max_share[type] < total[type];
    if (limited) add(`Maximum, ${type}`, one.used[type], one.max_share[type], `${amount(one.used[type], type, true)} of ${amount(one.max_share[type], type)}`, one.name);
    if (one.max_running_applications !== null) {
      add("Running applications", one.running_applications, one.max_running_applications, `${count(one.running_applications)} of ${count(one.max_running_applications)}`, one.name);
    }
  }
  if (queue.master_limit) {
    add("Application masters", queue.master_used[type], queue.master_limit[type], `${amounts(queue.master_used)} of ${amounts(queue.master_limit)}`, queue.name);
  }
  if (!rows.length) return h("p", { class: "pad soft" }, "No limit is set on this queue or above it, but the size of the cluster.");
  return h("table", {}, h("thead", {}, h("tr", {}, ["Limit", "", "Reached", "Of queue"].map((title, n) => h("th", { scope: "col", class: n === 2 ? "num" : null }, title || h("span", { class: "hidden-text" }, "Meter"))))),
    h("tbody", {}, rows));
}

function chain(queue, byName) {
  const found = [];
  for (let one = queue; one; one = byName.get(one.parent)) found.push(one);
  return found;
}

export { fact };
