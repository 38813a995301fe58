"""The lint rules of the Capacity Scheduler: the functions of these modules."""

from typing import Final

from fairshare.settings.capacity.lint import access, capacities, structure
from fairshare.settings.lint_rules import rules_of

RULES: Final = rules_of(capacities, structure, access)
