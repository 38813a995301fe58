// The table of an application's containers.

import { link } from "../address.js";
import { fill, h } from "../document.js";
import { amounts, duration, instant, memory } from "../format.js";
import { VirtualTable } from "../virtual-table.js";

const MARKS = { running: "run", starting: "wait", succeeded: "done", preempted: "bad", failed: "bad", "out of memory": "bad", "timed out": "bad" };

export class ContainerList {
  constructor() {
    this.outcomes = new Map();
    this.openLog = () => {};
    this.table = new VirtualTable({
      label: "Containers", rowKey: (one) => one.id, rowHeight: 28, cell: (one, column) => column.draw(one),
      onOpen: (one) => this.openLog(one.id), columns: this.columns(),
      rowLabel: (one) => `${one.group ?? "driver"} ${one.task ?? ""} on ${one.node}, ${this.told(one).outcome}`,
    });
  }

  told(one) { return this.outcomes.get(one.id) ?? { outcome: one.state.toLowerCase(), attempt: 1 }; }

  columns() {
    return [
      { key: "task", title: "Task", width: "minmax(110px, 1fr)", phone: "minmax(76px, 1fr)", draw: (one) => (one.group ? `${one.group}[${one.task}]` : one.master ? "driver" : "–"), sort: (one) => `${one.group} ${String(one.task).padStart(8, "0")}` },
      { key: "outcome", title: "State", width: "128px", phone: "100px", draw: (one) => { const { outcome, attempt } = this.told(one);
        return [h("span", { class: `state ${MARKS[outcome] ?? "done"}`, title: one.diagnostics || null }, outcome), attempt > 1 && h("span", { class: "faint" }, ` try ${attempt}`)]; }, sort: (one) => this.told(one).outcome },
      { key: "exit", title: "Exit", width: "52px", phone: false, align: "right", draw: (one) => (one.exit_code === -104 ? 137 : one.exit_code >= 0 ? one.exit_code ?? "–" : "–"), sort: (one) => one.exit_code ?? 1e9 },
      { key: "node", title: "Node", width: "minmax(80px, .8fr)", draw: (one) => h("a", { href: link(`/cluster/node/${encodeURIComponent(one.node)}`), tabindex: "-1" }, one.node), sort: (one) => one.node },
      { key: "resources", title: "Granted", width: "minmax(120px, .8fr)", phone: false, align: "right", draw: (one) => amounts(one.resources), sort: (one) => one.resources["memory-mb"] },
      { key: "peak", title: "Peak memory", width: "88px", align: "right", narrow: false, draw: (one) => (one.peak_memory_mb ? memory(one.peak_memory_mb) : "–"), sort: (one) => one.peak_memory_mb },
      { key: "cpu", title: "CPU time", width: "80px", align: "right", narrow: false, draw: (one) => (one.cpu_ms ? duration(one.cpu_ms) : "–"), sort: (one) => one.cpu_ms },
      { key: "began", title: "Allocated", width: "112px", align: "right", narrow: false, draw: (one) => instant(one.allocated_ms), sort: (one) => one.allocated_ms },
      { key: "took", title: "Ran", width: "84px", phone: false, align: "right", draw: (one) => duration(this.until(one) - one.allocated_ms), sort: (one) => this.until(one) - one.allocated_ms },
      { key: "log", title: "Log", width: "40px", draw: (one) => h("button", { class: "link", type: "button", "aria-label": `Log of ${one.id}`, on: { click: () => this.openLog(one.id) } }, "log") },
    ];
  }

  until(one) { return one.finished_ms ?? this.at_ms ?? Date.now(); }

  // `at_ms`: the past moment that is shown, or null.
  show(place, found, timeline, openLog, at_ms = null) {
    this.at_ms = at_ms;
    this.openLog = openLog;
    if (!found) { fill(place, h("p", { class: "pad faint" }, "…")); return; }
    if (!found.containers.length) { fill(place, h("p", { class: "pad soft" }, at_ms === null ? "It has had no container yet, or those that it had are forgotten." : "It had had no container by then, or those that it had are forgotten.")); return; }
    this.outcomes = new Map((timeline?.containers ?? []).map((one) => [one.id, one]));
    if (this.table.element.parentNode !== place) { fill(place); place.append(this.table.element); }
    this.table.update([...found.containers].reverse());
  }
}
