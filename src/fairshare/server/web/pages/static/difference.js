// How two texts differ, line by line.
//
//   difference("a\nb", "a\nc")   [{kind: "same", left: 1, right: 1, text: "a"},
//                                 {kind: "gone", left: 2, text: "b"}, {kind: "new", right: 2, text: "c"}]
//   sideBySide(lines, context)   rows [{left, right} | {skipped: n}] with a few same lines around
//   changesOf(lines)             how many lines are new or gone
//
// The shortest script of changes (Myers), up to MOST of them; beyond that everything between the
// first and the last change counts as changed.

const MOST = 1500;

export function difference(before, after) {
  const a = before.split("\n");
  const b = after.split("\n");
  let head = 0;
  while (head < a.length && head < b.length && a[head] === b[head]) head += 1;
  let tail = 0;
  while (tail < a.length - head && tail < b.length - head && a[a.length - 1 - tail] === b[b.length - 1 - tail]) tail += 1;
  const middle = script(a.slice(head, a.length - tail), b.slice(head, b.length - tail));
  const kinds = [...Array(head).fill("same"), ...middle, ...Array(tail).fill("same")];
  let [left, right] = [0, 0];
  return kinds.map((kind) => {
    if (kind === "same") { left += 1; right += 1; return { kind, left, right, text: a[left - 1] }; }
    if (kind === "gone") { left += 1; return { kind, left, text: a[left - 1] }; }
    right += 1;
    return { kind, right, text: b[right - 1] };
  });
}

function script(a, b) {
  const most = Math.min(MOST, a.length + b.length);
  const ends = new Map([[1, 0]]);
  const trace = [];
  for (let d = 0; d <= most; d += 1) {
    trace.push(new Map(ends));
    for (let k = -d; k <= d; k += 2) {
      const down = k === -d || (k !== d && (ends.get(k - 1) ?? -1) < (ends.get(k + 1) ?? -1));
      let x = down ? ends.get(k + 1) ?? 0 : ends.get(k - 1) + 1;
      let y = x - k;
      while (x < a.length && y < b.length && a[x] === b[y]) { x += 1; y += 1; }
      ends.set(k, x);
      if (x >= a.length && y >= b.length) return walkBack(trace, a.length, b.length);
    }
  }
  return [...a.map(() => "gone"), ...b.map(() => "new")];
}

function walkBack(trace, x, y) {
  const found = [];
  for (let d = trace.length - 1; d >= 0; d -= 1) {
    const ends = trace[d];
    const k = x - y;
    const down = k === -d || (k !== d && (ends.get(k - 1) ?? -1) < (ends.get(k + 1) ?? -1));
    const fromK = down ? k + 1 : k - 1;
    const fromX = d === 0 ? 0 : ends.get(fromK) ?? 0;
    const fromY = d === 0 ? 0 : fromX - fromK;
    while (x > fromX && y > fromY && x > 0 && y > 0) { found.push("same"); x -= 1; y -= 1; }
    if (d > 0) { found.push(down ? "new" : "gone"); x = fromX; y = fromY; }
  }
  return found.reverse();
}

export const changesOf = (lines) => lines.filter((line) => line.kind !== "same").length;

export function sideBySide(lines, context = 3) {
  const near = new Set();
  lines.forEach((line, n) => {
    if (line.kind !== "same") for (let m = n - context; m <= n + context; m += 1) near.add(m);
  });
  const rows = [];
  let skipped = 0;
  let gone = [];
  const flush = () => { rows.push(...gone.map((left) => ({ left, right: null }))); gone = []; };
  lines.forEach((line, n) => {
    if (!near.has(n)) { skipped += 1; return; }
    if (skipped) { flush(); rows.push({ skipped }); skipped = 0; }
    if (line.kind === "gone") gone.push(line);
    else if (line.kind === "new") rows.push({ left: gone.shift() ?? null, right: line });
    else { flush(); rows.push({ left: line, right: line }); }
  });
  flush();
  if (skipped) rows.push({ skipped });
  return rows;
}
