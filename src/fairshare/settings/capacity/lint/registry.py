"""Owns the lint rules of the Capacity Scheduler: the functions of these modules. A new rule is a
function in one of them."""

from typing import Final

from fairshare.settings.capacity.lint import (
    access,
    capacities,
    placement,
    preemption,
    priorities,
    properties,
    structure,
    users,
)
from fairshare.settings.lint_rules import rules_of

RULES: Final = rules_of(
    capacities,
    users,
    structure,
    placement,
    preemption,
    priorities,
    access,
    properties,
)
