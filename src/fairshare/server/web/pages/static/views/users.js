// The page of users: what each has now, and what the accounts say that each used in a period.
// In the address: period, sort.

import { address, link } from "../address.js";
import { fill, h } from "../document.js";
import { amounts, count, percent } from "../format.js";
import { session } from "../session.js";
import { blank, entryState } from "../states.js";
import { store } from "../store.js";
import { VirtualTable } from "../virtual-table.js";

const PACE_MS = 3000;
const ACCOUNTS_MS = 60_000;
const HOUR_MS = 3_600_000;

// The first one is chosen at first. A period has a beginning, and an end if it is over.
const PERIODS = [
  ["month", "this month", (now) => [new Date(now.getFullYear(), now.getMonth(), 1)]],
  ["last-month", "last month", (now) => [new Date(now.getFullYear(), now.getMonth() - 1, 1), new Date(now.getFullYear(), now.getMonth(), 1)]],
  ["week", "last 7 days", (now) => [new Date(Math.floor(now.getTime() / HOUR_MS) * HOUR_MS - 168 * HOUR_MS)]],
  ["year", "this year", (now) => [new Date(now.getFullYear(), 0, 1)]],
];

export function view(place) {
  const page = new UsersPage(place);
  return { title: () => "Users", update: () => page.update(), close: () => page.close() };
}

class UsersPage {
  constructor(place) {
    this.place = place;
    place.className = "view-list";
    this.now = { data: null, error: null };
    this.accounts = { data: null, error: null };
    this.head = h("header");
    this.body = h("div", { class: "list-body" });
    this.table = new VirtualTable({
      label: "Users", rowKey: (one) => one.user, rowHeight: 28, cell: (one, column) => column.draw(one), sort: address.get("sort"),
      onSort: (text) => address.set({ sort: text }), onOpen: (one) => address.go("/cluster/apps", { user: one.user }),
      rowLabel: (one) => `${one.user}, ${one.running} running, ${one.waiting} waiting`,
      rowClass: (one) => (one.containers || one.waiting ? "" : "over"),
      columns: columns(false),
    });
    fill(place, h("section", { class: "card list-card", "aria-label": "Users" }, this.head, this.body));
    this.stops = [
      () => this.stopAccounts?.(),
      store.watch("/pages/users", (entry) => { this.now = entry; this.draw(); }, { every_ms: PACE_MS }),
      session.onChange(() => this.draw()),
    ];
    this.update();
  }

  close() { for (const stop of this.stops) stop(); this.place.className = ""; }

  get period() { return PERIODS.find(([name]) => name === address.get("period")) ?? PERIODS[0]; }

  // The address has changed.
  update() {
    const [since, until] = this.period[2](new Date());
    const path = `/accounting/report?by=user&since=${since.getTime()}${until ? `&until=${until.getTime()}` : ""}`;
    if (path !== this.path) {
      this.stopAccounts?.();
      this.path = path;
      this.accounts = { data: null, error: null };
      this.stopAccounts = store.watch(path, (entry) => { if (this.path === path) { this.accounts = entry; this.draw(); } }, { every_ms: ACCOUNTS_MS });
    }
    this.draw();
  }

  rows() {
    const rows = new Map(this.now.data.users.map((one) => [one.user, { ...one, past: null }]));
    for (const past of this.accounts.data?.rows ?? []) {
      const [user] = past.group;
      rows.set(user, { ...(rows.get(user) ?? { user, running: 0, waiting: 0, containers: 0 }), past });
    }
    return [...rows.values()];
  }

