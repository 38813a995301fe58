"""A conversion while it is made: its options, properties in the order of their making, and one
finding for each thing that was written; and the file of rules that fs2cs, Hadoop's own converter,
takes: what must not be lost.

    minResources.action=abort
    maxChildQueue.limit=50

Each line is a property of Java's kind. `abort` refuses the conversion if such a thing is lost or
changed; `warning` says it and goes on, which is the default for all.
"""

from collections.abc import Sequence
from typing import Final, Literal

import msgspec

from fairshare.core.model.resources import Resource
from fairshare.documents.problems import Place, Problems
from fairshare.errors import FairshareError
from fairshare.settings.capacity.names import PREFIX
from fairshare.wording import counted

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


LIMIT: Final = "maxChildQueue.limit"

ACTIONS: Final = {
    "minResources.action": ("minimum",),
    "maxResources.action": ("maximum",),
    "maxCapacityPercentage.action": ("maximum",),
    "maxChildCapacity.action": ("child-maximum",),
    "userMaxRunningApps.action": ("users-applications",),
    "userMaxAppsDefault.action": ("users-applications",),
    "dynamicMaxAssign.action": ("assignment",),
    "specifiedNotFirstRule.action": ("placement",),
    "reservationSystem.action": ("reservation",),
    "queueAutoCreate.action": ("creation",),
    "queueDynamicCreate.action": ("creation",),
    "parentDynamicCreate.action": ("creation",),
    "childStaticDynamicConflict.action": ("creation",),
    "parentChildCreateDiffers.action": ("placement",),
    "fairAsDrf.action": ("policy",),
}
"""The properties, and the rules of the findings that each is about."""


class ConversionRefused(FairshareError):
    """Something would be lost that must not be; the message names each."""


class Rules(msgspec.Struct, frozen=True):
    """`aborts` are rules of findings, each with the property that says so."""

    aborts: dict[str, str] = {}
    most_children: int | None = None

    def check(self, findings: Sequence[Finding], children: dict[str, int]) -> None:
        """Raise ConversionRefused if something is lost or changed that must not be."""
        problems = [
            f"{finding.queue or 'all queues'}: {finding.element} {finding.value} is"
            f" {finding.outcome}: {finding.why} ({self.aborts[finding.rule]})"
            for finding in findings
            if finding.outcome != "kept" and finding.rule in self.aborts
        ]
        if self.most_children is not None:
            problems += [
                f"{queue} has {counted(count, 'queue')} below it, more than {self.most_children}"
                f" ({LIMIT})"
                for queue, count in children.items()
                if count > self.most_children
            ]
        if problems:
            raise ConversionRefused("\n".join(problems))


def read_rules(document: str, file: str) -> Rules:
    """The rules of a file; raises ConfigurationError with all that is wrong in it."""
    problems = Problems()
    aborts: dict[str, str] = {}
    most_children: int | None = None
    for number, line in enumerate(document.splitlines(), 1):
        text = line.strip()
        if not text or text[0] in "#!":
            continue
        name, separator, value = (part.strip() for part in text.partition("="))
        place = Place(file, number)
        if not separator:
            problems.error(place, "conversion-rule", f"{text!r} is not of the form name=value")
        elif name == LIMIT:
            if value.isascii() and value.isdigit():
                most_children = int(value)
            else:
                problems.error(place, "conversion-rule", f"{name}: {value!r} is not a number")
        elif name not in ACTIONS:
            known = ", ".join((*ACTIONS, LIMIT))
            problems.error(place, "conversion-rule", f"there is no {name!r} (there are {known})")
        elif value.lower() == "abort":
            aborts.update(dict.fromkeys(ACTIONS[name], name))
        elif value.lower() != "warning":
            message = f"{name}: {value!r} must be abort or warning"
            problems.error(place, "conversion-rule", message)
    problems.raise_errors()
    return Rules(aborts, most_children)
