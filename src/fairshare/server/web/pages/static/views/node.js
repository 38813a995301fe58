// The page of one node: what it offers, what runs there, drain and decommission.

import { address, link } from "../address.js";
import { meter } from "../bar.js";
import { fill, h } from "../document.js";
import { families, hueOf } from "../families.js";
import { amount, amounts, count, duration, instant, percent, shortName, typeTitle } from "../format.js";
import { session } from "../session.js";
import { entryState, faultState } from "../states.js";
import { store } from "../store.js";
import { VirtualTable } from "../virtual-table.js";
import { nodeTags, ratioOf } from "./node-words.js";
import { nodeActions } from "./nodes.js";

export function view(place) {
  const page = new NodePage(place);
  return { title: () => `${page.name} · Node`, update: () => page.update(), close: () => page.close() };
}

class NodePage {
  constructor(place) {
    this.place = place;
    place.className = "view-application";
    this.name = decodeURIComponent(address.path.split("/")[3]);
    this.entry = { data: null, error: null };
    this.table = new VirtualTable({
      label: "Containers of this node", rowKey: (one) => one.id, rowHeight: 28, cell: (one, column) => column.draw(one), rowStyle: (one) => ({ "--hue": hueOf(one.queue) }),
      onOpen: (one) => address.go(`/cluster/app/${one.application}`, { tab: "logs", container: one.id }),
      columns: [
        { key: "id", title: "Container", width: "120px", phone: false, draw: (one) => h("span", { class: "mono", title: one.id }, `…${one.id.slice(-12)}`), sort: (one) => one.allocated_ms },
        { key: "application", title: "Application", width: "minmax(110px, 1.2fr)", draw: (one) => h("a", { href: link(`/cluster/app/${one.application}`), title: one.application, tabindex: "-1" }, one.name || one.application), sort: (one) => one.name },
        { key: "user", title: "User", width: "minmax(60px, .6fr)", phone: false, draw: (one) => one.user, sort: (one) => one.user },
        { key: "queue", title: "Queue", width: "minmax(90px, 1fr)", draw: (one) => [h("i", { class: "swatch" }), " ", h("span", { title: one.queue }, shortName(one.queue))], sort: (one) => one.queue },
        { key: "resources", title: "Granted", width: "minmax(120px, .8fr)", align: "right", draw: (one) => [amounts(one.resources), one.gpus.length > 0 && h("span", { class: "faint" }, ` · GPU ${one.gpus.join(", ")}`)], sort: (one) => one.resources["memory-mb"] },
        { key: "since", title: "Since", width: "90px", phone: false, align: "right", draw: (one) => duration((store.moment ?? Date.now()) - one.allocated_ms), sort: (one) => one.allocated_ms },
        { key: "mark", title: "", width: "110px", narrow: false, draw: (one) => (one.marked ? h("span", { class: "tag warn" }, "will be preempted") : one.master ? h("span", { class: "tag" }, "master") : "") },
      ],
    });
    this.stops = [
      store.watch("/pages/queues", ({ data }) => { if (data) { families.learn(data.queues); this.draw(); } }, { every_ms: 15_000 }),
      session.onChange(() => this.draw()),
      store.watch(`/nodes/${encodeURIComponent(this.name)}`, (entry) => { this.entry = entry; this.draw(); }, { past: true, every_ms: 2000 }),
    ];
  }

  // The address has changed.
  update() { this.draw(); }

  close() { for (const stop of this.stops) stop(); this.place.className = ""; }

  // One GPU: how busy it is, its memory, and who has it. What was not measured is not shown.
  gpu(gpu, node) {
    const memory = gpu.memory_mb ? amount(gpu.memory_mb, "memory-mb") : "";
    const used = gpu.used_mb === null ? memory : `${amount(gpu.used_mb, "memory-mb")}${memory && ` of ${memory}`}`;
    const idle = gpu.idle_ms >= 60_000 ? ` for ${duration(gpu.idle_ms)}` : "";
    const busy = gpu.utilization_percent === null ? "" : `${percent(gpu.utilization_percent / 100)} busy${idle}`;
    const holder = node.running.find((one) => one.id === gpu.container);
    return h("div", { key: gpu.name },
      h("h3", {}, h("span", { title: gpu.model }, `GPU ${gpu.name}`), h("span", { class: "num" }, [busy, used].filter(Boolean).join(" · "))),
      busy && meter(gpu.utilization_percent / 100, `GPU ${gpu.name} ${busy}`),
      gpu.model && h("p", { class: "faint small" }, gpu.model),
      h("p", { class: "small" }, holder ? h("a", { href: link(`/cluster/app/${holder.application}`), title: gpu.container }, holder.name || holder.application) : gpu.elsewhere ? "used outside of fairshare, and not assigned" : "free",
        holder && [" ", h("span", { class: "tag" }, holder.user)]));
  }

