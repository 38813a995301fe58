// What the page knows of the server: resources of /api/v1, kept fresh, and whether the
// server is there. It knows nothing of what they mean and draws nothing.
//
//   const stop = store.watch("/queues", (entry) => draw(entry), {past: true});
//       entry: {data, error, at_ms, loading}. It is called at once with what is known, then after
//       each refresh. `data` stays when a later refresh fails. `past: true`: the resource takes
//       ?at=MS, and shows the moment of the address; others are not refreshed while that is past.
//       `keep: true`: of the present, and refreshed also while the reader looks at the past.
//       `every_ms: 10_000`: refresh so often at most, for what need not be of this second.
//   store.refresh()                  fetch again whatever is watched
//   await store.read("/cluster")     one answer; throws a Fault
//   await store.send("/applications/ID/kill", {})   POST; throws a Fault; refreshes what is watched
//   await store.follow("/containers/ID/logs/stdout") the raw Response, for text that grows
//   store.onConnection(callback)     callback(connection): {state, since_ms, retry_ms, version}
//       state: connecting | live | stale | disconnected | signed-out
//   store.moment                     null when live, else the milliseconds that the address names
//
// A Fault has kind (offline, signed-out, denied, missing, wrong, failed), status, code, message.
//
// Freshness: /api/v1/events says that the version is another one; then each watched resource is
// fetched once more, never twice at the same time, and so seldom that fetching and drawing take a
// third of the time at most. A hidden window fetches nothing until it is looked at again.

import { address } from "./address.js";
import { token } from "./session.js";

const BASE = "/api/v1";
const LEAST_INTERVAL_MS = 1000;
const PAUSE_PER_COST = 2; // after t ms of fetching and drawing, rest for twice as long
const MOST_PAUSE_MS = 5000;
const SILENCE_MS = 25_000; // the stream gives a sign of life every 15 s
const RETRY_MS = [500, 1000, 2000, 4000, 8000];

export class Fault extends Error {
  constructor(kind, status, code, message, more = {}) {
    super(message);
    Object.assign(this, { kind, status, code, more });
  }
}

class Watched {
  constructor(path, past, keep, every_ms) {
    this.path = path;
    this.past = past;
    this.keep = keep;
    this.every_ms = every_ms;
    this.entry = { data: null, error: null, at_ms: null, loading: true };
    this.callbacks = new Set();
    this.due = false;
    this.busy = false;
    this.rest_until = 0;
    this.timer = null;
  }
}

const watched = new Map();
const connectionFollowers = new Set();
let connection = { state: "connecting", since_ms: Date.now(), retry_ms: null, version: null };
let tries = 0;
let lastSign = 0;
let stopStream = null;
let retryTimer = null;

function connect(change) {
  const state = change.state ?? connection.state;
  const since_ms = state === connection.state ? connection.since_ms : Date.now();
  connection = { ...connection, ...change, state, since_ms };
  for (const callback of [...connectionFollowers]) callback(connection);
}

export const store = {
  get moment() { const at = Number(address.get("at")); return at > 0 ? at : null; },
  get connection() { return connection; },

  watch(path, callback, { past = false, keep = false, every_ms = LEAST_INTERVAL_MS } = {}) {
    let one = watched.get(path);
    if (!one) { one = new Watched(path, past, keep, every_ms); watched.set(path, one); request(one); }
    one.callbacks.add(callback);
    callback(one.entry);
    return () => {
      one.callbacks.delete(callback);
      if (one.callbacks.size) return;
      clearTimeout(one.timer);
      watched.delete(path);
    };
  },

  refresh() { for (const one of watched.values()) { one.rest_until = 0; request(one); } },

  async read(path) { return (await ask(path)).json(); },

  async send(path, body = {}) {
    const answer = await ask(path, {
      method: "POST", body: JSON.stringify(body), headers: { "Content-Type": "application/json" },
    });
    const content = await answer.json();
    store.refresh();
    return content;
  },

  follow(path, signal) { return ask(path, { signal }); },

  onConnection(callback) {
    connectionFollowers.add(callback);
    callback(connection);
    return () => connectionFollowers.delete(callback);
  },

  start() {
    openStream();
    setInterval(listenForSilence, 2000);
    document.addEventListener("visibilitychange", () => { if (!document.hidden) catchUp(); });
    let moment = store.moment;
    address.onChange(() => {
      if (store.moment === moment) return;
      moment = store.moment;
      for (const one of watched.values()) if (one.past || moment === null) { one.rest_until = 0; request(one); }
    });
  },

  reconnect() { tries = 0; openStream(); },
};

