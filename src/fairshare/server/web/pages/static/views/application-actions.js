// Change, kill, move and priority of one application: offered to users that may,
// after a question that says what will happen. The server decides again.

import { ask, confirm } from "../dialog.js";
import { h } from "../document.js";
import { amounts, count } from "../format.js";
import { session } from "../session.js";
import { store } from "../store.js";
import { OVER } from "./application-words.js";

// What the scheduler has no use for is not offered; `cluster` is the answer of /cluster.
export function actionsOf(one, queues, cluster) {
  if (OVER.has(one.state) || store.moment !== null || !session.mayChange(one)) return [];
  const path = `/applications/${encodeURIComponent(one.id)}`;
  const button = (word, action, danger = false) => h("button", { class: `btn small${danger ? " danger" : ""}`, type: "button", on: { click: action } }, word);
  return [
    button("Change…", () => change(one, path)),
    cluster?.has_priorities && button("Priority…", () => changePriority(one, path)),
    cluster?.moves_applications && button("Move…", () => move(one, path, queues())),
    button("Kill…", () => kill(one, path), true),
  ];
}

const MINUTE_MS = 60_000;

function change(one, path) {
  const number = (name, words, least) => h("label", {}, words, h("input", { name, type: "number", min: String(least), step: "1", placeholder: "as it is" }));
  const tasks = one.kind === "tasks";
  return ask({
    title: `Change ${one.name || one.id}`, action: "Change it",
    body: [h("label", {}, "Name", h("input", { name: "name", value: one.name, autocomplete: "off", spellcheck: "false" })),
      tasks && [number("minutes", "Time limit of each attempt, in minutes from its start; 0 removes it", 0),
        number("at_once", "Tasks at the same time; 0 removes the limit", 0),
        number("memory", "Memory of the tasks that wait, in MB", 1)],
      tasks && h("p", { class: "soft" }, "A new time limit holds for what runs, too: what has run for longer ends. What runs keeps its memory.")],
    check: ({ name, minutes, at_once, memory }) => store.send(`${path}/update`, {
      ...(name.trim() && name.trim() !== one.name && { name: name.trim() }),
      ...(minutes && { time_limit_ms: Number(minutes) * MINUTE_MS }),
      ...(at_once && { at_once: Number(at_once) }),
      ...(memory && { resources: { "memory-mb": Number(memory) } }),
    }),
  });
}

function kill(one, path) {
  const { running, waiting, succeeded } = one.progress;
  return confirm({
    title: `Kill ${one.name || one.id}?`, action: "Kill it", danger: true,
    body: [h("p", {}, one.containers ? `Its ${count(one.containers)} ${one.containers === 1 ? "container ends" : "containers end"} at once, and ${amounts(one.used)} in ${one.queue} become free for others.` : "It has no container, so nothing that runs is lost."),
      h("p", {}, `${count(running + waiting)} unfinished tasks will never run${succeeded ? `; the output of ${count(succeeded)} that succeeded stays` : ""}. This cannot be undone.`)],
    check: () => store.send(`${path}/kill`, {}),
  });
}

function move(one, path, queues) {
  const leaves = queues.filter((queue) => queue.leaf && queue.name !== one.queue).map((queue) => queue.name);
  return ask({
    title: `Move ${one.name || one.id}`, action: "Move it",
    body: [h("label", {}, "To the queue", h("input", { name: "queue", list: "move-queues", required: true, autocomplete: "off", spellcheck: "false" })),
      h("datalist", { id: "move-queues" }, leaves.slice(0, 500).map((name) => h("option", { value: name }))),
      h("p", { class: "soft" }, `What runs goes on: ${amounts(one.used)} count from then on in the new queue and no longer in ${one.queue}. What waits is served by the new queue's share and limits; nodes reserved for it are given back.`)],
    check: ({ queue }) => store.send(`${path}/move`, { queue: queue.trim() }),
  });
}

function changePriority(one, path) {
  return ask({
    title: `Priority of ${one.name || one.id}`, action: "Set it",
    body: [h("label", {}, "Priority (a greater number goes first)", h("input", { name: "priority", type: "number", step: "1", value: String(one.priority), required: true })),
      h("p", { class: "soft" }, `It is ${one.priority} now. It counts among the applications of ${one.queue}, as far as the queue's policy looks at priorities; what runs already stays.`)],
    check: ({ priority }) => store.send(`${path}/priority`, { priority: Number(priority) }),
  });
}
