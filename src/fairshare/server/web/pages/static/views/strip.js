// The strip over the queues: how full the cluster is, of which families, what waits.

import { link } from "../address.js";
import { h } from "../document.js";
import { number } from "../explain.js";
import { hueOf } from "../families.js";
import { amount, count, percent, typeTitle } from "../format.js";

export function drawStrip(cluster, { total, queues }) {
  const root = queues[0];
  if (!root) return [];
  const families = queues.filter((queue) => queue.parent === root.name);
  const shown = Object.keys(total).filter((type) => total[type] > 0);
  const boxes = shown.map((type) => resourceBox(type, total[type], root, families));
  if (cluster) boxes.push(nodesBox(cluster), applicationsBox(cluster));
  boxes.push(waitingBox(root, shown, total));
  return boxes;
}

function box(title, right, big, below) {
  return h("div", { key: title }, h("h3", {}, h("span", {}, title), right && h("span", {}, right)), h("div", { class: "big" }, big), below);
}

function resourceBox(type, all, root, families) {
  const used = root.used[type];
  const explained = number(percent(used / all), { title: `${typeTitle(type)} in use`,
    text: "What is allocated to containers, as a part of what the nodes have.", formula: "used / total",
    inputs: [["used", amount(used, type)], ["total", amount(all, type)]], source: "GET /api/v1/queues: root.used, total" });
  const parts = families.filter((queue) => queue.used[type] > 0);
  return box(typeTitle(type), explained,
    [type === "memory-mb" ? amount(used, type) : count(used), " ", h("small", {}, `of ${amount(all, type, true)}`)],
    h("div", { class: "stack", role: "img", "aria-label": parts.map((queue) => `${queue.name} ${amount(queue.used[type], type)}`).join(", ") || "nothing used" },
      parts.map((queue) => h("i", { style: { "--hue": hueOf(queue.name), width: `${(100 * queue.used[type]) / all}%` },
        title: `${queue.name} ${amount(queue.used[type], type)}` }))));
}

function nodesBox(cluster) {
  return box("Nodes", null, [count(cluster.nodes), " ", h("small", {}, cluster.nodes === 1 ? "node" : "nodes")],
    h("p", {}, h("a", { href: link("/cluster/nodes") }, "how full they are"), ` · ${count(cluster.containers)} containers`));
}

function applicationsBox(cluster) {
  const states = cluster.applications;
  const active = (states.RUNNING ?? 0) + (states.PENDING ?? 0);
  const failed = (states.FAILED ?? 0) + (states.KILLED ?? 0);
  return box("Applications", null, [count(active), " ", h("small", {}, "active")],
    h("p", {}, h("a", { href: link("/cluster/apps") }, "who runs, who waits"),
      ` · ${count(states.FINISHED ?? 0)} done`, failed > 0 && ` · ${count(failed)} failed or killed`));
}

function waitingBox(root, types, total) {
  // The two of which most is wanted, measured by what there is.
  const first = types.filter((type) => root.pending[type] > 0).sort((a, b) => root.pending[b] / total[b] - root.pending[a] / total[a]);
  return box("Asked for and not running", null,
    first.length ? first.slice(0, types.length > 2 ? 1 : 2).map((type, n) => [n ? ", " : "", amount(root.pending[type], type)]) : "nothing",
    h("p", {}, `${count(root.pending_applications)} held back by limits · ${count(root.preempted)} preempted`));
}
