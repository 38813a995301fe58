// The panel of the selected queue: one sentence first, then its shares over time,
// then the fields with the names of the documents, its users, jobs and applications.

import { address, link } from "../address.js";
import { fill, h } from "../document.js";
import { hueOf } from "../families.js";
import { lastName } from "../format.js";
import { loadingRows } from "../states.js";
import { store } from "../store.js";
import { drawApplications } from "./queue-applications.js";
import { drawCapacity, drawUsers } from "./queue-capacity.js";
import { drawFacts, drawLimits, drawResources } from "./queue-fields.js";
import { drawJobs } from "./queue-jobs.js";
import { drawOwed } from "./queue-owed.js";
import { SharesChart } from "./shares-chart.js";

const TABS = {
  fair: [["resources", "Resources"], ["limits", "Limits"], ["applications", "Applications"]],
  capacity: [["capacity", "Capacity"], ["users", "Users"], ["resources", "Resources"], ["applications", "Applications"]],
  pools: [["jobs", "Jobs"], ["resources", "Slots"], ["limits", "Limits"]],
};
const MOST_ROWS = 50;

export class QueuePanel {
  constructor() {
    this.head = h("div", {});
    this.chart = new SharesChart();
    this.tabs = h("div", { class: "tabs", role: "tablist", "aria-label": "About this queue" });
    this.body = h("div", { class: "tab-body", role: "tabpanel", tabindex: "0", "aria-label": "Details" });
    this.element = h("aside", { class: "card panel", "aria-label": "Selected queue" });
    this.applications = { data: null, error: null };
    this.watching = null;
    this.stop = null;
    this.owed = { queue: null, data: null, stop: null };
    this.queue = null;
  }

  close() { this.stop?.(); this.owed.stop?.(); this.chart.close(); }

  wait(entry) { if (!this.queue) fill(this.element, entry.error ? null : loadingRows(10)); }

  update(queue, context) {
    const begun = this.queue !== null;
    this.queue = queue;
    this.context = context;
    if (!begun) { fill(this.element); this.element.append(this.head, this.chart.element, this.tabs, this.body); }
    const tabs = TABS[context.words.kind];
    const tab = tabs.some(([key]) => key === address.get("tab")) ? address.get("tab") : tabs[0][0];
    this.watchOwed();
    fill(this.head, context.first, this.drawHead());
    this.chart.show(queue, context);
    fill(this.tabs, tabs.map(([key, words]) => h("button", { type: "button", role: "tab", "aria-selected": String(key === tab), id: `tab-${key}`,
      on: { click: () => address.set({ tab: key === tabs[0][0] ? null : key }) } }, words)));
    this.watchApplications(tab);
    fill(this.body, this.drawTab(tab));
  }

  drawHead() {
    const { queue } = this;
    const parts = queue.name.split(".");
    const up = parts.slice(0, -1).map((_, n) => parts.slice(0, n + 1).join("."));
    const borrower = queue.share.borrower;
    return h("div", { class: "head" },
      h("div", { class: "path" }, up.length ? up.map((name) => [h("a", { href: this.to(name) }, lastName(name)), " › "]) : "The whole cluster"),
      h("h1", {}, h("i", { class: "swatch", style: { "--hue": hueOf(queue.name) } }), lastName(queue.name),
        h("a", { class: "btn small", href: link("/cluster/configuration", { queue: queue.name }) }, "Settings"),
        h("a", { class: "btn small", href: link("/cluster/ledger", { queue: queue.name }) }, "Ledger")),
      h("p", { class: "verdict" }, queue.share.sentence, borrower && [" ", h("a", { href: this.to(borrower) }, `Show ${borrower}`)]),
      drawOwed(this.owed.queue === queue.name ? this.owed.data : null, queue));
  }

  // What the gap consists of is worked out by the server when a reader looks at it, of the present.
  watchOwed() {
    const wanted = store.moment === null ? this.queue.name : null;
    if (wanted === this.owed.queue) return;
    this.owed.stop?.();
    this.owed = { queue: wanted, data: null, stop: null };
    if (wanted === null) return;
    const mine = this.owed;
    mine.stop = store.watch(`/queues/${encodeURIComponent(wanted)}/owed`, ({ data }) => {
      mine.data = data;
      if (this.owed === mine && data) fill(this.head, this.context.first, this.drawHead());
    }, { every_ms: 3000 });
  }

  to(name) {
    const kept = Object.fromEntries(["scale", "resource", "fold", "tab"].map((key) => [key, address.get(key)]));
    return link("/cluster/scheduler", { ...kept, queue: name });
  }

  drawTab(tab) {
    const { queue, context } = this;
    switch (tab) {
      case "resources": return [drawResources(queue, context), drawFacts(queue, context)];
      case "limits": return drawLimits(queue, context);
      case "capacity": return drawCapacity(queue, context);
      case "users": return drawUsers(queue, context);
      case "jobs": return drawJobs(this.applications, queue, context);
      default: return drawApplications(this.applications, queue);
    }
  }

  // Applications are asked for only while a reader looks at them; what is shown of jobs is not kept.
  watchApplications(tab) {
    const queue = encodeURIComponent(this.queue.name);
    const wanted = !this.queue.leaf ? null
      : tab === "applications" ? `/applications?queue=${queue}&only=alive&offset=0&limit=${MOST_ROWS}`
        : tab === "jobs" && store.moment === null ? `/applications?queue=${queue}&state=PENDING,RUNNING&limit=${MOST_ROWS}` : null;
    if (wanted === this.watching) return;
    this.stop?.();
    this.stop = null;
    this.watching = wanted;
    this.applications = { data: null, error: null };
    if (!wanted) return;
    this.stop = store.watch(wanted, (entry) => {
      this.applications = entry;
      if (this.watching === wanted) fill(this.body, this.drawTab(tab));
    }, { past: tab === "applications" });
  }
}
