"""Capacities without Hadoop's legacy mode: queues that have none, maxima among siblings, and
templates whose capacity is a vector without memory. Found by runs beside Hadoop's own scheduler."""

from typing import Any

import pytest
from tests.unit.core.schedulers.capacity.playground import (
    CAPACITY,
    Playground,
    asks,
    beat,
    memory,
    node,
    submit,
)

FLEXIBLE = {
    CAPACITY + "legacy-queue-mode.enabled": "false",
    CAPACITY + "maximum-am-resource-percent": "1.0",
    CAPACITY + "maximum-applications": "100",
    CAPACITY + "root.queues": "a,b",
    CAPACITY + "root.a.capacity": "1w",
    CAPACITY + "root.a.maximum-applications": "100",
    CAPACITY + "root.b.capacity": "1w",
    CAPACITY + "root.b.maximum-applications": "100",
}
NOTHING = {"memory-mb": 0, "vcores": 0}
TEMPLATE = "root.a.auto-queue-creation-v2."


def flexible(*steps: dict[str, Any], **properties: str | None) -> Playground:
    return Playground([node("n1"), node("n2")], *steps, base=FLEXIBLE, **properties)


def creating(template: dict[str, str], *steps: dict[str, Any], **properties: str) -> Playground:
    named = {TEMPLATE + name: value for name, value in template.items()}
    return flexible(*steps, **{TEMPLATE + "enabled": "true"}, **named, **properties)


def shares(game: Playground, queue: str) -> tuple[int, int]:
    """The memory that a queue has at least, and at most."""
    state = game.seen["queues"][queue]
    return state["effective_min"]["memory-mb"], state["effective_max"]["memory-mb"]


@pytest.mark.parametrize("capacity", [None, "[vcores=2]", "[memory=0%,vcores=50%]"])
def test_a_queue_without_a_capacity_gets_nothing(capacity: str | None) -> None:
    game = flexible(submit("one", "root.b", asks(1)), beat("n1"), **{"root.b.capacity": capacity})
    assert game.seen["queues"]["root.b"]["effective_max"] == NOTHING
    assert game.on("one") == {}
    assert shares(game, "root.a") == (20_480, 20_480)


def test_a_queue_keeps_what_it_had_if_a_reload_takes_its_capacity_away() -> None:
    game = flexible()
    properties = Playground.named({"root.b.capacity": "[vcores=2]"})
    game.do({"reload": {"properties": {**FLEXIBLE, **properties}}})
    assert shares(game, "root.b") == (10_240, 20_480)
    assert shares(game, "root.a") == (20_480, 20_480)


def test_what_a_maximum_keeps_from_a_queue_goes_to_its_siblings() -> None:
    game = flexible(**{"root.a.capacity": "[memory=8192,vcores=8]", "root.a.maximum-capacity": "5"})
    assert shares(game, "root.a") == (1024, 1024)
    assert shares(game, "root.b") == (20_480 - 1024, 20_480)


@pytest.mark.parametrize("capacity", ["[memory=0,vcores=1]", "[memory=0w,vcores=2w]", "[vcores=2]"])
def test_a_created_queue_has_weight_1_if_its_template_names_no_memory(capacity: str) -> None:
    game = creating({"template.capacity": capacity}, submit("one", "root.a.x", asks(1)))
    game.do(submit("two", "root.a.y", asks(1)))
    assert [shares(game, f"root.a.{name}")[0] for name in "xy"] == [5120, 5120]
    assert game.seen["queues"]["root.a.x"]["weight"] == 1


def test_a_maximum_of_a_template_has_no_effect_beside_no_capacity() -> None:
    game = creating({"template.maximum-capacity": "20"}, submit("one", "root.a.x", asks(1)))
    assert shares(game, "root.a.x") == (10_240, 20_480)
    template = {"template.maximum-capacity": "20", "template.capacity": "50"}
    game = creating(template, submit("one", "root.a.x", asks(1)))
    assert shares(game, "root.a.x") == (4096, 4096)


@pytest.mark.parametrize("capacity", ["20", "[memory=1024,vcores=1]"])
def test_in_legacy_mode_a_template_has_weights_alone(capacity: str) -> None:
    """Even the first created queue is refused: it has a weight as well as the other capacity."""
    legacy = {"legacy-queue-mode.enabled": "true"}
    game = creating({"template.capacity": capacity}, **legacy)
    for name, queue in (("one", "root.a.x"), ("two", "root.a.p.q")):
        refusal = game.refusal(submit(name, queue, asks(1)))
        assert "mixed of weight mode" in (refusal or "")
    game = creating({"template.capacity": "2w"}, submit("one", "root.a.x", asks(1)), **legacy)
    assert game.seen["queues"]["root.a.x"]["effective_min"] == {**memory(10_240), "vcores": 100}


def test_in_legacy_mode_a_template_without_memory_leaves_a_created_queue_nothing() -> None:
    game = creating(
        {"leaf-template.capacity": "[memory=0,vcores=1]"},
        submit("one", "root.a.p.q", asks(1)),
        **{"legacy-queue-mode.enabled": "true"},
    )
    assert "already has 0 applications" in (game.refusal(submit("two", "root.a.x", asks(1))) or "")
    assert shares(game, "root.a.x")[0] == 0
    assert shares(game, "root.a.p")[0] == 5120


def test_leaves_of_the_older_auto_creation_have_nothing_if_their_template_has_no_capacity() -> None:
    game = flexible(
        **{
            "root.a.capacity": "50",
            "root.b.capacity": "50",
            "root.a.auto-create-child-queue.enabled": "true",
            "queue-mappings": "u:%user:root.a.%user",
        }
    )
    game.do(submit("one", "default", asks(1)), beat("n1"))
    [leaf] = [name for name in game.seen["queues"] if name.startswith("root.a.")]
    assert shares(game, leaf) == (0, 20_480)
    assert game.on("one") == {"n1": 1}


@pytest.mark.parametrize(
    ("weights", "memory_mb"), [(("50", "50"), 10_240), (("1w", "0w"), 0), (("1w", None), 0)]
)
def test_a_reload_takes_weights_away_at_once(
    weights: tuple[str, str | None], memory_mb: int
) -> None:
    """In Hadoop the share of the old weight stays."""
    legacy = {"legacy-queue-mode.enabled": "true", "root.a.capacity": "1w", "root.b.capacity": "3w"}
    game = flexible(**legacy)
    assert shares(game, "root.b")[0] == 15_360
    changes = {f"root.{name}.capacity": value for name, value in zip("ab", weights, strict=True)}
    game.do({"reload": {"properties": Playground.named(changes)}})
    assert shares(game, "root.b")[0] == memory_mb
