// The page of bookings: a calendar of one week, and a list of all that are to come. On a phone a week
// begins with today, else with Monday.
// In the address: week (its first day), sort.

import { address } from "../address.js";
import { confirm } from "../dialog.js";
import { fill, h } from "../document.js";
import { hueOf } from "../families.js";
import { amounts, count, duration, instant, shortName } from "../format.js";
import { session } from "../session.js";
import { blank, entryState } from "../states.js";
import { store } from "../store.js";
import { VirtualTable } from "../virtual-table.js";

const HOURS = [0, 3, 6, 9, 12, 15, 18, 21];
const STATES = { on: "on", near: "begins soon", later: "to come" };

export function view(place) {
  const page = new BookingsPage(place);
  return { title: () => "Bookings", update: () => page.draw(), close: () => page.close() };
}

class BookingsPage {
  constructor(place) {
    this.place = place;
    place.className = "view-list";
    this.entry = { data: null, error: null };
    this.head = h("header");
    this.body = h("div", { class: "list-body" });
    this.table = new VirtualTable({
      label: "Bookings", rowKey: (one) => one.name, rowHeight: 30, cell: (one, column) => column.draw(one), sort: address.get("sort"),
      onSort: (text) => address.set({ sort: text }), onOpen: (one) => address.set({ week: dayText(beginning(new Date(one.spans[0].from_ms))) }, { push: true }),
      rowLabel: (one) => `${one.name} for ${one.queue}, ${amounts(one.resources)}, ${STATES[one.state]}`,
      columns: [
        { key: "name", title: "Name", width: "minmax(90px, 1fr)", draw: (one) => h("span", { title: one.name }, one.name), sort: (one) => one.name },
        { key: "queue", title: "Queue", width: "minmax(70px, .8fr)", draw: (one) => h("span", { title: one.queue }, one.holder ? `${one.holder} in ${shortName(one.queue)}` : shortName(one.queue)), sort: (one) => one.queue },
        { key: "resources", title: "Resources", width: "minmax(110px, 1fr)", phone: false, draw: (one) => amounts(one.resources) },
        { key: "state", title: "State", width: "92px", phone: false, draw: (one) => h("span", { class: "tag" }, STATES[one.state]), sort: (one) => one.spans[0].from_ms },
        { key: "next", title: "From", width: "minmax(116px, .6fr)", align: "right", draw: (one) => instant(one.spans[0].from_ms), sort: (one) => one.spans[0].from_ms },
        { key: "length", title: "For", width: "84px", align: "right", narrow: false, draw: (one) => duration(one.spans[0].until_ms - one.spans[0].from_ms) },
        { key: "times", title: "Times", width: "56px", align: "right", narrow: false, draw: (one) => count(one.spans.length), sort: (one) => one.spans.length },
        { key: "missing", title: "Not sure", hint: "used by tasks without a time limit that ends by its start", width: "minmax(90px, .8fr)", narrow: false, draw: (one) => (Object.keys(one.missing).length ? amounts(one.missing) : "–") },
        { key: "orders", title: "", width: "84px", narrow: false, draw: orders },
      ],
    });
    fill(place, h("section", { class: "card list-card", "aria-label": "Bookings" }, this.head, this.body));
    this.stops = [
      store.watch("/bookings", (entry) => { this.entry = entry; this.draw(); }, { every_ms: 3000 }),
      session.onChange(() => this.draw()),
    ];
  }

  close() { for (const stop of this.stops) stop(); this.place.className = ""; }

  get week() {
    const [year, month, day] = (address.get("week") ?? "").split("-").map(Number);
    const chosen = day ? new Date(year, month - 1, day) : new Date();
    return beginning(Number.isNaN(chosen.getTime()) ? new Date() : chosen);
  }

  draw() {
    const week = this.week;
    const turn = (days) => () => address.set({ week: dayText(later(week, days)) }, { push: true });
    fill(this.head, h("h1", {}, "Bookings"),
      h("div", { class: "right" }, h("div", { class: "seg", role: "group", "aria-label": "Week" },
        h("button", { type: "button", key: "before", "aria-label": "The week before", on: { click: turn(-7) } }, "‹"),
        h("button", { type: "button", key: "now", on: { click: () => address.set({ week: null }, { push: true }) } }, "This week"),
        h("button", { type: "button", key: "after", "aria-label": "The week after", on: { click: turn(7) } }, "›"))));
    const missing = entryState(this.entry, "the bookings");
    if (missing) { fill(this.body, missing); return; }
    const { bookings, ahead_s, preempt_after_s } = this.entry.data;
    const rule = `Room is kept from ${duration(ahead_s * 1000)} before each; what still runs then ${preempt_after_s === null ? "goes on to its end" : `is preempted ${duration(preempt_after_s * 1000)} after its start`}.`;
    fill(this.body, h("p", { class: "told", key: "told", role: "status" }, `${count(bookings.length)} ${bookings.length === 1 ? "booking" : "bookings"}. ${rule}`),
      calendar(week, bookings),
      bookings.length ? h("div", { class: "list-table booked-list", key: "table", own: true })
        : h("div", { key: "blank" }, blank({ title: "Nothing is booked", text: "A booking promises resources to a queue for a deadline or a course. In a shell:", code: "fairshare reserve --gpus 4 --from 22:00 --until +10h --for vision" })));
    const holder = this.body.querySelector(".list-table");
    if (!holder) return;
    if (this.table.element.parentNode !== holder) holder.append(this.table.element);
    this.table.update([...bookings]);
  }
}

