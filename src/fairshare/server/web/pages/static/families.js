// Which hue a queue has: the same for a child of root and all below it, everywhere.
//
//   families.learn(queues)        after each answer of /queues
//   hueOf("root.ml.training")     "var(--f3)"; root and what is unknown is grey
//
// Hues are given in the order of the queues' names, so they stay when the page is opened again.

const found = new Map();

export const families = {
  learn(queues) {
    const tops = queues.filter((queue) => queue.parent === queues[0]?.name).map((queue) => queue.name).sort();
    for (const name of tops) if (!found.has(name)) found.set(name, (found.size % 8) + 1);
  },
};

export function hueOf(queue) {
  const parts = queue.split(".");
  const family = found.get(parts.slice(0, 2).join(".")) ?? found.get(parts[0]);
  return family ? `var(--f${family})` : "var(--ink-2)";
}