  draw() {
    const [chosen, words] = this.period;
    fill(this.head, h("h1", {}, "Users"),
      h("div", { class: "seg", role: "group", "aria-label": "Accounts of" }, PERIODS.map(([name, word]) => h("button", { type: "button", key: name,
        "aria-pressed": String(name === chosen), on: { click: () => address.set({ period: name === PERIODS[0][0] ? null : name }) } }, word))),
      h("div", { class: "right" }, h("a", { class: "btn small", href: link("/cluster/board") }, "Board for a wall")));
    const missing = entryState(this.now, "the users");
    if (missing) { fill(this.body, missing); return; }
    const rows = this.rows();
    const gpus = this.now.data.total["yarn.io/gpu"] > 0 || rows.some((one) => one.past?.gpu_seconds);
    if (gpus !== this.gpus) { this.gpus = gpus; this.table.setColumns(columns(gpus)); }
    if (!rows.length) { fill(this.body, blank({ title: "No user has anything here", text: `Nothing runs or waits, and nothing ended ${words}.` })); return; }
    const alive = rows.filter((one) => one.containers || one.waiting).length;
    fill(this.body, h("p", { class: "told", key: "told", role: "status" }, `${count(alive)} of ${count(rows.length)} users have work now${store.moment === null ? "" : " (not at the moment that you look at)"}; hours and efficiencies are those of ${words}, of containers that have ended.`,
      this.accounts.error && ` The accounts cannot be read: ${this.accounts.error.message}`),
      h("div", { class: "list-table", key: "table", own: true }));
    const holder = this.body.querySelector(".list-table");
    if (this.table.element.parentNode !== holder) holder.append(this.table.element);
    this.table.update(rows);
  }
}

// `gpus`: whether the cluster has any, or had.
function columns(gpus) {
  const used = (key, title, of) => ({ key, title, hint: "of containers that have ended, in the chosen period", width: "86px", align: "right", narrow: key === "gpu" || (key === "vcore" && !gpus), sort: of, draw: (one) => (one.past ? hours(of(one)) : "–") });
  return [
    { key: "user", title: "User", width: "minmax(80px, .8fr)", draw: (one) => h("a", { href: link("/cluster/apps", { user: one.user }), title: one.user, tabindex: "-1" }, one.user), sort: (one) => one.user },
    { key: "running", title: "Running", hint: "applications that have containers", width: "62px", align: "right", draw: (one) => some(one.running), sort: (one) => one.running },
    { key: "waiting", title: "Waiting", hint: "applications without containers", width: "62px", align: "right", draw: (one) => some(one.waiting), sort: (one) => one.waiting },
    { key: "used", title: "Uses now", width: "minmax(150px, 1.2fr)", phone: false, align: "right", draw: (one) => (one.containers ? amounts(one.used) : "–"), sort: (one) => one.used?.["memory-mb"] ?? 0 },
    { key: "pending", title: "Waits for", width: "minmax(140px, 1fr)", narrow: false, align: "right", draw: (one) => (one.pending?.["memory-mb"] ? amounts(one.pending) : "–"), sort: (one) => one.pending?.["memory-mb"] ?? 0 },
    gpus && used("gpu", "GPU hours", (one) => (one.past?.gpu_seconds ?? 0) / 3600),
    used("vcore", "VCore hours", (one) => (one.past?.vcore_seconds ?? 0) / 3600),
    used("memory", "GiB hours", (one) => (one.past?.memory_mb_seconds ?? 0) / 3600 / 1024),
    { key: "ended", title: "Ended", hint: "applications whose containers ended in the chosen period", width: "64px", narrow: false, align: "right", draw: (one) => some(one.past?.applications ?? 0), sort: (one) => one.past?.applications ?? 0 },
    { key: "efficiency", title: "CPU", hint: "CPU time, as a part of the vcores that were granted", width: "52px", narrow: false, align: "right", draw: (one) => percent(one.past?.cpu_efficiency), sort: (one) => one.past?.cpu_efficiency ?? -1 },
    { key: "memory-efficiency", title: "Memory", hint: "the most that was used, as a part of the memory that was granted", width: "66px", narrow: false, align: "right", draw: (one) => percent(one.past?.memory_efficiency), sort: (one) => one.past?.memory_efficiency ?? -1 },
  ].filter(Boolean);
}

const some = (number) => (number ? count(number) : "–");

// 0.04, 3.2, 1,204: hours.
const hours = (number) => (number === 0 ? "–" : number < 0.01 ? "<0.01" : number < 99.5 ? String(Number(number.toPrecision(2))) : count(number));
