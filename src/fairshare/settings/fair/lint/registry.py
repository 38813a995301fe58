"""The lint rules of the Fair Scheduler: the functions of these modules."""

from typing import Final

from fairshare.settings.fair.lint import placement, preemption, shares
from fairshare.settings.lint_rules import rules_of

RULES: Final = rules_of(shares, preemption, placement)
