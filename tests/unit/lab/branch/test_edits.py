"""Plans of a history with other nodes, or more or less work, worked out by hand."""

import json

import pytest
from msgspec.structs import replace
from tests.unit.core.schedulers.waiting import Cluster, fair
from tests.unit.lab.plan.test_plan import plan as run_plan
from tests.unit.lab.plan.test_plan import recorded, settings_of

from fairshare.core.model.inputs import KillApplication, SubmitApplication
from fairshare.core.model.work import Command, TaskGroup
from fairshare.core.schedulers.fair.settings import QueueSettings
from fairshare.lab.branch.edits import nodes_of, with_inputs, with_load, with_nodes, with_workload
from fairshare.lab.plan.planning import Proposal, plan
from fairshare.lab.simulate.readers.history import read_history
from fairshare.lab.simulate.workload import Arrival, GroupPlan, Session, Workload
from fairshare.lab.simulate.world import Origin
from fairshare.lab.verbs.histories import read_world
from fairshare.runtime.recovery import Position


@pytest.fixture
def history(tmp_path):
    """Queues a and b have 12 tasks of 10 s each; four run at once, of which three are of a."""
    return recorded(tmp_path, 12)


def turnarounds(found, side):
    return {one["name"]: one[side]["turnaround_mean"] for one in found["users"]}


def test_twice_the_nodes_take_half_the_time(tmp_path, history):
    found = json.loads(run_plan(tmp_path, history, 3.0, "--nodes", "2x", "--json").stdout)
    assert found["edits"] == ["1 more node, n1-x1"]
    assert turnarounds(found, "before") == {"ann": 40_000, "bob": 60_000}
    assert turnarounds(found, "after") == {"ann": 20_000, "bob": 30_000}
    assert found["nodes"] == 1


@pytest.mark.parametrize("change", ["+n2:4096m,4c", "+n2: 4 GiB, vcores=4", "+1", "+n9"])
def test_a_node_of_a_size_or_like_the_largest_is_added(history, change):
    world = read_world(history)
    edited = with_nodes(world, change)
    found = plan(world, None, edits=(lambda _: edited,))
    assert (found.whole.before.turnaround_mean, found.whole.after.turnaround_mean) == (
        50_000,
        25_000,
    )


def test_without_one_of_two_nodes_work_takes_twice_the_time(history):
    world = with_nodes(read_world(history), "2x").world
    assert with_nodes(world, "-n1-x1").words == "without 1 node, n1-x1"
    for change in ("-n1-x1", "-1", "0.5x"):
        fewer = with_nodes(world, change).world
        assert fewer.entries == read_world(history).entries


@pytest.mark.parametrize("change", ["2x", "+2"])
def test_a_change_of_nodes_that_is_made_twice_adds_nodes_twice(history, change):
    once = with_nodes(read_world(history), change).world
    twice = with_nodes(once, change).world
    assert len(nodes_of(twice)) == twice.nodes == {"2x": 4, "+2": 5}[change]


def test_twice_the_load_takes_twice_the_time(tmp_path, history):
    reported = run_plan(tmp_path, history, 3.0, "--load", "2", "--json")
    found = json.loads(reported.stdout)
    assert found["edits"] == ["2 more applications, drawn by seed 1"]
    assert (found["applications"], found["whole"]["after"]["applications"]) == (2, 4)
    assert found["whole"]["after"]["containers"] == 48
    assert found["whole"]["after"]["unfinished"] == 0


def test_originals_keep_their_numbers_and_copies_follow_them(history):
    world = with_load(read_world(history), 2.5).world
    numbers = [one.input.number for one in world.entries if type(one.input) is SubmitApplication]
    assert sorted(numbers) == [1, 2, 3, 4, 5]
    assert {world.lives[1, 0, 0], world.lives[5, 0, 0]} == {world.lives[1, 0, 0]}


def test_the_load_of_one_queue_changes_that_of_no_other(tmp_path, history):
    options = ("--load", "3", "--queue", "a", "--json")
    found = json.loads(run_plan(tmp_path, history, 3.0, *options).stdout)
    assert found["edits"] == ["2 more applications of a, drawn by seed 1"]
    counts = {one["name"]: one["after"]["applications"] for one in found["queues"]}
    assert counts == {"root.a": 3, "root.b": 1}


def test_the_queue_of_a_load_is_the_one_that_placement_rules_chose(history):
    world = read_world(history)
    unnamed = [
        replace(one, input=replace(one.input, queue="default"))
        if type(one.input) is SubmitApplication
        else one
        for one in world.entries
    ]
    placed = replace(world, entries=tuple(unnamed))
    edited = with_load(placed, 3, "root.a")
    assert edited.words == "2 more applications of root.a, drawn by seed 1"
    assert with_load(edited.world, 2, "a").words == "3 more applications of a, drawn by seed 1"
    with pytest.raises(ValueError, match="no application was submitted to"):
        with_load(placed, 3, "default")


def test_less_load_leaves_applications_out(history):
    world = read_world(history)
    found = plan(
        world, Proposal("fair", settings_of(3.0)), edits=(lambda one: with_load(one, 0.5),)
    )
    assert (found.whole.before.applications, found.whole.after.applications) == (2, 1)


