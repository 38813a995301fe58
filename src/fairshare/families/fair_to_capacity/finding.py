"""Owns what is said of a conversion: one finding for each thing that was written.

Knows neither how a thing is converted nor how a table looks.
"""

from typing import Literal

import msgspec

Outcome = Literal["kept", "changed", "lost", "unknown"]
"""`kept`: means the same there. `changed`: something near it, or it counts otherwise. `lost`: the
Capacity Scheduler has nothing for it, so that it has no effect any more. `unknown`: whether it had
any effect depends on properties that were not there to be read."""


class Finding(msgspec.Struct, frozen=True):
    """What became of one element or property.

    `queue` is the full name in the Fair Scheduler; empty: it concerns all of them. `rule` is the
    stable name of the kind of thing, `became` the property that replaces it (empty: none).
    """

    queue: str
    rule: str
    element: str
    value: str
    outcome: Outcome
    became: str
    why: str
    file: str
    line: int


class Tally(msgspec.Struct, frozen=True):
    """How many findings there are of each outcome."""

    kept: int
    changed: int
    lost: int
    unknown: int


def tally(findings: tuple[Finding, ...]) -> Tally:
    """Count by outcome."""

    def count(outcome: Outcome) -> int:
        return sum(finding.outcome == outcome for finding in findings)

    return Tally(count("kept"), count("changed"), count("lost"), count("unknown"))
