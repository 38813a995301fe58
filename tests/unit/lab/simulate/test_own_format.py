"""Our own workloads, in YAML and as JSON lines."""

import gzip
import json

import pytest

from fairshare.core.model.bookings import Booking, Span
from fairshare.core.model.inputs import MakeBooking, NodeJoined, SubmitApplication
from fairshare.core.model.resources import ResourceTypes
from fairshare.core.model.work import TaskGroup
from fairshare.documents.yaml_tree import Limits
from fairshare.errors import ConfigurationError
from fairshare.lab.simulate.readers import own, read_workload
from fairshare.lab.simulate.readers.options import ReaderOptions
from fairshare.lab.simulate.workload import GroupPlan

WHOLE = """
nodes:
  - {name: big, resources: {memory-mb: 8192, vcores: 8}, rack: /r1}
  - {name: small, count: 2, resources: {memory-mb: 1024}}
applications:
  - at: 1m30s
    user: ann
    queue: root.a
    name: nightly
    priority: 3
    tags: [x, y]
    user_groups: staff
    groups:
      - name: map
        resources: {memory-mb: 1024, vcores: 1}
        duration: [10s, 20s]
        priority: 2
        hosts: [big]
        racks: [/r1]
        relax: false
        max_attempts: 2
        time_limit: 1m
        fail_attempts: [0, 1]
        run_by_locality: {rack: 1.5, off-switch: 3}
      - {name: reduce, count: 3, resources: {vcores: 1}, duration: 500ms, after: map,
         slow_start: 0.5, fail_attempts: 1}
  - {at: 0, user: bob, groups: [{resources: {memory-mb: 1}, duration: 1s}]}
"""


def read(tmp_path, text, name="w.yaml", **options):
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return read_workload(path, ReaderOptions(**options))


def problems(tmp_path, text, name="w.yaml"):
    with pytest.raises(ConfigurationError) as caught:
        read(tmp_path, text, name)
    return [str(problem).replace(str(tmp_path) + "/", "") for problem in caught.value.problems]


def test_everything_that_a_workload_can_say(tmp_path):
    workload = read(tmp_path, WHOLE)
    assert workload.nodes == (
        NodeJoined("big", (8192, 8), "/r1"),
        NodeJoined("small-1", (1024, 0)),
        NodeJoined("small-2", (1024, 0)),
    )
    first, second = workload.arrivals
    assert (first.at_ms, first.submission.user, first.submission.queue) == (0, "bob", "default")
    assert first.submission.tasks == (TaskGroup("tasks", 1, (1, 0)),)
    assert first.plans == (GroupPlan(1_000),)
    assert second.at_ms == 90_000
    assert second.submission == SubmitApplication(
        user="ann",
        queue="root.a",
        name="nightly",
        groups=("staff",),
        priority=3,
        tags=("x", "y"),
        tasks=(
            TaskGroup(
                "map",
                2,
                (1024, 1),
                priority=2,
                hosts=("big",),
                racks=("/r1",),
                relax=False,
                max_attempts=2,
                time_limit_ms=60_000,
            ),
            TaskGroup("reduce", 3, (0, 1), after=("map",), slow_start=0.5),
        ),
    )
    assert second.plans == (GroupPlan((10_000, 20_000), (0, 1), 1.5, 3.0), GroupPlan(500, 1))
    assert workload.tasks == 6


def test_an_application_can_come_again_and_again(tmp_path):
    text = """
applications:
  - {at: 1s, user: u, repeat: 3, every: 10s, groups: [{resources: {}, duration: 1s}]}
"""
    assert [one.at_ms for one in read(tmp_path, text).arrivals] == [1_000, 11_000, 21_000]


def test_a_user_in_a_closed_loop_waits_for_the_last_application(tmp_path):
    group = "groups: [{resources: {}, duration: 1s}]"
    text = f"""
applications:
  - {{at: 1s, user: u, repeat: 3, think: 10s, {group}}}
  - {{at: 2s, user: v, repeat: 2, think: {{mean: 1m}}, {group}}}
"""
    workload = read(tmp_path, text)
    assert workload.arrivals == ()
    assert (workload.later, workload.tasks) == (5, 5)
    first, second = workload.sessions
    assert (first.at_ms, len(first.turns)) == (1_000, 3)
    assert (first.turns[1].think_ms, first.turns[1].drawn) == (10_000, False)
    assert (second.turns[1].think_ms, second.turns[1].drawn) == (60_000, True)
    lines = [{"application": {"at": "1s", "user": "u", "repeat": 3, "think": "10s"}}]
    lines[0]["application"]["groups"] = [{"resources": {}, "duration": "1s"}]
    assert read(tmp_path, json.dumps(lines[0]), "w.jsonl").sessions == (first,)


