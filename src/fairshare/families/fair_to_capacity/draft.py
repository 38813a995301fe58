"""Owns a conversion while it is made: properties in the order of their making, and findings.

Knows no property by name.
"""

from fairshare.config.problems import Place
from fairshare.families.capacity.names import PREFIX
from fairshare.families.fair_to_capacity.finding import Finding, Outcome


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
