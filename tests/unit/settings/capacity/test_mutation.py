"""Documents that change the Capacity Scheduler's properties, as Hadoop's `scheduler-conf` does."""

import json
from pathlib import Path

import pytest

from fairshare.errors import InputError
from fairshare.settings.capacity.changes import apply_update
from fairshare.settings.configuration_update import QueueChange, Update, read_json, read_xml

P = "yarn.scheduler.capacity."
OLD = {
    f"{P}root.queues": "a,b",
    f"{P}root.a.capacity": "60",
    f"{P}root.b.capacity": "40",
    f"{P}root.b.queues": "c",
    f"{P}root.b.c.capacity": "100",
    f"{P}root.a.ordering-policy": "fair",
}
SAMPLES = Path(__file__).parents[4].parent / "shared" / "rest-samples" / "capacity" / "writes"


def changed(document: str) -> dict[str, str]:
    """What is different afterwards; the empty text stands for a property that is gone."""
    new = apply_update(OLD, read_json(document))
    names = {**OLD, **new}
    return {name: new.get(name, "") for name in names if OLD.get(name) != new.get(name)}


def test_an_update_sets_and_takes_away() -> None:
    entries = '[{"key":"capacity","value":50},{"key":"ordering-policy","value":""}]'
    document = f'{{"update-queue":{{"queue-name":"root.a","params":{{"entry":{entries}}}}}}}'
    assert changed(document) == {f"{P}root.a.capacity": "50", f"{P}root.a.ordering-policy": ""}


def test_a_queue_is_added_behind_its_siblings() -> None:
    document = (
        '{"add-queue":{"queue-name":"root.d","params":{"entry":{"key":"capacity","value":"0"}}}}'
    )
    assert changed(document) == {f"{P}root.queues": "a,b,d", f"{P}root.d.capacity": "0"}


def test_a_leaf_that_becomes_a_parent_loses_its_ordering_policy() -> None:
    assert changed('{"add-queue":{"queue-name":"root.a.x"}}') == {
        f"{P}root.a.queues": "x",
        f"{P}root.a.ordering-policy": "",
    }


def test_a_queue_is_removed_with_all_that_is_written_below_it() -> None:
    assert changed('{"remove-queue":"root.b"}') == {
        f"{P}root.queues": "a",
        f"{P}root.b.capacity": "",
        f"{P}root.b.queues": "",
        f"{P}root.b.c.capacity": "",
    }


def test_the_last_child_leaves_no_list_behind() -> None:
    assert changed('{"remove-queue":["root.b.c"]}') == {
        f"{P}root.b.queues": "",
        f"{P}root.b.c.capacity": "",
    }


def test_a_name_that_only_begins_alike_is_not_removed() -> None:
    old = {f"{P}root.queues": "a,ab", f"{P}root.ab.capacity": "100"}
    new = apply_update(old, Update(remove=("root.a",)))
    assert new == {f"{P}root.queues": "ab", f"{P}root.ab.capacity": "100"}


def test_removal_comes_first_and_globals_last() -> None:
    update = Update(
        remove=("root.a",),
        add=(QueueChange("root.a", (("capacity", "10"),)),),
        update=(QueueChange("root.a", (("capacity", "20"),)),),
        globals=((f"{P}root.a.capacity", "30"),),
    )
    new = apply_update(OLD, update)
    assert new[f"{P}root.queues"] == "b,a"
    assert new[f"{P}root.a.capacity"] == "30"
    assert f"{P}root.a.ordering-policy" not in new


@pytest.mark.parametrize(
    ("document", "reported"),
    [
        ('{"remove-queue":"root"}', "Can't remove queue root"),
        ('{"remove-queue":"a"}', "Can't remove queue a"),
        ('{"remove-queue":"root.nowhere"}', "Queue root.nowhere not found"),
        ('{"add-queue":{"queue-name":"root.a"}}', "Can't add existing queue root.a"),
        ('{"add-queue":{"queue-name":"root"}}', "Can't add invalid queue root"),
        ('{"add-queue":{"queue-name":"root..a"}}', "Can't add invalid queue root..a"),
        ('{"add-queue":{"params":{}}}', "add-queue: queue-name is missing"),
        ('{"update-queue":{"queue-name":"root.a","params":[1]}}', 'form {"entry"'),
        ('{"update-queue":{"queue-name":"root.a","params":{"entry":{}}}}', "key is missing"),
        ('{"global-updates":{"entry":{"key":"x","value":[]}}}', "must be a text"),
        ("[]", "must be an object"),
        ("hello", "not JSON"),
        ("[" * 100_000, "not JSON"),
    ],
)
def test_a_document_that_makes_no_sense_is_refused_by_name(document: str, reported: str) -> None:
    with pytest.raises(InputError) as caught:
        apply_update(OLD, read_json(document))
    assert caught.value.code == "bad-update"
    assert reported in str(caught.value)


def test_xml_says_the_same_as_json() -> None:
    xml = (
        "<sched-conf><add-queue><queue-name>root.d</queue-name><params><entry><key>capacity</key>"
        "<value>5</value></entry><entry><key>state</key><value/></entry></params></add-queue>"
        "<remove-queue>root.a</remove-queue><remove-queue>root.b</remove-queue>"
        "<global-updates><entry><key>x</key><value>1</value></entry></global-updates></sched-conf>"
    )
    assert read_xml(xml) == read_json(
        '{"add-queue":{"queue-name":"root.d","params":{"entry":[{"key":"capacity","value":"5"},'
        '{"key":"state","value":""}]}},"remove-queue":["root.a","root.b"],'
        '"global-updates":{"entry":{"key":"x","value":1}}}'
    )
    assert read_xml("<sched-conf/>") == Update()


@pytest.mark.parametrize(
    ("document", "reported"),
    [("<conf/>", "<sched-conf>"), ("<sched-conf>", "the update:1"), ("", "no element")],
)
def test_other_xml_is_refused(document: str, reported: str) -> None:
    with pytest.raises(InputError, match=reported):
        read_xml(document)


def test_a_wrapped_document_means_what_is_inside_and_foreign_keys_are_named() -> None:
    wrapped = read_json('{"sched-conf":{"remove-queue":"root.a"}}')
    assert wrapped.remove == ("root.a",)
    assert read_json('{"colour":"red","subClusterId":"1"}').ignored == ("colour",)


def test_the_writes_that_hadoop_answered_lead_to_the_configuration_that_it_showed() -> None:
    """As recorded; what Hadoop refused for the sum of capacities is left out here, too, as this
    function does not judge sums."""
    if not SAMPLES.is_dir():
        pytest.skip(f"the recorded answers are not there: {SAMPLES}")
    found: dict[str, str] = {}
    puts = 0
    for path in sorted(SAMPLES.glob("*-conf*.json")):
        sample = json.loads(path.read_text())
        request, response = sample["request"], sample["response"]
        if request["method"] == "GET" and path.stem.endswith(("-conf", "-at-the-end")):
            answer = json.loads(response["body"])
            if "property" not in answer:
                continue
            shown = {one["name"]: one["value"] for one in answer["property"]}
            assert not found or found == shown
            found = shown
        body = request.get("body")
        if request["method"] != "PUT" or body is None or path.stem.endswith("text-kind"):
            continue
        text = response["body"]
        if text.startswith("Failed to re-init"):
            continue
        read = read_xml if body.startswith("<") else read_json
        if response["status"] == 200:
            found = apply_update(found, read(body))
            puts += 1
        else:
            with pytest.raises(InputError) as caught:
                apply_update(found, read(body))
            assert str(caught.value) == text or "RemoteException" in text
    assert puts == 15