@pytest.mark.parametrize(
    ("keys", "line", "words"),
    [
        ("think: 10s", 4, "applications[0].think is how long the user waits after the end of one"),
        ("repeat: 2, every: 1s,\n     think: 10s", 5, "it needs repeat: 2 or more, and no every"),
        ("repeat: 2, think: soon", 4, "applications[0].think: 'soon' is not a duration"),
        ("repeat: 2, think: [1s]", 4, "think must be a duration such as 30s, found a list"),
        ("repeat: 2, think: {median: 1s}", 4, "applications[0].think needs a value for 'mean'"),
        (
            "repeat: 2",
            3,
            "repeat needs the key every, how long it is from one to the next, or think",
        ),
    ],
)
def test_think_times_that_mean_nothing_are_refused_with_their_place(tmp_path, keys, line, words):
    text = f"""
applications:
  - {{at: 1s, user: u,
     {keys}, groups: [{{resources: {{}}, duration: 1s}}]}}
"""
    found = [one for one in problems(tmp_path, text) if words in one]
    assert len(found) == 1, problems(tmp_path, text)
    assert found[0].startswith(f"w.yaml:{line}:")


def test_what_comes_at_one_instant_stays_in_the_order_of_the_file(tmp_path):
    group = "groups: [{resources: {}, duration: 1s}]"
    text = "applications:\n" + "".join(
        f"  - {{at: {at}s, user: {user}, {group}}}\n" for at, user in ((2, "c"), (1, "b"), (1, "a"))
    )
    assert [one.submission.user for one in read(tmp_path, text).arrivals] == ["b", "a", "c"]


def test_the_site_s_own_types_can_be_asked_for(tmp_path):
    types = ResourceTypes(("memory-mb", "vcores", "yarn.io/gpu"), ("Mi", "", ""))
    text = "applications: [{at: 0, user: u, groups: [{resources: {yarn.io/gpu: 2}, duration: 1s}]}]"
    workload = read(tmp_path, text, types=types)
    assert workload.arrivals[0].submission.tasks[0].resource == (0, 0, 2)


def test_json_is_read_as_yaml_is(tmp_path):
    text = json.dumps(
        {
            "applications": [
                {"at": "0", "user": "u", "groups": [{"resources": {}, "duration": "1s"}]}
            ]
        }
    )
    assert read(tmp_path, text, "w.json") == read(tmp_path, text, "w.yaml")


LINES = b"""\
{"node": {"name": "n", "resources": {"memory-mb": 1}}}

{"application": {"at": "5s", "user": "u", "groups": [{"resources": {}, "duration": ["1s"]}]}}
"""


def test_json_lines_hold_one_node_or_application_each(tmp_path):
    workload = read(tmp_path, LINES, "w.jsonl")
    assert workload.nodes == (NodeJoined("n", (1, 0)),)
    assert workload.arrivals[0].at_ms == 5_000


def test_packed_files_are_unpacked(tmp_path):
    assert read(tmp_path, gzip.compress(LINES), "w.jsonl.gz") == read(tmp_path, LINES, "w.jsonl")
    assert problems(tmp_path, LINES, "w.jsonl.gz")[0].startswith("w.jsonl.gz:1: error: the file is")
    assert problems(tmp_path, LINES, "w.yaml.gz")[0].startswith("w.yaml.gz: error: is not what")


def test_a_packed_file_is_unpacked_only_as_far_as_a_workload_may_be_large(tmp_path, monkeypatch):
    lines = gzip.compress(bytes(1_500_000))
    assert "longer than 1,000,000 characters" in problems(tmp_path, lines, "w.jsonl.gz")[0]
    monkeypatch.setattr(own, "LIMITS", Limits(mebibytes=1))
    assert problems(tmp_path, lines, "w.yaml.gz") == [
        "w.yaml.gz: error: is larger than 1 MiB [file]"
    ]


