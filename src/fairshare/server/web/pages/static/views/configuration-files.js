// The properties of the other files: what is in force, and from which
// file and line. They change with the files, and some only with a restart.

import { address } from "../address.js";
import { h } from "../document.js";
import { count } from "../format.js";

const MOST = 400;

export function drawFiles(properties) {
  if (!properties) return h("p", { class: "pad faint" }, "…");
  const search = (address.get("search") ?? "").toLowerCase();
  const rows = properties.filter((one) => `${one.name} ${one.value}`.toLowerCase().includes(search));
  const folder = commonFolder(rows.map((one) => one.file));
  return [h("div", { class: "log-bar" }, h("input", { class: "field", type: "search", placeholder: "Property or value", "aria-label": "Property or value", value: address.get("search") ?? "", on: { input() { address.set({ search: this.value }); } } }),
    h("span", { class: "faint small" }, `${count(rows.length)} properties`, folder && [" in ", h("code", { class: "mono" }, folder)])),
  rows.length ? h("div", { class: "scroll-x" }, h("table", { class: "files" }, h("thead", {}, h("tr", {}, ["Property", "Value", "Written in"].map((word) => h("th", { scope: "col" }, word)))),
    h("tbody", {}, rows.slice(0, MOST).map((one) => h("tr", { key: one.name }, h("th", { scope: "row", class: "mono" }, one.name), h("td", { class: "mono" }, one.value, one.final && h("span", { class: "tag" }, "final")),
      h("td", { class: "faint" }, one.file.slice(folder.length), one.line > 0 && `:${one.line}`))))))
    : h("p", { class: "pad soft" }, properties.length ? "No property is like that." : "No other file says anything: everything has its default."),
  rows.length > MOST && h("p", { class: "pad soft" }, `${count(rows.length - MOST)} more: search for a part of the name.`)];
}

function commonFolder(files) {
  const folders = files.map((file) => file.slice(0, file.lastIndexOf("/") + 1));
  return folders.length && folders.every((one) => one === folders[0]) ? folders[0] : "";
}
