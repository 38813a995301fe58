"""What is legal for the Fair Scheduler and probably a mistake: its lint rules are the functions
of the modules that are named here.

A new rule is a function in one of them.
"""

from typing import Final

from fairshare.settings.fair.lint import placement, preemption, shares
from fairshare.settings.lint_rules import rules_of

RULES: Final = rules_of(shares, preemption, placement)
