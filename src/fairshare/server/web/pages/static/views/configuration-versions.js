// The list of versions: what was in force since when, by whom; one of
// them compared with the present, staged, or put in force again.

import { address } from "../address.js";
import { confirm } from "../dialog.js";
import { changesOf, difference } from "../difference.js";
import { h } from "../document.js";
import { count, instant } from "../format.js";
import { session } from "../session.js";
import { store } from "../store.js";
import { drawDifference } from "./configuration-difference.js";

export class Versions {
  constructor(draft, changed) {
    this.draft = draft;
    this.changed = changed;
    this.read = new Map();
  }

  // The text of a version; asked for once.
  async textOf(version) {
    if (!this.read.has(version)) this.read.set(version, (await store.read(`/configuration/texts/${version}`)).text);
    return this.read.get(version);
  }

  draw(texts, found) {
    if (!texts) return h("p", { class: "pad faint" }, "…");
    const compared = Number(address.get("version"));
    const text = this.read.get(compared);
    if (compared && text === undefined) this.textOf(compared).then(this.changed, () => address.set({ version: null }));
    const administrator = session.current?.administrator && store.moment === null;
    const button = (word, action, danger = false) => h("button", { class: `btn small${danger ? " danger" : ""}`, type: "button", on: { click: action } }, word);
    return [h("div", { class: "scroll-x" }, h("table", { class: "versions" }, h("thead", {}, h("tr", {}, ["Version", "In force since", "By", "What for", ""].map((word) => h("th", { scope: "col" }, word)))),
      h("tbody", {}, texts.map((one) => h("tr", { key: one.version },
        h("th", { scope: "row" }, `${one.version}`, one.in_force && h("span", { class: "tag changed" }, "in force")), h("td", {}, instant(one.at_ms)), h("td", {}, one.user || h("span", { class: "faint" }, "the file")), h("td", {}, one.note || h("span", { class: "faint" }, "–")),
        h("td", { class: "row-actions" }, !one.in_force && [button("Compare", () => address.set({ version: compared === one.version ? null : String(one.version) })), button("Stage it", () => this.stage(one.version)), administrator && button("Roll back…", () => this.rollBack(one, found), true)])))))),
    compared > 0 && text !== undefined && [h("div", { class: "difference-head" }, h("span", {}, `Version ${compared}`), h("span", {}, `Version ${found.version}, in force`)),
      changesOf(difference(text, found.text)) ? drawDifference(difference(text, found.text)) : h("p", { class: "pad soft" }, "They are the same.")]];
  }

  async stage(version) {
    this.draft.write(await this.textOf(version));
    address.set({ tab: "difference" });
  }

  async rollBack(one, found) {
    const text = await this.textOf(one.version);
    const changes = changesOf(difference(found.text, text));
    return confirm({
      title: `Roll back to version ${one.version}?`, action: "Roll back", danger: true,
      body: [h("p", {}, `${count(changes)} lines of version ${found.version} change; what was in force at ${instant(one.at_ms)} is in force again at once, as a new version.`),
        h("p", { class: "soft" }, "Nothing that runs is ended by this itself. No version is lost.")],
      check: () => store.send("/admin/configuration/document", { text, digest: found.digest, note: `back to version ${one.version}` }),
    });
  }
}
