"""Any tree of queues converts into something that loads, with guarantees that fit together."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.effort import examples
from tests.unit.lab.convert.fair_to_capacity.converted import CLUSTER, read_fair_text, written

from fairshare.core.model.queues import parent_name
from fairshare.core.schedulers.capacity.settings import Percentage
from fairshare.lab.convert.fair_to_capacity.converting import convert
from fairshare.lab.convert.fair_to_capacity.draft import Mode, Options

WEIGHTS = st.sampled_from(["0", "0.001", "1", "1", "2.5", "3", "123456"])
AMOUNTS = st.sampled_from(
    ["0 mb, 0 vcores", "1 mb, 1 vcores", "1024 mb, 0 vcores", "50000 mb, 40 vcores",
     "200000 mb, 300 vcores", "memory-mb=4096"]
)  # fmt: skip
BOUNDS = st.one_of(AMOUNTS, st.sampled_from(["0%", "10%", "33.3%", "100%", "50% memory, 5% cpu"]))
POLICIES = st.sampled_from(["fair", "drf"])
RULES = st.sampled_from(
    [
        "",
        "<rule name='specified'/><rule name='default'/>",
        "<rule name='specified' create='false'/><rule name='user'/>",
        "<rule name='nestedUserQueue'><rule name='primaryGroup'/></rule>",
        "<rule name='nestedUserQueue'><rule name='default' queue='q0'/></rule>",
        "<rule name='default' queue='q0.q0'/>",
        "<rule name='default' queue='q9.q9'/>",
        "<rule name='reject'/>",
    ]
)


@st.composite
def queue(draw: Any, name: str, depth: int) -> str:
    inside = [f"<weight>{draw(WEIGHTS)}</weight>"]
    if draw(st.booleans()):
        inside.append(f"<minResources>{draw(AMOUNTS)}</minResources>")
    if draw(st.booleans()):
        inside.append(f"<maxResources>{draw(BOUNDS)}</maxResources>")
    children = draw(st.integers(0, 3)) if depth else 0
    inside += [draw(queue(f"q{number}", depth - 1)) for number in range(children)]
    kind = " type='parent'" if not children and draw(st.booleans()) else ""
    return f"<queue name='{name}'{kind}>{''.join(inside)}</queue>"


@st.composite
def files(draw: Any) -> str:
    count = draw(st.integers(0, 3))
    queues = "".join(draw(queue(f"q{number}", 2)) for number in range(count))
    rules = draw(RULES)
    policy = f"<queuePlacementPolicy>{rules}</queuePlacementPolicy>" if rules else ""
    default = ""
    if draw(st.booleans()):
        default = f"<queueMaxResourcesDefault>{draw(BOUNDS)}</queueMaxResourcesDefault>"
    ordered = f"<defaultQueueSchedulingPolicy>{draw(POLICIES)}</defaultQueueSchedulingPolicy>"
    return f"<allocations>{queues}{policy}{default}{ordered}</allocations>"


MODES: list[Mode] = ["weights", "percentage", "absolute", "vectors"]


@pytest.mark.slow
@settings(max_examples=examples(60), deadline=None)
@given(files(), st.sampled_from(MODES), st.sampled_from([True, False]))
def test_whatever_can_be_read_converts_and_loads(text: str, mode: Mode, known: bool) -> None:
    known = known or mode == "absolute"
    source = read_fair_text(text.encode())
    conversion = convert(source, Options(mode, CLUSTER if known else None, 4 if known else None))
    assert [one for one in conversion.problems if one.severity != "trap"] == []
    assert set(source.settings.allocations.queues) <= set(conversion.names)
    assert set(conversion.names.values()) <= set(conversion.settings.queues)
    below: dict[str, tuple[int, ...]] = {}
    for name, guarantee in conversion.guarantees.items():
        if name != "root":
            sums = below.get(parent_name(name), (0,) * len(guarantee))
            below[parent_name(name)] = tuple(a + b for a, b in zip(sums, guarantee, strict=True))
    for name, sums in below.items():
        above = conversion.guarantees[name]
        assert all(a <= b for a, b in zip(sums, above, strict=True)), (name, sums, above)
    for one in conversion.settings.queues.values():
        if isinstance(one.maximum_capacity, Percentage):
            assert 0 <= one.maximum_capacity.percent <= 100


@settings(max_examples=examples(20), deadline=None)
@given(files(), st.sampled_from(MODES))
def test_the_same_file_gives_the_same_bytes(text: str, mode: Mode) -> None:
    given_options = Options(mode, CLUSTER, 4)
    first = convert(read_fair_text(text.encode()), given_options)
    assert convert(read_fair_text(text.encode()), given_options).files == first.files
    assert written(first)
