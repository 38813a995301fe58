// The fields of a queue and its users with the names of the Capacity
// Scheduler's document and page.

import { h } from "../document.js";
import { number } from "../explain.js";
import { amount, amounts, count, duration, ofHundred } from "../format.js";
import { fact } from "./queue-fields.js";

export function drawCapacity(queue, { words }) {
  const c = queue.capacity;
  const part = (title, key, text, formula) => fact(title, number(ofHundred(c[key]), { title, text, formula,
    inputs: [[title, ofHundred(c[key])], ["used", amounts(queue.used)], ["effective min", amounts(c.effective_min)]], source: `GET /api/v1/queues: ${queue.name}, capacity.${key}` }));
  const labels = c.accessible_labels.length ? c.accessible_labels.join(", ") : "none";
  return [h("dl", { class: "facts" },
    fact("Queue State", c.state), fact("Capacity Mode", c.mode),
    part("Used Capacity", "used_capacity", "Used, as a part of its own capacity; beyond 100 % it borrows.", "used / effective min capacity"),
    part("Configured Capacity", "capacity", "Its part of its parent's capacity."), part("Configured Max Capacity", "max_capacity", "The most of its parent's that it may use."),
    part("Absolute Used Capacity", "absolute_used_capacity", "Used, as a part of the cluster.", "used / cluster"),
    part("Absolute Configured Capacity", "absolute_capacity", "Its capacity as a part of the cluster.", "capacity × parent's absolute capacity"),
    part("Absolute Configured Max Capacity", "absolute_max_capacity", "The most of the cluster that it may use.", "max capacity × parent's absolute max capacity"),
    c.weight >= 0 && fact("Weight", `${c.weight} (normalized ${Number(c.normalized_weight.toFixed(3))})`),
    fact("Used Resources", amounts(queue.used)), fact("Effective Min Capacity", amounts(c.effective_min)), fact("Effective Max Capacity", amounts(c.effective_max)),
    fact("Max AM Resources", queue.master_limit && amounts(queue.master_limit)), fact("Used AM Resources", amounts(queue.master_used)),
    fact("Max AM Resources Per User", c.user_master_limit && amounts(c.user_master_limit)),
    fact("Max AM Share", queue.max_master_share === null ? null : ofHundred(100 * queue.max_master_share)),
    fact("Num Schedulable Applications", count(queue.running_applications)), fact("Num Non-Schedulable Applications", count(queue.pending_applications + c.non_runnable_applications)),
    fact("Num Containers", count(queue.containers)), fact("Max Applications", queue.max_running_applications === null ? null : count(queue.max_running_applications)),
    fact("Max Applications Per User", c.max_applications_per_user === null ? null : count(c.max_applications_per_user)),
    fact("Configured Minimum User Limit Percent", c.user_limit_percent === null ? null : ofHundred(c.user_limit_percent)),
    fact("Configured User Limit Factor", c.user_limit_factor), fact("Active Users", c.active_users),
    fact("Pending after user limits", c.pending_after_user_limits && amounts(c.pending_after_user_limits)),
    fact("Accessible Node Labels", labels), fact("Default Node Label", c.default_label || "none"), fact("Ordering Policy", queue.policy),
    fact("Queue Priority", c.priority), fact("Default Application Priority", c.default_priority),
    fact("Preemption", queue.preemptable ? "enabled" : "disabled"), fact("Intra-queue Preemption", c.intra_queue_preemptable ? "enabled" : "disabled"),
    fact("Default Application Lifetime", c.default_lifetime_s > 0 ? duration(1000 * c.default_lifetime_s) : "unlimited"),
    fact("Max Application Lifetime", c.max_lifetime_s > 0 ? duration(1000 * c.max_lifetime_s) : "unlimited")),
  c.partitions.length > 1 && drawPartitions(queue, words)];
}

function drawPartitions(queue) {
  const columns = ["Partition", "Capacity", "Max", "Used", "Effective min", "Used resources", "Pending"];
  return h("div", { class: "partitions" }, h("table", {},
    h("thead", {}, h("tr", {}, columns.map((title, n) => h("th", { scope: "col", class: n ? "num" : null }, title)))),
    h("tbody", {}, queue.capacity.partitions.map((part) => h("tr", { key: part.label }, h("th", { scope: "row" }, part.label || "default"),
      [ofHundred(part.absolute_capacity), ofHundred(part.absolute_max_capacity), ofHundred(part.absolute_used_capacity), amounts(part.effective_min), amounts(part.used), amounts(part.pending)]
        .map((said) => h("td", { class: "num" }, said)))))));
}

export function drawUsers(queue) {
  const users = queue.capacity.users;
  if (!queue.leaf) return h("p", { class: "pad soft" }, "Users belong to leaves: choose one below this queue.");
  if (!users.length) return h("p", { class: "pad soft" }, "Nobody uses this queue now.");
  const type = queue.share.dominant;
  const columns = ["User Name", "Max Resource", "Weight", "Used Resource", "Max AM Resource", "Used AM Resource", "Schedulable Apps", "Non-Schedulable Apps"];
  const limit = (user) => number(amounts(user.max_resource), { title: `Max Resource of ${user.name}`,
    text: user.active ? "The most that this user gets while others of the queue ask too." : "This user asks for nothing now: the value has no effect.",
    formula: "weight × (what is divided) / sum of the active users' weights, at least the minimum user limit, at most capacity × user limit factor",
    inputs: [["weight", String(user.weight)], ["active users", String(queue.capacity.active_users)], ["minimum user limit", ofHundred(queue.capacity.user_limit_percent)],
      ["user limit factor", String(queue.capacity.user_limit_factor)], [`capacity, ${type}`, amount(queue.capacity.effective_min[type], type)]],
    source: `GET /api/v1/queues: ${queue.name}, capacity.users` });
  return [h("table", { class: "users" },
    h("thead", {}, h("tr", {}, columns.map((title, n) => h("th", { scope: "col", class: n ? "num" : null }, title)))),
    h("tbody", {}, users.map((user) => h("tr", { key: user.name, class: user.active ? "active-user" : null },
      h("th", { scope: "row" }, user.name, user.active && h("span", { class: "hidden-text" }, " (active)")),
      h("td", { class: "num" }, limit(user)),
      [user.weight, amounts(user.used), amounts(user.master_limit), amounts(user.master_used), count(user.running_applications), count(user.pending_applications)]
        .map((said) => h("td", { class: "num" }, String(said))))))),
  h("p", { class: "users-note" }, h("i", { class: "swatch", style: { "--hue": "var(--active-user)" } }),
    " Active: asks for more resources now. Max Resource is divided among active users; for an inactive one it has no effect.")];
}
