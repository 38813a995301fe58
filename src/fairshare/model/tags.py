"""Owns by which names inputs and events are known in journals: those of their classes, as they were
when the first of them was written.
"""

from typing import Final

RENAMED: Final[dict[str, str]] = {"HeadroomComputed": "HeadroomTold"}
"""Classes that have another name than in journals: `{"HeadroomComputed": "HeadroomTold"}`."""


def tag_of(name: str) -> str:
    """What stands in journals for a class."""
    return RENAMED.get(name, name)
