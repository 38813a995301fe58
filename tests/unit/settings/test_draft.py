"""A draft of a scheduler's file: what it says where, and changes that leave all else as written."""

import pytest

from fairshare.errors import InputError
from fairshare.settings.draft import Edit, properties_text
from fairshare.settings.registry import family_of

FAIR = """<?xml version="1.0"?>
<!-- who has what -->
<allocations>
  <queue name="prod">   <!-- the important one -->
    <weight>3</weight>
    <queue name="a"/>
  </queue>
  <queue name="b" type="parent"><weight a=">">1</weight></queue>
</allocations>
"""
CAPACITY = """<configuration>
  <property><name>yarn.scheduler.capacity.root.queues</name><value>a,b</value></property>
  <property><name>yarn.scheduler.capacity.root.a.capacity</name><value>40</value></property>
  <property>
    <name>yarn.scheduler.capacity.root.b.capacity</name>
    <value>60</value>
  </property>
  <property><name>yarn.scheduler.capacity.maximum-applications</name><value>9</value></property>
</configuration>
"""


def read_draft(kind, text):
    return family_of(kind).draft.read(text)


def edited(kind, text, edits):
    return family_of(kind).draft.edited(text, edits)


def setting(queue, name, value):
    return Edit("set", queue, name, value)


def test_each_value_has_its_queue_and_its_line():
    found = [(one.queue, one.name, one.value, one.line) for one in read_draft("fair", FAIR).entries]
    assert found == [("root.prod", "weight", "3", 5), ("root.b", "weight", "1", 8)]


def test_a_line_belongs_to_the_innermost_queue():
    reading = read_draft("fair", FAIR)
    assert [reading.queue_at(line) for line in (3, 5, 6, 8)] == [
        "", "root.prod", "root.prod.a", "root.b",
    ]  # fmt: skip


def test_properties_have_their_queue_their_name_there_and_the_line_of_their_value():
    found = [(one.queue, one.name, one.line) for one in read_draft("capacity", CAPACITY).entries]
    assert found == [
        ("root", "queues", 2),
        ("root.a", "capacity", 3),
        ("root.b", "capacity", 6),
        ("", "maximum-applications", 8),
    ]


def test_a_changed_value_changes_nothing_else():
    assert edited("fair", FAIR, [setting("root.prod", "weight", "5")]) == FAIR.replace(
        "<weight>3</weight>", "<weight>5</weight>"
    )


def test_a_value_behind_a_tag_with_quotes_is_found():
    assert '<weight a=">">7</weight>' in edited("fair", FAIR, [setting("root.b", "weight", "7")])


def test_a_new_value_is_inserted_after_the_existing_elements_of_the_queue():
    text = edited("fair", FAIR, [setting("root.prod", "maxRunningApps", "4")])
    assert '    <queue name="a"/>\n    <maxRunningApps>4</maxRunningApps>\n  </queue>' in text


def test_a_queue_without_content_gets_some():
    text = edited("fair", FAIR, [setting("root.prod.a", "weight", "<&>")])
    assert "<weight>&lt;&amp;&gt;</weight>" in text
    assert read_draft("fair", text).entries[1].value == "<&>"


def test_a_value_that_goes_takes_its_line_along():
    text = edited("fair", FAIR, [setting("root.prod", "weight", None)])
    assert text == FAIR.replace("    <weight>3</weight>\n", "")
    assert edited("fair", text, [setting("root.prod", "weight", None)]) == text


def test_queues_come_and_go():
    text = edited("fair", FAIR, [Edit("add", "root.prod.new"), Edit("add", "root.c")])
    assert [part.queue for part in read_draft("fair", text).parts] == [
        "root.prod", "root.prod.a", "root.prod.new", "root.b", "root.c",
    ]  # fmt: skip
    assert edited("fair", text, [Edit("remove", "root.prod.new"), Edit("remove", "root.c")]) == FAIR


def test_a_file_may_wrap_all_queues_into_root():
    text = '<allocations><queue name="root"><queue name="a"/></queue></allocations>'
    text = edited("fair", text, [setting("root", "weight", "2"), Edit("add", "root.b")])
    assert [part.queue for part in read_draft("fair", text).parts] == ["root", "root.a", "root.b"]


def test_pools_have_no_root_above_them():
    text = edited(
        "pools",
        family_of("pools").draft.empty,
        [Edit("add", "ads"), setting("ads", "minMaps", "4")],
    )
    assert read_draft("pools", text).entries[0].queue == "ads"


def test_a_queue_of_the_capacity_scheduler_is_added_to_the_list_of_its_parent():
    text = edited(
        "capacity", CAPACITY, [Edit("add", "root.a.x"), setting("root.a.x", "capacity", "100")]
    )
    values = {(one.queue, one.name): one.value for one in read_draft("capacity", text).entries}
    assert values["root.a", "queues"] == "x"
    assert values["root.a.x", "capacity"] == "100"
    assert values["root.b", "capacity"] == "60"


def test_removing_a_queue_of_the_capacity_scheduler_takes_its_properties_along():
    text = edited("capacity", CAPACITY, [Edit("remove", "root.b")])
    assert "root.b." not in text
    assert "<value>a</value>" in text
    assert edited("capacity", CAPACITY, [setting("", "maximum-applications", "12")]) == (
        CAPACITY.replace("<value>9</value>", "<value>12</value>")
    )


@pytest.mark.parametrize(
    ("kind", "text", "edit", "words"),
    [
        ("fair", "<allocations>", Edit("add", "root.a"), "not XML"),
        ("fair", FAIR, Edit("add", "root.prod.a"), "already"),
        ("fair", FAIR, Edit("add", "root.x.y"), "no queue root.x"),
        ("fair", FAIR, setting("root.x", "weight", "1"), "does not speak of"),
        ("fair", FAIR, setting("root.prod", "a b", "1"), "not the name"),
        ("fair", FAIR, setting("root.prod", "weight", "\0"), "cannot hold"),
        ("capacity", CAPACITY, Edit("remove", "root.x"), "not found"),
    ],
)
def test_a_change_that_makes_no_sense_is_refused_with_the_reason(kind, text, edit, words):
    with pytest.raises(InputError, match=words):
        edited(kind, text, [edit])


def test_characters_beyond_ascii_stay_whole():
    text = '<allocations><queue name="größe"><weight>1</weight></queue></allocations>'
    assert edited("fair", text, [setting("root.größe", "weight", "2")]) == text.replace(
        ">1<", ">2<"
    )


def test_properties_without_a_file_become_one():
    text = properties_text({"yarn.scheduler.capacity.root.queues": "a & b"})
    assert read_draft("capacity", text).entries[0].value == "a & b"
