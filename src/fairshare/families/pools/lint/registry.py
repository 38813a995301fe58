"""Owns the list of rules about pools by name. A new one is one function and one line here."""

from collections.abc import Callable, Iterator
from typing import Final

from fairshare.config.findings import Finding
from fairshare.families.pools.lint import rules
from fairshare.families.pools.lint.subject import PoolsSubject

Rule = Callable[[PoolsSubject], Iterator[Finding]]

RULES: Final[dict[str, Rule]] = {
    "timeouts-without-preemption": rules.timeouts_without_preemption,
    "preemption-cannot-fire": rules.preemption_cannot_fire,
    "preemption-observes": rules.preemption_observes,
    "timeout-without-minimum": rules.timeout_without_minimum,
    "timeout-in-milliseconds": rules.timeout_in_milliseconds,
    "weight-zero": rules.weight_zero,
    "minimums-above-cluster": rules.minimums_above_cluster,
    "nobody-may-run": rules.nobody_may_run,
    "default-pool-undeclared": rules.default_pool_undeclared,
    "locality-half-set": rules.locality_half_set,
    "caps-without-multiple": rules.caps_without_multiple,
    "booster-not-chosen": rules.booster_not_chosen,
}
