// The page of the queues: strip, tree, and the panel of the selected one. What the
// reader chose is in the address: queue, resource, scale, below, search, fold, tab, from, to.

import { address } from "../address.js";
import { bar, barLegend } from "../bar.js";
import { fill, h } from "../document.js";
import { families, hueOf } from "../families.js";
import { amount, count, lastName, percent, typeWord } from "../format.js";
import { firstRun } from "./first-run.js";
import { QueuePanel } from "./queue-panel.js";
import { entryState } from "../states.js";
import { store } from "../store.js";
import { drawStrip } from "./strip.js";
import { usersNow } from "./users-now.js";
import { VirtualTable } from "../virtual-table.js";
import { wordsOf } from "./queue-words.js";

const OPEN_UP_TO = 150; // of more queues only the first level is open at first, and only those in sight are asked for
const FEW = 12; // under so many queues is room for the users
const ROW_PX = 25;
const LEGEND_KEY = "fairshare.legend";

export function view(place) {
  const page = new SchedulerPage(place);
  return {
    title: () => (page.selected === "root" || !page.selected ? "Scheduler" : `${page.selected} · Scheduler`),
    update: () => page.update(),
    close: () => page.close(),
  };
}

class SchedulerPage {
  constructor(place) {
    this.place = place;
    this.queues = { data: null, error: null };
    this.cluster = null;
    this.byName = new Map();
    this.strip = h("section", { class: "card strip", "aria-label": "Cluster" });
    this.bars = h("header");
    this.legend = h("div", { class: "legend" });
    this.table = null;
    this.tableFor = "";
    this.body = h("div", { class: "tree-body" });
    this.panel = new QueuePanel();
    this.tree = h("section", { class: "card tree", "aria-label": "Queues" }, this.bars, this.legend, this.body);
    this.users = h("section", { class: "card users-now", "aria-label": "Now by user" });
    this.split = h("div", { class: "split" }, h("div", { class: "left" }, this.tree, this.users), this.panel.element);
    place.append(this.strip, this.split);
    this.wanted = address.get("queue");
    this.watchTree();
    this.stops = [
      () => this.stopTree(),
      () => this.stopUsers?.(),
      store.watch("/cluster", (entry) => { if (entry.data) { this.cluster = entry.data; this.draw(); } }, { past: true }),
    ];
  }

  close() { for (const stop of this.stops) stop(); this.panel.close(); }

  // The address has changed. A queue that is not among the rows is asked for beside them.
  update() {
    const queue = address.get("queue");
    if (queue && this.queues.data && !this.byName.has(queue)) this.wanted = queue;
    this.watchTree();
    this.draw();
  }

  get many() { return (this.queues.data?.known ?? Infinity) > OPEN_UP_TO; }

  watchTree() {
    const wish = this.many ? { fold: address.get("fold"), search: address.get("search"), below: address.get("below"), queue: this.wanted } : {};
    const path = `/pages/tree?${new URLSearchParams(Object.entries(wish).filter(([, value]) => value))}`;
    if (path === this.path) return;
    const before = this.stopTree;
    this.path = path;
    this.stopTree = store.watch(path, (entry) => {
      if (this.path !== path || (!entry.data && !entry.error && this.queues.data)) return;
      this.queues = { ...entry, data: entry.data ?? this.queues.data };
      this.learn();
      this.draw();
    }, { past: true });
    before?.();
  }

  learn() {
    const queues = this.queues.data?.queues;
    if (!queues) return;
    families.learn(queues);
    this.byName = new Map(queues.map((queue) => [queue.name, queue]));
  }

  get selected() { return this.byName.get(address.get("queue") ?? "")?.name ?? this.queues.data?.queues[0]?.name; }
  get scale() { return address.get("scale") ?? "fair"; }
  get types() { return Object.keys(this.queues.data?.total ?? {}); }
  get resource() { const given = address.get("resource"); return this.types.includes(given) ? given : "dominant"; }

  typeOf(queue) { return this.resource === "dominant" ? queue.share.dominant : this.resource; }

  // Which rows.

  isOpen(queue) {
    const open = !this.many || queue.parent === "";
    return (address.get("fold") ?? "").split(",").includes(queue.name) ? !open : open;
  }

  toggle(queue) {
    const folds = new Set((address.get("fold") ?? "").split(",").filter(Boolean));
    if (!folds.delete(queue.name)) folds.add(queue.name);
    address.set({ fold: [...folds].join(",") });
  }

  visible() {
    const queues = this.queues.data.queues;
    const search = (address.get("search") ?? "").toLowerCase();
    const below = address.get("below") === "1";
    if (!search && !below) {
      const hidden = new Set();
      return queues.filter((queue) => {
        const parent = this.byName.get(queue.parent);
        if (parent && (hidden.has(parent.name) || !this.isOpen(parent))) { hidden.add(queue.name); return false; }
        return true;
      });
    }
    const wanted = new Set();
    for (const queue of queues) {
      const fits = (!search || queue.name.toLowerCase().includes(search)) && (!below || (queue.leaf && queue.share.state === "owed"));
      for (let one = fits ? queue : null; one; one = this.byName.get(one.parent)) wanted.add(one.name);
    }
    return queues.filter((queue) => wanted.has(queue.name));
  }

