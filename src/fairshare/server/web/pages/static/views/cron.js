// The page of cron jobs: when each is due, what it does, and what became of its last run.

import { address, link } from "../address.js";
import { confirm } from "../dialog.js";
import { fill, h } from "../document.js";
import { count, instant, shortName } from "../format.js";
import { session } from "../session.js";
import { blank, entryState } from "../states.js";
import { store } from "../store.js";
import { VirtualTable } from "../virtual-table.js";

export function view(place) {
  const page = new CronPage(place);
  return { title: () => "Cron jobs", update: () => page.draw(), close: () => page.close() };
}

class CronPage {
  constructor(place) {
    this.place = place;
    place.className = "view-list";
    this.entry = { data: null, error: null };
    this.body = h("div", { class: "list-body" });
    this.table = new VirtualTable({
      label: "Cron jobs", rowKey: (job) => `${job.user}/${job.name}`, rowHeight: 30, cell: (job, column) => column.draw(job), sort: address.get("sort"),
      onSort: (text) => address.set({ sort: text }),
      onOpen: (job) => job.last_application && address.go(`/cluster/app/${job.last_application}`),
      rowLabel: (job) => `${job.name} of ${job.user}, ${job.schedule}`, rowClass: (job) => (job.paused ? "over" : ""),
      columns: [
        { key: "name", title: "Name", width: "minmax(90px, 1fr)", draw: (job) => h("span", { title: job.name }, job.name), sort: (job) => job.name },
        { key: "user", title: "User", width: "minmax(60px, .6fr)", phone: false, draw: (job) => job.user, sort: (job) => job.user },
        { key: "schedule", title: "Schedule", width: "minmax(96px, .8fr)", draw: (job) => h("span", { class: "mono", title: job.time_zone }, job.schedule), sort: (job) => job.schedule },
        { key: "next", title: "Next", width: "minmax(116px, .7fr)", align: "right", draw: (job) => (job.paused ? h("span", { class: "tag" }, "paused") : instant(job.next_ms)), sort: (job) => job.next_ms ?? Infinity },
        { key: "queue", title: "Queue", width: "minmax(80px, .8fr)", narrow: false, draw: (job) => shortName(job.queue), sort: (job) => job.queue },
        { key: "command", title: "Command", width: "minmax(120px, 2fr)", narrow: false, draw: (job) => h("span", { class: "mono", title: job.command }, job.command) },
        { key: "last", title: "Last run", width: "112px", phone: false, draw: (job) => (job.last_application ? h("a", { class: "mono", href: link(`/cluster/app/${job.last_application}`), tabindex: "-1" }, `…${job.last_application.slice(-11)}`) : "–"), sort: (job) => job.last_application },
        { key: "orders", title: "", width: "136px", narrow: false, draw: orders },
      ],
    });
    fill(place, h("section", { class: "card list-card", "aria-label": "Cron jobs" }, h("header", {}, h("h1", {}, "Cron jobs")), this.body));
    this.stops = [
      store.watch("/cron", (entry) => { this.entry = entry; this.draw(); }, { every_ms: 3000 }),
      session.onChange(() => this.draw()),
    ];
  }

  close() { for (const stop of this.stops) stop(); this.place.className = ""; }

  draw() {
    const missing = entryState(this.entry, "the cron jobs");
    if (missing) { fill(this.body, missing); return; }
    const { jobs } = this.entry.data;
    if (!jobs.length) {
      fill(this.body, blank({ title: "No cron job yet", text: "It submits an application at the times of a cron line. In a shell:", code: 'fairshare cron add nightly "0 2 * * *" -- ./nightly.sh' }));
      return;
    }
    const paused = jobs.filter((job) => job.paused).length;
    fill(this.body, h("p", { class: "told", key: "told", role: "status" }, `${count(jobs.length)} ${jobs.length === 1 ? "job" : "jobs"}, ${count(paused)} paused${session.current?.administrator ? "" : "; you see your own"}.`),
      h("div", { class: "list-table", key: "table", own: true }));
    const holder = this.body.querySelector(".list-table");
    if (this.table.element.parentNode !== holder) holder.append(this.table.element);
    this.table.update(jobs);
  }
}

// The buttons of one job, for its user and administrators.
function orders(job) {
  if (store.moment !== null || !session.current || !(session.current.administrator || session.current.user === job.user)) return "";
  const send = (verb) => store.send(`/cron/${encodeURIComponent(job.user)}/${encodeURIComponent(job.name)}/${verb}`);
  const button = (word, click, danger = false) => h("button", { class: `btn small${danger ? " danger" : ""}`, type: "button", on: { click } }, word);
  const pause = job.paused
    ? button("Resume", () => confirm({ title: `Resume ${job.name}?`, action: "Resume it", body: h("p", {}, "It is submitted again, from the next time on."), check: () => send("resume") }))
    : button("Pause", () => confirm({ title: `Pause ${job.name}?`, action: "Pause it", body: h("p", {}, "It is not submitted until it is resumed; what runs goes on."), check: () => send("pause") }));
  return h("span", { class: "row-orders" }, pause,
    button("Delete…", () => confirm({ title: `Delete ${job.name}?`, action: "Delete it", danger: true, body: h("p", {}, "It is forgotten with its history; its applications go on."), check: () => send("delete") }), true));
}
