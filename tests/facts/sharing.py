"""Facts about shares, orders and policies of the Fair Scheduler (Hadoop: ComputeFairShares,
SchedulingPolicy)."""

import struct

from fairshare.core.model.resources import Resource
from fairshare.core.schedulers.fair.policies import POLICIES
from fairshare.core.schedulers.fair.views import headroom
from fairshare.core.schedulers.shares import Claim, fair_shares

from .fact import Fact, amount, expect, vector


def single(value: float) -> float:
    """The nearest number of 32 bits."""
    nearest: float = struct.unpack("f", struct.pack("f", value))[0]
    return nearest


def compute_shares(fact: Fact) -> None:
    """The whole numbers of the division of one resource among siblings."""
    claims = [
        Claim(
            single(float(item.get("weight", 1.0))),
            amount(item.get("min", 0)),
            amount(item.get("max", "unlimited")),
            bool(item.get("active", True)) or bool(fact.get("steady", False)),
        )
        for item in fact["items"]
    ]
    expect(fair_shares(amount(fact["total"]), claims), fact["shares"])


class Sibling:
    """What a policy compares, from a fact."""

    def __init__(self, reported: Fact, names: tuple[str, ...], rank: int) -> None:
        self.used: Resource = vector(reported.get("usage", {}), names)
        self.demand: Resource = vector(reported.get("demand", {}), names)
        self.min_share: Resource = vector(reported.get("min", {}), names)
        self.weight = float(reported.get("weight", 1.0))
        self.rank = rank


def compare(fact: Fact) -> None:
    """Which of two siblings is served first, whichever stands first."""
    names = tuple(fact["cluster"])
    reported = {letter: {"name": letter, **fact[letter]} for letter in "ab"}
    by_age = sorted("ab", key=lambda x: (reported[x].get("start", 0), str(reported[x]["name"])))
    siblings = {x: Sibling(reported[x], names, rank) for rank, x in enumerate(by_age)}
    key, _ = POLICIES[fact["policy"]].key(vector(fact["cluster"], names))
    for letters in ("ab", "ba"):
        expect(min(letters, key=lambda x: key(siblings[x])), fact["first"], f"of {letters}, first")


def policy_pair(fact: Fact) -> None:
    """Whether one policy may stand below another one."""
    allowed = POLICIES[fact["parent"]].allows_child(POLICIES[fact["child"]])
    expect(allowed, fact["allowed"])


def headroom_told(fact: Fact) -> None:
    """The room that an application's master is told."""
    names = tuple(fact["cluster"])
    cluster, used = (vector(fact[key], names) for key in ("cluster", "cluster_usage"))
    found = headroom(
        free=tuple(c - u for c, u in zip(cluster, used, strict=True)),
        refused=vector(fact.get("blacklisted_free", {}), names),
        maximum=vector(fact["queue_max"], names),
        fair_share=vector(fact["queue_fair_share"], names),
        used=vector(fact["queue_usage"], names),
        both=fact["policy"] == "drf",
    )
    expect(found, vector(fact["headroom"], names))
