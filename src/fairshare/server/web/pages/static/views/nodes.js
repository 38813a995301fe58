// The page of all nodes: a table, and a heat map that shows thousands at once.
// In the address: search, only (reserved, draining, a label), show (map), by (a type), sort.

import { address, link } from "../address.js";
import { meter } from "../bar.js";
import { confirm } from "../dialog.js";
import { fill, h } from "../document.js";
import { amount, amounts, count, percent, typeTitle, typeWord } from "../format.js";
import { PagedRows } from "../paged-rows.js";
import { session } from "../session.js";
import { blank, faultState, loadingRows } from "../states.js";
import { store } from "../store.js";
import { VirtualTable } from "../virtual-table.js";
import { HeatMap } from "./node-map.js";
import { nodeTags, ratioOf } from "./node-words.js";

const PACE_MS = 3000;

export function view(place) {
  const page = new NodesPage(place);
  return { title: () => "Nodes", update: () => page.update(), close: () => page.close() };
}

class NodesPage {
  constructor(place) {
    this.place = place;
    place.className = "view-list";
    this.pages = new PagedRows("nodes", () => this.draw(), { every_ms: PACE_MS });
    this.head = h("header");
    this.body = h("div", { class: "list-body" });
    this.types = null;
    this.mapped = { path: null, stop: null, data: null };
    this.map = new HeatMap((name) => address.go(pathOf({ name })));
    fill(place, h("section", { class: "card list-card", "aria-label": "Nodes" }, this.head, this.body));
    this.stop = session.onChange(() => this.draw());
    this.update();
  }

  close() { this.stop(); this.pages.close(); this.mapped.stop?.(); this.map.close(); this.place.className = ""; }

  // The address has changed.
  update() {
    this.pages.ask({ ...this.filters, sort: address.get("sort") });
    this.draw();
  }

  get filters() { return { only: address.get("only") ?? "", search: address.get("search") ?? "" }; }

  makeTable(types) {
    const use = (type) => ({ key: type, title: typeTitle(type), width: "minmax(118px, 1fr)", phone: "minmax(84px, 1fr)", sort: true, draw: (node) =>
      h("span", { class: "use" }, meter(ratioOf(node, type), `${typeWord(type)}: ${percent(ratioOf(node, type))}`),
        h("span", { class: "num", title: `${amount(node.used[type], type)} of ${amount(node.total[type], type)}` }, percent(ratioOf(node, type)), h("span", { class: "wide-only" }, ` of ${amount(node.total[type], type, true)}`))) });
    this.table = new VirtualTable({
      label: "Nodes", rowKey: (node) => node.name, rowHeight: 28, cell: (node, column) => column.draw(node), sort: address.get("sort"),
      onSort: (text) => address.set({ sort: text }), onWindow: (first, last) => this.pages.look(first, last), onOpen: (node) => address.go(pathOf(node)),
      rowLabel: (node) => `${node.name}, ${node.containers} containers, used ${amounts(node.used)} of ${amounts(node.total)}`,
      columns: [
        { key: "name", title: "Node", width: "minmax(110px, .9fr)", phone: "minmax(90px, 1fr)", draw: (node) => h("a", { href: link(pathOf(node)), title: node.name, tabindex: "-1" }, node.name), sort: true },
        { key: "rack", title: "Rack", width: "minmax(80px, .6fr)", narrow: false, draw: (node) => node.rack, sort: true },
        { key: "state", title: "State", width: "minmax(96px, .9fr)", phone: false, draw: nodeTags, sort: true },
        ...types.map(use),
        { key: "containers", title: "Containers", width: "80px", phone: false, align: "right", draw: (node) => count(node.containers), sort: true },
      ],
    });
  }

  draw() {
    const { data, error } = this.pages.entry;
    const asMap = address.get("show") === "map";
    const { only, search } = this.filters;
    const chip = (value, word, number) => h("button", { class: "chip", type: "button", "aria-pressed": String(only === value), key: value,
      on: { click: () => address.set({ only: only === value ? null : value }) } }, word, " ", h("b", {}, data ? count(number) : "…"));
    fill(this.head, h("h1", {}, "Nodes"),
      h("div", { class: "seg", role: "group", "aria-label": "Show" }, [["", "table"], ["map", "heat map"]].map(([value, word]) => h("button", {
        type: "button", "aria-pressed": String((value === "map") === asMap), on: { click: () => address.set({ show: value }) } }, word))),
      h("div", { class: "chips", role: "group", "aria-label": "Only" }, chip("reserved", "reserved", data?.counts.reserved), chip("draining", "draining", data?.counts.draining),
        Object.entries(data?.labels ?? {}).map(([label, number]) => chip(`=${label}`, `label ${label}`, number))),
      h("div", { class: "right filters" }, h("input", { class: "field", type: "search", placeholder: "Name, rack or attribute", "aria-label": "Name, rack or attribute", value: search, on: { input() { address.set({ search: this.value }); } } })));
    if (error && (!data || store.moment !== null)) { fill(this.body, faultState(error, "the nodes")); return; }
    if (!data) { fill(this.body, loadingRows(24)); return; }
    const types = Object.keys(data.total).filter((type, n) => n < 2 || data.total[type] > 0);
    if (!this.table || (types.join() !== this.types && data.matching)) { this.types = types.join(); this.makeTable(types); }
    if (!data.matching) {
      fill(this.body, data.known ? blank({ title: "No node is like that", text: `${count(data.known)} nodes ${data.at_ms === null ? "are" : "were"} there.` })
        : blank(data.at_ms === null ? { title: "No node has joined yet", text: "Applications wait until one offers its resources." } : { title: "No node was there then", text: "Go forward in time, or back to live." }));
      return;
    }
    const gone = data.decommissioned ?? [];
    fill(this.body, h("p", { class: "told", key: "told" }, told(data, types), gone.length > 0 && ` Decommissioned: ${gone.slice(0, 6).join(", ")}${gone.length > 6 ? ` and ${count(gone.length - 6)} more` : ""}.`),
      asMap && this.drawMapBar(types), h("div", { class: asMap ? "node-map" : "list-table", key: asMap ? "map" : "table", own: true }));
    const holder = this.body.querySelector(asMap ? ".node-map" : ".list-table");
    if (asMap) this.showMap(holder, this.by(types));
    else {
      if (this.table.element.parentNode !== holder) { fill(holder); holder.append(this.table.element); }
      this.table.update(this.pages.list);
    }
  }

  // The map has all nodes that match, and is asked for only while it is looked at.
  showMap(holder, by) {
    const path = `/pages/node-map?${new URLSearchParams({ by, ...this.filters })}`;
    if (path !== this.mapped.path) {
      this.mapped.stop?.();
      this.mapped.path = path;
      this.mapped.stop = store.watch(path, ({ data }) => { if (data && this.mapped.path === path) { this.mapped.data = data; this.draw(); } }, { past: true, every_ms: PACE_MS });
    }
    if (this.mapped.data) this.map.show(holder, this.mapped.data);
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

function told({ matching, containers, idle, used, total }, types) {
  const parts = types.slice(0, 3).map((type) => `${typeWord(type)} ${percent(total[type] ? used[type] / total[type] : 0)}`);
  return `${count(matching)} ${matching === 1 ? "node" : "nodes"}, ${count(containers)} containers, ${count(idle)} idle · ${parts.join(", ")} used.`;
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