@pytest.mark.parametrize(
    ("node", "application", "group"),
    [("count: MANY,", "", ""), ("", "repeat: MANY, every: 1s,", ""), ("", "", "count: MANY,")],
)
def test_a_count_that_no_memory_holds_is_refused(tmp_path, node, application, group):
    text = (
        f"nodes: [{{name: n, {node} resources: {{memory-mb: 1}}}}]\n"
        f"applications: [{{at: 0s, user: u, {application}"
        f" groups: [{{{group} resources: {{}}, duration: 1s}}]}}]\n"
    ).replace("MANY", str(10**12))
    (found,) = problems(tmp_path, text)
    assert "it must be at most 1000000" in found


@pytest.mark.parametrize("no", ["false", "no", "off", "No", "'false'"])
def test_truth_values_may_be_words_of_yaml_1_1_and_texts_may_look_like_them(tmp_path, no):
    workload = read(
        tmp_path,
        f"""
        nodes: [{{name: on, resources: {{memory-mb: 1.5g}}}}]
        applications:
          - at: 1h 30m
            user: yes
            name: 2026-11-22
            groups: [{{resources: {{memory-mb: 512m}}, duration: .5s, relax: {no}}}]
        """,
    )
    assert workload.nodes == (NodeJoined("on", (1536, 0)),)
    (arrival,) = workload.arrivals
    assert arrival.at_ms == 5_400_000
    assert (arrival.submission.user, arrival.submission.name) == ("yes", "2026-11-22")
    (group,) = arrival.submission.tasks
    assert (group.resource, group.relax) == ((512, 0), False)


def test_every_problem_is_reported_with_its_line(tmp_path):
    text = """\
nodes:
  - {name: n, resources: {memory-mb: -1}}
  - {name: n, resources: {disks: 1}, colour: red}
applications:
  - at: 30
    user: 7
    groups:
      - {resources: {}, duration: [1s, 2s], count: 3}
      - {resources: {}, duration: soon, after: 1, slow_start: 2, max_attempts: 0}
  - user: u
    repeat: 2
    groups: []
"""
    assert problems(tmp_path, text) == [
        "w.yaml:2:38: error: nodes[0].resources.memory-mb is -1: it must be at least 0 [workload]",
        "w.yaml:3:5: error: there are two nodes n [workload]",
        "w.yaml:3:27: error: unknown resource type 'disks' in nodes[1].resources: known are"
        " memory-mb, vcores [workload]",
        "w.yaml:3:38: error: unknown key 'colour' in nodes[1]: known are count, name, rack,"
        " resources [workload]",
        "w.yaml:5:5: error: two groups of tasks have the same name [workload]",
        "w.yaml:5:9: error: applications[0].at: '30' has no unit: write 30s or 30m [workload]",
        "w.yaml:8:9: error: applications[0].groups[0].duration has 2 values for 3 tasks [workload]",
        "w.yaml:9:35: error: applications[0].groups[1].duration: 'soon' is not a duration: write"
        " 500ms, 30s, 10m, 1h30m or 2d, or 01:30:00 (hours first) [workload]",
        "w.yaml:9:63: error: applications[0].groups[1].slow_start must be a number from 0.0 to"
        " 1.0, found '2' [workload]",
        "w.yaml:9:80: error: applications[0].groups[1].max_attempts is 0: it must be at least 1"
        " [workload]",
        "w.yaml:10:5: error: applications[1] needs a value for 'at' [workload]",
        "w.yaml:10:5: error: repeat needs the key every, how long it is from one to the next,"
        " or think, how long the user waits after the end of one [workload]",
        "w.yaml:10:5: error: an application needs at least one group of tasks [workload]",
    ]


