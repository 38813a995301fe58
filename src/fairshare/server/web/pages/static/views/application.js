// The page of one application: what it does, why it waits, its life, its
// containers, its logs, how well it uses what it asked for; and kill, move, priority.
// In the address: tab, container, stream.

import { address, link } from "../address.js";
import { fill, h } from "../document.js";
import { families, hueOf } from "../families.js";
import { amounts, count, duration, instant } from "../format.js";
import { number } from "../explain.js";
import { session } from "../session.js";
import { entryState, faultState } from "../states.js";
import { Fault, store } from "../store.js";
import { actionsOf } from "./application-actions.js";
import { ContainerList } from "./application-containers.js";
import { drawEfficiency } from "./application-efficiency.js";
import { drawLife } from "./application-life.js";
import { LogPane } from "./application-logs.js";
import { containersAt, timelineAt } from "./application-past.js";
import { drawReasons, drawReasonsThen } from "./application-reasons.js";
import { OVER, estimateOf, sentenceOf, sentenceThen, stateMark, waitedOf } from "./application-words.js";

const TABS = [["why", "Why it waits"], ["containers", "Containers"], ["logs", "Logs"], ["efficiency", "Efficiency"], ["about", "About it"]];

export function view(place) {
  const page = new ApplicationPage(place);
  return {
    title: () => `${page.entry.data?.name ?? page.id} · Application`,
    update: () => page.update(), close: () => page.close(),
  };
}

// A reader who moves through the past asks why it waited only where it is looked at for so long.
const REST_MS = 400;

// What no book holds of a past moment.
const NOT_KEPT = {
  logs: "What its logs held at that moment is not kept. Back to live, they show all that was written.",
  efficiency: "How well it used what it had until then is not kept. Back to live, it is told of all its containers.",
};

class ApplicationPage {
  constructor(place) {
    this.place = place;
    place.className = "view-application";
    this.id = decodeURIComponent(address.path.split("/")[3]);
    const path = `/applications/${encodeURIComponent(this.id)}`;
    this.entry = { data: null, error: null };
    this.parts = { reasons: null, eta: null, timeline: null, containers: null, efficiency: null };
    this.list = new ContainerList();
    this.logs = new LogPane();
    const keep = (name) => ({ data }) => { if (data) { this.parts[name] = data; this.draw(); } };
    this.stops = [
      store.watch(`${path}/reasons`, keep("reasons")),
      store.watch(`${path}/timeline`, keep("timeline"), { every_ms: 2000, keep: true }),
      store.watch(`${path}/containers`, keep("containers"), { every_ms: 2000, keep: true }),
      store.watch(`/pages${path}/eta`, keep("eta"), { every_ms: 30_000 }),
      store.watch(`${path}/efficiency`, keep("efficiency"), { every_ms: 5000 }),
      store.watch("/pages/queues", ({ data }) => { if (data) { families.learn(data.queues); this.queues = data.queues; this.draw(); } }, { every_ms: 15_000 }),
      store.watch("/cluster", ({ data }) => { if (data) this.cluster = data; }),
      session.onChange(() => this.draw()),
      store.watch(path, (entry) => this.learn(entry), { past: true }),
    ];
    this.then = null;
    this.clock = setInterval(() => { if (!document.hidden) this.draw(); }, 1000);
  }

  // The address has changed.
  update() { this.draw(); }

  // Of a past moment only the number of containers is known.
  learn(entry) {
    const { data } = entry;
    this.entry = { ...entry, data: data && { ...data, containers: data.containers.length ?? data.containers } };
    this.draw();
  }

  // Why it waited at a past moment is found in the journal, once for each moment that is looked at.
  askWhy(at_ms) {
    if (this.then?.at_ms === at_ms) return;
    const then = { at_ms, found: null, error: null };
    this.then = then;
    clearTimeout(this.asking);
    this.asking = setTimeout(async () => {
      try {
        then.found = await store.read(`/applications/${encodeURIComponent(this.id)}/reasons?at=${at_ms}`);
      } catch (fault) {
        if (!(fault instanceof Fault)) throw fault;
        then.error = fault;
      }
      if (this.then === then) this.draw();
    }, REST_MS);
  }

  close() {
    clearInterval(this.clock);
    clearTimeout(this.asking);
    this.then = null;
    for (const stop of this.stops) stop();
    this.logs.close();
    this.place.className = "";
  }

  get tab() {
    const wanted = address.get("tab");
    if (TABS.some(([name]) => name === wanted)) return wanted;
    const one = this.entry.data;
    return one && OVER.has(one.state) ? "containers" : "why";
  }

