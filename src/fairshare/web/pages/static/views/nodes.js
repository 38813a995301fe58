// nodes.js owns the page of all nodes: a table, and a heat map that shows thousands at once.
// In the address: search, only (reserved, draining, a label), show (map), by (a type), sort.

import { address, link } from "../address.js";
import { meter } from "../bar.js";
import { confirm } from "../dialog.js";
import { fill, h } from "../document.js";
import { amount, amounts, count, percent, typeWord } from "../format.js";
import { session } from "../session.js";
import { blank, entryState } from "../states.js";
import { store } from "../store.js";
import { VirtualTable } from "../virtual-table.js";
import { HeatMap } from "./node-map.js";
import { nodeTags, ratioOf } from "./node-words.js";

const PACE_MS = 3000;

export function view(place) {
  const page = new NodesPage(place);
  return { title: () => "Nodes", update: () => page.draw(), close: () => page.close() };
}

class NodesPage {
  constructor(place) {
    this.place = place;
    place.className = "view-list";
    this.entry = { data: null, error: null };
    this.head = h("header");
    this.body = h("div", { class: "list-body" });
    this.types = "";
    this.map = new HeatMap((node) => address.go(pathOf(node)));
    fill(place, h("section", { class: "card list-card", "aria-label": "Nodes" }, this.head, this.body));
    this.stops = [
      store.watch("/nodes", (entry) => { this.entry = entry; this.draw(); }, { every_ms: PACE_MS }),
      session.onChange(() => this.draw()),
    ];
  }

  close() { for (const stop of this.stops) stop(); this.map.close(); this.place.className = ""; }

  makeTable(types) {
    const use = (type) => ({ key: type, title: typeWord(type), width: "minmax(118px, 1fr)", sort: (node) => ratioOf(node, type), draw: (node) =>
      h("span", { class: "use" }, meter(ratioOf(node, type), `${typeWord(type)}: ${percent(ratioOf(node, type))}`),
        h("span", { class: "num", title: `${amount(node.used[type], type)} of ${amount(node.total[type], type)}` }, percent(ratioOf(node, type)), h("span", { class: "wide-only" }, ` of ${amount(node.total[type], type, true)}`))) });
    this.table = new VirtualTable({
      label: "Nodes", rowKey: (node) => node.name, rowHeight: 28, cell: (node, column) => column.draw(node), sort: address.get("sort"),
      onSort: (text) => address.set({ sort: text }), onOpen: (node) => address.go(pathOf(node)),
      rowLabel: (node) => `${node.name}, ${node.containers} containers, used ${amounts(node.used)} of ${amounts(node.total)}`,
      columns: [
        { key: "name", title: "Node", width: "minmax(110px, .9fr)", draw: (node) => h("a", { href: link(pathOf(node)), title: node.name, tabindex: "-1" }, node.name), sort: (node) => node.name },
        { key: "rack", title: "Rack", width: "minmax(80px, .6fr)", narrow: false, draw: (node) => node.rack, sort: (node) => node.rack },
        { key: "state", title: "State", width: "minmax(96px, .9fr)", draw: nodeTags, sort: (node) => `${node.state} ${node.label} ${node.reserved_for ?? ""}` },
        ...types.map(use),
        { key: "containers", title: "Containers", width: "80px", align: "right", draw: (node) => count(node.containers), sort: (node) => node.containers },
      ],
    });
  }