def test_bookings_are_read_from_both_forms(tmp_path):
    course = {
        "name": "course",
        "queue": "root.b",
        "resources": {"vcores": 8},
        "user": "bob",
        "from": "1h",
        "until": "2h",
        "repeat": 2,
        "every": "1d",
    }
    hour_ms, day_ms = 3_600_000, 86_400_000
    spans = (Span(hour_ms, 2 * hour_ms), Span(day_ms + hour_ms, day_ms + 2 * hour_ms))
    booking = Booking("course", "root.b", (0, 8), spans, "bob")
    line = json.dumps({"booking": course})
    for workload in (
        read(tmp_path, json.dumps({"applications": [], "bookings": [course]})),
        read(tmp_path, line, "w.jsonl"),
    ):
        assert workload.bookings == (MakeBooking(booking),)
    found = problems(tmp_path, "applications: []\nbookings: [{name: x, repeat: 401}]\n")
    assert any("bookings[0].repeat is 401: it must be at most 400" in one for one in found)
    assert any("bookings[0] needs a value for 'until'" in one for one in found)


def test_run_times_by_locality_are_refused_without_hosts_or_within_no_bounds(tmp_path):
    text = """\
applications:
  - at: 0
    user: u
    groups:
      - {resources: {}, duration: 1s, run_by_locality: {rack: 2}}
      - {name: b, hosts: n, resources: {}, duration: 1s, run_by_locality: {rack: 0.5, node: 1}}
"""
    assert problems(tmp_path, text) == [
        "w.yaml:5:39: error: applications[0].groups[0].run_by_locality needs hosts: the nodes where"
        " duration holds [workload]",
        "w.yaml:6:82: error: applications[0].groups[1].run_by_locality.rack must be a number from"
        " 1 to 1000, found '0.5' [workload]",
        "w.yaml:6:87: error: unknown key 'node' in applications[0].groups[1].run_by_locality: known"
        " are off-switch, rack [workload]",
    ]


@pytest.mark.parametrize(
    ("text", "reported"),
    [
        ("", "w.yaml:1:1: error: the file is empty"),
        ("applications: [1\nb: 2", "w.yaml:2:2: error: "),
        ("a: 1\na: 2\n", "w.yaml:2:1: error: the key 'a' is given twice"),
        ("? [1]\n: 2\n", "w.yaml:1:3: error: a key must be a plain word"),
        ("- 1\n", "w.yaml:1:1: error: a workload must be a mapping"),
        ("applications: &a [*a]", "w.yaml: error: the document is nested deeper"),
        ("applications: {at: 1s}", "w.yaml:1:15: error: applications must be a list"),
        ("applications: []\njobs: []\n", "w.yaml:2:1: error: unknown key 'jobs'"),
        (b"applications: []\n\xff\n", "w.yaml:2: error: is not UTF-8 text"),
    ],
)
def test_an_unreadable_workload_is_reported(tmp_path, text, reported):
    assert any(problem.startswith(reported) for problem in problems(tmp_path, text)), reported


@pytest.mark.parametrize(
    ("line", "reported"),
    [
        (b"{", "w.jsonl:1:2: error: Expecting property name"),
        (b"[1]", "w.jsonl:1: error: a line must be"),
        (b'{"node": {}, "application": {}}', "w.jsonl:1: error: a line must be"),
        (b'{"job": {}}', "w.jsonl:1: error: a line must be"),
        (
            b'{"node": {"name": "a", "name": "b"}}',
            "w.jsonl:1: error: the key 'name' is given twice",
        ),
        (b'{"node": 7}', "w.jsonl:1: error: node must be a mapping"),
        (b"[" * 100_000, "w.jsonl:1: error: values are nested deeper"),
    ],
)
def test_a_bad_line_is_reported(tmp_path, line, reported):
    assert any(problem.startswith(reported) for problem in problems(tmp_path, line, "w.jsonl"))


@pytest.mark.parametrize("text", [b"[" * 200_000, b"{a: " * 5_000, b"- " * 20_000])
@pytest.mark.parametrize("name", ["w.json", "w.yaml"])
def test_a_document_that_is_nested_too_deeply_is_reported(tmp_path, text, name):
    assert problems(tmp_path, text, name) == [
        f"{name}:1: error: values are nested deeper than any file needs [yaml]"
    ]


def test_an_unknown_suffix_is_refused(tmp_path):
    (reported,) = problems(tmp_path, "", "w.txt")
    assert "the name must end in one of .yaml, .yml, .json, .jsonl, .swf" in reported
    assert problems(tmp_path, "", "noname")


def test_a_missing_file_is_reported(tmp_path):
    with pytest.raises(ConfigurationError, match="cannot be read: No such file"):
        read_workload(tmp_path / "w.yaml", ReaderOptions())
