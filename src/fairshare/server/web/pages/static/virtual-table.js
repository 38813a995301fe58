// Tables that stay fast with ten thousand rows: only those in sight are nodes.
//
//   const table = new VirtualTable({
//     label: "Applications",               what a screen reader calls it
//     columns: [{key: "name", title: "Name", width: "minmax(120px, 1fr)", align: "right",
//                hint: "tooltip of the head", sort: (row) => row.name, narrow: false}],
//                                          narrow: false hides it below 800 pixels, phone: false below
//                                          480; phone: "1fr" is its width there
//     rowKey: (row) => row.id,
//     cell: (row, column) => node or text,
//     rowClass: (row) => "idle",           optional
//     rowLabel: (row) => "...",            optional: what a screen reader says of a row
//     rowAttributes: (row) => ({"aria-level": 2}),   optional
//     rowStyle: (row) => ({"--hue": ...}), optional
//     rowHeight: 28,
//     onOpen: (row) => ...,                a click or Enter
//     onMove: (row) => ...,                optional: the arrows came to this row
//     onKey: (event, row) => handled,      optional: further keys
//     onSort: (text) => ...,               optional: put "name" or "-name" into the address
//     sort: "-memory",                     optional: the order to begin with
//     role: "grid",                        or "treegrid"
//     onWindow: (first, last) => ...,      rows come from elsewhere, already in order: those from first
//                                          to last are in sight, and may be missing (see paged-rows.js)
//   });
//   place.append(table.element);
//   table.update(rows, {selected: key});   after every refresh; cheap
//   table.reveal(key)                      scroll so that a row is in sight
//
// Rows keep their place: an update changes cells, not the order. The order is the one of `rows` as
// given (give a stable one), or the one by a column as it was when its head was clicked; what comes
// later goes to the end, and another click sorts anew. A place for the table must have a height.

import { fill, h } from "./document.js";

const SPARE_ROWS = 8;
let tables = 0;

function templates(columns) {
  const widths = (those) => those.map((column) => column.width).join(" ");
  return { "--columns": widths(columns), "--narrow-columns": widths(columns.filter((c) => c.narrow !== false)),
    "--phone-columns": columns.filter((c) => c.narrow !== false && c.phone !== false).map((c) => c.phone ?? c.width).join(" ") };
}

// The class of a cell that narrow windows leave out.
const hidden = (column) => (column.narrow === false ? " wide-only" : column.phone === false ? " phone-off" : "");

export class VirtualTable {
  constructor(options) {
    this.options = { rowHeight: 28, role: "grid", rowClass: () => "", rowStyle: () => ({}), ...options };
    this.id = `table-${(tables += 1)}`;
    this.rows = [];
    this.order = null; // keys as last sorted; null: as given
    this.sort = options.sort ?? null;
    this.selected = null;
    this.cursor = null;
    this.head = h("div", { class: "vt-row vt-head", role: "row", "aria-rowindex": "1" });
    this.window = h("div", { class: "vt-window", role: "presentation" });
    this.body = h("div", { class: "vt-body", role: "rowgroup" }, this.window);
    this.element = h("div", {
      class: "vt", role: this.options.role, "aria-label": options.label, tabindex: "0",
      style: { ...templates(options.columns), "--row": `${this.options.rowHeight}px` },
      on: { keydown: (event) => this.keydown(event), focus: () => this.draw(), blur: () => this.draw() },
    }, h("div", { class: "vt-headgroup", role: "rowgroup" }, this.head), this.body);
    this.element.addEventListener("scroll", () => this.draw(), { passive: true });
    this.window.addEventListener("click", (event) => this.click(event));
    new ResizeObserver(() => this.draw()).observe(this.element);
    this.drawHead();
  }

  update(rows, { selected = this.selected } = {}) {
    if (selected !== this.selected) { this.selected = selected; this.cursor = selected; }
    this.rows = this.arrange(rows);
    this.element.setAttribute("aria-rowcount", String(rows.length + 1));
    this.body.style.height = `${this.rows.length * this.options.rowHeight}px`;
    this.draw();
  }

  setColumns(columns) {
    this.options.columns = columns;
    for (const [name, value] of Object.entries(templates(columns))) this.element.style.setProperty(name, value);
    this.drawHead();
    this.draw();
  }

  reveal(key) {
    this.show(this.find(key));
  }

  // The place of a row among those that are known; -1 if it is not.
  find(key) { return key === null ? -1 : this.rows.findIndex((row) => row && this.options.rowKey(row) === key); }

  show(index) {
    if (index < 0) return;
    const height = this.options.rowHeight;
    const top = index * height;
    const seen = this.element.clientHeight - this.head.offsetHeight;
    if (top < this.element.scrollTop) this.element.scrollTop = top;
    else if (top + height > this.element.scrollTop + seen) this.element.scrollTop = top + height - seen;
    this.draw();
  }

  // Order.

  arrange(rows) {
    if (!this.sort || this.options.onWindow) return rows;
    const { rowKey } = this.options;
    if (!this.order) this.order = new Map(this.sorted(rows).map((row, place) => [rowKey(row), place]));
    let next = this.order.size;
    for (const row of rows) if (!this.order.has(rowKey(row))) this.order.set(rowKey(row), next++);
    return [...rows].sort((a, b) => this.order.get(rowKey(a)) - this.order.get(rowKey(b)));
  }

