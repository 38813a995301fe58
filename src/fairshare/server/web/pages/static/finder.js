// The field in the top bar: queues and users by their names at once, applications and
// nodes by a search in their tables.

import { address } from "./address.js";
import { fill, h, svg } from "./document.js";
import { store } from "./store.js";

const MOST = 8;
let queues = [];
let users = [];
let watching = [];

export function drawFinder() {
  return h("div", { class: "find", role: "search", own: true }, ...finderParts());
}

function finderParts() {
  const list = h("ul", { class: "found", role: "listbox", id: "found", hidden: true, "aria-label": "Found" });
  const input = h("input", {
    type: "search", placeholder: "Queue, application, user, node", role: "combobox", "aria-expanded": "false",
    "aria-controls": "found", "aria-autocomplete": "list", "aria-label": "Find a queue, an application, a user or a node",
    autocomplete: "off", spellcheck: "false",
  });
  let choices = [];
  let chosen = 0;

  const paint = () => {
    const shown = document.activeElement === input && input.value.trim() !== "";
    list.hidden = !shown;
    input.setAttribute("aria-expanded", String(shown));
    if (shown) input.setAttribute("aria-activedescendant", `found-${chosen}`);
    else input.removeAttribute("aria-activedescendant");
    fill(list, choices.map(({ words, kind }, n) => h("li", {
      role: "option", id: `found-${n}`, "aria-selected": String(n === chosen),
      on: { mousedown: (event) => { event.preventDefault(); go(n); } } }, h("span", { class: "faint" }, kind), words)));
  };
  const look = () => {
    const text = input.value.trim();
    const low = text.toLowerCase();
    const queuesFound = low ? queues.filter((name) => name.toLowerCase().includes(low)).slice(0, MOST) : [];
    const usersFound = low ? users.filter((name) => name.toLowerCase().includes(low)).slice(0, MOST) : [];
    choices = [
      ...usersFound.map((name) => ({ kind: "user", words: name, go: () => address.go("/cluster/apps", { user: name }) })),
      ...queuesFound.map((name) => ({ kind: "queue", words: name, go: () => address.go("/cluster/scheduler", { queue: name }) })),
      { kind: "applications", words: `with “${text}”`, go: () => address.go("/cluster/apps", { search: text }) },
      { kind: "nodes", words: `with “${text}”`, go: () => address.go("/cluster/nodes", { search: text }) },
    ];
    chosen = 0;
    paint();
  };
  // Names that arrive during typing are found at once; a choice made with the arrows stays.
  const learn = (queueNames, userNames) => {
    if (queueNames.join() === queues.join() && userNames.join() === users.join()) return;
    queues = queueNames;
    users = userNames;
    const before = chosen ? choices[chosen] : null;
    look();
    chosen = Math.max(0, choices.findIndex(({ kind, words }) => before && words === before.words && kind === before.kind));
    paint();
  };
  const go = (n) => { choices[n]?.go(); input.value = ""; input.blur(); paint(); };
  input.addEventListener("focus", () => {
    if (!watching.length) {
      watching = [
        store.watch("/pages/queues", ({ data }) => { if (data) learn(data.queues.map((one) => one.name), users); }),
        store.watch("/pages/applications/choices", ({ data }) => { if (data) learn(queues, data.users); }, { every_ms: 15_000 }),
      ];
    }
    look();
  });
  input.addEventListener("blur", () => { for (const stop of watching) stop(); watching = []; paint(); });
  input.addEventListener("input", look);
  input.addEventListener("keydown", (event) => {
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      chosen = (chosen + (event.key === "ArrowDown" ? 1 : choices.length - 1)) % choices.length;
      paint();
    } else if (event.key === "Enter") go(chosen);
  });
  const glass = svg("svg", { width: 14, height: 14, viewBox: "0 0 14 14", fill: "none", stroke: "currentColor", "stroke-width": 1.6, "aria-hidden": "true" },
    svg("circle", { cx: 6, cy: 6, r: 4 }), svg("path", { d: "m9 9 3.5 3.5" }));
  return [glass, input, h("kbd", { "aria-hidden": "true" }, "/"), list];
}
