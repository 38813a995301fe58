// The page of the ledger: what queues, or the users of one queue, were entitled to, got, lent,
// borrowed and were owed in a period, and the debts by cause. The sums are the server's.
// In the address: queue, period, resource, sort.

import { address, link } from "../address.js";
import { fill, h } from "../document.js";
import { instant, percent, shortName, typeTitle } from "../format.js";
import { blank, entryState } from "../states.js";
import { store } from "../store.js";
import { VirtualTable } from "../virtual-table.js";

// The units of time in which amounts are shown, the largest that there is one of.
const SPANS = [["hours", 3_600_000], ["minutes", 60_000], ["seconds", 1_000]];
const PACE_MS = 20_000;
const HOUR_MS = 3_600_000;
const PERIODS = [["day", "24 hours", 24], ["week", "7 days", 168], ["month", "30 days", 720], ["year", "400 days", 9600]];

export function view(place) {
  const page = new LedgerPage(place);
  return { title: () => "Ledger", update: () => page.update(), close: () => page.close() };
}

class LedgerPage {
  constructor(place) {
    this.place = place;
    place.className = "view-list";
    this.entry = { data: null, error: null };
    this.span = SPANS[0];
    this.head = h("header");
    this.body = h("div", { class: "list-body" });
    this.table = new VirtualTable({
      label: "Ledger", rowKey: (one) => `${one.queue} ${one.user ?? ""}`, rowHeight: 28, cell: (one, column) => column.draw(one), sort: address.get("sort"),
      onSort: (text) => address.set({ sort: text }), onOpen: (one) => address.set({ queue: one.queue }, { push: true }),
      rowLabel: (one) => `${one.queue}${one.user ? `, ${one.user}` : ""}, owed ${this.amount(owed(one), one.resource)}`,
      columns: this.columns(false),
    });
    fill(place, h("section", { class: "card list-card", "aria-label": "Ledger" }, this.head, this.body));
    this.update();
  }

  close() { this.stop?.(); this.place.className = ""; }

  get period() { return PERIODS.find(([name]) => name === address.get("period")) ?? PERIODS[1]; }

  // The address has changed.
  update() {
    const queue = address.get("queue");
    const since = (Math.floor(Date.now() / HOUR_MS) - this.period[2] + 1) * HOUR_MS;
    const path = `/ledger?by=${queue ? "queue,user" : "queue"}&since=${since}${queue ? `&queue=${encodeURIComponent(queue)}` : ""}`;
    if (path !== this.path) {
      this.stop?.();
      this.path = path;
      this.entry = { data: null, error: null };
      this.table.setColumns(this.columns(Boolean(queue)));
      this.stop = store.watch(path, (entry) => { if (this.path === path) { this.entry = entry; this.draw(); } }, { every_ms: PACE_MS });
    }
    this.draw();
  }

  draw() {
    const [chosen, words] = this.period;
    const queue = address.get("queue");
    const types = [...new Set((this.entry.data?.lines ?? []).map((one) => one.resource))];
    const type = types.includes(address.get("resource")) ? address.get("resource") : types[0];
    const button = (key, word, pressed, values) => h("button", { type: "button", key, "aria-pressed": String(pressed), on: { click: () => address.set(values) } }, word);
    fill(this.head, h("h1", {}, queue ? `Ledger of ${shortName(queue)}` : "Ledger"),
      h("div", { class: "seg", role: "group", "aria-label": "Period" }, PERIODS.map(([name, word]) => button(name, word, name === chosen, { period: name === PERIODS[1][0] ? null : name }))),
      types.length > 1 && h("div", { class: "seg", role: "group", "aria-label": "Resource type" }, types.map((name) => button(name, typeTitle(name), name === type, { resource: name === types[0] ? null : name }))),
      h("div", { class: "right" }, queue && [h("a", { class: "btn small", href: link("/cluster/scheduler", { queue }) }, "Queue"), h("a", { class: "btn small", href: link("/cluster/ledger") }, "All queues")]));
    const { error } = this.entry;
    if (error && ["no-ledger", "before-the-ledger", "after-the-ledger", "no-such-queue"].includes(error.code)) { fill(this.body, blank({ title: "Nothing here yet", text: error.message })); return; }
    const missing = entryState(this.entry, "the ledger");
    if (missing) { fill(this.body, missing); return; }
    const { data } = this.entry;
    const rows = data.lines.filter((one) => one.resource === type);
    if (!rows.length) { fill(this.body, blank({ title: "Nothing was delivered or owed", text: `In the last ${words}.` })); return; }
    const whole = rows.reduce((sum, one) => sum + one.entitled + one.delivered, 0) / unit(type);
    this.span = SPANS.find(([, span_ms]) => whole >= span_ms) ?? SPANS.at(-1);
    fill(this.body, h("p", { class: "told", key: "told", role: "status" }, `In ${type === "memory-mb" ? "GiB" : typeTitle(type)} ${this.span[0]}, from ${instant(Math.max(data.since_ms, data.begin_ms))} to ${instant(data.complete_ms)}${store.moment === null ? "" : " (not of the moment that you look at)"}: entitled = delivered - borrowed + lent + idle + owed.`),
      data.gaps.map((gap) => h("p", { class: "told", key: `gap ${gap.since_ms}` }, `Nothing is known from ${instant(gap.since_ms)} to ${instant(gap.until_ms)}: the journal no longer had that time.`)),
      h("div", { class: "list-table", key: "table", own: true }), this.drawCauses(rows, data.causes));
    const holder = this.body.querySelector(".list-table");
    if (this.table.element.parentNode !== holder) holder.append(this.table.element);
    this.table.update(rows);
  }

