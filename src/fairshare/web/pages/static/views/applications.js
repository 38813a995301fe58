// applications.js owns the list of all applications. What the reader chose stands in the address:
// state (one word of STATES), user, queue (that one and all below it), search, sort.

import { address, link } from "../address.js";
import { fill, h } from "../document.js";
import { families, hueOf } from "../families.js";
import { amounts, count, duration, instant, percent } from "../format.js";
import { blank, entryState } from "../states.js";
import { store } from "../store.js";
import { VirtualTable } from "../virtual-table.js";
import { meter } from "../bar.js";
import { OVER, elapsedOf, progressOf, stateMark, stateOf } from "./application-words.js";

const STATES = [
  ["", "all", () => true],
  ["waiting", "waiting", (one) => !OVER.has(one.state) && !one.containers],
  ["running", "running", (one) => !OVER.has(one.state) && one.containers > 0],
  ["finished", "finished", (one) => one.state === "FINISHED"],
  ["failed", "failed", (one) => one.state === "FAILED" || one.state === "REJECTED"],
  ["killed", "killed", (one) => one.state === "KILLED"],
];
const OF_YARN = { PENDING: "waiting", ACCEPTED: "waiting", SUBMITTED: "waiting", RUNNING: "running", FINISHED: "finished", FAILED: "failed", REJECTED: "failed", KILLED: "killed" };
const PACE_MS = 3000;

export function view(place) {
  const page = new ApplicationsPage(place);
  return { title: () => "Applications", update: () => page.draw(), close: () => page.close() };
}

class ApplicationsPage {
  constructor(place) {
    this.place = place;
    place.className = "view-list";
    this.entry = { data: null, error: null };
    this.head = h("header");
    this.body = h("div", { class: "list-body" });
    this.table = new VirtualTable({
      label: "Applications", columns: this.columns(), rowKey: (one) => one.id, rowHeight: 28,
      cell: (one, column) => column.draw(one), sort: address.get("sort"),
      onSort: (text) => address.set({ sort: text }),
      onOpen: (one) => address.go(`/cluster/app/${one.id}`),
      rowStyle: (one) => ({ "--hue": hueOf(one.queue) }),
      rowClass: (one) => (OVER.has(one.state) ? "over" : ""),
      rowLabel: (one) => `${one.name}, ${one.user}, ${one.queue}, ${stateOf(one)[0]}`,
    });
    fill(place, h("section", { class: "card list-card", "aria-label": "Applications" }, this.head, this.body));
    this.stops = [
      store.watch("/applications", (entry) => { this.entry = entry; this.draw(); }, { every_ms: PACE_MS }),
      store.watch("/queues", ({ data }) => { if (data) { families.learn(data.queues); this.table.draw(); } }, { every_ms: 15_000 }),
    ];
  }

  close() { for (const stop of this.stops) stop(); this.place.className = ""; }

  columns() {
    const text = (value) => h("span", { title: value }, value);
    return [
      { key: "id", title: "Application", width: "118px", draw: (one) => h("a", { class: "mono", href: link(`/cluster/app/${one.id}`), title: one.id, tabindex: "-1" }, `…${one.id.slice(-11)}`), sort: (one) => one.submitted_ms },
      { key: "name", title: "Name", width: "minmax(110px, 1.4fr)", draw: (one) => text(one.name), sort: (one) => one.name },
      { key: "user", title: "User", width: "minmax(60px, .6fr)", draw: (one) => text(one.user), sort: (one) => one.user },
      { key: "queue", title: "Queue", width: "minmax(90px, 1fr)", draw: (one) => [h("i", { class: "swatch" }), " ", text(one.queue)], sort: (one) => one.queue },
      { key: "state", title: "State", width: "92px", draw: stateMark, sort: (one) => stateOf(one)[0] },
      { key: "progress", title: "Tasks done", width: "126px", narrow: false, draw: drawProgress, sort: (one) => progressOf(one) ?? -1 },
      { key: "containers", title: "Containers", width: "76px", align: "right", narrow: false, draw: (one) => count(one.containers), sort: (one) => one.containers },
      { key: "used", title: "Used", width: "minmax(112px, .7fr)", align: "right", draw: (one) => (one.containers ? amounts(one.used) : "–"), sort: (one) => one.used["memory-mb"] },
      { key: "pending", title: "Waits for", width: "minmax(112px, .7fr)", align: "right", narrow: false, hint: "What it has asked for and does not have", draw: (one) => (one.pending["memory-mb"] ? amounts(one.pending) : "–"), sort: (one) => one.pending["memory-mb"] },
      { key: "priority", title: "Priority", width: "56px", align: "right", narrow: false, draw: (one) => String(one.priority), sort: (one) => one.priority },
      { key: "submitted", title: "Submitted", width: "116px", align: "right", narrow: false, draw: (one) => instant(one.submitted_ms), sort: (one) => one.submitted_ms },
      { key: "elapsed", title: "Elapsed", width: "84px", align: "right", draw: (one) => duration(elapsedOf(one, Date.now())), sort: (one) => elapsedOf(one, Date.now()) },
    ];
  }

