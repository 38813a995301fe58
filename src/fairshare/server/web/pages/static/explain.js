// Numbers that explain themselves: a dotted underline, and on a click what the
// number means, its formula and what went into it.
//
//   number("12 GiB", {title: "Instantaneous Fair Share", text: "What it is ...",
//                     formula: "weight × ratio", inputs: [["weight", "3"], ...],
//                     source: "GET /api/v1/queues: fair_share"})
//
// The first argument is what is shown; inputs are texts that are shown as they are. `explanation`
// may also be a function that returns this, called only when the reader asks.

import { h } from "./document.js";

let open = null;

export function number(shown, explanation, { label = null } = {}) {
  return h("button", {
    class: "why", type: "button", "aria-haspopup": "dialog", "aria-label": label,
    on: { click(event) { event.stopPropagation(); toggle(this, explanation); } },
  }, shown);
}

function toggle(button, explanation) {
  const again = open?.button === button;
  close();
  if (!again) show(button, typeof explanation === "function" ? explanation() : explanation);
}

function show(button, { title, text, formula, inputs = [], source }) {
  const box = h("div", { class: "pop", role: "dialog", "aria-label": title, tabindex: "-1" },
    h("h3", {}, title), text && h("p", { class: "soft" }, text),
    formula && h("code", { class: "mono" }, formula),
    inputs.length > 0 && h("dl", {}, inputs.map(([name, value]) => [h("dt", {}, name), h("dd", { class: "num" }, value)])),
    source && h("p", { class: "faint source" }, source));
  document.body.append(box);
  const at = button.getBoundingClientRect();
  const left = Math.max(8, Math.min(at.left, innerWidth - box.offsetWidth - 8));
  const below = at.bottom + box.offsetHeight + 8 < innerHeight;
  box.style.left = `${left}px`;
  box.style.top = `${below ? at.bottom + 6 : Math.max(8, at.top - box.offsetHeight - 6)}px`;
  box.focus({ preventScroll: true });
  open = { box, button };
}

function close(focus = false) {
  if (!open) return;
  open.box.remove();
  if (focus) open.button.focus();
  open = null;
}

document.addEventListener("click", (event) => { if (open && !open.box.contains(event.target)) close(); });
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape" && open) { event.stopPropagation(); close(true); }
});