def test_a_change_of_the_world_needs_no_configuration(history):
    world = read_world(history)
    found = plan(world, None, edits=(lambda one: with_nodes(one, "2x"),))
    assert (found.changes, found.proof.reproduced) == ((), 24)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ("3", "'3' does not change nodes: write 2x, +4, +n4:64g,16c, -2 or -n3"),
        ("0x", "'0x' leaves no node of 1"),
        ("-1", "'-1' leaves no node of 1"),
        ("-n7", "'-n7': the history has no node 'n7'"),
        ("+n1", "'+n1': there is a node 'n1' already"),
        ("+n2:4", "'4' is not an amount: write 64g, 16c or yarn.io/gpu=4"),
        (
            "+n2:yarn.io/gpu=4",
            "'yarn.io/gpu=4': no such type in the history, which has memory-mb, vcores",
        ),
        ("+n2:1g,16cb", "'16cb' is not a size"),
        ("+n2:1g,99999999999999999999c", "is not an amount: write 64g, 16c"),
        ("+n2:64g", "'64g': a node needs memory and vcores, as in 64g,16c"),
        ("+n2:64g,0c", "'64g,0c': a node needs memory and vcores, as in 64g,16c"),
        ("+1000000", "too many nodes: at most 100,000 are added at once"),
        (f"{'9' * 400}x", "too many nodes: at most 100,000 are added at once"),
    ],
)
def test_a_wrong_change_of_nodes_is_refused_with_what_to_write(tmp_path, history, change, words):
    reported = run_plan(tmp_path, history, 3.0, "--nodes", change)
    assert reported.exit_code == 1
    assert words in " ".join(reported.stderr.split())


def test_the_load_of_an_unknown_queue_is_refused(tmp_path, history):
    reported = run_plan(tmp_path, history, 3.0, "--load", "2", "--queue", "root.none")
    assert "no application was submitted to 'root.none'" in reported.stderr


def test_settings_of_machines_are_named_as_ignored(tmp_path, history):
    conf = tmp_path / "conf"
    conf.mkdir()
    (conf / "fairshare.toml").write_text("[engine]\nnodes = 6\n")
    reported = run_plan(tmp_path, history, 3.0)
    text = " ".join(reported.stdout.split())
    assert "nodes = 6: the machines are the history's, and --nodes changes them" in text


WORKLOAD = """
applications:
  - at: 5s
    user: eve
    queue: root.a
    groups: [{name: g, count: 2, resources: {memory-mb: 1024, vcores: 1}, duration: 10s}]
  - at: 10h
    user: eve
    queue: root.a
    groups: [{name: g, resources: {memory-mb: 1024}, duration: 10s}]
"""


def test_a_workload_that_joins_takes_its_part(tmp_path, history):
    (tmp_path / "more.yaml").write_text(WORKLOAD)
    options = ("--join", str(tmp_path / "more.yaml"), "--json")
    found = json.loads(run_plan(tmp_path, history, 3.0, *options).stdout)
    assert found["edits"] == [
        "1 application of a workload (1 later one left out, as the simulation ends before)"
    ]
    users = {one["name"]: one for one in found["users"]}
    assert users["eve"]["before"] is None
    assert users["eve"]["after"]["turnaround_mean"] >= 10_000
    later_ms = {
        name: users[name]["after"]["turnaround_mean"] - users[name]["before"]["turnaround_mean"]
        for name in ("ann", "bob")
    }
    assert sum(later_ms.values()) > 0
    world = read_world(history)
    joined = with_workload(world, Workload((), (arrival(5_000, failing=2),))).world
    number = max(joined.queues)
    assert [life.exit_code for life in joined.lives[number, 0, 0]] == [1, 1, 0]


def arrival(at_ms, failing=0, **more):
    group = TaskGroup("g", 1, (1024, 1), Command(("true",)))
    submission = SubmitApplication("eve", "root.a", tasks=(group,))
    return Arrival(at_ms, submission, (GroupPlan(10_000, failing, **more),))


@pytest.mark.parametrize(
    ("workload", "words"),
    [
        (Workload((), (arrival(10**9),)), "no application arrives in the time that is simulated"),
        (Workload((), (), sessions=(Session(0, ()),)), "sessions cannot join"),
        (Workload((), (arrival(1, rack_factor=2.0),)), "by locality cannot join"),
    ],
)
def test_a_workload_that_cannot_join_is_refused(history, workload, words):
    with pytest.raises(ValueError, match=words):
        with_workload(read_world(history), workload)


def test_what_is_done_at_the_beginning_leaves_the_state_as_it_is_until_then():
    """The process beside a server has one state, from which each of its copies goes on."""
    cluster = Cluster("fair", fair((QueueSettings("root.a"),)))
    number = cluster.submit(tasks=(TaskGroup("g", 1, (1024, 1)),))
    state = cluster.manager.state
    here = Origin(Position(1, 0), lambda: cluster.manager)
    world = read_history((), "fair", state.types, state.epoch_ms, here)
    edited = with_inputs(world, [KillApplication(number)], "it")
    assert len(edited.world.entries) == 1
    assert not state.applications[number].over
    with pytest.raises(ValueError, match="it is refused: "):
        with_inputs(world, [KillApplication(number), KillApplication(number)], "it")
