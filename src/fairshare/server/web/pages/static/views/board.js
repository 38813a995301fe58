// The board for a wall: large, read only, without the bars of the other pages. It shows how full
// the cluster is, what each user has, and what waits; the longest lists show how many more there are.

import { link } from "../address.js";
import { fill, h } from "../document.js";
import { amount, amounts, count, percent, typeTitle } from "../format.js";
import { entryState } from "../states.js";
import { store } from "../store.js";
import { meter } from "../bar.js";

const MOST_USERS = 12;

export function view(place) {
  const known = { cluster: null, users: null };
  let fault = { data: null, error: null };
  const clock = h("b", { class: "num" });
  const tick = () => { clock.textContent = new Date().toTimeString().slice(0, 5); };
  place.className = "view-board";
  document.body.classList.add("board");
  const draw = () => {
    const { cluster, users } = known;
    if (!cluster || !users) { fill(place, entryState(fault, "the board")); return; }
    const types = Object.keys(cluster.total).filter((type) => cluster.total[type] > 0);
    const { FINISHED = 0, RUNNING = 0, PENDING = 0 } = cluster.applications;
    const waiting = users.users.reduce((sum, one) => sum + one.waiting, 0);
    const rest = users.known - Math.min(users.users.length, MOST_USERS);
    fill(place, h("header", { key: "head" }, h("h1", {}, location.hostname), clock, h("a", { class: "btn small", href: link("/cluster/scheduler") }, "Leave the board")),
      h("section", { class: "board-meters", key: "meters", "aria-label": "Use" }, types.map((type) => {
        const ratio = cluster.used[type] / cluster.total[type];
        return h("div", { class: "card", key: type }, h("h2", {}, typeTitle(type)), h("p", { class: "board-number" }, percent(ratio)),
          meter(ratio, `${typeTitle(type)} ${percent(ratio)}`), h("p", { class: "soft" }, `${amount(cluster.used[type], type)} of ${amount(cluster.total[type], type, true)}`));
      }),
      h("div", { class: "card", key: "waiting" }, h("h2", {}, "Waiting"), h("p", { class: "board-number" }, count(waiting)), h("p", { class: "soft" }, `${count(RUNNING + PENDING)} active, ${count(FINISHED)} done`))),
      h("section", { class: "card board-users", key: "users", "aria-label": "Users" }, users.users.length === 0 ? h("p", { class: "pad" }, "Nothing runs or waits.") : h("table", {},
        h("thead", {}, h("tr", {}, ["User", "Running", "Waiting", "Uses"].map((word, n) => h("th", { scope: "col", class: n % 3 ? "num" : "" }, word)))),
        h("tbody", {}, users.users.slice(0, MOST_USERS).map((one) => h("tr", { key: one.user },
          h("th", { scope: "row" }, one.user), h("td", { class: "num" }, count(one.running)), h("td", { class: "num" }, count(one.waiting)), h("td", {}, one.containers ? amounts(one.used) : "–"))))),
      rest > 0 && h("p", { class: "pad soft" }, `and ${count(rest)} more`)));
  };
  const learn = (name) => (entry) => { if (entry.data) known[name] = entry.data; if (!entry.data) fault = entry; draw(); };
  tick();
  const stops = [
    store.watch("/cluster", learn("cluster"), { every_ms: 2000 }),
    store.watch("/pages/users", learn("users"), { every_ms: 3000 }),
  ];
  const timer = setInterval(tick, 5000);
  return {
    title: () => "Board",
    close() { clearInterval(timer); for (const stop of stops) stop(); document.body.classList.remove("board"); },
  };
}
