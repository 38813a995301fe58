// The words by which each scheduler's documents call the same things.

export function wordsOf(queues) {
  const root = queues[0];
  if (root?.capacity) {
    return { kind: "capacity", heading: "Application Queues", fair: "capacity", fairLong: "guaranteed capacity", ofFair: "of cap.",
      instantaneous: "Effective Capacity", steady: null, guaranteed: "guaranteed",
      legend: { fair: "guaranteed capacity", min: null, steady: null, over: "used over capacity" } };
  }
  if (root?.pool) {
    return { kind: "pools", heading: "Pools", fair: "fair share", fairLong: "fair share", ofFair: "of fair",
      instantaneous: "Fair Share", steady: null, guaranteed: "minimum",
      legend: { fair: "fair share", min: "minimum", steady: null, over: "used over fair share" } };
  }
  return { kind: "fair", heading: "Application Queues", fair: "fair share", fairLong: "instantaneous fair share", ofFair: "of fair",
    instantaneous: "Instantaneous Fair Share", steady: "Steady Fair Share", guaranteed: "minimum",
    legend: { fair: "instantaneous fair share", min: "minimum", steady: "steady fair share", over: "used over fair share" } };
}
