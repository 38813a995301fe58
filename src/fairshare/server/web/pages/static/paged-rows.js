// Rows of which only those in sight are asked for: the server sorts, filters and
// counts, and gives a screenful; the rest comes when it is scrolled to.
//
//   const rows = new PagedRows("nodes", (answer) => page.draw(), {every_ms: 3000});   of GET /nodes
//   rows.ask({search: "gpu", sort: "-vcores"})   what is wanted; cheap when it is the same as before
//   rows.look(first, last)                       which places are in sight (VirtualTable's onWindow)
//   rows.entry                                   {data: the `page` of the last answer, error}; rows are in `list`
//   rows.list                                    as long as all that match; unknown places are empty
//   rows.close()
//
// Rows keep their places: an order by a column gets a name, and is asked for by it from then on; the
// order `unnamed`, which is that before the reader chooses one, has none, so that new rows come where
// they belong. The past of the address goes along.

import { store } from "./store.js";

const PAGE = 100;
const SETTLE_MS = 80; // while the reader scrolls by, nothing is fetched

export class PagedRows {
  constructor(name, draw, { every_ms = 3000, unnamed = null } = {}) {
    this.unnamed = unnamed;
    this.name = name;
    this.draw = draw;
    this.every_ms = every_ms;
    this.entry = { data: null, error: null };
    this.list = [];
    this.wish = null;
    this.moment = store.moment;
    this.first = 0;
    this.last = PAGE;
    this.order = "";
    this.watching = null;
    this.stop = null;
    this.timer = null;
  }

  close() { clearTimeout(this.timer); this.stop?.(); }

  ask(wish) {
    const text = new URLSearchParams(Object.entries(wish).filter(([, value]) => value)).toString();
    const sort = wish.sort ?? "";
    if (text === this.wish && store.moment === this.moment) return;
    if (sort !== this.sort || store.moment !== this.moment) this.order = sort && sort !== this.unnamed && `${Date.now()}-${Math.random()}`;
    Object.assign(this, { wish: text, sort, moment: store.moment, fresh: true, first: 0, last: PAGE });
    this.watch();
  }

  look(first, last) {
    if (first >= this.first && last <= this.last) return;
    const from = Math.floor(first / PAGE) * PAGE;
    const to = Math.max(from + PAGE, Math.ceil(last / PAGE) * PAGE);
    clearTimeout(this.timer);
    const move = () => { Object.assign(this, { first: from, last: to }); this.watch(); };
    this.timer = setTimeout(move, this.list[first] && this.list[last - 1] ? 4 * SETTLE_MS : SETTLE_MS);
  }

  watch() {
    const order = this.order ? `&order=${this.order}` : "";
    const path = `/${this.name}?${this.wish}${this.wish ? "&" : ""}offset=${this.first}&limit=${this.last - this.first}${order}`;
    if (path === this.watching) return;
    const before = this.stop;
    this.watching = path;
    this.stop = store.watch(path, (entry) => { if (this.watching === path) this.learn(entry); }, { past: true, every_ms: this.every_ms });
    before?.();
  }

  learn(entry) {
    if (!entry.data && !entry.error) return;
    const data = entry.data && { ...entry.data, ...entry.data.page };
    // What an address of before gave is no answer to another moment.
    if (data && (data.at_ms === null) !== (store.moment === null)) return;
    if (data) {
      if (this.fresh) this.list = [];
      this.fresh = false;
      this.list.length = data.matching;
      data[this.name].forEach((row, n) => { this.list[data.offset + n] = row; });
    } else if (this.fresh) this.list = [];
    this.entry = { ...entry, data };
    this.draw();
  }
}
