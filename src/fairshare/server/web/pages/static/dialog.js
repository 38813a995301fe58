// Dialogs: a question before something happens, and forms.
//
//   if (await confirm({title: "Kill ...?", body: [nodes], action: "Kill", danger: true})) ...
//   const values = await ask({title, body: [h("input", {name: "queue"})], action: "Move"})
//       null when dismissed, else {name: value} of all named fields
//   await tell({title, body})
//
// Escape and Cancel dismiss. The focus returns to where it was. `check(values)` of `ask` may do the
// work: while it runs the buttons rest, and a Fault that it throws is shown in the dialog, which
// stays open with everything that was typed.

import { fill, h } from "./document.js";

export async function confirm({ title, body = null, action = "OK", danger = false, check = null }) {
  return (await show({ title, body, action, danger, check })) !== null;
}

export function ask({ title, body, action = "OK", danger = false, check = null }) {
  return show({ title, body, action, danger, check });
}

export function tell({ title, body, action = "Close" }) {
  return show({ title, body, action, cancel: false });
}

function show({ title, body, action, danger = false, check = null, cancel = true }) {
  return new Promise((resolve) => {
    const before = document.activeElement;
    const fault = h("p", { class: "fault", role: "alert" });
    const go = h("button", { class: `btn main${danger ? " danger" : ""}`, type: "submit" }, action);
    const back = cancel && h("button", { class: "btn", type: "button", on: { click: () => finish(null) } }, "Cancel");
    const form = h("form", { on: { submit } },
      h("h2", { id: "dialog-title" }, title), h("div", { class: "dialog-body" }, body), fault,
      h("footer", {}, back, go));
    const box = h("dialog", { class: "dialog", "aria-labelledby": "dialog-title" }, form);

    function finish(values) {
      box.close();
      box.remove();
      before?.focus?.();
      resolve(values);
    }

    async function submit(event) {
      event.preventDefault();
      const values = Object.fromEntries(new FormData(form));
      if (check) {
        go.disabled = true;
        try { await check(values); } catch (error) {
          go.disabled = false;
          fill(fault, error.message);
          return;
        }
      }
      finish(values);
    }

    box.addEventListener("cancel", (event) => { event.preventDefault(); finish(null); });
    document.body.append(box);
    box.showModal();
    (form.querySelector("input, select, textarea") ?? (danger && back ? back : go)).focus();
  });
}
