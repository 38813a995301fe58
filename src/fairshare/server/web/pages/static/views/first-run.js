// What the scheduler page shows before anything was ever submitted.

import { h } from "../document.js";

export function firstRun(queues) {
  const leaf = queues.find((queue) => queue.leaf)?.name ?? "root.default";
  const line = `fairshare submit --queue ${leaf} -- python3 -c 'print("hello")'`;
  const server = location.origin;
  return h("section", { class: "first-run", "aria-label": "First steps" },
    h("h2", {}, "The queues are ready. Submit something:"),
    h("p", {}, "In a shell on this machine; it appears here within a second."),
    command(line),
    h("p", {}, "Ten tasks of one vcore and 512 MiB each:"),
    command(`fairshare submit --queue ${leaf} --name ten --count 10 --memory 512m -- sleep 20`),
    h("p", {}, "From a program, or without any client:"),
    command(`curl -s ${server}/api/v1/applications -H 'Content-Type: application/json' \\\n  -d '{"name": "hello", "queue": "${leaf}", "tasks": [{"name": "all", "count": 3,\n       "command": "sleep 10", "resources": {"memory-mb": 256, "vcores": 1}}]}'`),
    h("p", { class: "faint" }, "Or watch three teams share this machine: ", h("code", { class: "mono" }, "fairshare demo")));
}

function command(text) {
  const copy = h("button", { class: "btn small", type: "button", on: { async click() {
    try { await navigator.clipboard.writeText(text); this.textContent = "Copied"; } catch { this.textContent = "Select and copy"; }
    setTimeout(() => { this.textContent = "Copy"; }, 1500);
  } } }, "Copy");
  return h("div", { class: "command" }, h("pre", { class: "mono", tabindex: "0" }, text), copy);
}