// Seven days, with a block for each time of a booking, in lanes side by side where they overlap.
function calendar(week, bookings) {
  const now_ms = Date.now();
  const days = Array.from({ length: 7 }, (_, number) => later(week, number));
  return h("div", { class: "calendar", key: "calendar", role: "region", "aria-label": `Calendar of the week of ${dayText(week)}`, tabindex: "0" },
    h("div", { class: "calendar-hours", "aria-hidden": "true" }, HOURS.map((hour) => h("span", { style: { top: `${(hour * 100) / 24}%` } }, `${String(hour).padStart(2, "0")}:00`))),
    days.map((day) => {
      const begin_ms = day.getTime(), end_ms = later(day, 1).getTime();
      const part = (ms) => (100 * (ms - begin_ms)) / (end_ms - begin_ms);
      const blocks = inLanes(bookings.flatMap((booking) => booking.spans
        .filter((span) => span.from_ms < end_ms && span.until_ms > begin_ms)
        .map((span) => ({ booking, span, from_ms: Math.max(span.from_ms, begin_ms), until_ms: Math.min(span.until_ms, end_ms) }))));
      const today = now_ms >= begin_ms && now_ms < end_ms;
      return h("section", { class: `calendar-day${today ? " today" : ""}`, key: dayText(day), "aria-label": dayText(day) },
        h("h2", {}, day.toLocaleDateString("en-GB", { weekday: "short", day: "numeric", month: "short" })),
        h("ol", {}, today && h("li", { class: "calendar-now", key: "now", "aria-hidden": "true", style: { top: `${part(now_ms)}%` } }), blocks.map(({ booking, span, from_ms, until_ms, lane, lanes }) => h("li", {
          class: "calendar-block", key: `${booking.name}/${span.from_ms}`, title: words(booking, span),
          style: { "--hue": hueOf(booking.queue), top: `${part(from_ms)}%`, height: `${part(until_ms) - part(from_ms)}%`, left: `${(100 * lane) / lanes}%`, width: `${100 / lanes}%` },
        }, h("b", {}, booking.name), h("span", {}, ` ${clock(span.from_ms)}–${clock(span.until_ms)} ${booking.holder || shortName(booking.queue)}: ${amounts(booking.resources)}`)))));
    }));
}

function words(booking, span) {
  return `${booking.name}: ${amounts(booking.resources)} for ${booking.holder ? `${booking.holder} in ` : ""}${booking.queue}, ${instant(span.from_ms)} to ${instant(span.until_ms)}`;
}

function inLanes(blocks) {
  blocks.sort((one, other) => one.from_ms - other.from_ms || one.until_ms - other.until_ms);
  const ends = [];
  for (const block of blocks) {
    const free = ends.findIndex((end_ms) => end_ms <= block.from_ms);
    block.lane = free < 0 ? ends.length : free;
    ends[block.lane] = block.until_ms;
  }
  for (const block of blocks) block.lanes = ends.length;
  return blocks;
}

// The button of one booking, for administrators.
function orders(booking) {
  if (store.moment !== null || !session.current?.administrator) return "";
  return h("span", { class: "row-orders" }, h("button", { class: "btn small danger", type: "button", on: { click: (event) => {
    event.stopPropagation();
    confirm({ title: `Cancel ${booking.name}?`, action: "Cancel it", danger: true, body: h("p", {}, "It keeps nothing from now on; what runs goes on."), check: () => store.send(`/bookings/${encodeURIComponent(booking.name)}/cancel`) });
  } } }, "Cancel…"));
}

const later = (day, days) => new Date(day.getFullYear(), day.getMonth(), day.getDate() + days);
const PHONE = matchMedia("(max-width: 480px)");
const beginning = (day) => later(day, PHONE.matches ? 0 : -((day.getDay() + 6) % 7));
const two = (n) => String(n).padStart(2, "0");
const dayText = (day) => `${day.getFullYear()}-${two(day.getMonth() + 1)}-${two(day.getDate())}`;
const clock = (ms) => `${two(new Date(ms).getHours())}:${two(new Date(ms).getMinutes())}`;
