// The keys of the pages, and the list of them that "?" shows.
//
//   const stop = shortcut("g a", "Applications", () => address.go("/cluster/apps"));
//   shortcut("/", "Find", focusFind)
//
// One key, or two after another within a second. Nothing happens while the reader types into a field,
// or while a dialog is open; keys with Ctrl, Alt or Meta belong to the browser.

import { h } from "./document.js";
import { tell } from "./dialog.js";

const keys = new Map();
let first = null;
let timer = null;

export function shortcut(sequence, words, action) {
  keys.set(sequence, { words, action });
  return () => keys.delete(sequence);
}

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.altKey || event.metaKey || event.defaultPrevented) return;
  if (event.target.matches?.("input, textarea, select, [contenteditable]")) {
    if (event.key === "Escape") event.target.blur();
    return;
  }
  if (document.querySelector("dialog[open]")) return;
  const sequence = first ? `${first} ${event.key}` : event.key;
  clearTimeout(timer);
  first = null;
  const found = keys.get(sequence) ?? keys.get(event.key);
  if (found) { event.preventDefault(); found.action(); return; }
  if ([...keys.keys()].some((known) => known.startsWith(`${event.key} `))) {
    first = event.key;
    timer = setTimeout(() => { first = null; }, 1000);
  }
});

export function showKeys() {
  const rows = [...keys].map(([sequence, { words }]) => [
    h("dt", {}, sequence.split(" ").map((key) => h("kbd", {}, key))), h("dd", {}, words)]);
  return tell({ title: "Keys", body: h("dl", { class: "keys" }, rows,
    h("dt", {}, h("kbd", {}, "↑"), h("kbd", {}, "↓")), h("dd", {}, "Row up or down in a table or the tree"),
    h("dt", {}, h("kbd", {}, "←"), h("kbd", {}, "→")), h("dd", {}, "Close or open a part of the tree"),
    h("dt", {}, h("kbd", {}, "Enter")), h("dd", {}, "Open the row")) });
}
