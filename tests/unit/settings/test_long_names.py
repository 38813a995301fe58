"""Names of queues have a length; a draft that anybody may send takes no time that grows with it."""

import functools
import time
from pathlib import Path

import pytest

from fairshare.settings.capacity.names import PREFIX
from fairshare.settings.directory import read_directory
from fairshare.settings.draft import properties_text
from fairshare.settings.linting import judge_draft
from fairshare.settings.registry import family_of

EXAMPLES = Path(__file__).parents[3] / "examples"
FAIR = "three-teams"
CAPACITY = "three-teams-capacity"


def nested(depth, name):
    opening = f'<queue name="{name}">'
    return f"<allocations>{opening * depth}{'</queue>' * depth}</allocations>"


def properties(**more):
    return properties_text({PREFIX + "root.queues": "a", PREFIX + "root.a.capacity": "100"} | more)


@functools.cache
def chain(depth):
    found, queue = {}, "root"
    for _ in range(depth):
        found[f"{PREFIX}{queue}.queues"] = "a"
        queue += ".a"
        found[f"{PREFIX}{queue}.capacity"] = "100"
    return properties_text(found)


@functools.cache
def judged(kind, example, text):
    """The problems of a draft, what is read of it, and the seconds that both took."""
    configuration = read_directory(EXAMPLES / example)
    began_s = time.process_time()
    family = family_of(kind)
    problems, _ = judge_draft(family, text, "file.xml", configuration)
    reading = family.draft.read(text)
    return problems, reading, time.process_time() - began_s


@pytest.mark.parametrize(
    ("kind", "example", "text"),
    [
        ("fair", FAIR, lambda: f'<allocations><queue name="{"." * 100_000}"/></allocations>'),
        ("fair", FAIR, lambda: f'<allocations><queue name="{"a." * 50_000}"/></allocations>'),
        ("fair", FAIR, lambda: nested(150, "q" * 1_000)),
        (
            "capacity",
            CAPACITY,
            lambda: properties(**{f"{PREFIX}root.{'.' * 100_000}.capacity": "1"}),
        ),
        (
            "capacity",
            CAPACITY,
            lambda: properties(**{f"{PREFIX}root{'.b' * 50_000}.capacity": "1"}),
        ),
        ("capacity", CAPACITY, lambda: chain(700)),
        (
            "capacity",
            CAPACITY,
            lambda: properties(**{f"{PREFIX}root.queues": ",".join(f"q{n}" for n in range(2_000))}),
        ),
        (
            "capacity",
            CAPACITY,
            lambda: properties(**{f"{PREFIX}root.q{n}.capacity": "1" for n in range(2_000)}),
        ),
    ],
    ids=["periods", "parts", "nested", "key", "key-parts", "chain", "wide", "unlisted"],
)
def test_a_draft_with_hostile_names_is_judged_at_once(kind, example, text):
    problems, reading, taken_s = judged(kind, example, text())
    assert taken_s < 3
    assert problems
    assert max((len(entry.queue) for entry in reading.entries), default=0) <= 1_000


def test_a_full_name_that_is_too_long_is_reported():
    configuration = read_directory(EXAMPLES / FAIR)
    problems, _ = judge_draft(family_of("fair"), nested(3, "q" * 400), "file.xml", configuration)
    (reported,) = [problem.message for problem in problems if "characters" in problem.message]
    assert "1207 characters: 1000 are the most" in reported


def test_a_chain_of_queues_ends_where_its_names_are_too_long():
    problems, _, _ = judged("capacity", CAPACITY, chain(700))
    assert any("more than the 1000 characters" in problem.message for problem in problems)