  draw() {
    const missing = store.moment !== null && this.entry.error ? faultState(this.entry.error, `application ${this.id}`) : entryState(this.entry, `application ${this.id}`, 8);
    if (missing) { fill(this.place, h("section", { class: "card grow", key: "missing" }, missing)); return; }
    const one = this.entry.data;
    const tab = this.tab;
    const at_ms = one.at_ms ?? null;
    const timeline = at_ms === null ? this.parts.timeline : timelineAt(this.parts.timeline, at_ms);
    const containers = at_ms === null ? this.parts.containers : containersAt(this.parts.containers, at_ms);
    const unkept = at_ms === null ? null : NOT_KEPT[tab];
    if (at_ms !== null && tab === "why") this.askWhy(at_ms);
    fill(this.place, this.drawHead(one), this.drawLifeCard(one, timeline), h("section", { class: "card grow", key: "tabs", "aria-label": "Details" },
      h("div", { class: "tabs", role: "tablist" }, TABS.map(([name, word]) => h("button", {
        type: "button", role: "tab", id: `tab-${name}`, "aria-selected": String(tab === name), "aria-controls": "tab-panel",
        on: { click: () => address.set({ tab: name }) } }, word, name === "why" && at_ms === null && this.parts.reasons?.reasons.length ? ` ${this.parts.reasons.reasons.length}` : null))),
      h("div", { class: `tab-panel tab-${tab}`, id: "tab-panel", role: "tabpanel", "aria-labelledby": `tab-${tab}`, key: unkept ? `${tab} then` : tab, own: !unkept && (tab === "containers" || tab === "logs") },
        unkept ? h("p", { class: "pad soft" }, unkept) : null,
        tab === "why" && (at_ms === null ? drawReasons(this.parts.reasons, one) : drawReasonsThen(this.then, one)),
        !unkept && tab === "efficiency" && drawEfficiency(this.parts.efficiency, one),
        tab === "about" && drawAbout(one))));
    const panel = this.place.querySelector(".tab-panel");
    if (tab === "containers") this.list.show(panel, containers, timeline, (id) => address.set({ tab: "logs", container: id }, { push: true }), at_ms);
    if (tab === "logs" && !unkept) this.logs.show(panel, this.parts.containers); else this.logs.pause();
  }

  drawHead(one) {
    const path = one.queue.split(".");
    return h("section", { class: "card application-head", key: "head", style: { "--hue": hueOf(one.queue) } },
      h("div", { class: "path" }, path.map((_, n) => [n > 0 && " › ",
        h("a", { href: link("/cluster/scheduler", { queue: path.slice(0, n + 1).join(".") }) }, path[n])])),
      h("div", { class: "title" }, h("i", { class: "swatch" }), h("h1", {}, one.name || one.id), stateMark(one),
        h("div", { class: "right actions" }, actionsOf(one, () => this.queues ?? [], this.cluster))),
      h("p", { class: "verdict" }, one.at_ms ? sentenceThen(one, one.at_ms) : sentenceOf(one, this.parts.reasons?.reasons, Date.now())),
      !one.at_ms && !OVER.has(one.state) && (this.parts.eta?.draws > 0 || this.parts.eta?.smaller.length > 0) && h("p", { class: "soft" }, estimateOf(this.parts.eta)),
      h("p", { class: "faint small" }, h("span", { class: "mono" }, one.id), ` · ${one.user} · submitted ${instant(one.submitted_ms)}`,
        one.began_ms > 0 && ` · ${waitedOf(one)}`,
        one.finished_ms && ` · ended ${instant(one.finished_ms)}`, one.preempted > 0 && ` · ${count(one.preempted)} containers preempted`));
  }

  drawLifeCard(one, timeline) {
    return h("section", { class: "card life", key: "life", "aria-label": "From submission to end" },
      timeline ? drawLife(timeline, hueOf(one.queue), this.place.clientWidth - 62) : h("p", { class: "pad faint" }, "…"));
  }
}

function drawAbout(one) {
  const past = Boolean(one.at_ms);
  const share = (title, text, field) => [title, number(amounts(one[field]), { title, text, source: `GET /api/v1/applications/ID: ${field}` })];
  const rows = [
    ["Queue", h("a", { href: link("/cluster/scheduler", { queue: one.queue }) }, one.queue)], ["User", one.user], ["Priority", String(one.priority)],
    ["Kind", { tasks: "tasks, run by the manager", driver: "a driver of its own", unmanaged: "a master outside" }[one.kind] ?? one.kind],
    ["Attempt", String(one.attempt)], ["Attempt began", instant(one.started_ms)], ["Started", one.began_ms ? instant(one.began_ms) : "not yet"],
    share("Used Resources", "What its live containers have together.", "used"), share("Reserved Resources", "What nodes keep free for it.", "reserved"),
    share("Pending Resources", "What it has asked for and does not have.", "pending"),
    ...(past ? [["Demand, Fair Share, Headroom", "not kept of past moments"]] : [share("Demand", "Used and pending together.", "demand"),
      share("Fair Share", "What its queue's policy entitles it to.", "fair_share"), share("Headroom", "How much more its queue and user could still get.", "headroom")]),
  ];
  return [h("dl", { class: "facts" }, rows.map(([title, value]) => h("div", {}, h("dt", {}, title), h("dd", {}, value)))),
    h("h2", { class: "pad-title" }, "Diagnostics"), one.diagnostics ? h("pre", { class: "said" }, one.diagnostics) : h("p", { class: "pad-title faint" }, past ? "Not kept of past moments." : "Nothing was said."),
    !past && one.groups.length > 0 && [h("h2", { class: "pad-title" }, "Groups of tasks"), h("div", { class: "scroll-x" }, h("table", {}, h("thead", {}, h("tr", {},
      ["Group", "Tasks", "Succeeded", "Running", "Waiting", "Failed", "Time limit"].map((word, n) => h("th", { scope: "col", class: n ? "num" : null }, word)))),
    h("tbody", {}, one.groups.map((group) => h("tr", { key: group.name }, h("th", { scope: "row" }, group.name),
      ["count", "succeeded", "running", "waiting", "failed"].map((field) => h("td", { class: "num" }, count(group[field]))), h("td", { class: "num" }, group.time_limit_ms === null ? "none" : duration(group.time_limit_ms)))))))]];
}

