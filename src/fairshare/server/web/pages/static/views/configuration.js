// The page of the configuration: what is in force and where it is written, a
// staged change of it, its problems and its difference, and how it comes into force and goes back.
// In the address: queue, tab. The staged change lives in this tab of the browser.

import { address } from "../address.js";
import { ask } from "../dialog.js";
import { changesOf, difference } from "../difference.js";
import { fill, h } from "../document.js";
import { families, hueOf } from "../families.js";
import { count, instant, lastName } from "../format.js";
import { session } from "../session.js";
import { entryState, notice } from "../states.js";
import { store } from "../store.js";
import { VirtualTable } from "../virtual-table.js";
import { drawDifference } from "./configuration-difference.js";
import { Draft } from "./configuration-draft.js";
import { drawPast, versionAt } from "./configuration-past.js";
import { drawFiles } from "./configuration-files.js";
import { drawForm } from "./configuration-form.js";
import { drawProblems, problemCounts } from "./configuration-problems.js";
import { TextPane } from "./configuration-text.js";
import { Trial } from "./configuration-trial.js";
import { Versions } from "./configuration-versions.js";

const TABS = [["settings", "Settings"], ["text", "Text"], ["difference", "Difference"], ["problems", "Problems"], ["versions", "Versions"], ["files", "Other files"]];

export function view(place) {
  const page = new ConfigurationPage(place);
  return { title: () => "Configuration", update: () => page.draw(), close: () => page.close() };
}

class ConfigurationPage {
  constructor(place) {
    this.place = place;
    place.className = "view-configuration";
    this.entry = { data: null, error: null };
    this.texts = null;
    this.files = null;
    this.said = null;
    this.queues = [];
    this.draft = new Draft(() => this.draw());
    this.pane = new TextPane((text) => this.draft.write(text));
    this.trial = new Trial(() => this.draw());
    this.versions = new Versions(this.draft, () => this.draw());
    this.list = new VirtualTable({
      label: "Queues of the configuration", rowKey: (row) => row.queue, rowHeight: 26, role: "grid",
      columns: [{ key: "queue", title: "Queue", width: "minmax(0, 1fr)" }, { key: "marks", title: "", width: "auto" }],
      cell: (row, column) => (column.key === "marks" ? marks(row) : h("span", { class: "queue-name", style: { "--depth": String(row.depth) } }, row.queue ? h("i", { class: "swatch" }) : null, h("span", { class: "ell", title: row.queue }, row.word))),
      rowStyle: (row) => ({ "--hue": row.queue ? hueOf(row.queue) : "var(--ink-2)" }),
      rowLabel: (row) => `${row.queue || "all queues"}${row.changed ? ", changed" : ""}${row.errors ? `, ${row.errors} errors` : ""}${row.others ? `, ${row.others} warnings` : ""}`,
      onOpen: (row) => this.select(row.queue), onMove: (row) => this.select(row.queue),
    });
    this.stops = [
      store.watch("/configuration/document", (entry) => { this.entry = entry; if (entry.data) this.draft.learn(entry.data); this.draw(); }, { every_ms: 3000 }),
      store.watch("/configuration/texts", ({ data }) => { this.texts = data?.texts ?? this.texts; this.draw(); }, { every_ms: 3000 }),
      store.watch("/configuration/site", ({ data }) => { this.files = data?.properties ?? this.files; this.draw(); }, { every_ms: 30_000 }),
      store.watch("/pages/queues", ({ data }) => { if (data) { families.learn(data.queues); this.queues = data.queues; this.draw(); } }, { every_ms: 15_000 }),
      session.onChange(() => this.draw()),
    ];
  }

  close() { for (const stop of this.stops) stop(); this.pane.close(); this.place.className = ""; }

  select(queue) { address.set({ queue, tab: address.get("tab") === "settings" || !queue ? address.get("tab") : null }); }

  get tab() { const tab = address.get("tab"); return TABS.some(([name]) => name === tab) ? tab : "settings"; }

