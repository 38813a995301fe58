"""The scheduler itself: state, events, placement, the schedulers and the manager. `handle(now_ms,
input) -> events` is all of it: no clock, input, output, chance, log, thread or loop."""
