// The words and figures for a node that several views show.

import { link } from "../address.js";
import { h } from "../document.js";
import { instant } from "../format.js";

export const ratioOf = (node, type) => (node.total[type] ? node.used[type] / node.total[type] : 0);

export function nodeTags(node) {
  return h("span", {}, node.state === "RUNNING" ? null : h("span", { class: "tag warn", title: node.leaves_ms ? `leaves at ${instant(node.leaves_ms)} at the latest` : null }, node.state.toLowerCase()),
    node.reserved_for && h("a", { class: "tag past", href: link(`/cluster/app/${node.reserved_for}`), title: `kept free for ${node.reserved_for}`, tabindex: "-1" }, `reserved …${node.reserved_for.slice(-4)}`),
    node.label && h("span", { class: "tag" }, node.label),
    node.state === "RUNNING" && !node.reserved_for && !node.label ? h("span", { class: "faint" }, node.containers ? "runs" : "idle") : null);
}