  amount(amount, type) { return amount ? (amount / unit(type) / this.span[1]).toFixed(2) : "–"; }

  drawCauses(rows, words) {
    const causes = new Map();
    for (const row of rows) for (const [cause, amount] of Object.entries(row.owed)) causes.set(cause, (causes.get(cause) ?? 0) + amount);
    const all = [...causes.values()].reduce((sum, one) => sum + one, 0);
    if (!all) return h("p", { class: "faint small", key: "causes" }, "Nothing was owed.");
    return h("div", { class: "owed-parts ledger-causes", key: "causes" }, h("ul", {}, [...causes].sort((a, b) => b[1] - a[1]).map(([cause, amount]) => h("li", { key: cause },
      h("i", { class: `cause ${cause}`, "aria-hidden": "true" }), h("span", {}, this.amount(amount, rows[0].resource)), h("span", {}, `${percent(amount / all)} owed by ${cause}: ${words[cause] ?? ""}`)))));
  }

  columns(ofUsers) {
    const amount = (key, title, of, hint, more = {}) => ({ key, title, hint, width: "92px", align: "right", sort: of, draw: (one) => this.amount(of(one), one.resource), ...more });
    return [
      { key: "queue", title: "Queue", width: "minmax(60px, 1fr)", draw: (one) => h("a", { href: link("/cluster/ledger", { queue: one.queue }), title: one.queue, tabindex: "-1" }, shortName(one.queue)), sort: (one) => one.queue },
      ofUsers && { key: "user", title: "User", width: "minmax(60px, .8fr)", draw: (one) => one.user || h("span", { class: "faint" }, "not asked for"), sort: (one) => one.user },
      amount("entitled", "Entitled", (one) => one.entitled, "its share, over time"),
      amount("delivered", "Delivered", (one) => one.delivered, "what its containers had", { phone: false }),
      amount("borrowed", "Borrowed", (one) => one.borrowed, "what they had beyond its share", { phone: false }),
      amount("lent", "Lent", (one) => one.lent, "of its share: not asked for, and used by others", { narrow: false }),
      amount("idle", "Idle", (one) => one.idle, "of its share: not asked for, and unused", { narrow: false }),
      amount("owed", "Owed", owed, "of its share: asked for, and not given"),
      { key: "part", title: "Of its share", width: "80px", align: "right", narrow: false, draw: (one) => (one.entitled ? percent(owed(one) / one.entitled) : "–"), sort: (one) => (one.entitled ? owed(one) / one.entitled : 0) },
      { key: "cause", title: "Most by", width: "minmax(90px, .8fr)", phone: false, draw: (one) => Object.keys(one.owed)[0] ?? "–", sort: (one) => Object.keys(one.owed)[0] ?? "" },
    ].filter(Boolean);
  }
}

const owed = (one) => Object.values(one.owed).reduce((sum, amount) => sum + amount, 0);
const unit = (type) => (type === "memory-mb" ? 1024 : 1);
