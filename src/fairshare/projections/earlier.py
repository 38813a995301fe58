"""Owns the form in which snapshots of earlier releases have some of the projections: as one object.

Only read; snapshots of this release have each projection as a part of its own.
"""

from typing import Any


class EarlierProjections:
    """Projections by their names of then."""

    __slots__ = (
        "activities",
        "biographies",
        "changes",
        "health",
        "lives",
        "master_limits",
        "node_book",
        "state",
    )

    def parts(self) -> dict[str, Any]:
        """The projections by their names in snapshots of today."""
        return {today: getattr(self, then) for then, today in _NAMES.items()}


_NAMES = {
    "biographies": "attempts",
    "node_book": "nodes",
    "health": "health",
    "activities": "activities",
    "master_limits": "master_limits",
    "lives": "timelines",
    "changes": "application_versions",
}
