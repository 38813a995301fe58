// What every page has: top bar, time, notices, the place of the view, sign-in. It
// chooses the view that the address names and knows nothing of what a view shows.
//
// A view is a module in views/ with one function:
//
//   export function view(place) {        place: an empty <main>; draw into it
//     const stop = store.watch(...);
//     return {
//       title: () => "Applications",     the document's title, asked after each change
//       update() {},                     the address has other parameters, the path is the same
//       close() { stop(); },             another view comes
//     };
//   }
//
// and one line in main.js: {pattern, nav, key, load}. Shortcuts that a view makes it takes back.

import { address, followLinks, link } from "./address.js";
import { fill, h, svg } from "./document.js";
import { drawFinder } from "./finder.js";
import { shortcut, showKeys } from "./keyboard.js";
import { session } from "./session.js";
import { drawSignIn, redeemAddress } from "./sign-in.js";
import { blank, notice } from "./states.js";
import { store } from "./store.js";
import { Timeline } from "./timeline.js";
import { duration, instant } from "./format.js";

export class Shell {
  constructor(views) {
    this.views = views;
    this.shown = null; // {entry, view}
    this.top = h("header", { class: "top" });
    this.notices = h("div", { class: "notices" });
    this.timeline = new Timeline();
    this.place = h("main", { id: "main", tabindex: "-1" });
    this.cluster = null;
  }

  async start() {
    await redeemAddress();
    document.body.append(h("a", { class: "skip", href: "#main" }, "To the content"), this.top, this.timeline.element,
      this.notices, this.place);
    followLinks((path) => this.entryOf(path) !== null);
    store.start();
    store.watch("/cluster", (entry) => { if (entry.data) { this.cluster = entry.data; this.drawTop(); } }, { past: true });
    store.watch("/session", (entry) => { if (entry.data) session.learn(entry.data); });
    store.onConnection(() => { this.drawNotices(); this.timeline.draw(); });
    session.onChange(() => this.drawTop());
    address.onChange(() => { this.drawTop(); this.drawNotices(); this.showView(); });
    for (const { nav, key, path } of this.views) if (nav) shortcut(`g ${key}`, nav, () => address.go(path));
    shortcut("/", "Find a queue, an application or a node", () => document.querySelector(".find input").focus());
    shortcut("t", "Light or dark", () => window.fairshareTheme.toggle());
    shortcut("?", "This list", showKeys);
    setInterval(() => this.drawNotices(), 1000);
    this.drawTop();
    this.showView();
  }

  entryOf(path) { return this.views.find((entry) => entry.pattern.test(path)) ?? null; }

  async showView() {
    const path = address.path;
    const entry = this.entryOf(path);
    const same = this.shown && entry && this.shown.entry === entry && this.shown.path === path;
    if (same) { this.shown.view?.update?.(); this.name(); return; }
    this.shown?.view?.close?.();
    const mine = { entry, path, view: null };
    this.shown = mine;
    const place = h("main", { id: "main", tabindex: "-1", class: entry ? `view-${entry.name}` : "" });
    this.place.replaceWith(place);
    this.place = place;
    if (!entry) {
      place.append(blank({ title: "There is no such page", text: path, more: h("a", { href: link("/cluster/scheduler") }, "To the queues") }));
      this.name();
      return;
    }
    try {
      const module = await entry.load();
      if (this.shown === mine) mine.view = module.view(place);
    } catch (error) {
      if (this.shown === mine) fill(place, blank({ title: "This view could not be loaded", text: String(error.message ?? error) }));
      console.error(error);
    }
    this.name();
  }

  name() {
    const title = this.shown?.view?.title?.() ?? this.shown?.entry?.nav;
    document.title = title ? `${title} · fairshare` : "fairshare";
  }

  drawTop() {
    const who = session.current;
    const here = this.entryOf(address.path);
    fill(this.top,
      h("a", { class: "brand", href: link("/cluster/scheduler"), title: "The queues" }, logo(), "fairshare",
        this.cluster && h("small", {}, this.cluster.scheduler_title)),
      h("nav", { "aria-label": "Pages" }, this.views.filter((one) => one.nav).map((one) => h("a", {
        href: link(one.path), "aria-current": one === here || one.nav === here?.under ? "page" : null }, one.nav))),
      drawFinder(),
      who && h("span", { class: "who", title: who.proven ? "proven by a token or a proxy" : "this server does not ask who calls" }, who.user ?? "not signed in",
        who.user !== null && (who.administrator ? h("small", {}, "administrator") : who.administers.length > 0 && h("small", {}, `administers ${who.administers[0]}`))),
      h("button", { class: "icon", type: "button", "aria-label": "Keys", title: "Keys (?)", on: { click: showKeys } }, "?"),
      h("button", { class: "icon", type: "button", "aria-label": "Light or dark", title: "Light or dark (t)",
        on: { click: () => window.fairshareTheme.toggle() } }, halfMoon()));
  }

  drawNotices() {
    const { state, since_ms, retry_ms } = store.connection;
    const found = [];
    if (state === "disconnected" || state === "stale") {
      const age = duration(Date.now() - since_ms);
      const button = h("button", { class: "btn small", type: "button", on: { click: () => store.reconnect() } }, "Try now");
      found.push(state === "stale"
        ? notice("warn", [h("b", {}, "The server is silent "), `for ${age}. What you see is the last state received.`], button)
        : notice("bad", [h("b", {}, "Not connected "), `since ${instant(since_ms)} (${age}). What you see is the last state received; `,
          `this page tries again ${retry_ms ? `every ${duration(retry_ms)}` : "by itself"}.`], button));
    }
    const signedOut = state === "signed-out";
    if (signedOut) found.push(drawSignIn(() => this.drawNotices()));
    document.body.classList.toggle("signed-out", signedOut);
    if (store.moment !== null) {
      found.push(notice("past", [`You look at `, h("b", {}, instant(store.moment)), `, ${duration(Date.now() - store.moment)} ago. `,
        "Everything here shows that moment, and says where something is not kept; actions are off."],
      h("button", { class: "btn small", type: "button", on: { click: () => address.set({ at: null }) } }, "Back to live")));
    }
    document.body.classList.toggle("past", store.moment !== null);
    fill(this.notices, found);
  }
}

function logo() {
  const rect = (x, y, width, height, colour) => svg("rect", { x, y, width, height, rx: 1, fill: colour });
  return svg("svg", { width: 20, height: 20, viewBox: "0 0 20 20", "aria-hidden": "true" },
    rect(1, 3, 11, 4, "var(--f1)"), rect(1, 8.5, 16, 4, "var(--f2)"), rect(1, 14, 8, 4, "var(--f3)"), rect(12, 1, 1.8, 18.5, "var(--ink)"));
}

function halfMoon() {
  return svg("svg", { width: 16, height: 16, viewBox: "0 0 16 16", "aria-hidden": "true" },
    svg("circle", { cx: 8, cy: 8, r: 6, fill: "none", stroke: "currentColor", "stroke-width": 1.6 }),
    svg("path", { d: "M8 2a6 6 0 0 1 0 12z", fill: "currentColor" }));
}