  draw() {
    const missing = this.entry.error?.code === "no-configuration" && !this.entry.data
      ? h("div", { class: "blank" }, h("h2", {}, "There is no file of queues here"), h("p", {}, this.entry.error.message))
      : entryState(this.entry, "the configuration", 8);
    if (missing) { fill(this.place, h("section", { class: "card grow", key: "missing" }, missing)); return; }
    const found = this.entry.data;
    if (store.moment !== null) { this.drawMoment(found); return; }
    const draft = this.draft;
    const lines = draft.staged ? this.compared(draft.base, draft.text) : [];
    const problems = draft.judged?.problems ?? [];
    const tab = this.tab;
    fill(this.place, this.drawHead(found, lines, problems), this.drawNotices(found),
      h("div", { class: "configuration-split", key: "split" },
        h("section", { class: "card queue-list", "aria-label": "Queues", own: true, key: "list" }),
        h("section", { class: "card", "aria-label": "Configuration", key: "detail" },
          h("div", { class: "tabs", role: "tablist" }, TABS.map(([name, word]) => h("button", {
            type: "button", role: "tab", id: `tab-${name}`, "aria-selected": String(tab === name), "aria-controls": "tab-panel", on: { click: () => address.set({ tab: name }) } }, word,
            name === "problems" && problems.length > 0 && ` ${count(problems.length)}`, name === "difference" && lines.length > 0 && ` ${count(changesOf(lines))}`))),
          h("div", { class: `tab-panel tab-${tab}`, id: "tab-panel", role: "tabpanel", "aria-labelledby": `tab-${tab}`, key: tab, own: tab === "text" },
            tab === "settings" && drawForm({ found, draft, queue: address.get("queue") ?? "", rows: this.rows, queues: this.queues, tell: (fault) => { this.said = fault; this.draw(); } }),
            tab === "difference" && drawStaged(found, draft, lines, this.trial),
            tab === "problems" && drawProblems(problems, draft.fault, (problem) => this.goTo(problem)),
            tab === "versions" && this.versions.draw(this.texts, found),
            tab === "files" && drawFiles(this.files)))));
    const holder = this.place.querySelector(".queue-list");
    if (this.list.element.parentNode !== holder) holder.append(this.list.element);
    this.rows = rowsOf(draft, problems, lines, this.before);
    const chosen = address.get("queue") ?? "";
    this.list.update(this.rows, { selected: chosen });
    if (chosen !== this.shownQueue) { this.shownQueue = chosen; this.list.reveal(chosen); }
    if (tab === "text") this.pane.show(this.place.querySelector(".tab-panel"), draft.text, problems);
  }

  // The version that was in force at the moment of the address.
  drawMoment(found) {
    const then = this.texts && versionAt(this.texts, store.moment);
    const text = then ? this.versions.read.get(then.version) : undefined;
    if (then && text === undefined) this.versions.textOf(then.version).then(() => this.draw(), () => {});
    fill(this.place, this.texts ? drawPast(found, then, text, store.moment) : h("section", { class: "card grow", key: "missing" }, h("p", { class: "pad faint" }, "…")));
  }

  get rows() { return this.known ?? rowsOf(this.draft, this.draft.judged?.problems ?? [], [], this.before); }
  set rows(rows) { this.known = rows; }

  get before() { return this.entry.data?.judgement.entries ?? []; }

  compared(base, text) {
    if (this.cache?.base !== base || this.cache?.text !== text) this.cache = { base, text, lines: difference(base, text) };
    return this.cache.lines;
  }

  goTo(problem) { address.set({ tab: "text", queue: problem.queue || null }); this.pane.goTo(problem.line); }

  drawHead(found, lines, problems) {
    const draft = this.draft;
    const newest = this.texts?.[0];
    const changes = changesOf(lines);
    const { errors } = problemCounts(problems);
    const administrator = session.current?.administrator;
    return h("section", { class: "card application-head", key: "head" },
      h("div", { class: "title" }, h("h1", {}, "Configuration"), h("span", { class: "mono faint small ell" }, found.file),
        h("div", { class: "right actions" },
          draft.staged && h("button", { class: "btn small", type: "button", on: { click: () => draft.discard() } }, "Discard"),
          draft.staged && h("button", { class: "btn small", type: "button", on: { click: () => address.set({ tab: "difference" }) } }, "See the difference"),
          draft.staged && administrator && store.moment === null && h("button", { class: "btn small", type: "button", disabled: !draft.judged?.usable || this.trial.running, on: { click: () => { address.set({ tab: "difference" }); this.trial.run(draft.text); } } }, "Try on the last 24 hours"),
          draft.staged && administrator && store.moment === null && h("button", { class: "btn small main", type: "button", disabled: !draft.judged?.usable || draft.behind(found), on: { click: () => this.apply(changes, problems) } }, "Apply…"))),
      h("p", { class: "verdict" }, h("b", {}, `Version ${found.version} is in force`), newest && ` since ${instant(newest.at_ms)}`, found.restored !== null ? [`: version ${found.restored} again, `, h("b", {}, "in memory only"), newest?.user && `, by ${newest.user}`] : newest && (newest.user ? `, applied by ${newest.user}` : ", read from the file"), found.restored === null && newest?.note && ` (“${newest.note}”)`, ". ",
        draft.staged ? [h("b", {}, `${count(changes)} ${changes === 1 ? "line is" : "lines are"} staged`), errors ? `, and ${errors === 1 ? "an error keeps" : `${count(errors)} errors keep`} it from being applied.` : draft.judged ? `, and it could be applied${administrator ? "." : " by an administrator."}` : "."] : "Nothing is staged: change a value below, and see what it would mean before it is applied."));
  }

