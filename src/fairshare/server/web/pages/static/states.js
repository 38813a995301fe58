// What is shown in the place of data: loading, empty, error, no permission, and the
// notices above a view. Data that is known already stays: these are for views without any.
//
//   entryState(entry, "the queues")      null when entry.data can be drawn, else the node to show
//   blank({title, text, code, more})     the centre of an empty view: what it is, and what to do
//   loadingRows(12)                      grey rows until the first answer
//   notice("warn" | "bad" | "past" | "info", text or nodes, button)

import { h } from "./document.js";
import { store } from "./store.js";

export function blank({ title, text, code = null, more = null }) {
  return h("div", { class: "blank" },
    h("h2", {}, title), text && h("p", {}, text), code && h("code", { class: "mono" }, code), more);
}

export function loadingRows(rows = 12) {
  return h("div", { class: "bones", role: "status", "aria-label": "Loading" },
    Array.from({ length: rows }, (_, n) => h("div", { class: "bone-row" },
      h("i", { class: "bone", style: { width: `${60 + (n * 37) % 70}px` } }),
      h("i", { class: "bone", style: { width: `${20 + (n * 53) % 55}%` } }))));
}

export function entryState(entry, what, rows = 12) {
  if (entry.data !== null) return null;
  if (entry.error) return faultState(entry.error, what);
  return loadingRows(rows);
}

export function faultState(fault, what) {
  const again = h("button", { class: "btn", type: "button", on: { click: () => store.refresh() } }, "Try again");
  if (fault.kind === "signed-out") {
    return blank({ title: "Not signed in", text: "Sign in above to see this view." });
  }
  if (fault.kind === "denied") {
    return blank({ title: `You may not see ${what}`, text: fault.message,
      more: h("p", { class: "faint" }, "An administrator of the queue or the cluster can change that.") });
  }
  if (fault.kind === "missing") {
    return blank({ title: store.moment === null ? `Not found: ${what}` : "It was not there then", text: fault.message });
  }
  if (fault.kind === "offline") {
    return blank({ title: "The server does not answer",
      text: "This page tries again by itself. Is the server running? It is started with:",
      code: "fairshare serve", more: again });
  }
  return blank({ title: `Cannot show ${what}`, text: fault.message, more: again });
}

export function notice(kind, content, button = null) {
  return h("div", { class: `notice ${kind}`, role: kind === "bad" ? "alert" : "status" },
    h("span", {}, content), button);
}
