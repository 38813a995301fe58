"""Owns the lint rules of pools: the functions of this module. A new rule is a function there."""

from typing import Final

from fairshare.families.lint_rules import rules_of
from fairshare.families.pools.lint import rules

RULES: Final = rules_of(rules)
