"""What is legal for the Capacity Scheduler and probably a mistake: its lint rules are the functions
of the modules that are named here.

A new rule is a function in one of them.
"""

from typing import Final

from fairshare.settings.capacity.lint import access, capacities, structure
from fairshare.settings.lint_rules import rules_of

RULES: Final = rules_of(capacities, structure, access)
