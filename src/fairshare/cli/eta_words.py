"""Estimates of the start and the end of an application, in words."""

from fairshare.api.applications import Eta, Spread
from fairshare.cli.cells import duration_text
from fairshare.wording import counted


def eta_lines(eta: Eta, *, would: bool = False) -> list[str]:
    """When it starts and ends, and on what that rests; of one that is not there yet what it
    `would` do."""
    smaller = smaller_lines(eta)
    if not eta.draws:
        return [f"No estimate of its start and end: {eta.reason}.", *smaller]
    lines = []
    if eta.start is not None:
        text = spread_text(eta.start, eta.horizon_ms)
        lines.append(f"It {'would start' if would else 'starts'} {text}.")
    if eta.end is not None:
        text = spread_text(eta.end, eta.horizon_ms)
        lines.append(f"It {'would end' if would else 'ends'} {text}.")
    basis = (
        f"From {counted(eta.draws, 'simulation')} with the run times of"
        f" {counted(eta.samples, 'application')}"
    )
    if eta.of:
        basis += f"; such limits were met by {eta.met / eta.of:.0%} of {eta.of:,} in 7 days"
    return [*lines, *smaller, f"{basis}."]


def smaller_lines(eta: Eta) -> list[str]:
    """With what smaller tasks it would start at the moment of the estimate, if it is known.

    >>> from fairshare.api.applications import Smaller
    >>> smaller_lines(Eta(0, smaller=(Smaller("4 vcores", {}), Smaller("2,048 MB", {}))))
    ['It would start at once with 4 vcores for each task, or with 2,048 MB.']
    """
    if not eta.smaller:
        return []
    first, *others = (one.words for one in eta.smaller)
    more = "".join(f", or with {words}" for words in others)
    return [f"It would start at once with {first} for each task{more}."]


def spread_text(spread: Spread, horizon_ms: int) -> str:
    """When something happens, from the moment of the estimate on, by simulations that go so far.

    >>> spread_text(Spread(300_000, 540_000, 60, calibrated=True), 0)
    'in about 5m 00s, in 9 of 10 cases within 9m 00s'
    >>> spread_text(Spread(300_000, 540_000, 3), 0)
    'in about 5m 00s, in 9 of 10 simulations within 9m 00s (not yet calibrated: 3 outcomes)'
    >>> spread_text(Spread(None, None, 60, calibrated=True), 780_000)
    'later than in 13m 00s'
    """
    far = duration_text(horizon_ms)
    if spread.calibrated:
        return _spread_text(spread, "cases", far)
    note = f"not yet calibrated: {counted(spread.outcomes, 'outcome')}"
    return f"{_spread_text(spread, 'simulations', far)} ({note})"


def _spread_text(spread: Spread, cases: str, far: str) -> str:
    if spread.p50_ms is None:
        return f"later than in {far}"
    if spread.p90_ms is not None and spread.p90_ms < 1_000:
        return "within a second"
    soon = spread.p50_ms < 1_000
    half = "in less than a second" if soon else f"in about {duration_text(spread.p50_ms)}"
    if spread.p90_ms is None:
        return f"{half}, in more than 1 of 10 {cases} later than in {far}"
    return f"{half}, in 9 of 10 {cases} within {duration_text(spread.p90_ms)}"