  get filters() {
    const state = address.get("state") ?? "";
    return { state: OF_YARN[state.toUpperCase()] ?? state, user: address.get("user") ?? "", queue: address.get("queue") ?? "", search: address.get("search") ?? "" };
  }

  draw() {
    const { state, user, queue, search } = this.filters;
    const missing = entryState(this.entry, "the applications");
    const all = this.entry.data?.applications ?? [];
    const low = search.toLowerCase();
    const matching = all.filter((one) => (!user || one.user === user)
      && (!queue || one.queue === queue || one.queue.startsWith(`${queue}.`))
      && (!low || `${one.id} ${one.name} ${one.user} ${one.queue}`.toLowerCase().includes(low)));
    const counts = STATES.map(([, , wanted]) => matching.filter(wanted).length);
    const wanted = STATES.find(([name]) => name === state) ?? STATES[0];
    const rows = matching.filter(wanted[2]);
    fill(this.head, h("h1", {}, "Applications"),
      h("div", { class: "chips", role: "group", "aria-label": "State" }, STATES.map(([name, word], n) => h("button", {
        class: "chip", type: "button", "aria-pressed": String(wanted[0] === name), on: { click: () => address.set({ state: name }) } }, word, " ", h("b", {}, count(counts[n]))))),
      h("div", { class: "right filters" },
        this.field("search", "Name, id, user or queue", search), this.choice("user", "Any user", user, all.map((one) => one.user)),
        this.choice("queue", "Any queue", queue, all.map((one) => one.queue)),
        (search || user || queue || state) && h("button", { class: "btn small", type: "button", on: { click: () => address.set({ search: null, user: null, queue: null, state: null }) } }, "Clear")));
    if (missing) { fill(this.body, missing); return; }
    if (!rows.length) {
      fill(this.body, all.length
        ? blank({ title: "No application is like that", text: `${count(all.length)} are known; none of them is ${wanted[1] === "all" ? "as the filters say" : `${wanted[1]} and as the filters say`}.` })
        : blank({ title: "No application yet", text: "Submit one, and it stands here:", code: "fairshare submit --queue default -- python train.py" }));
      return;
    }
    fill(this.body, h("p", { class: "told", key: "told", role: "status" }, told(rows, counts, wanted[0], matching.length)),
      h("div", { class: "list-table", key: "table", own: true }));
    const holder = this.body.querySelector(".list-table");
    if (this.table.element.parentNode !== holder) holder.append(this.table.element);
    this.table.update(rows);
  }

  field(name, words, value) {
    return h("input", { class: "field", type: "search", placeholder: words, "aria-label": words, value, spellcheck: "false",
      on: { input() { address.set({ [name]: this.value }); } } });
  }

  choice(name, words, value, values) {
    const choices = [...new Set(value ? [...values, value] : values)].sort();
    return h("select", { class: "field", "aria-label": words, value, on: { change() { address.set({ [name]: this.value }); } } },
      h("option", { value: "", key: "" }, words), choices.map((one) => h("option", { value: one, key: one }, one)));
  }
}

function drawProgress(one) {
  const part = progressOf(one);
  if (part === null) return h("span", { class: "faint" }, "–");
  const { total, succeeded, failed } = one.progress;
  return h("span", { class: `progress${failed ? " with-failed" : ""}`, title: `${count(succeeded)} of ${count(total)} tasks succeeded, ${count(failed)} failed` },
    meter(part, `${percent(part)} of the tasks succeeded`), h("span", { class: "num" }, total > 9999 ? percent(part) : `${count(succeeded)}/${count(total)}`));
}

// The first sentence: who waits, who is held back.
function told(rows, counts, state, matching) {
  const held = rows.filter((one) => !OVER.has(one.state) && !one.containers && !one.runnable).length;
  const parts = state ? [`${count(rows.length)} of ${count(matching)} applications`] : [`${count(counts[2])} run, ${count(counts[1])} wait`];
  if (held) parts.push(`${count(held)} held back by limits`);
  const used = rows.reduce((sum, one) => sum + one.containers, 0);
  parts.push(`${count(used)} containers`);
  return `${parts.join(" · ")}.`;
}
