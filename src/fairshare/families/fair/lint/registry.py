"""Owns the lint rules of the Fair Scheduler: the functions of these modules. A new rule is a
function in one of them."""

from typing import Final

from fairshare.families.fair.lint import (
    access,
    assignment,
    limits,
    placement,
    policies,
    preemption,
    properties,
    shares,
)
from fairshare.families.lint_rules import rules_of

RULES: Final = rules_of(
    shares, limits, preemption, placement, access, policies, assignment, properties
)