  // Drawing.

  draw() {
    const blank = entryState(this.queues, "the queues", 24);
    const missing = this.queues.error && this.queues.data && store.moment !== null ? this.queues.error : null;
    if (blank || missing) {
      fill(this.body, blank ?? h("div", { class: "blank" }, h("h2", {}, "Nothing is remembered of that moment"), h("p", {}, missing.message)));
      this.panel.wait(this.queues);
      return;
    }
    this.words = wordsOf(this.queues.data.queues);
    fill(this.strip, drawStrip(this.cluster, this.queues.data));
    this.drawBars();
    this.drawLegend();
    this.drawTable();
    this.drawUsers();
    const known = Object.values(this.cluster?.applications ?? { known: 1 }).some(Boolean);
    this.panel.update(this.byName.get(this.selected), { byName: this.byName, total: this.queues.data.total, words: this.words,
      first: !known && store.moment === null ? firstRun(this.queues.data.queues) : null });
    document.title = `${this.selected} · Scheduler · fairshare`;
  }

  // Where few queues leave room, what each user has is below them.
  drawUsers() {
    const few = (this.queues.data?.known ?? Infinity) <= FEW && store.moment === null;
    if (few) this.stopUsers ??= store.watch("/pages/users", (entry) => { this.usersEntry = entry; if (this.stopUsers) this.drawUsers(); }, { every_ms: 3000 });
    const shown = few && this.usersEntry?.data ? usersNow(this.usersEntry.data) : null;
    this.users.classList.toggle("empty", !shown);
    fill(this.users, shown);
  }

  drawBars() {
    const choice = (label, name, current, choices) => h("div", { class: "seg", role: "group", "aria-label": label },
      choices.map(([value, said]) => h("button", { type: "button", "aria-pressed": String(current === value),
        on: { click: () => address.set({ [name]: value === choices[0][0] ? null : value }) } }, said)));
    const { owed } = this.queues.data;
    const below = address.get("below") === "1";
    fill(this.bars, h("h2", {}, this.words.heading),
      choice("Bars measure", "scale", this.scale, [["fair", `of ${this.words.fair}`], ["cluster", "of cluster"]]),
      choice("Resource", "resource", this.resource, [["dominant", "dominant"], ...this.types.map((type) => [type, typeWord(type)])]),
      h("div", { class: "right" },
        h("input", { class: "field filter", type: "search", placeholder: "Filter queues", "aria-label": "Filter queues", value: address.get("search") ?? "",
          on: { input() { address.set({ search: this.value }); } } }),
        h("button", { class: "chip", type: "button", "aria-pressed": String(below), title: "Only leaves that lack a part of what they are entitled to",
          on: { click: () => address.set({ below: below ? null : "1" }) } }, "below share ", h("b", {}, count(owed))),
        h("button", { class: "icon", type: "button", "aria-expanded": String(legendShown()), "aria-label": "How to read a row", title: "How to read a row",
          on: { click: () => { showLegend(!legendShown()); this.draw(); } } }, "?")));
  }

  drawLegend() {
    this.legend.hidden = !legendShown();
    if (this.legend.hidden) return;
    const kind = this.words.kind;
    if (this.legend.dataset.kind === kind) return;
    this.legend.dataset.kind = kind;
    this.legend.replaceChildren(barLegend(this.words.legend));
  }

  drawTable() {
    const shape = `${this.scale} ${this.words.kind}`;
    if (!this.table) {
      this.table = this.makeTable();
      fill(this.body);
      this.body.append(this.table.element);
    } else if (this.tableFor !== shape) this.table.setColumns(this.columns());
    if (this.tableFor === "") {
      this.tableFor = shape;
      this.table.update(this.visible(), { selected: this.selected });
      this.table.reveal(this.selected);
    }
    this.tableFor = shape;
    const moved = this.table.selected !== this.selected;
    this.table.update(this.visible(), { selected: this.selected });
    if (moved) this.table.reveal(this.selected);
  }

  makeTable() {
    return new VirtualTable({
      label: "Queue tree", role: "treegrid", rowHeight: ROW_PX, columns: this.columns(),
      rowKey: (queue) => queue.name,
      cell: (queue, column) => this.cell(queue, column.key),
      rowClass: (queue) => `${queue.leaf ? "" : "parent "}${queue.share.state === "idle" ? "idle " : ""}${depthOf(queue, this.byName) === 1 ? "first" : ""}`,
      rowStyle: (queue) => ({ "--hue": hueOf(queue.name), "--depth": depthOf(queue, this.byName) }),
      rowAttributes: (queue) => ({ "aria-level": String(depthOf(queue, this.byName) + 1),
        "aria-expanded": queue.children.length ? String(this.isOpen(queue)) : null }),
      rowLabel: (queue) => `${queue.name}. ${queue.share.sentence}`,
      onOpen: (queue) => this.select(queue), onMove: (queue) => this.select(queue),
      onKey: (event, queue) => this.key(event, queue),
    });
  }

