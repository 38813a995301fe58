"""The file of rules that fs2cs, Hadoop's own converter, takes: what must not be lost.

    minResources.action=abort
    maxChildQueue.limit=50

Each line is a property of Java's kind. `abort` refuses the conversion if such a thing is lost or
changed; `warning` says it and goes on, which is the default for all.
"""

from collections.abc import Sequence
from typing import Final

import msgspec

from fairshare.documents.problems import Place, Problems
from fairshare.errors import FairshareError
from fairshare.lab.convert.fair_to_capacity.draft import Finding
from fairshare.wording import counted

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
