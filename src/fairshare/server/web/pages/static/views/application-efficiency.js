// Asked against used, of containers that have ended.

import { meter } from "../bar.js";
import { h } from "../document.js";
import { number } from "../explain.js";
import { count, duration, memory, percent } from "../format.js";

export function drawEfficiency(found, one) {
  if (!found) return h("p", { class: "pad faint" }, "…");
  if (!found.containers) {
    return h("p", { class: "pad soft" }, one.containers ? "Known when the first of its containers has ended and its use was measured." : "None of its containers was measured.");
  }
  const source = "GET /api/v1/applications/ID/efficiency";
  return [h("p", { class: "pad verdict" }, h("b", {}, `At its peak a container used ${memory(found.peak_memory_mb)} of ${memory(found.asked_memory_mb)}`), `; ${count(found.containers)} were measured. `,
    found.advice_mb ? [`Asking for ${memory(found.advice_mb)} would have been enough: more of them would run at the same time.`]
      : found.peak_memory_mb >= found.asked_memory_mb ? `It used all of it: a task that needs more ends out of memory. Ask for more, such as --memory ${2 * found.asked_memory_mb}m.` : "What it asks for fits what it uses."),
  h("div", { class: "efficiency" },
    row("Memory", found.memory_ratio, number(percent(found.memory_ratio), { title: "Memory used of what was asked", text: "The peak of each container by its grant, weighed with the time that it ran.", formula: "sum(peak × time) / sum(granted × time)",
      inputs: [["highest peak", memory(found.peak_memory_mb)], ["mean peak", memory(found.mean_peak_memory_mb)], ["largest grant", memory(found.asked_memory_mb)], ["containers", count(found.containers)]], source: `${source}: memory_ratio` })),
    row("CPU", found.cpu_ratio, number(percent(found.cpu_ratio), { title: "CPU used of what was asked", text: "Processor time by the time for which vcores were granted.", formula: "CPU time / (vcores × time)",
      inputs: [["CPU time", duration(found.cpu_ms)], ["vcores × time", duration(found.vcore_ms)]], source: `${source}: cpu_ratio` })))];
}

function row(title, ratio, shown) {
  return h("div", { class: "efficiency-row" }, h("span", {}, title), meter(ratio, `${title}: ${percent(ratio)}`), shown);
}
