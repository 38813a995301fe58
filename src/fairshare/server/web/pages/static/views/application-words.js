// The words for an application's state: one word and mark in tables, one
// sentence at the top of its page. The numbers are those of the REST interface.

import { h } from "../document.js";
import { amounts, count, duration } from "../format.js";

export const OVER = new Set(["FINISHED", "FAILED", "KILLED", "REJECTED"]);

const CAUSES = { TIMEOUT: "timed out", OUT_OF_MEMORY: "out of memory" };

const ENDS = { TIMEOUT: "Ran out of time", OUT_OF_MEMORY: "Ran out of memory" };

// [word, class of the mark]
export function stateOf(one) {
  if (one.state === "FINISHED") return ["finished", "done"];
  if (one.cause) return [CAUSES[one.cause], "bad"];
  if (OVER.has(one.state)) return [one.state.toLowerCase(), "bad"];
  if (one.containers) return ["runs", "run"];
  return [one.runnable ? "waits" : "held back", "wait"];
}

export function stateMark(one) {
  const [word, mark] = stateOf(one);
  return h("span", { class: `state ${mark}`, title: one.diagnostics || null }, word);
}

// The part of its tasks that succeeded, or null for who has none.
export function progressOf(one) {
  return one.progress.total ? one.progress.succeeded / one.progress.total : null;
}

// Since its first container was launched; before, how long it has waited.
export function elapsedOf(one, now_ms) { return (one.finished_ms ?? now_ms) - (one.began_ms || one.submitted_ms); }

// How long it went on: since its first container, or, of one that never had any, its wait.
const afterOf = (one, took) => (one.began_ms ? ` after ${took}` : ` after waiting ${took}`);

export function waitedOf(one) { return one.began_ms ? `waited ${duration(one.began_ms - one.submitted_ms)}` : null; }

// What the page of one application says first: nodes and texts.
export function sentenceOf(one, reasons, now_ms) {
  const took = duration(elapsedOf(one, now_ms));
  const { total, succeeded, failed } = one.progress;
  const tasks = total ? ` ${count(succeeded)} of ${count(total)} tasks succeeded${failed ? `, ${count(failed)} failed` : ""}.` : "";
  if (one.state === "FINISHED") return [h("b", {}, "Finished"), ` after ${took}.${tasks}`];
  if (one.state === "REJECTED") return [h("b", {}, "Refused"), `: ${one.diagnostics || "the scheduler gave no reason."}`];
  if (OVER.has(one.state)) return [h("b", {}, one.state === "KILLED" ? "Killed" : ENDS[one.cause] ?? "Failed"), `${afterOf(one, took)}.${tasks} `, firstLine(one.diagnostics)];
  const first = reasons?.[0];
  const because = first ? [" ", first.sentence] : null;
  if (one.containers) {
    return [h("b", {}, "Runs"), ` in ${count(one.containers)} ${one.containers === 1 ? "container" : "containers"} (${amounts(one.used)}) for ${took}.${tasks}`,
      first && first.containers > 0 ? [h("b", {}, ` ${count(first.containers)} more ${first.containers === 1 ? "waits" : "wait"}:`), because] : null];
  }
  return [h("b", {}, one.runnable ? `Has waited ${took}.` : `Held back for ${took}.`), because ?? " Nothing is in its way: it starts with the next offer of a node."];
}

// When it starts and ends, as far as simulations show.
export function estimateOf(eta) {
  const when = (spread) => (spread.p50_ms === null ? `later than in ${duration(eta.horizon_ms)}`
    : `in about ${duration(spread.p50_ms)}${spread.p90_ms === null ? "" : `, in 9 of 10 ${spread.calibrated ? "cases" : "simulations"} within ${duration(spread.p90_ms)}`}`)
    + (spread.calibrated ? "" : ` (not yet calibrated: ${count(spread.outcomes)} ${spread.outcomes === 1 ? "outcome" : "outcomes"})`);
  const met = eta.of ? ` (such limits were met by ${Math.round(100 * eta.met / eta.of)} % of ${count(eta.of)} in 7 days)` : "";
  const smaller = eta.smaller.map((one, n) => (n ? `, or with ${one.words}` : `${one.words} for each task`)).join("");
  return [eta.start && `It starts ${when(eta.start)}. `, eta.end && `It ends ${when(eta.end)}${met}. `,
    smaller && `It would start at once with ${smaller}.`];
}

// The same of a past moment, of which reasons are not kept.
export function sentenceThen(one, at_ms) {
  const took = duration(elapsedOf(one, at_ms));
  const { total, succeeded, failed } = one.progress;
  const tasks = total ? ` ${count(succeeded)} of ${count(total)} tasks had succeeded${failed ? `, ${count(failed)} had failed` : ""}.` : "";
  if (OVER.has(one.state)) return [h("b", {}, `Was ${one.state.toLowerCase()}`), ` by then,${afterOf(one, took)}.${tasks}`];
  if (one.containers) return [h("b", {}, "Ran"), ` in ${count(one.containers)} ${one.containers === 1 ? "container" : "containers"} (${amounts(one.used)}), for ${took}.${tasks}`];
  return [h("b", {}, one.runnable ? `Had waited ${took}.` : `Had been held back for ${took}.`), tasks];
}

const firstLine = (text) => (text ?? "").split("\n", 1)[0];
