// What a staged change would have done to the server's own history: it
// asks for a trial, and shows its proof, the queues before and after, and who ends later or earlier.

import { h } from "../document.js";
import { count, duration, percent, shortName } from "../format.js";
import { notice } from "../states.js";
import { store } from "../store.js";

const LAST = "24h";
const MOST_MOVED = 5;
const NOTICED = 0.05;

// One trial at a time; `changed` is called when there is something new to draw.
export class Trial {
  constructor(changed) {
    this.changed = changed;
    this.text = null;
    this.running = false;
    this.plan = null;
    this.fault = null;
  }

  async run(text) {
    Object.assign(this, { text, running: true, plan: null, fault: null });
    this.changed();
    try { this.plan = await store.send("/admin/configuration/trial", { text, last: LAST }); }
    catch (fault) { this.fault = fault; }
    this.running = false;
    this.changed();
  }

  draw(text) {
    if (this.text === null) return null;
    if (this.running) return notice("info", "The last 24 hours are being simulated, with the settings that were in force and with what is staged…");
    if (this.fault) return notice("bad", this.fault.message);
    return h("section", { class: "trial", "aria-label": "Trial", tabindex: "0", key: "trial" }, this.text !== text && notice("warn", "This is the trial of an earlier text: try what is staged again."), drawPlan(this.plan));
  }
}

function drawPlan(plan) {
  const { proof } = plan;
  const notes = [
    `${duration(plan.span_ms)} of history, ${count(plan.applications)} ${plan.applications === 1 ? "application" : "applications"}`,
    plan.begun > 0 && `begins while ${count(plan.begun)} ${plan.begun === 1 ? "container was" : "containers were"} running`,
    plan.censored > 0 && `${count(plan.censored)} ${plan.censored === 1 ? "run time is" : "run times are"} estimated`,
    plan.drivers > 0 && `${count(plan.drivers)} ${plan.drivers === 1 ? "master behaves" : "masters behave"} as in the history`,
  ].filter(Boolean);
  return [
    notice(proof.reproduced === proof.grants ? "ok" : "warn", h("b", {}, `The settings in force reproduce the history: ${count(proof.reproduced)} of ${count(proof.grants)} decisions.`)),
    drawRefused(plan.refused),
    h("p", { class: "pad soft small" }, `${notes.join("; ")}. The command fairshare plan shows longer parts of it.`),
    plan.applications > 0 && h("table", { class: "trial-queues" },
      h("thead", {}, h("tr", {}, ["Queue", "Wait p50", "Wait p95", "Turnaround", "Preempted", "Share", "Entitlement met"].map((word, n) => h("th", { class: n ? "num" : "" }, word)))),
      h("tbody", {}, [plan.whole, ...plan.queues].map(drawQueue))),
    drawMoved(plan.moved),
  ];
}

// Nothing of what is refused ran, so that all other numbers are about less work.
function drawRefused(refused) {
  if (!refused.length) return null;
  const all = refused.reduce((sum, one) => sum + one.applications, 0);
  return notice("bad",
    h("b", {}, `${count(all)} ${all === 1 ? "application is" : "applications are"} refused. The numbers below are those of the others.`),
    h("ul", {}, refused.slice(0, MOST_MOVED).map((one) => h("li", { key: `${one.queue} ${one.reason}` }, `${count(one.applications)} of ${shortName(one.queue)}: ${one.reason}`))));
}

function drawQueue(one) {
  const cell = (field, shown) => h("td", { class: `num ${verdict(one.before?.[field], one.after?.[field], field)}` }, pair(shown(one.before?.[field]), shown(one.after?.[field])));
  return h("tr", { key: one.name }, h("th", { scope: "row", title: one.name }, one.name === "all" ? "all" : shortName(one.name)),
    cell("wait_p50", duration), cell("wait_p95", duration), cell("turnaround_mean", duration), cell("preempted", (n) => (n === undefined ? "–" : count(n))), cell("share", (part) => percent(part ?? null)), cell("share_of_entitlement", (part) => percent(part ?? null)));
}

const pair = (before, after) => (before === after ? after : `${before} → ${after}`);

// What becomes noticeably worse, or better; a share is neither.
function verdict(before, after, field) {
  if (typeof before !== "number" || typeof after !== "number" || field === "share") return "";
  if (field === "share_of_entitlement") return Math.abs(after - before) < NOTICED ? "" : after < before ? "worse" : "better";
  const least = field === "preempted" ? 1 : Math.max(100, before * NOTICED);
  if (Math.abs(after - before) < least) return "";
  return after > before ? "worse" : "better";
}

function drawMoved(moved) {
  if (!moved.length) return h("p", { class: "pad soft" }, "No application ends at another time.");
  const change = (one) => one.after_ms - one.before_ms;
  const later = moved.filter((one) => change(one) > 0).slice(0, MOST_MOVED);
  const earlier = moved.filter((one) => change(one) < 0).slice(-MOST_MOVED).reverse();
  const list = (title, those) => those.length > 0 && [h("h3", { class: "pad" }, title),
    h("ul", { class: "pad" }, those.map((one) => h("li", { key: String(one.number) }, `${one.number} ${one.name} (${one.user}, ${shortName(one.queue)}): ${duration(one.before_ms)} → ${duration(one.after_ms)}`)))];
  return [list("Ends later", later), list("Ends earlier", earlier)];
}
