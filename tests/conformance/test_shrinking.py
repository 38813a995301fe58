from collections.abc import Mapping
from typing import Any

from conformance.shrinking import shrink

FILE = """<allocations>
  <queue name="a"><weight>2.0</weight></queue>
  <queue name="b"><weight>3.0</weight><maxRunningApps>4</maxRunningApps></queue>
</allocations>
"""


def document() -> dict[str, Any]:
    return {
        "name": "one",
        "scheduler": "fair",
        "config": {"fair-scheduler.xml": FILE},
        "nodes": [{"name": "n1"}, {"name": "n2"}],
        "steps": [
            {"update": 1},
            {"submit": {"app": "a", "count": 9}},
            {"kill": "a"},
            {"update": 1},
        ],
    }


def test_what_the_difference_does_not_need_is_left_out() -> None:
    def judge(documents: Mapping[str, Any]) -> set[str]:
        return {n for n, d in documents.items() if {"kill": "a"} in d.get("steps", [])}

    assert shrink(document(), judge)["steps"] == [{"kill": "a"}]


def test_steps_behind_the_difference_are_not_even_tried() -> None:
    tried: list[int] = []

    def judge(documents: Mapping[str, Any]) -> set[str]:
        tried.extend(len(d["steps"]) for d in documents.values())
        return set()

    assert shrink(document(), judge, last_step=1)["steps"] == document()["steps"][:2]
    assert max(tried) <= 2


def test_elements_of_files_are_left_out_one_by_one() -> None:
    def judge(documents: Mapping[str, Any]) -> set[str]:
        texts = {n: d.get("config", {}).get("fair-scheduler.xml", "") for n, d in documents.items()}
        return {n for n, text in texts.items() if "maxRunningApps" in text}

    text = shrink(document(), judge)["config"]["fair-scheduler.xml"]
    assert "maxRunningApps" in text
    assert "weight" not in text
    assert 'name="a"' not in text


def test_numbers_become_as_small_as_they_may() -> None:
    def judge(documents: Mapping[str, Any]) -> set[str]:
        found = set()
        for name, candidate in documents.items():
            submits = [s["submit"] for s in candidate["steps"] if "submit" in s]
            if any(submit.get("count", 0) > 0 for submit in submits if submit):
                found.add(name)
        return found

    assert shrink(document(), judge)["steps"] == [{"submit": {"count": 1}}]


def test_a_scenario_that_needs_everything_stays_as_it_is() -> None:
    assert shrink(document(), lambda documents: set())["nodes"] == document()["nodes"]


def test_a_difference_that_comes_by_chance_ends_the_search() -> None:
    looks: list[int] = []

    def judge(documents: Mapping[str, Any]) -> set[str]:
        looks.append(len(documents))
        return set(documents) if len(looks) == 2 else set()  # both halves by themselves

    assert shrink(document(), judge)["steps"] == document()["steps"]
    assert looks[:3] == [1, 2, 2]
