// The list of all applications. What the reader chose is in the address:
// state (one word of STATES), user, queue (that one and all below it), search, sort.

import { address, link } from "../address.js";
import { fill, h } from "../document.js";
import { families, hueOf } from "../families.js";
import { amounts, count, duration, instant, percent, shortName } from "../format.js";
import { PagedRows } from "../paged-rows.js";
import { session } from "../session.js";
import { blank, faultState, loadingRows } from "../states.js";
import { store } from "../store.js";
import { VirtualTable } from "../virtual-table.js";
import { meter } from "../bar.js";
import { OVER, elapsedOf, progressOf, stateMark, stateOf } from "./application-words.js";

const STATES = [["", "all"], ["waiting", "waiting"], ["running", "running"], ["finished", "finished"], ["failed", "failed"], ["killed", "killed"]];
const OF_YARN = { PENDING: "waiting", ACCEPTED: "waiting", SUBMITTED: "waiting", RUNNING: "running", FINISHED: "finished", FAILED: "failed", REJECTED: "failed", KILLED: "killed" };
const PACE_MS = 3000;
const ALIVE_FIRST = "alive"; // what waits or runs, the newest first, and then what has ended

export function view(place) {
  const page = new ApplicationsPage(place);
  return { title: () => "Applications", update: () => page.update(), close: () => page.close() };
}

class ApplicationsPage {
  constructor(place) {
    this.place = place;
    place.className = "view-list";
    this.choices = { users: [], queues: [] };
    this.hasPriorities = false; // as the scheduler has them
    this.leaf = "root.default"; // some queue that applications can be submitted to
    this.pages = new PagedRows("applications", () => this.draw(), { every_ms: PACE_MS, unnamed: ALIVE_FIRST });
    this.head = h("header");
    this.body = h("div", { class: "list-body" });
    this.table = new VirtualTable({
      label: "Applications", columns: this.columns(), rowKey: (one) => one.id, rowHeight: 28,
      cell: (one, column) => column.draw(one), sort: address.get("sort"),
      onSort: (text) => address.set({ sort: text }), onWindow: (first, last) => this.pages.look(first, last),
      onOpen: (one) => address.go(`/cluster/app/${one.id}`),
      rowStyle: (one) => ({ "--hue": hueOf(one.queue) }),
      rowClass: (one) => (OVER.has(one.state) ? "over" : ""),
      rowLabel: (one) => `${one.name}, ${one.user}, ${one.queue}, ${stateOf(one)[0]}`,
    });
    fill(place, h("section", { class: "card list-card", "aria-label": "Applications" }, this.head, this.body));
    this.stops = [
      store.watch("/pages/queues", ({ data }) => { if (data) { families.learn(data.queues); this.leaf = data.queues.find((one) => one.leaf)?.name ?? this.leaf; this.table.draw(); this.draw(); } }, { every_ms: 30_000 }),
      store.watch("/cluster", ({ data }) => {
        if (!data || data.has_priorities === this.hasPriorities) return;
        this.hasPriorities = data.has_priorities;
        this.table.setColumns(this.columns());
      }, { every_ms: 30_000 }),
      session.onChange(() => this.draw()),
      store.watch("/pages/applications/choices", ({ data }) => { if (data) { this.choices = data; this.draw(); } }, { every_ms: 15_000 }),
    ];
    this.update();
  }

  // The address has changed.
  update() {
    const { state, user, queue, search } = this.filters;
    this.pages.ask({ only: state, user, below: queue, search, sort: address.get("sort") || ALIVE_FIRST });
    this.draw();
  }

  close() { for (const stop of this.stops) stop(); this.pages.close(); this.place.className = ""; }

  columns() {
    const text = (value) => h("span", { title: value }, value);
    return [
      { key: "id", title: "Application", width: "112px", phone: false, draw: (one) => h("a", { class: "mono", href: link(`/cluster/app/${one.id}`), title: one.id, tabindex: "-1" }, `…${one.id.slice(-11)}`), sort: true },
      { key: "name", title: "Name", width: "minmax(110px, 1.4fr)", draw: (one) => text(one.name), sort: true },
      { key: "user", title: "User", width: "minmax(60px, .6fr)", phone: false, draw: (one) => text(one.user), sort: true },
      { key: "queue", title: "Queue", width: "minmax(90px, 1fr)", draw: (one) => [h("i", { class: "swatch" }), " ", h("span", { title: one.queue }, shortName(one.queue))], sort: true },
      { key: "state", title: "State", width: "88px", draw: stateMark, sort: true },
      { key: "progress", title: "Tasks done", width: "106px", narrow: false, draw: drawProgress, sort: true },
      { key: "containers", title: "Containers", width: "72px", align: "right", narrow: false, draw: (one) => count(one.containers), sort: true },
      { key: "used", title: "Used", width: "minmax(112px, .7fr)", phone: false, align: "right", draw: (one) => (one.containers ? amounts(one.used) : "–"), sort: true },
      { key: "pending", title: "Waits for", width: "minmax(112px, .7fr)", align: "right", narrow: false, hint: "What it has asked for and does not have", draw: (one) => (one.pending["memory-mb"] ? amounts(one.pending) : "–"), sort: true },
      this.hasPriorities && { key: "priority", title: "Priority", width: "56px", align: "right", narrow: false, draw: (one) => String(one.priority), sort: true },
      { key: "submitted", title: "Submitted", width: "108px", align: "right", narrow: false, draw: (one) => instant(one.submitted_ms), sort: true },
      { key: "waited", title: "Waited", width: "68px", hint: "From its submission to its first container, or so far", narrow: false, align: "right", draw: (one) => duration((one.began_ms || one.finished_ms || (store.moment ?? Date.now())) - one.submitted_ms), sort: true },
      { key: "elapsed", title: "Elapsed", width: "72px", hint: "Since its first container was launched", phone: false, align: "right", draw: (one) => (one.began_ms ? duration(elapsedOf(one, store.moment ?? Date.now())) : "–"), sort: true },
    ].filter(Boolean);
  }

