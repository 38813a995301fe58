"""A conversion while it is made: its options, properties in the order of their making, and one
finding for each thing that was written.
"""

from typing import Literal

import msgspec

from fairshare.core.model.resources import Resource
from fairshare.documents.problems import Place
from fairshare.settings.capacity.names import PREFIX

Mode = Literal["weights", "percentage", "absolute", "vectors"]
"""How shares are written. `vectors`: weights for shares, and amounts for maximums, which needs
Hadoop 3.4 (`legacy-queue-mode.enabled=false`)."""

Calculator = Literal["auto", "memory", "dominant"]


class Options(msgspec.Struct, frozen=True):
    """`cluster` is what all nodes offer together, in the order of the site's types, and `nodes` how
    many they are; None: not known. `calculator` auto: dominant where a queue has the policy drf."""

    mode: Mode = "weights"
    cluster: Resource | None = None
    nodes: int | None = None
    calculator: Calculator = "auto"


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


class Draft:
    """`capacity` becomes capacity-scheduler.xml; `site` changes properties of the other files, and
    None takes one away."""

    def __init__(self) -> None:
        self.capacity: dict[str, str] = {}
        self.site: dict[str, str | None] = {}
        self.findings: list[Finding] = []

    def set(self, suffix: str, value: str) -> str:
        """A property of the Capacity Scheduler; gives `suffix=value`, as findings show it."""
        self.capacity[PREFIX + suffix] = value
        return f"{suffix}={value}"

    def set_queue(self, path: str, suffix: str, value: str) -> str:
        """A property of one queue; gives `suffix=value`."""
        self.set(f"{path}.{suffix}", value)
        return f"{suffix}={value}"

    def set_site(self, name: str, value: str) -> str:
        """A property of yarn-site.xml; gives `name=value`."""
        self.site[name] = value
        return f"{name}={value}"

    def note(
        self,
        queue: str,
        rule: str,
        element: str,
        value: str,
        outcome: Outcome,
        became: str,
        why: str,
        place: Place,
    ) -> None:
        """Say what became of one thing."""
        self.findings.append(
            Finding(queue, rule, element, value, outcome, became, why, place.file, place.line)
        )
