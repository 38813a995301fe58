// How an application's books looked at a past moment: what came later is
// left out of them, and what ended later still goes on. Numbers are not made here, only left out.

// A timeline as it stood at an instant.
export function timelineAt(life, at_ms) {
  if (!life) return life;
  const span = (one) => ({ ...one, until_ms: one.until_ms !== null && one.until_ms > at_ms ? null : one.until_ms });
  const began = (one) => one.since_ms <= at_ms;
  return {
    ...life,
    now_ms: at_ms,
    finished_ms: life.finished_ms !== null && life.finished_ms > at_ms ? null : life.finished_ms,
    phases: life.phases.filter(began).map(span),
    reservations: life.reservations.filter(began).map(span),
    marks: life.marks.filter((one) => one.at_ms <= at_ms),
    attempts: life.attempts.filter((one) => one.started_ms <= at_ms),
    containers: life.containers.filter((one) => one.allocated_ms <= at_ms).map((one) => (goesOn(one, at_ms) ? { ...one, finished_ms: null, outcome: one.running_ms !== null && one.running_ms <= at_ms ? "running" : "starting" } : one)),
    running: life.running.filter(([ms]) => ms <= at_ms),
  };
}

// Containers as they stood at an instant: how one ended later was not known then.
export function containersAt(found, at_ms) {
  if (!found) return found;
  const containers = found.containers.filter((one) => one.allocated_ms <= at_ms)
    .map((one) => (goesOn(one, at_ms) ? { ...one, state: "RUNNING", finished_ms: null, exit_code: null, diagnostics: "", peak_memory_mb: 0, cpu_ms: 0 } : one));
  return { ...found, containers };
}

const goesOn = (one, at_ms) => one.finished_ms === null || one.finished_ms > at_ms;