  draw() {
    const nodes = this.entry.data?.nodes ?? [];
    const missing = entryState(this.entry, "the nodes");
    const types = Object.keys(nodes[0]?.total ?? {}).filter((type, n) => n < 2 || nodes.some((node) => node.total[type] > 0));
    if (types.join() !== this.types || !this.table) { this.types = types.join(); this.makeTable(types); }
    const asMap = address.get("show") === "map";
    const search = (address.get("search") ?? "").toLowerCase();
    const only = address.get("only") ?? "";
    const rows = nodes.filter((node) => (!search || `${node.name} ${node.rack} ${node.label} ${Object.values(node.attributes).join(" ")}`.toLowerCase().includes(search))
      && (!only || (only === "reserved" ? node.reserved_for : only === "draining" ? node.state !== "RUNNING" : node.label === only.slice(1))));
    const labels = [...new Set(nodes.map((node) => node.label).filter(Boolean))].sort();
    fill(this.head, h("h1", {}, "Nodes"),
      h("div", { class: "seg", role: "group", "aria-label": "Show" }, [["", "table"], ["map", "heat map"]].map(([value, word]) => h("button", {
        type: "button", "aria-pressed": String((value === "map") === asMap), on: { click: () => address.set({ show: value }) } }, word))),
      h("div", { class: "chips", role: "group", "aria-label": "Only" }, [["reserved", "reserved", nodes.filter((node) => node.reserved_for).length], ["draining", "draining", nodes.filter((node) => node.state !== "RUNNING").length],
        ...labels.map((label) => [`=${label}`, `label ${label}`, nodes.filter((node) => node.label === label).length])].map(([value, word, number]) => h("button", {
        class: "chip", type: "button", "aria-pressed": String(only === value), key: value, on: { click: () => address.set({ only: only === value ? null : value }) } }, word, " ", h("b", {}, count(number))))),
      h("div", { class: "right filters" }, h("input", { class: "field", type: "search", placeholder: "Name, rack or attribute", "aria-label": "Name, rack or attribute", value: address.get("search") ?? "", on: { input() { address.set({ search: this.value }); } } })));
    if (missing) { fill(this.body, missing); return; }
    if (!rows.length) {
      fill(this.body, nodes.length ? blank({ title: "No node is like that", text: `${count(nodes.length)} nodes are there.` })
        : blank({ title: "No node has joined yet", text: "Applications wait until one offers its resources." }));
      return;
    }
    const gone = this.entry.data.decommissioned ?? [];
    fill(this.body, h("p", { class: "told", key: "told" }, told(rows, types), gone.length > 0 && ` Decommissioned: ${gone.slice(0, 6).join(", ")}${gone.length > 6 ? ` and ${count(gone.length - 6)} more` : ""}.`),
      asMap && this.drawMapBar(types), h("div", { class: asMap ? "node-map" : "list-table", key: asMap ? "map" : "table", own: true }));
    const holder = this.body.querySelector(asMap ? ".node-map" : ".list-table");
    if (asMap) this.map.show(holder, rows, this.by(types));
    else {
      if (this.table.element.parentNode !== holder) { fill(holder); holder.append(this.table.element); }
      this.table.update(rows);
    }
  }

  by(types) { const by = address.get("by"); return types.includes(by) ? by : types[0]; }

  drawMapBar(types) {
    return h("div", { class: "log-bar", key: "map-bar" },
      h("div", { class: "seg", role: "group", "aria-label": "Resource" }, types.map((type) => h("button", { type: "button", "aria-pressed": String(type === this.by(types)), on: { click: () => address.set({ by: type }) } }, typeWord(type)))),
      h("span", { class: "scale" }, "0%", ["u0", "u1", "u2", "u3", "u4"].map((name) => h("i", { class: name, key: name })), "100% used, in order of racks"),
      h("span", { class: "soft small map-told", role: "status", own: true }));
  }
}

const pathOf = (node) => `/cluster/node/${encodeURIComponent(node.name)}`;

function told(rows, types) {
  const containers = rows.reduce((sum, node) => sum + node.containers, 0);
  const idle = rows.filter((node) => !node.containers).length;
  const parts = types.slice(0, 3).map((type) => {
    const all = rows.reduce((sum, node) => sum + node.total[type], 0);
    return `${typeWord(type)} ${percent(all ? rows.reduce((sum, node) => sum + node.used[type], 0) / all : 0)}`;
  });
  return `${count(rows.length)} ${rows.length === 1 ? "node" : "nodes"}, ${count(containers)} containers, ${count(idle)} idle · ${parts.join(", ")} used.`;
}

// The buttons of one node, for who administers the cluster.
export function nodeActions(node) {
  if (!session.current?.administrator || store.moment !== null) return [];
  const send = (verb, body = {}) => store.send(`/admin/nodes/${verb}`, { nodes: [node.name], ...body });
  const button = (word, options) => h("button", { class: `btn small${options.danger ? " danger" : ""}`, type: "button", on: { click: () => confirm(options) } }, word);
  const runs = node.containers ? `${count(node.containers)} ${node.containers === 1 ? "container runs" : "containers run"} there` : "Nothing runs there";
  if (node.state !== "RUNNING") {
    return [button("Take back into service…", { title: `Let ${node.name} take containers again?`, action: "Take it back", body: h("p", {}, `${runs}; from now on new ones may be placed there.`), check: () => send("undrain") })];
  }
  return [
    button("Drain…", { title: `Drain ${node.name}?`, action: "Drain it", body: h("p", {}, `${runs} and goes on. No new container is placed there until the node is taken back.`), check: () => send("drain") }),
    button("Decommission…", { title: `Decommission ${node.name}?`, action: "Decommission it", danger: true, check: () => send("decommission"),
      body: [h("p", {}, `${runs}. No new container is placed there, and the node leaves when it is empty.`), h("p", {}, "What still runs after an hour is ended then; its tasks wait again elsewhere.")] }),
  ];
}
