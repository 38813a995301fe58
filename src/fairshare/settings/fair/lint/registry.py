"""Owns the lint rules of the Fair Scheduler: the functions of these modules. A new rule is a
function in one of them."""

from typing import Final

from fairshare.settings.fair.lint import access, limits, placement, preemption, properties, shares
from fairshare.settings.lint_rules import rules_of

RULES: Final = rules_of(shares, limits, preemption, placement, access, properties)
