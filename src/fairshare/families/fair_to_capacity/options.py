"""Owns the options of a conversion. Knows nothing of how it is done."""

from typing import Literal

import msgspec

from fairshare.model.resources import Resource

Mode = Literal["weights", "percentage", "absolute", "vectors"]
"""How shares are written. `vectors`: weights for shares, and amounts for maximums, which needs
Hadoop 3.4 (`legacy-queue-mode.enabled=false`)."""

Calculator = Literal["auto", "memory", "dominant"]


class Options(msgspec.Struct, frozen=True):
    """`cluster` is what all nodes offer together, in the order of the site's types, and `nodes` how
    many they are; None: not known. `calculator` auto: dominant where a queue has the policy drf."""

    mode: Mode = "weights"
    cluster: Resource | None = None
    nodes: int | None = None
    calculator: Calculator = "auto"
