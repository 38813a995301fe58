// The form of one queue's settings: each value with the line where it is
// written, or what holds where nothing is written. A change is staged as soon as the field is left.

import { address, link } from "../address.js";
import { ask, confirm } from "../dialog.js";
import { h } from "../document.js";
import { store } from "../store.js";
import { drawProblem } from "./configuration-problems.js";

export function drawForm({ found, draft, queue, rows, tell }) {
  const entries = (draft.judged?.entries ?? []).filter((one) => one.queue === queue);
  const before = found.judgement.entries.filter((one) => one.queue === queue);
  const written = new Map(entries.map((one) => [one.name, one]));
  const old = new Map(before.map((one) => [one.name, one.value]));
  const parent = rows.some((row) => row.queue.startsWith(`${queue}.`));
  const offered = queue ? found.fields.filter((field) => field.where === "any" || (field.where === "parent") === parent) : [];
  const others = [...written.keys()].filter((name) => !offered.some((field) => field.name === name));
  const fields = [...offered, ...others.map((name) => ({ name, title: name, unwritten: "", hint: "", choices: [] }))];
  const gone = [...old.keys()].filter((name) => !written.has(name) && !fields.some((field) => field.name === name));
  const stage = async (edits) => { try { await draft.edit(edits); tell(null); } catch (fault) { tell(fault); } };
  const set = (name, value) => stage([{ action: "set", queue, name, value: value === "" ? null : value }]);
  const problems = (draft.judged?.problems ?? []).filter((one) => one.queue === queue);
  const past = store.moment !== null;
  return [h("div", { class: "form-head" },
    h("div", {}, h("h2", {}, queue || "What holds for all queues"), queue && h("a", { class: "small", href: link("/cluster/scheduler", { queue }) }, "how it stands now")),
    h("div", { class: "actions" }, h("button", { class: "btn small", type: "button", disabled: past, on: { click: () => addQueue(found.kind, queue || "root", draft, tell) } }, "Add a queue below…"),
      queue && queue !== "root" && h("button", { class: "btn small danger", type: "button", disabled: past, on: { click: () => removeQueue(queue, draft, tell) } }, "Remove…"))),
  problems.length > 0 && h("ul", { class: "problems here" }, problems.map((one) => drawProblem(one, null))),
  !fields.length && h("p", { class: "pad soft" }, "The file says nothing that holds for all queues. The Text can."),
  h("div", { class: "scroll-x" }, fields.length > 0 && h("table", { class: "form" },
    h("thead", {}, h("tr", {}, ["Setting", "Value", "In force", "Written in"].map((word) => h("th", { scope: "col", class: word === "In force" ? "wide-only" : null }, word)))),
    h("tbody", {}, fields.map((field) => {
      const one = written.get(field.name);
      const changed = (one?.value ?? null) !== (old.get(field.name) ?? null);
      return h("tr", { key: `${queue} ${field.name}`, class: changed ? "changed" : "" },
        h("th", { scope: "row" }, h("span", {}, field.title), field.title !== field.name && h("code", { class: "mono faint" }, field.name)),
        h("td", {}, input(field, one, queue, set, past)),
        h("td", { class: "wide-only soft" }, old.get(field.name) ?? h("span", { class: "faint" }, field.unwritten ? `not written: ${field.unwritten}` : "not written"), changed && h("span", { class: "tag changed" }, "staged")),
        h("td", { class: "faint" }, one ? h("button", { class: "link", type: "button", on: { click: () => address.set({ tab: "text", line: String(one.line) }) } }, `line ${one.line}`) : "–"));
    }), gone.map((name) => h("tr", { key: `${queue} gone ${name}`, class: "changed" }, h("th", { scope: "row" }, name), h("td", { class: "faint" }, "taken away"), h("td", { class: "wide-only soft" }, old.get(name)), h("td", {}, "–"))))))];
}

function input(field, one, queue, set, past) {
  const common = { class: "field", "aria-label": `${field.title} of ${queue || "all queues"}`, name: field.name, disabled: past };
  const change = { change() { set(field.name, this.value.trim()); } };
  const value = one?.value ?? "";
  if (field.choices.length) {
    const choices = value && !field.choices.includes(value) ? [...field.choices, value] : field.choices;
    return h("select", { ...common, value, on: change }, h("option", { value: "", key: "" }, "not written"), choices.map((choice) => h("option", { value: choice, key: choice }, choice)));
  }
  return h("input", { ...common, type: "text", value, placeholder: field.hint ? `e.g. ${field.hint}` : "", autocomplete: "off", spellcheck: "false", on: change });
}

function addQueue(kind, above, draft, tell) {
  return ask({
    title: `Add a ${kind === "pools" ? "pool" : "queue"}`, action: "Stage it",
    body: [h("label", {}, "Full name", h("input", { name: "queue", required: true, value: kind === "pools" && above === "root" ? "" : `${above}.`, autocomplete: "off", spellcheck: "false" })),
      h("p", { class: "soft" }, "It is only staged: nothing changes in the cluster before it is applied.")],
    check: async ({ queue }) => {
      const name = queue.trim();
      if (!name || name.endsWith(".")) throw new Error("a queue needs a name");
      await draft.edit([{ action: "add", queue: name }]);
      tell(null);
      address.set({ queue: name, tab: null });
    },
  });
}

function removeQueue(queue, draft, tell) {
  return confirm({
    title: `Take ${queue} out of the file?`, action: "Stage it", danger: true,
    body: h("p", {}, "What the file says of it, and of all queues below it, goes. It is only staged: nothing changes in the cluster before it is applied."),
    check: async () => { await draft.edit([{ action: "remove", queue }]); tell(null); address.set({ queue: queue.slice(0, queue.lastIndexOf(".")) || null }); },
  });
}
