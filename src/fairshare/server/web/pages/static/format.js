// How numbers are written: the same everywhere, in the words of YARN.
//
// Memory in GiB and TiB with three digits, vcores and containers as whole numbers with thousands,
// shares in percent without decimals above 10, clock times today and dates before.
// Amounts are mappings {"memory-mb": 2048, "vcores": 1, ...} as the REST interface gives them.

const WHOLE = new Intl.NumberFormat("en-US", { maximumFractionDigits: 0 });

export const count = (n) => WHOLE.format(Math.round(n));

// 3 significant digits: 0.25 GiB, 9.75 GiB, 158 GiB, 1.21 TiB.
export function memory(megabytes) {
  if (!megabytes) return "0 GiB";
  if (Math.abs(megabytes) < 102) return `${count(megabytes)} MiB`;
  const gib = megabytes / 1024;
  return gib < 999.5 ? `${three(gib)} GiB` : `${three(gib / 1024)} TiB`;
}

function three(x) {
  const size = Math.abs(x);
  if (size >= 999.5) return count(x);
  return String(Number(x.toFixed(size >= 99.95 ? 0 : size >= 9.995 ? 1 : 2)));
}

// 0.034 is 3.4%, 0.42 is 42%.
export function percent(ratio) {
  if (ratio === null || ratio === undefined) return "–";
  const size = Math.abs(ratio);
  if (size > 0 && size < 0.001) return "<0.1%";
  return `${(100 * ratio).toFixed(size > 0 && size < 0.0995 ? 1 : 0)}%`;
}

export const ofHundred = (value) => percent(value === null || value === undefined ? null : value / 100);

// What a type is called between other words, and over a column.
export function typeWord(type) { return type === "memory-mb" ? "memory" : type; }
export function typeTitle(type) {
  return { "memory-mb": "Memory", vcores: "VCores", "yarn.io/gpu": "GPUs" }[type] ?? withoutDomain(type);
}
const withoutDomain = (type) => type.slice(type.lastIndexOf("/") + 1);

// One type's amount: "12 GiB", "4 vcores", "2 gpu"; `bare` leaves the word out of whole numbers.
export function amount(value, type, bare = false) {
  if (value === null || value === undefined) return "–";
  if (isUnlimited(value)) return "unlimited";
  if (type === "memory-mb") return memory(value);
  if (bare) return count(value);
  const word = withoutDomain(type);
  return `${count(value)} ${value === 1 && word.endsWith("s") ? word.slice(0, -1) : word}`;
}

// All types: "12 GiB, 4 vcores, 2 gpu". Types beyond the first two are left out where they are 0.
export function amounts(resource) {
  if (!resource) return "–";
  const parts = Object.entries(resource)
    .filter(([, value], index) => index < 2 || value)
    .map(([type, value]) => amount(value, type));
  return new Set(parts).size === 1 && parts[0] === "unlimited" ? "unlimited" : parts.join(", ");
}

// Hadoop's unlimited is the largest whole number of 32 or 64 bits.
export const isUnlimited = (value) => value >= 2147483647;

const two = (n) => String(n).padStart(2, "0");

// 14:32:07 today, 2026-11-19 14:32 before.
export function instant(ms, now_ms = Date.now()) {
  if (ms === null || ms === undefined || ms <= 0) return "–";
  const then = new Date(ms);
  const clock = `${two(then.getHours())}:${two(then.getMinutes())}`;
  if (then.toDateString() === new Date(now_ms).toDateString()) return `${clock}:${two(then.getSeconds())}`;
  return `${then.getFullYear()}-${two(then.getMonth() + 1)}-${two(then.getDate())} ${clock}`;
}

// 850 ms, 12 s, 3 min 20 s, 2 h 5 min, 3 d 4 h.
export function duration(ms) {
  if (ms === null || ms === undefined) return "–";
  if (ms < 1000) return `${Math.round(ms)} ms`;
  const s = Math.floor(ms / 1000);
  if (s < 60) return `${s} s`;
  const pair = (big, word, small, other) => small ? `${big} ${word} ${small} ${other}` : `${big} ${word}`;
  if (s < 3600) return pair(Math.floor(s / 60), "min", s % 60, "s");
  if (s < 86400) return pair(Math.floor(s / 3600), "h", Math.floor((s % 3600) / 60), "min");
  return pair(Math.floor(s / 86400), "d", Math.floor((s % 86400) / 3600), "h");
}

// 1.2 kB, 3.4 MB: sizes of files.
export function bytes(n) {
  if (n < 1000) return `${n} B`;
  for (const [unit, size] of [["kB", 1e3], ["MB", 1e6], ["GB", 1e9]]) {
    if (n < size * 1000 || unit === "GB") return `${three(n / size)} ${unit}`;
  }
  return "";
}

// "root.ml.training" is "ml.training": where the hue and the tooltip say the rest.
export const shortName = (queue) => queue.replace(/^root\./, "");

// "root.ml.training" is "training"; root stays root.
export const lastName = (queue) => queue.slice(queue.lastIndexOf(".") + 1);
