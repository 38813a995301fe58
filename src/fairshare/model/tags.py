"""Owns the names of inputs and events in journals: the names that their classes had when journals
first contained them.
"""

from typing import Final

RENAMED: Final[dict[str, str]] = {"HeadroomComputed": "HeadroomTold"}
"""Classes whose name in journals differs: `{"HeadroomComputed": "HeadroomTold"}`."""


def tag_of(name: str) -> str:
    """The name of a class in journals."""
    return RENAMED.get(name, name)
