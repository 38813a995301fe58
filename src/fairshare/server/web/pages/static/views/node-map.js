// The heat map of nodes: one cell for each, in the order of racks, coloured by how
// much of one resource is used. A frame marks a reservation, a cross a node that is drained. The table
// has the same for who cannot see it.

import { fill, h } from "../document.js";
import { amount, count, percent } from "../format.js";

const GAP = 2;

export class HeatMap {
  constructor(open) {
    this.open = open;
    this.canvas = h("canvas", { role: "img", tabindex: "0", on: {
      mousemove: (event) => this.tell(this.at(event)), mouseleave: () => this.tell(null),
      click: (event) => { const node = this.at(event); if (node) this.open(node.name); }, keydown: (event) => this.keydown(event),
      blur: () => { this.cursor = null; this.draw(); } } });
    this.nodes = [];
    this.cursor = null;
    this.resized = new ResizeObserver(() => this.draw());
    this.themed = new MutationObserver(() => this.draw());
    this.themed.observe(document.documentElement, { attributes: true, attributeFilter: ["data-theme"] });
  }

  close() { this.resized.disconnect(); this.themed.disconnect(); }

  // `map` is the answer of /pages/node-map: columns, in the order of racks and names.
  show(place, map) {
    if (map !== this.shown) {
      this.shown = map;
      this.type = map.by;
      this.nodes = map.names.map((name, n) => ({ name, rack: map.racks[n], total: map.totals[n], used: map.used[n], containers: map.containers[n],
        ratio: map.totals[n] ? map.used[n] / map.totals[n] : 0, reserved: (map.marks[n] & 1) > 0, drained: (map.marks[n] & 2) > 0 }));
    }
    if (this.canvas.parentNode !== place) { fill(place); place.append(this.canvas); this.resized.disconnect(); this.resized.observe(place); }
    const full = this.nodes.filter((node) => node.ratio >= 0.8).length;
    this.canvas.setAttribute("aria-label", `${count(this.nodes.length)} nodes; ${count(full)} use 80% or more. The arrows go from node to node, Enter opens one.`);
    this.draw();
  }

  draw() {
    const place = this.canvas.parentNode;
    if (!place) return;
    const width = place.clientWidth - 24;
    const size = Math.max(9, Math.min(64, Math.floor(Math.sqrt((width * Math.max(200, place.clientHeight - 24)) / (this.nodes.length || 1))) - 1));
    this.columns = Math.max(1, Math.floor(width / size));
    this.size = size;
    const height = Math.ceil(this.nodes.length / this.columns) * size;
    const ratio = devicePixelRatio || 1;
    Object.assign(this.canvas, { width: width * ratio, height: height * ratio });
    this.canvas.style.width = `${width}px`;
    this.canvas.style.height = `${height}px`;
    const style = getComputedStyle(document.documentElement);
    const colour = (name) => style.getPropertyValue(name).trim();
    const steps = ["--u0", "--u1", "--u2", "--u3", "--u4"].map(colour);
    const [ink, past, line, ground] = [colour("--ink"), colour("--past"), colour("--line-strong"), colour("--surface")];
    const paint = this.canvas.getContext("2d");
    paint.scale(ratio, ratio);
    this.nodes.forEach((node, n) => {
      const [x, y] = [(n % this.columns) * size, Math.floor(n / this.columns) * size];
      const used = node.ratio;
      const side = size - GAP;
      paint.fillStyle = steps[used <= 0 ? 0 : Math.min(4, 1 + Math.floor(used * 4 - 1e-9))];
      paint.fillRect(x, y, side, side);
      if (n === 0 || node.rack !== this.nodes[n - 1].rack) { paint.fillStyle = line; paint.fillRect(x - 1, y, 1, side); }
      if (node.drained) { paint.strokeStyle = used > 0.5 ? ground : ink; paint.lineWidth = 1.5; paint.beginPath(); paint.moveTo(x, y); paint.lineTo(x + side, y + side); paint.moveTo(x + side, y); paint.lineTo(x, y + side); paint.stroke(); }
      if (node.reserved) { paint.strokeStyle = past; paint.lineWidth = 3; paint.strokeRect(x + 1.5, y + 1.5, side - 3, side - 3); paint.strokeStyle = ground; paint.lineWidth = 1; paint.strokeRect(x + 3.5, y + 3.5, side - 7, side - 7); }
      if (n === this.cursor) { paint.strokeStyle = ink; paint.lineWidth = 2; paint.strokeRect(x, y, side, side); }
    });
  }

  at(event) {
    const box = this.canvas.getBoundingClientRect();
    const [column, row] = [Math.floor((event.clientX - box.left) / this.size), Math.floor((event.clientY - box.top) / this.size)];
    return column < this.columns ? this.nodes[row * this.columns + column] ?? null : null;
  }

  keydown(event) {
    const last = this.nodes.length - 1;
    const here = this.cursor ?? -1;
    const to = { ArrowRight: here + 1, ArrowLeft: here - 1, ArrowDown: here + this.columns, ArrowUp: here - this.columns, Home: 0, End: last }[event.key];
    if (event.key === "Enter" && this.nodes[here]) this.open(this.nodes[here].name);
    else if (to === undefined) return;
    else { this.cursor = Math.max(0, Math.min(last, to)); this.draw(); this.tell(this.nodes[this.cursor]); }
    event.preventDefault();
  }

  tell(node) {
    const place = document.querySelector(".map-told");
    if (place) place.textContent = node ? `${node.name} (${node.rack}): ${percent(node.ratio)} of ${amount(node.total, this.type)}, ${count(node.containers)} containers${node.reserved ? ", reserved" : ""}` : "";
  }
}
