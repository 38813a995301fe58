// Who has what now: the table under the queues where there are few of them.

import { link } from "../address.js";
import { h } from "../document.js";
import { amounts, count } from "../format.js";

const MOST = 8;

export function usersNow({ users, known }) {
  if (!users.length) return null;
  return [h("header", {}, h("h2", {}, "Now by user"), known > MOST && h("div", { class: "right" }, h("a", { href: link("/cluster/users") }, `all ${count(known)}`))),
    h("table", {}, h("thead", {}, h("tr", {}, ["User", "Running", "Waiting", "Uses"].map((word, n) => h("th", { scope: "col", class: n ? "num" : "" }, word)))),
      h("tbody", {}, users.slice(0, MOST).map((one) => h("tr", { key: one.user },
        h("th", { scope: "row" }, h("a", { href: link("/cluster/apps", { user: one.user }) }, one.user)),
        h("td", { class: "num" }, count(one.running)), h("td", { class: "num" }, count(one.waiting)), h("td", { class: "num" }, one.containers ? amounts(one.used) : "–")))))];
}