function catchUp() { for (const one of watched.values()) if (one.due) request(one); }

// Fetch a resource as soon as it may be; a wish that comes meanwhile is remembered once.
function request(one) {
  if (one.busy) { one.due = true; return; }
  const asked_past = store.moment !== null;
  if (asked_past && !one.past && !one.keep && one.entry.data !== null) return;
  const wait_ms = one.rest_until - performance.now();
  one.due = true;
  if (wait_ms > 0) {
    clearTimeout(one.timer);
    one.timer = setTimeout(() => request(one), wait_ms);
    return;
  }
  if (document.hidden && one.entry.data !== null) return;
  one.due = false;
  load(one);
}

async function load(one) {
  one.busy = true;
  const began = performance.now();
  const moment = one.past ? store.moment : null;
  const query = moment === null ? "" : `${one.path.includes("?") ? "&" : "?"}at=${moment}`;
  let entry;
  try {
    const data = await (await ask(one.path + query)).json();
    entry = { data, error: null, at_ms: Date.now(), loading: false };
  } catch (fault) {
    if (!(fault instanceof Fault)) throw fault;
    entry = { ...one.entry, error: fault, loading: false };
  } finally {
    one.busy = false;
  }
  const overtaken = one.past && moment !== store.moment;
  if (!overtaken) {
    one.entry = entry;
    for (const callback of [...one.callbacks]) callback(entry);
  }
  const cost = performance.now() - began;
  one.rest_until = overtaken ? 0 : performance.now() + Math.max(one.every_ms, Math.min(MOST_PAUSE_MS, PAUSE_PER_COST * cost));
  if ((one.due || overtaken) && watched.get(one.path) === one) request(one);
}

async function ask(path, options = {}) {
  const headers = { ...options.headers };
  if (token.value) headers.Authorization = `Bearer ${token.value}`;
  let answer;
  try {
    answer = await fetch(BASE + path, { ...options, headers, cache: "no-store" });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Fault("offline", 0, "offline", "The server does not answer.");
  }
  if (answer.ok) return answer;
  let told = {};
  try { told = await answer.json(); } catch { /* not JSON: the status must do */ }
  const kind = { 401: "signed-out", 403: "denied", 404: "missing" }[answer.status]
    ?? (answer.status < 500 ? "wrong" : "failed");
  if (kind === "signed-out") connect({ state: "signed-out", retry_ms: null });
  const message = told.message ?? `The server answered ${answer.status} to ${path}.`;
  throw new Fault(kind, answer.status, told.code ?? String(answer.status), message, told);
}

// The stream of versions: fetch and not EventSource, which cannot send a token.
async function openStream() {
  stopStream?.abort();
  clearTimeout(retryTimer);
  const stop = new AbortController();
  stopStream = stop;
  try {
    const answer = await ask("/events?kinds=changed", { signal: stop.signal });
    const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
    let rest = "";
    for (;;) {
      const { value, done } = await reader.read();
      if (done) break;
      lastSign = performance.now();
      const blocks = (rest + value).split("\n\n");
      rest = blocks.pop();
      for (const block of blocks) hear(block);
    }
  } catch (error) {
    if (stop.signal.aborted) return;
    if (error instanceof Fault && error.kind === "signed-out") return;
  }
  if (stop.signal.aborted) return;
  const retry_ms = RETRY_MS[Math.min(tries, RETRY_MS.length - 1)];
  tries += 1;
  connect({ state: "disconnected", retry_ms });
  retryTimer = setTimeout(openStream, retry_ms);
}

function hear(block) {
  const data = block.split("\n").filter((line) => line.startsWith("data:")).map((line) => line.slice(5));
  if (!data.length) return;
  const said = JSON.parse(data.join("\n"));
  const news = said.version !== connection.version;
  const back = connection.state !== "live";
  tries = 0;
  if (news || back) connect({ state: "live", retry_ms: null, ...said });
  if (back) store.refresh();
  else if (news) for (const one of watched.values()) request(one);
}

function listenForSilence() {
  if (connection.state === "live" && performance.now() - lastSign > SILENCE_MS) {
    connect({ state: "stale" });
    openStream();
  }
}
