// The editor of the file's text: lines are numbered, lines with a problem
// are marked. What is typed is staged.

import { address } from "../address.js";
import { fill, h } from "../document.js";

const LINE_PX = 18;

export class TextPane {
  constructor(changed) {
    this.numbers = h("div", { class: "text-lines", "aria-hidden": "true" });
    this.area = h("textarea", { class: "text-area", spellcheck: "false", wrap: "off", "aria-label": "Text of the file", autocapitalize: "off", autocomplete: "off",
      on: { input: () => changed(this.area.value), scroll: () => { this.numbers.style.transform = `translateY(${-this.area.scrollTop}px)`; } } });
    this.frame = h("div", { class: "text-pane" }, h("div", { class: "text-gutter" }, this.numbers), this.area);
    this.wanted = null;
  }

  close() { this.wanted = null; }

  goTo(line) { this.wanted = line; this.jump(); }

  show(place, text, problems) {
    if (this.frame.parentNode !== place) { fill(place); place.append(this.frame); }
    if (this.area.value !== text && document.activeElement !== this.area) this.area.value = text;
    const bad = new Map();
    for (const one of problems) bad.set(one.line, `${bad.has(one.line) ? `${bad.get(one.line)}\n` : ""}${one.severity}: ${one.message}`);
    const errors = new Set(problems.filter((one) => one.severity === "error").map((one) => one.line));
    const lines = this.area.value.split("\n").length;
    fill(this.numbers, Array.from({ length: lines }, (_, n) => h("div", { class: errors.has(n + 1) ? "error" : bad.has(n + 1) ? "warning" : "", title: bad.get(n + 1) ?? null }, bad.has(n + 1) ? `${errors.has(n + 1) ? "✕" : "!"} ${n + 1}` : String(n + 1))));
    const asked = Number(address.get("line"));
    if (asked) { address.set({ line: null }); this.wanted = asked; }
    this.jump();
  }

  jump() {
    if (!this.wanted || !this.area.isConnected) return;
    const lines = this.area.value.split("\n");
    const start = lines.slice(0, this.wanted - 1).reduce((sum, line) => sum + line.length + 1, 0);
    this.area.focus();
    this.area.setSelectionRange(start, start + (lines[this.wanted - 1]?.length ?? 0));
    this.area.scrollTop = Math.max(0, (this.wanted - 6) * LINE_PX);
    this.wanted = null;
  }
}
