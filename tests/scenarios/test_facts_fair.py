"""The Fair Scheduler's single functions against facts of real Hadoop (../shared/facts/fair)."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from fairshare.model.asks import AskKey
from fairshare.model.events import Locality
from fairshare.model.inputs import SubmitApplication
from fairshare.model.resources import UNBOUNDED, Resource, ResourceTypes
from fairshare.schedulers.fair.applications import FairApplication
from fairshare.schedulers.fair.headroom import headroom
from fairshare.schedulers.fair.locality import Patiences
from fairshare.schedulers.fair.policies import POLICIES
from fairshare.schedulers.fair.settings import FairSettings
from fairshare.schedulers.fair.state import FairState
from fairshare.schedulers.shares import Claim, fair_shares

FACTS = Path(__file__).parents[2].parent / "shared" / "facts" / "fair"

pytestmark = pytest.mark.skipif(
    not FACTS.is_dir(), reason="the facts in ../shared/facts are not here"
)


def facts(kind: str) -> list[Any]:
    """The facts of one file; an empty list when the folder is absent (the mark then skips)."""
    if not FACTS.is_dir():
        return []
    document = yaml.safe_load((FACTS / f"{kind}.yaml").read_text())
    return [pytest.param(fact, id=f"{n}") for n, fact in enumerate(document["facts"])]


def amount(value: Any) -> int:
    """A whole number, or `unlimited`."""
    return UNBOUNDED if value == "unlimited" else int(value)


def vector(amounts: Mapping[str, Any], names: list[str]) -> Resource:
    """A vector in the order of names."""
    return tuple(amount(amounts.get(name, 0)) for name in names)


@pytest.mark.parametrize("fact", facts("compute_shares"))
def test_shares_are_hadoops_to_the_unit(fact: Mapping[str, Any]) -> None:
    import struct

    claims = [
        Claim(
            struct.unpack("f", struct.pack("f", float(item.get("weight", 1.0))))[0],
            amount(item.get("min", 0)),
            amount(item.get("max", "unlimited")),
            bool(item.get("active", True)) or bool(fact.get("steady", False)),
        )
        for item in fact["items"]
    ]
    assert fair_shares(amount(fact["total"]), claims) == fact["shares"], fact["name"]


class Sibling:
    """What a policy compares, from a fact."""

    def __init__(self, told: Mapping[str, Any], names: list[str], rank: int) -> None:
        self.used = vector(told.get("usage", {}), names)
        self.demand = vector(told.get("demand", {}), names)
        self.min_share = vector(told.get("min", {}), names)
        self.weight = float(told.get("weight", 1.0))
        self.rank = rank


@pytest.mark.parametrize("swapped", [False, True])
@pytest.mark.parametrize("fact", facts("compare"))
def test_the_sibling_that_hadoop_serves_first_has_the_smaller_key(
    fact: Mapping[str, Any], swapped: bool
) -> None:
    names = list(fact["cluster"])
    cluster = vector(fact["cluster"], names)
    told = {letter: {"name": letter, **fact[letter]} for letter in "ab"}
    by_age = sorted("ab", key=lambda x: (told[x].get("start", 0), str(told[x]["name"])))
    siblings = {x: Sibling(told[x], names, rank) for rank, x in enumerate(by_age)}
    key, _ = POLICIES[fact["policy"]].key(cluster)
    order = sorted("ba" if swapped else "ab", key=lambda x: key(siblings[x]))
    assert order[0] == fact["first"], fact["name"]


@pytest.mark.parametrize("fact", facts("policy_pair"))
def test_policies_go_together_as_in_hadoop(fact: Mapping[str, Any]) -> None:
    parent, child = POLICIES[fact["parent"]], POLICIES[fact["child"]]
    assert parent.allows_child(child) == fact["allowed"]


@pytest.mark.parametrize("fact", facts("headroom"))
def test_headroom_is_hadoops(fact: Mapping[str, Any]) -> None:
    names = list(fact["cluster"])
    cluster, used = (vector(fact[k], names) for k in ("cluster", "cluster_usage"))
    found = headroom(
        free=tuple(c - u for c, u in zip(cluster, used, strict=True)),
        refused=vector(fact.get("blacklisted_free", {}), names),
        maximum=vector(fact["queue_max"], names),
        fair_share=vector(fact["queue_fair_share"], names),
        used=vector(fact["queue_usage"], names),
        both=fact["policy"] == "drf",
    )
    assert found == vector(fact["headroom"], names)


@pytest.mark.parametrize("fact", facts("locality_level"))
def test_an_ask_gives_up_waiting_for_locality_as_in_hadoop(fact: Mapping[str, Any]) -> None:
    state = FairState(ResourceTypes())
    by_time = "node_delay" in fact
    state.settings = FairSettings(
        locality_threshold_node=fact.get("node_threshold", -1.0),
        locality_threshold_rack=fact.get("rack_threshold", -1.0),
        continuous_scheduling=by_time,
        locality_delay_node_ms=fact.get("node_delay", -1),
        locality_delay_rack_ms=fact.get("rack_delay", -1),
    )
    state.nodes = {f"n{n}": None for n in range(fact.get("nodes", 1))}  # type: ignore[misc]
    application = FairApplication(1, SubmitApplication("u"), "root.u", 0, 0, 2)
    key = AskKey(1, 0)
    now_ms = 0
    for step in fact["script"]:
        now_ms += step.get("advance", 0)
        times = max(step.get("considered", 1), 1)
        for _ in range(times):
            patiences = Patiences(state, now_ms)
            level = patiences.offered(application, key)
            assert level.name == step["level"], (fact["name"], step)
            patience = patiences.now(application, key)
            key.level, key.opportunities, key.since_ms = patience


def test_the_levels_are_ordered_from_near_to_far() -> None:
    assert Locality.NODE_LOCAL < Locality.RACK_LOCAL < Locality.OFF_SWITCH