  sorted(rows) {
    const down = this.sort.startsWith("-");
    const column = this.options.columns.find((c) => c.key === this.sort.replace("-", ""));
    if (!column?.sort) return rows;
    const valued = rows.map((row, place) => [column.sort(row) ?? "", place, row]);
    const compare = (a, b) => typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b));
    valued.sort((a, b) => (down ? compare(b[0], a[0]) : compare(a[0], b[0])) || a[1] - b[1]);
    return valued.map(([, , row]) => row);
  }

  sortBy(text) {
    this.sort = text;
    this.order = null;
    if (this.options.onWindow) this.element.scrollTop = 0;
    this.rows = this.arrange(this.rows);
    this.drawHead();
    this.draw();
    this.options.onSort?.(text);
  }

  // Drawing.

  drawHead() {
    fill(this.head, this.options.columns.map((column) => {
      const by = this.sort?.replace("-", "") === column.key;
      const down = by && this.sort.startsWith("-");
      const direction = by ? (down ? "descending" : "ascending") : column.sort ? "none" : null;
      const click = () => this.sortBy(by && !down ? `-${column.key}` : column.key);
      const mark = by ? h("span", { "aria-hidden": "true" }, down ? " ▾" : " ▴") : null;
      return h("div", {
        class: `vt-cell ${column.align === "right" ? "num" : ""}${hidden(column)}`,
        role: "columnheader", title: column.hint, "aria-sort": direction, key: column.key,
      }, column.sort ? h("button", { type: "button", class: "vt-sort", tabindex: "-1", on: { click } }, column.title, mark)
        : typeof column.title === "function" ? column.title() : column.title);
    }));
  }

  draw() {
    const { rowHeight } = this.options;
    const first = Math.max(0, Math.floor(this.element.scrollTop / rowHeight) - SPARE_ROWS);
    const last = Math.min(this.rows.length,
      Math.ceil((this.element.scrollTop + this.element.clientHeight) / rowHeight) + SPARE_ROWS);
    this.window.style.transform = `translateY(${first * rowHeight}px)`;
    const shown = [];
    for (let index = first; index < last; index += 1) {
      const row = this.rows[index];
      shown.push(row ? this.drawRow(row, index) : this.drawMissing(index));
    }
    fill(this.window, shown);
    const cursor = this.find(this.cursor);
    if (cursor >= first && cursor < last) this.element.setAttribute("aria-activedescendant", `${this.id}-${cursor}`);
    else this.element.removeAttribute("aria-activedescendant");
    if (this.element.clientHeight) this.options.onWindow?.(first, last);
  }

  drawMissing(index) {
    const bone = () => h("i", { class: "bone", style: { width: `${35 + (index * 29) % 45}%` } });
    return h("div", { class: "vt-row missing", role: "row", key: `missing-${index}`, "aria-rowindex": String(index + 2), "aria-busy": "true" },
      this.options.columns.map((column, n) => h("div", { class: `vt-cell${hidden(column)}`, role: "gridcell", key: column.key }, n < 2 ? bone() : null)));
  }

  drawRow(row, index) {
    const { columns, rowKey, rowClass, rowStyle, rowLabel, rowAttributes, cell } = this.options;
    const key = rowKey(row);
    const on = key === this.selected;
    const here = key === this.cursor && document.activeElement === this.element;
    return h("div", {
      ...rowAttributes?.(row),
      class: `vt-row ${rowClass(row)}${here ? " vt-cursor" : ""}`, role: "row", key, id: `${this.id}-${index}`,
      "aria-rowindex": String(index + 2), "aria-selected": String(on), "aria-label": rowLabel?.(row),
      dataset: { key }, style: rowStyle(row),
    }, columns.map((column) => h("div", {
      class: `vt-cell ${column.align === "right" ? "num" : ""}${hidden(column)}${column.class ? ` ${column.class}` : ""}`,
      role: "gridcell", key: column.key,
    }, cell(row, column))));
  }

  // Acting.

  at(key) { return this.rows.find((row) => row && String(this.options.rowKey(row)) === String(key)); }

  click(event) {
    const place = event.target.closest(".vt-row");
    if (!place || event.target.closest("a, button, input, select")) return;
    const row = this.at(place.dataset.key);
    if (row) { this.cursor = this.options.rowKey(row); this.options.onOpen?.(row, event); this.draw(); }
  }

  keydown(event) {
    if (event.target !== this.element) return;
    const { rowKey, rowHeight, onOpen, onMove, onKey } = this.options;
    const here = this.find(this.cursor);
    if (here >= 0 && onKey?.(event, this.rows[here])) { event.preventDefault(); return; }
    const page = Math.max(1, Math.floor(this.element.clientHeight / rowHeight) - 2);
    const to = {
      ArrowDown: here + 1, ArrowUp: here - 1, PageDown: here + page, PageUp: here - page,
      Home: 0, End: this.rows.length - 1,
    }[event.key];
    if (to !== undefined && this.rows.length) {
      event.preventDefault();
      const place = Math.max(0, Math.min(this.rows.length - 1, to));
      const row = this.rows[place];
      if (row) this.cursor = rowKey(row);
      this.show(place);
      if (row) onMove?.(row);
    } else if (event.key === "Enter" && here >= 0) {
      event.preventDefault();
      onOpen?.(this.rows[here], event);
    }
  }
}
