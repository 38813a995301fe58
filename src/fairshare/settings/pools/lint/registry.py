"""Owns the lint rules of pools: the functions of this module. A new rule is a function there."""

from typing import Final

from fairshare.settings.lint_rules import rules_of
from fairshare.settings.pools.lint import rules

RULES: Final = rules_of(rules)