  select(queue) { address.set({ queue: queue.parent ? queue.name : null }); }

  key(event, queue) {
    if (event.key === "ArrowRight" && queue.children.length) {
      if (!this.isOpen(queue)) this.toggle(queue); else this.select(this.byName.get(queue.children[0]) ?? queue);
    } else if (event.key === "ArrowLeft" && queue.children.length && this.isOpen(queue)) this.toggle(queue);
    else if (event.key === "ArrowLeft" && queue.parent) this.select(this.byName.get(queue.parent));
    else return false;
    return true;
  }

  columns() {
    const axis = () => h("span", { class: "axis", "aria-hidden": "true" }, (this.scale === "fair"
      ? [["0", 0], ["50%", 25], [this.words.fair, 50], ["150%", 75], ["200%", 100]] : [["0", 0], ["25%", 25], ["50%", 50], ["75%", 75], ["cluster", 100]])
      .map(([said, left]) => h("span", { class: left === 50 && this.scale === "fair" ? "strong" : "", style: { left: `${left}%` } }, said)));
    return [
      { key: "name", title: "Queue", width: "minmax(130px, 1.1fr)", phone: "minmax(118px, 1fr)" },
      { key: "bar", title: axis, width: "minmax(170px, 1.7fr)", phone: "minmax(120px, 1fr)", class: "bar-cell" },
      { key: "ratio", title: this.words.ofFair, hint: `used, as a part of the ${this.words.fairLong}`, width: "48px", align: "right" },
      { key: "used", title: "Used", width: "86px", phone: false, align: "right" },
      { key: "cluster", title: "Cluster", hint: "used, as a part of the cluster: the larger of memory and CPU", width: "52px", align: "right", narrow: false },
      { key: "applications", title: "Active · held", hint: "applications that the queue lets run · that a limit holds back", width: "68px", align: "right", narrow: false },
      { key: "owed", title: "Owed", hint: "entitled to, and not received", width: "92px", phone: false },
    ];
  }

  cell(queue, key) {
    const type = this.typeOf(queue);
    const share = queue.share;
    const idle = share.state === "idle";
    const fair = queue.fair_share[type];
    switch (key) {
      case "name": return this.nameCell(queue);
      case "bar": return bar(this.barOf(queue, type));
      case "ratio": return idle || !fair ? "–" : percent(this.resource === "dominant" ? share.used_of_fair : queue.used[type] / fair);
      case "used": return idle ? "–" : amount(queue.used[type], type, this.resource !== "dominant");
      case "cluster": return idle ? "–" : percent(share.used_share);
      case "applications": return h("span", {}, count(queue.running_applications), h("span", { class: "faint" }, " · "), count(queue.pending_applications));
      case "owed": return share.owed[type] ? h("span", { class: "owed" }, h("i", { class: "owed-mark", "aria-hidden": "true" }), amount(share.owed[type], type, this.resource !== "dominant"))
        : idle ? h("span", { class: "faint" }, "idle") : "";
      default: return "";
    }
  }

  nameCell(queue) {
    const many = queue.children.length > 0;
    const open = many && this.isOpen(queue);
    return h("span", { class: "queue-name" },
      many ? h("button", { class: "twist", type: "button", tabindex: "-1", "aria-label": open ? "Close" : "Open",
        on: { click: () => this.toggle(queue) } }, open ? "▾" : "▸") : h("span", { class: "twist" }),
      depthOf(queue, this.byName) === 1 && h("i", { class: "swatch" }),
      h("span", { class: "ell", title: queue.name }, lastName(queue.name)),
      queue.dynamic && h("span", { class: "tag", title: "made when a user submitted to it" }, "auto"),
      queue.capacity && queue.capacity.state !== "RUNNING" && h("span", { class: "tag" }, queue.capacity.state.toLowerCase()));
  }

  barOf(queue, type) {
    const total = this.queues.data.total[type];
    const fair = queue.fair_share[type];
    const steady = queue.steady_fair_share[type];
    const active = queue.share.state !== "idle";
    const unit = this.scale === "cluster" ? total : 2 * (fair || steady) || total || 1;
    const plain = this.words.kind !== "fair";
    return { unit, used: queue.used[type], fair: fair || 0, demand: queue.demand[type], active,
      max: Math.min(queue.max_share[type], total), min: plain && this.words.kind !== "pools" ? null : queue.min_share[type], steady: plain ? null : steady };
  }
}

export function depthOf(queue, byName) {
  let depth = 0;
  for (let one = byName.get(queue.parent); one; one = byName.get(one.parent)) depth += 1;
  return depth;
}

function legendShown() { try { return localStorage.getItem(LEGEND_KEY) !== "closed"; } catch { return true; } }
function showLegend(shown) { try { localStorage.setItem(LEGEND_KEY, shown ? "open" : "closed"); } catch { /* stays as it is */ } }

