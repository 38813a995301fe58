// The pane in which a container's log follows what is written. Bytes become
// text and are put into the page as text, whatever they are.

import { address } from "../address.js";
import { fill, h } from "../document.js";
import { bytes } from "../format.js";
import { store } from "../store.js";

const PAUSE_MS = 1000;
const KEPT_CHARACTERS = 1_000_000;
const STREAMS = ["stdout", "stderr"];

export class LogPane {
  constructor() {
    this.bar = h("div", { class: "log-bar" });
    this.text = h("pre", { class: "log-text", tabindex: "0", role: "region", "aria-label": "Log" });
    this.following = "";
    this.containers = [];
  }

  show(place, found) {
    this.containers = found ? [...found.containers].reverse() : [];
    if (found && !this.containers.length) { this.pause(); fill(place, h("p", { class: "pad soft" }, "There is no container whose log could be shown.")); return; }
    if (this.bar.parentNode !== place) { fill(place); place.append(this.bar, this.text); }
    const wanted = address.get("container") ?? this.containers[0]?.id ?? null;
    const stream = STREAMS.includes(address.get("stream")) ? address.get("stream") : "stdout";
    this.drawBar(wanted, stream);
    const key = `${wanted} ${stream}`;
    if (wanted && key !== this.following) this.follow(wanted, stream, key);
  }

  pause() { this.stop?.abort(); this.following = ""; }

  close() { this.pause(); }

  drawBar(wanted, stream) {
    const known = this.containers.slice(0, 500);
    if (wanted && !known.some((one) => one.id === wanted)) known.unshift({ id: wanted, node: "", group: null, master: false });
    fill(this.bar,
      h("select", { class: "field", "aria-label": "Container", value: wanted ?? "", on: { change() { address.set({ container: this.value }); } } },
        known.map((one) => h("option", { value: one.id, key: one.id }, `${one.group ? `${one.group}[${one.task}]` : one.master ? "driver" : "container"} · ${one.node} · …${one.id.slice(-9)}`))),
      h("div", { class: "seg", role: "group", "aria-label": "Stream" }, STREAMS.map((name) => h("button", { type: "button", "aria-pressed": String(name === stream), on: { click: () => address.set({ stream: name }) } }, name))),
      h("span", { class: "faint small", role: "status" }, this.said ?? ""));
  }

  async follow(container, stream, key) {
    this.stop?.abort();
    const stop = new AbortController();
    this.stop = stop;
    this.following = key;
    this.text.textContent = "";
    this.say("reading");
    const decoder = new TextDecoder();
    let offset = 0;
    while (!stop.signal.aborted) {
      let pause_ms = PAUSE_MS;
      try {
        const answer = await store.follow(`/containers/${container}/logs/${stream}?offset=${offset}`, stop.signal);
        const part = new Uint8Array(await answer.arrayBuffer());
        if (stop.signal.aborted) return;
        const skipped = Number(answer.headers.get("X-Fairshare-Skipped") ?? 0);
        if (skipped) this.add(`\n[${bytes(skipped)} were left out here: the log is limited]\n`);
        offset += skipped + part.length;
        this.add(decoder.decode(part, { stream: true }));
        if (answer.headers.get("X-Fairshare-Complete") === "true") {
          this.say(offset ? `complete, ${bytes(offset)}` : "complete: nothing was written");
          return;
        }
        this.say(`${bytes(offset)}, follows`);
        if (part.length && pause_ms) pause_ms = Math.min(pause_ms, 300);
      } catch (fault) {
        if (fault.name === "AbortError" || stop.signal.aborted) return;
        this.say(fault.message);
        if (fault.kind !== "offline") return;
      }
      await new Promise((resolve) => { setTimeout(resolve, pause_ms); });
    }
  }

  add(text) {
    if (!text) return;
    const end = this.text.scrollHeight - this.text.scrollTop - this.text.clientHeight < 24;
    this.text.append(text);
    let over = this.text.textContent.length - KEPT_CHARACTERS;
    while (over > 0 && this.text.firstChild !== this.text.lastChild) { over -= this.text.firstChild.data.length; this.text.firstChild.remove(); }
    if (end) this.text.scrollTop = this.text.scrollHeight;
  }

  say(words) { this.said = words; const place = this.bar.querySelector("[role=status]"); if (place) place.textContent = words; }
}
