"""Owns the section [pools] of fairshare.toml: what MapReduce's Fair Scheduler has no name for.

Knows no place in the file: who reads the file gives it, and gets messages back.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final, Literal

import msgspec

from fairshare.schedulers.pools.settings import FACTORS, PRIORITIES, Generation

SECTION: Final = "pools"
SHELL_FILE: Final = "fairshare.toml"


class PoolSwitches(msgspec.Struct, frozen=True):
    """Which release decides, and what goes beyond it.

    `priority_factors` are by the name of the priority; what is not named keeps Hadoop's.
    """

    generation: Generation = "0.19"
    strict: bool = False
    wait_for_maps: bool = True
    fifo: bool = False
    hierarchical: bool = False
    scale_min_shares: bool = False
    boost_from: Literal["submission", "first-task"] = "submission"
    priority_factors: dict[str, float] = {}

    @property
    def factors(self) -> tuple[float, ...]:
        """The weight factors of all priorities, the least urgent first."""
        named = zip(PRIORITIES, FACTORS, strict=True)
        return tuple(float(self.priority_factors.get(name, factor)) for name, factor in named)


_WORDS: Final[dict[str, tuple[str, ...]]] = {
    "generation": ("0.19", "0.20", "1.2"),
    "boost_from": ("submission", "first-task"),
}
_KEYS: Final = msgspec.structs.fields(PoolSwitches)


def read_switches(table: Mapping[str, Any], report: Callable[[str, str], None]) -> PoolSwitches:
    """The switches of a table; `report(key, message)` hears of what cannot be used."""
    found: dict[str, Any] = {}
    for key, value in table.items():
        message = _wrong(key, value)
        if message:
            report(key, message)
        else:
            found[key] = value
    return PoolSwitches(**found)


def _wrong(key: str, value: Any) -> str:
    names = [field.name for field in _KEYS]
    if key not in names:
        return f"{key!r} is unknown in [{SECTION}]: there are {', '.join(names)}"
    if key in _WORDS:
        if value not in _WORDS[key]:
            known = ", ".join(f'"{word}"' for word in _WORDS[key])
            return f"{key} must be one of {known}, not {value!r}"
        return ""
    if key != "priority_factors":
        return "" if isinstance(value, bool) else f"{key} must be true or false, not {value!r}"
    if not isinstance(value, dict):
        return f"{key} must be a table of factors, not {value!r}"
    for name, factor in value.items():
        if name not in PRIORITIES:
            return f"{key}: there is no priority {name!r} (there are {', '.join(PRIORITIES)})"
        number = isinstance(factor, int | float) and not isinstance(factor, bool)
        if not number or not 0 <= factor < float("inf"):
            return f"{key}: {name} must be a number of at least 0, not {factor!r}"
    return ""