  drawNotices(found) {
    const draft = this.draft;
    const button = (word, action) => h("button", { class: "btn small", type: "button", on: { click: action } }, word);
    return h("div", { class: "notices card", key: "notices" },
      this.said && notice("bad", this.said.message, button("Close", () => { this.said = null; this.draw(); })),
      found.restored !== null && notice("warn", [h("b", {}, `What is shown is version ${found.restored}, not what the file says. `),
        found.known ? `${found.file} is as it was: a refresh of the queues, or a restart, puts it in force. Apply what is shown to write it there.` : "The text of what is in force is not kept any more: below stands the file."],
      session.current?.administrator && store.moment === null && found.known && found.differs && !draft.staged && button("Write it to the file…", () => this.write(found))),
      found.restored === null && found.differs && notice("warn", [h("b", {}, "The file holds something else than what is in force. "), "What is applied here replaces it; a refresh of the queues loads it."]),
      draft.behind(found) && notice("warn", [h("b", {}, `Version ${found.version} came into force since you began. `), "Your text is kept; compare it with what holds now before it can be applied."], button("Compare with it", () => draft.catchUp())));
  }

  // What is in force in memory only becomes what the file says.
  write(found) {
    return ask({
      title: "Write what is in force to the file?", action: "Write it",
      body: [h("p", {}, `${found.file} is replaced by the text of version ${found.restored}, so that it holds after a restart, too. Nothing in force changes by this.`)],
      check: () => store.send("/admin/configuration/document", { text: found.text, digest: found.digest, note: `version ${found.restored}, written to the file` }),
    });
  }

  apply(changes, problems) {
    const { others } = problemCounts(problems);
    return ask({
      title: "Put the staged change in force?", action: "Apply it",
      body: [h("p", {}, `${count(changes)} changed ${changes === 1 ? "line comes" : "lines come"} into force at once as a new version: the file is written, and shares and limits follow it from then on. Nothing that runs is ended by this itself; a queue that is above its new share may lose containers if preemption is on.`),
        others > 0 && h("p", {}, `${count(others)} ${others === 1 ? "warning stays" : "warnings stay"}: see Problems.`),
        h("p", { class: "soft" }, `Version ${this.entry.data.version} is kept, and can be taken back under Versions.`),
        h("label", {}, "What is it for? (stands with the version)", h("input", { name: "note", maxlength: "500", autocomplete: "off" }))],
      check: async ({ note }) => {
        await store.send("/admin/configuration/document", { text: this.draft.text, digest: this.draft.digest, note });
        const found = await store.read("/configuration/document");
        this.entry = { ...this.entry, data: found };
        this.draft.begin(found);
      },
    });
  }
}

function drawStaged(found, draft, lines, trial) {
  if (!draft.staged) return h("p", { class: "pad soft" }, "Nothing is staged, so there is no difference.");
  return [trial.draw(draft.text), h("div", { class: "difference-head" }, h("span", {}, `Version ${draft.version}, in force`), h("span", {}, "Staged")), drawDifference(lines)];
}

// One row for each queue that the staged text or the file in force speaks of, and one for the file.
function rowsOf(draft, problems, lines, before) {
  const entries = draft.judged?.entries ?? [];
  const names = new Set(entries.map((one) => one.queue).filter(Boolean));
  for (const part of draft.judged?.parts ?? []) names.add(part.queue);
  for (const { queue } of problems) if (queue) names.add(queue);
  for (const name of [...names]) for (let dot = name.lastIndexOf("."); dot > 0; dot = name.lastIndexOf(".", dot - 1)) names.add(name.slice(0, dot));
  const told = (queue) => problems.filter((one) => one.queue === queue);
  const valuesOf = (those) => { const found = new Map(); for (const one of those) found.set(one.queue, `${found.get(one.queue) ?? ""}${one.name}=${one.value}\n`); return found; };
  const [old, now] = [valuesOf(before), valuesOf(entries)];
  const row = (queue, word, depth) => ({ queue, word, depth, ...problemCounts(told(queue)), changed: draft.staged && (old.get(queue) ?? "") !== (now.get(queue) ?? "") });
  const ordered = [...names].sort((a, b) => { const [x, y] = [a.split("."), b.split(".")]; for (let n = 0; n < Math.min(x.length, y.length); n += 1) if (x[n] !== y[n]) return x[n] < y[n] ? -1 : 1; return x.length - y.length; });
  return [row("", "All queues", 0), ...ordered.map((name) => row(name, lastName(name), name.split(".").length - 1))];
}

function marks(row) {
  return [row.changed && h("span", { class: "tag changed", title: "changed by what is staged" }, "staged"),
    row.errors > 0 && h("span", { class: "mark error", title: `${row.errors} errors` }, `✕${row.errors}`), row.others > 0 && h("span", { class: "mark", title: `${row.others} warnings` }, `!${row.others}`)];
}
