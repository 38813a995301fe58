"""Whatever the allocation file can say is written so that it reads the same again."""

import string
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.property.allocation_files import write_allocation_file

from fairshare.core.model.resources import UNBOUNDED, ResourceTypes
from fairshare.core.schedulers.fair.settings import (
    NEVER_MS,
    AllocationSettings,
    Amount,
    QueueSettings,
    RuleSettings,
)
from fairshare.documents import literals
from fairshare.errors import ConfigurationError
from fairshare.lab.convert.fair_to_capacity.texts import number
from fairshare.settings.fair.allocation_file import read_allocation_file

PUBLISHED = sorted(
    (Path(__file__).parents[2].parent / "shared" / "data" / "configs").glob("*/*.xml")
)
TYPES = ResourceTypes(("memory-mb", "vcores", "yarn.io/gpu"), ("Mi", "", ""))

amounts = st.one_of(st.integers(0, 2**20), st.integers(0, UNBOUNDED), st.just(UNBOUNDED))
vectors = st.tuples(amounts, amounts, amounts)
fractions = st.floats(0, 1e6).map(lambda percent: percent / 100)
quantities = st.one_of(
    vectors.map(lambda vector: Amount(absolute=vector)),
    st.tuples(fractions, fractions, fractions).map(lambda parts: Amount(fractions=parts)),
)
singles = st.floats(0, 2.0**100, width=32)
parts = st.floats(0, 1, width=32)
shares = st.floats(-(2.0**100), 1, width=32)
counts = st.integers(-(2**31), 2**31 - 1)
timeouts = st.one_of(
    st.just(NEVER_MS), st.integers(-1, 10**6).map(lambda s: s * 1000), st.just(-NEVER_MS)
)
names = st.text(string.ascii_letters + "_- é<&\"'>/@", min_size=1, max_size=6).filter(
    lambda name: name == name.strip() and name.lower() != "root"
)
lists = st.text(string.ascii_lowercase + " ,*<&\t\r\n\"'>", min_size=1, max_size=12)
policies = st.sampled_from(["fair", "drf"])

LEAF: dict[str, st.SearchStrategy[Any]] = {
    "min_share": vectors,
    "max_share": quantities,
    "max_child_share": quantities,
    "max_container": vectors,
    "max_running_applications": counts,
    "weight": singles,
    "policy": policies,
    "submit_acl": lists,
    "administer_acl": lists,
    "min_share_timeout_ms": timeouts,
    "fair_share_timeout_ms": timeouts,
    "fair_share_threshold": parts,
    "preemptable": st.booleans(),
    "max_master_share": shares,
}


@st.composite
def trees(draw: st.DrawFn) -> dict[str, QueueSettings]:
    """Queues, parents before children, with root or without it."""
    queues: dict[str, QueueSettings] = {}
    if draw(st.booleans()):
        queues["root"] = draw_queue(draw, "root", parent=True)
    above = ["root"]
    for _ in range(draw(st.integers(0, 5))):
        holder = draw(st.sampled_from(above))
        name = f"{holder}.{draw(names)}"
        if name in queues:
            continue
        queues[name] = draw_queue(draw, name, parent=draw(st.booleans()))
        if queues[name].parent and not queues[name].reservable:
            above.append(name)
    return queues


def draw_queue(draw: st.DrawFn, name: str, *, parent: bool) -> QueueSettings:
    fields = draw(st.fixed_dictionaries({}, optional=LEAF))
    reservable = parent and name != "root" and draw(st.booleans())
    return QueueSettings(name, parent=parent, reservable=reservable, **fields)


nested = st.sampled_from(
    [RuleSettings("default", queue="root.a b"), RuleSettings("primaryGroup", create=False)]
)
rules = st.one_of(
    st.none(),
    st.tuples(
        st.builds(RuleSettings, st.just("specified"), st.booleans()),
        st.builds(RuleSettings, st.just("nestedUserQueue"), st.just(False), parent=nested),
        st.sampled_from([RuleSettings("reject"), RuleSettings("default", queue="a<&\"'")]),
    ),
)
documents = st.builds(
    AllocationSettings,
    queues=trees(),
    user_max_applications=st.dictionaries(names, counts, max_size=3),
    user_max_applications_default=counts,
    queue_max_applications_default=counts,
    queue_max_share_default=st.none() | quantities,
    queue_max_master_share_default=shares,
    fair_share_timeout_ms=timeouts,
    min_share_timeout_ms=timeouts,
    fair_share_threshold=parts,
    default_policy=policies,
    rules=rules,
    from_file=st.just(True),
)


@pytest.mark.slow
@given(documents)
def test_settings_that_were_written_are_read_again(settings: AllocationSettings) -> None:
    text = write_allocation_file(settings, TYPES)
    again, _ = read_allocation_file(text.encode(), "again.xml", TYPES)
    assert again == settings
    assert list(again.queues) == list(read_allocation_file(text, "f", TYPES)[0].queues)
    assert write_allocation_file(again, TYPES) == text


def test_no_setting_of_a_queue_is_left_out() -> None:
    assert {"name", "parent", "reservable", *LEAF} == set(QueueSettings.__struct_fields__)


@given(st.floats(0, 2.0**100, width=32))
def test_a_number_is_written_with_as_few_digits_as_it_needs(value: float) -> None:
    assert literals.single(number(value)) == value
    assert len(number(value).replace(".", "").partition("e")[0].lstrip("0")) <= 9


@pytest.mark.skipif(not PUBLISHED, reason="the published files in ../shared are not here")
def test_every_published_file_that_can_be_read_means_the_same_when_written_again() -> None:
    types = ResourceTypes()
    read = 0
    for path in PUBLISHED:
        try:
            settings, _ = read_allocation_file(path.read_bytes(), path.name, types)
        except ConfigurationError:
            continue
        read += 1
        text = write_allocation_file(settings, types)
        again, problems = read_allocation_file(text, "again.xml", types)
        assert again == settings, path
        assert list(again.queues) == list(settings.queues), path
        rules = {p.rule for p in problems if p.severity == "warning"}
        assert rules <= {"unsupported"}, path
    assert read > 30
