"""Whatever stands in the files, the Capacity Scheduler's reader reads or refuses it."""

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.effort import examples

from fairshare.core.schedulers.capacity.settings import CapacitySettings
from fairshare.errors import ConfigurationError
from fairshare.settings.capacity.names import PREFIX
from fairshare.settings.capacity.reading import read_capacity
from fairshare.settings.capacity.tree import LABEL_SUFFIXES, SUFFIXES, TEMPLATES
from fairshare.settings.site import Site

QUEUES = ("root", "root.a", "root.b", "root.a.x", "root.c", "root.*", "a")
GLOBAL = (
    "queue-mappings",
    "mapping-rule-format",
    "mapping-rule-json",
    "workflow-priority-mappings",
    "legacy-queue-mode.enabled",
    "user.ann.max-parallel-apps",
    "resource-calculator",
)
suffixes = st.one_of(
    st.sampled_from(sorted(SUFFIXES)),
    st.sampled_from(LABEL_SUFFIXES).map(lambda s: f"accessible-node-labels.gpu.{s}"),
    st.text(max_size=5).map(lambda user: f"user-settings.{user}.weight"),
)
queue_names = st.builds(
    lambda queue, template, suffix: f"{queue}.{template}{suffix}",
    st.sampled_from(QUEUES),
    st.sampled_from(["", "", *(f"{word}." for word in TEMPLATES)]),
    suffixes,
)
names = st.one_of(queue_names, st.sampled_from(GLOBAL), st.text(max_size=8)).map(
    lambda name: PREFIX + name
)
values = st.one_of(
    st.sampled_from(
        ["a,b", "x", "50", "100", "0", "-1", "2w", "true", "false", "json", "fair", "utilization"]
    ),
    st.sampled_from(["[memory=1024,vcores=1]", "[memory=50%]", "[]", "[=]", "RUNNING", "STOPPED"]),
    st.sampled_from(["u:ann:a,g:b:%user", '{"rules": [{}]}', "[user=* max_priority=3]", "${a}"]),
    st.text(max_size=12),
)
TREE = {
    PREFIX + "root.queues": "a,b",
    PREFIX + "root.a.capacity": "40",
    PREFIX + "root.b.capacity": "60",
}


@pytest.mark.slow
@settings(max_examples=examples(300), deadline=None)
@given(st.dictionaries(names, values, max_size=12), st.booleans())
def test_any_properties_are_read_or_refused(found: dict[str, str], tree: bool) -> None:
    site = Site.of(TREE | found if tree else found)
    try:
        read, _ = read_capacity(site)
    except ConfigurationError:
        return
    assert msgspec.json.decode(msgspec.json.encode(read), type=CapacitySettings) == read