  get filters() {
    const word = address.get("state") ?? "";
    const state = OF_YARN[word.toUpperCase()] ?? word;
    return { state: STATES.some(([name]) => name === state) ? state : "", user: address.get("user") ?? "", queue: address.get("queue") ?? "", search: address.get("search") ?? "" };
  }

  draw() {
    const { state, user, queue, search } = this.filters;
    const { data, error } = this.pages.entry;
    const counts = data?.counts ?? {};
    const wanted = STATES.find(([name]) => name === state) ?? STATES[0];
    fill(this.head, h("h1", {}, "Applications"),
      h("div", { class: "chips", role: "group", "aria-label": "State" }, STATES.map(([name, word]) => h("button", {
        class: "chip", type: "button", "aria-pressed": String(wanted[0] === name), on: { click: () => address.set({ state: name }) } }, word, " ", h("b", {}, data ? count(counts[name || "all"]) : "…")))),
      h("div", { class: "right filters" },
        this.mine(user), this.field("search", "Name, id, user or queue", search), this.choice("user", "Any user"),
        this.choice("queue", "Any queue"),
        (search || user || queue || state) && h("button", { class: "btn small", type: "button", on: { click: () => address.set({ search: null, user: null, queue: null, state: null }) } }, "Clear")));
    this.fillChoices({ user, queue });
    if (error && (!data || store.moment !== null)) { fill(this.body, faultState(error, "the applications")); return; }
    if (!data) { fill(this.body, loadingRows(24)); return; }
    if (!data.matching) {
      fill(this.body, data.known
        ? blank({ title: "No application is like that", text: `${count(data.known)} ${data.at_ms === null ? "are" : "were"} known; none of them is ${wanted[1] === "all" ? "as the filters say" : `${wanted[1]} and as the filters say`}.` })
        : blank(data.at_ms === null ? { title: "No application yet", text: "Submit one, and it appears here:", code: `fairshare submit --queue ${this.leaf} -- python train.py` }
          : { title: "There was no application then", text: "Go forward in time, or back to live." }));
      return;
    }
    fill(this.body, h("p", { class: "told", key: "told", role: "status" }, told(data, wanted[0])),
      h("div", { class: "list-table", key: "table", own: true }));
    const holder = this.body.querySelector(".list-table");
    if (this.table.element.parentNode !== holder) holder.append(this.table.element);
    this.table.update(this.pages.list);
  }

  // One click to the reader's own applications, where the server knows the reader.
  mine(user) {
    const own = session.current?.user;
    return own && h("button", { class: "chip", type: "button", key: "mine", "aria-pressed": String(user === own), on: { click: () => address.set({ user: user === own ? null : own }) } }, "mine");
  }

  field(name, words, value) {
    return h("input", { class: "field", type: "search", placeholder: words, "aria-label": words, value, spellcheck: "false",
      on: { input() { address.set({ [name]: this.value }); } } });
  }

  choice(name, words) {
    return h("select", { class: "field", "aria-label": words, own: true, key: name, dataset: { words, name }, on: { change() { address.set({ [name]: this.value }); } } });
  }

  // The choices are made anew only when they are others: there may be a thousand.
  fillChoices(values) {
    for (const place of this.head.querySelectorAll("select")) {
      const { name, words } = place.dataset;
      const value = values[name];
      const known = this.choices[`${name}s`];
      const choices = value && !known.includes(value) ? [...known, value].sort() : known;
      if (place.shownChoices !== choices.length + choices.at(-1) + value) {
        fill(place, h("option", { value: "", key: "" }, words), choices.map((one) => h("option", { value: one, key: one }, one)));
        place.shownChoices = choices.length + choices.at(-1) + value;
      }
      if (document.activeElement !== place || place.value !== value) place.value = value;
    }
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
function told({ counts, held, containers, matching, at_ms }, state) {
  const parts = state ? [`${count(matching)} of ${count(counts.all)} applications`] : [`${count(counts.running)} ${at_ms === null ? "run" : "ran"}, ${count(counts.waiting)} ${at_ms === null ? "wait" : "waited"}`];
  if (held) parts.push(`${count(held)} held back by limits`);
  parts.push(`${count(containers)} containers`);
  return `${parts.join(" · ")}.`;
}
