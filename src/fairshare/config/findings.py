"""Owns what a lint rule finds, and how findings become problems. Knows no rule."""

from collections.abc import Iterable
from typing import NamedTuple

from fairshare.config.problems import Place, Problems, Severity


class Finding(NamedTuple):
    """What a rule says; its name is added where it is registered."""

    place: Place
    message: str
    hadoop: str
    severity: Severity = "trap"


def add_findings(rule: str, findings: Iterable[Finding], problems: Problems) -> None:
    """Add what one rule has found."""
    for finding in findings:
        add = {
            "trap": problems.trap,
            "warning": problems.warning,
            "error": problems.error,
        }[finding.severity]
        add(finding.place, rule, finding.message, finding.hadoop)