  draw() {
    const missing = store.moment !== null && this.entry.error ? faultState(this.entry.error, `node ${this.name}`) : entryState(this.entry, `node ${this.name}`, 6);
    if (missing) { fill(this.place, h("section", { class: "card grow", key: "missing" }, missing)); return; }
    const node = this.entry.data;
    const types = Object.keys(node.total).filter((type, n) => n < 2 || node.total[type] > 0);
    const attributes = Object.entries(node.attributes);
    const fullest = types.reduce((a, b) => (ratioOf(node, b) > ratioOf(node, a) ? b : a), types[0]);
    fill(this.place, h("section", { class: "card application-head", key: "head" },
      h("div", { class: "path" }, h("a", { href: link("/cluster/nodes") }, "Nodes"), " › ", h("a", { href: link("/cluster/nodes", { search: node.rack }) }, node.rack)),
      h("div", { class: "title" }, h("h1", {}, node.name), nodeTags(node), h("div", { class: "right actions" }, nodeActions(node))),
      h("p", { class: "verdict" }, node.containers ? [h("b", {}, `${percent(ratioOf(node, fullest))} of its ${typeTitle(fullest).toLowerCase()} ${fullest === "memory-mb" ? (node.at_ms ? "was" : "is") : node.at_ms ? "were" : "are"} used`), ` by ${count(node.containers)} ${node.containers === 1 ? "container" : "containers"}; ${amounts(node.available)} ${node.at_ms ? "were" : "are"} free.`] : [h("b", {}, "Idle. "), `${amounts(node.available)} ${node.at_ms ? "were" : "are"} free.`],
        node.reserved_for && [node.at_ms ? " It was kept free for " : " It is kept free for ", h("a", { href: link(`/cluster/app/${node.reserved_for}`) }, node.reserved_for), "."]),
      h("p", { class: "faint small" }, node.joined_ms ? `here since ${instant(node.joined_ms)}` : node.rack, node.label && ` · label ${node.label}`, attributes.map(([name, value]) => ` · ${name}: ${value}`))),
    h("section", { class: "card", key: "meters", "aria-label": "Use" }, h("div", { class: "node-meters" }, types.map((type) => h("div", { key: type },
      h("h3", {}, h("span", {}, typeTitle(type)), h("span", { class: "num" }, `${amount(node.used[type], type)} of ${amount(node.total[type], type)}`)), meter(ratioOf(node, type), `${typeTitle(type)} ${percent(ratioOf(node, type))}`))))),
    node.gpus?.length > 0 && h("section", { class: "card", key: "gpus", "aria-label": "GPUs" }, h("header", {}, h("h2", {}, `GPUs ${count(node.gpus.length)}`)), h("div", { class: "node-meters" }, node.gpus.map((gpu) => this.gpu(gpu, node)))),
    h("section", { class: "card grow", key: "containers", "aria-label": "Containers" }, h("header", {}, h("h2", {}, `Containers ${count(node.running.length)}`), node.forgotten > 0 && h("span", { class: "soft small" }, `${count(node.forgotten)} more ran here then, and are not remembered any more`)),
      h("div", { class: "tab-panel", own: true, key: node.running.length ? "some" : "none" }, !node.running.length && h("p", { class: "pad soft" }, node.at_ms ? "Nothing ran here then." : "Nothing runs here."))));
    const panel = this.place.querySelector(".tab-panel");
    if (!node.running.length) return;
    if (this.table.element.parentNode !== panel) { fill(panel); panel.append(this.table.element); }
    this.table.update(node.running);
  }
}
