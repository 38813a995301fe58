"""What `plan` says of a small history, worked out by hand."""

import contextlib
import itertools
import json
import signal
import sqlite3

import msgspec
import pytest
from click.testing import CliRunner
from tests.manual_engine import ManualEngine

from fairshare.cli.verbs import fairshare
from fairshare.core.manager.resource_manager import ResourceManager
from fairshare.core.model.inputs import (
    ContainerExited,
    ContainerStarted,
    KillApplication,
    LaunchContainer,
    LoadConfiguration,
    MasterRegistered,
    MoveApplication,
    NodeJoined,
    NodeLost,
    ReleaseContainers,
    RequestContainers,
    SubmitApplication,
    UnregisterMaster,
)
from fairshare.core.model.resources import ResourceTypes
from fairshare.core.model.work import Command, ContainerRequest, TaskGroup
from fairshare.core.schedulers.fair.settings import AllocationSettings, FairSettings, QueueSettings
from fairshare.lab.plan.conditions import parse_condition
from fairshare.lab.plan.outcomes import Outcome, sums
from fairshare.lab.plan.planning import (
    MOST_TRIES,
    NEAR_MS,
    Proof,
    Proposal,
    changes,
    proof_of,
    reproduced,
)
from fairshare.lab.plan.planning import plan as planned
from fairshare.lab.simulate.rerun import IDLE_MS, Rerun
from fairshare.lab.simulate.simulator import EPOCH_MS, Simulator
from fairshare.lab.simulate.workload import Arrival, GroupPlan, Workload
from fairshare.lab.simulate.world import Entry
from fairshare.lab.verbs.histories import read_world
from fairshare.lab.verbs.simulation_watch import Watch
from fairshare.runtime.journal.sqlite import JOURNAL_FILE, SqliteJournal
from fairshare.runtime.recovery import recover
from fairshare.runtime.runtime import Runtime
from fairshare.runtime.snapshot import freeze
from fairshare.server.long_history import Bounds, LongHistory
from fairshare.settings.registry import family_of

SITE = """<configuration>
<property><name>yarn.resourcemanager.scheduler.class</name>
<value>org.apache.hadoop.yarn.server.resourcemanager.scheduler.fair.FairScheduler</value></property>
<property><name>yarn.scheduler.minimum-allocation-mb</name><value>1024</value></property>
</configuration>"""


def files(weight: float) -> str:
    return (
        "<allocations>"
        f"<queue name='a'><weight>{weight}</weight></queue>"
        "<queue name='b'><weight>1.0</weight></queue>"
        "</allocations>"
    )


CLUSTER = "memory-mb=4096,vcores=4"


@pytest.fixture
def history(tmp_path):
    """Queues a and b have 12 tasks of 10 s each; four run at once, of which three are of a."""
    return recorded(tmp_path, 12)


def settings_of(weight, **scheduling):
    queues = {
        "root.a": QueueSettings("root.a", weight=weight),
        "root.b": QueueSettings("root.b", weight=1.0),
    }
    return FairSettings(allocations=AllocationSettings(queues=queues, from_file=True), **scheduling)


def recorded(tmp_path, tasks, until_ms=None, **scheduling):
    """A state directory with the history of two applications, or its first part."""
    settings = settings_of(3.0, **scheduling)
    arrivals = tuple(
        Arrival(
            0,
            SubmitApplication(user, queue, tasks=(TaskGroup("g", tasks, (1024, 1)),)),
            (GroupPlan(10_000),),
        )
        for user, queue in (("ann", "root.a"), ("bob", "root.b"))
    )
    state, journal = state_directory(tmp_path)
    manager = ResourceManager(family_of("fair").create(ResourceTypes()))
    workload = Workload((NodeJoined("n1", (4096, 4)),), arrivals)
    Simulator(manager, msgspec.json.encode(settings), workload, journal).run(until_ms)
    journal.close()
    return state


def state_directory(tmp_path):
    """A state directory of a fair cluster, and its journal."""
    state = tmp_path / "state"
    state.mkdir()
    identity = {
        "scheduler": "fair",
        "resource_types": ["memory-mb", "vcores"],
        "units": ["Mi", ""],
        "epoch_ms": EPOCH_MS,
    }
    (state / "cluster.json").write_text(json.dumps(identity))
    return state, SqliteJournal(state)


def plan(tmp_path, history, weight, *options, allocations=None):
    conf = tmp_path / "conf"
    conf.mkdir(exist_ok=True)
    (conf / "yarn-site.xml").write_text(SITE)
    (conf / "fair-scheduler.xml").write_text(allocations or files(weight))
    return CliRunner().invoke(fairshare, ["plan", str(conf), "--against", str(history), *options])


def test_the_first_line_says_that_the_history_is_reproduced(tmp_path, history):
    reported = plan(tmp_path, history, 3.0)
    assert reported.exit_code == 0, reported.output
    assert reported.stdout.splitlines()[0] == (
        "the settings in force reproduce the history: 24 of 24 decisions"
    )
    assert "No application ends at another time." in reported.stdout


def test_a_lighter_queue_ends_later(tmp_path, history):
    found = json.loads(plan(tmp_path, history, 1.0, "--json").stdout)
    assert found["proof"] == {"grants": 24, "reproduced": 24, "largest_ms": 0}
    (later,) = found["moved"]
    assert (later["user"], later["before_ms"], later["after_ms"]) == ("ann", 40_000, 60_000)
    assert {"setting": "allocations.queues.root.a.weight", "before": 3.0, "after": 1.0} in found[
        "changes"
    ]


ONLY_A = (
    "<allocations><queue name='a'><weight>3.0</weight></queue><queuePlacementPolicy>"
    "<rule name='specified' create='false'/><rule name='reject'/></queuePlacementPolicy>"
    "</allocations>"
)


def test_what_the_new_settings_refuse_comes_first_and_fails_the_plan(tmp_path, history):
    reported = plan(tmp_path, history, 3.0, allocations=ONLY_A)
    assert reported.exit_code == 1
    lines = reported.stdout.splitlines()
    assert lines[1] == (
        "1 application of 2 is refused, and the times below are those of the others:"
    )
    assert lines[2].startswith("  1 of b: ")
    (heads,) = [line for line in lines if line.startswith("Queue")]
    assert "Refused" in heads


def test_sums_before_and_after_are_over_the_same_applications(tmp_path, history):
    found = json.loads(plan(tmp_path, history, 3.0, "--json", allocations=ONLY_A).stdout)
    assert [(one["queue"], one["applications"]) for one in found["refused"]] == [("root.b", 1)]
    assert found["refused"][0]["reason"]
    whole = found["whole"]
    assert [whole[side]["refused"] for side in ("before", "after")] == [0, 1]
    assert [whole[side]["applications"] for side in ("before", "after")] == [2, 2]
    # Ann's turnaround is 40 s beside bob's work and 30 s without it; his 60 s are in neither.
    assert [whole[side]["turnaround_mean"] for side in ("before", "after")] == [40_000, 30_000]
    assert [one["name"] for one in found["queues"]] == ["root.a", "root.b"]


def test_settings_that_do_not_change_have_the_same_results_as_before(history):
    world = read_world(history)
    worse = msgspec.structs.replace(world, pace=None, lives={})  # it is not reproduced exactly
    for each in (world, worse):
        found = planned(each, Proposal("fair", settings_of(3.0)))
        assert found.changes == ()
        assert found.moved == ()
        for difference in (found.whole, *found.queues, *found.users):
            assert difference.before == difference.after


def test_ctrl_c_ends_a_plan_without_one(tmp_path, history, monkeypatch):
    handle = Rerun._go

    def interrupted(self):
        if self.now_ms >= 20_000:
            signal.raise_signal(signal.SIGINT)
        handle(self)

    monkeypatch.setattr(Rerun, "_go", interrupted)
    reported = plan(tmp_path, history, 1.0)
    assert reported.exit_code == 130
    assert reported.stdout == ""
    assert "there is no plan, as a comparison of a part would be misleading" in reported.stderr


def test_the_line_of_progress_says_which_simulation_is_how_far(history):
    shown = {}

    class Seen(Watch):
        def __call__(self, now_ms):
            found = super().__call__(now_ms)
            shown.setdefault(self._text().split(",")[0])
            return found

    with Seen(at_once=True) as watch:
        reproduced(read_world(history), 1_000, None, watch)
    assert "the settings in force: 0.0111 h simulated" in shown  # 40 s


HEARTBEATS = (
    "<property><name>yarn.resourcemanager.nodemanagers.heartbeat-interval-ms</name>"
    "<value>3000</value></property></configuration>"
)


def test_a_history_is_simulated_with_its_own_interval_of_heartbeats(tmp_path, history, monkeypatch):
    monkeypatch.setitem(globals(), "SITE", SITE.replace("</configuration>", HEARTBEATS))
    intervals = []
    create = Rerun.__init__

    def noted(self, *given, **options):
        intervals.append(options["beat_interval_ms"])
        create(self, *given, **options)

    monkeypatch.setattr(Rerun, "__init__", noted)
    found = json.loads(plan(tmp_path, history, 3.0, "--json").stdout)
    assert intervals == [1_000, 3_000]
    assert found["recorded_heartbeat_interval_ms"] == 1_000
    change = {"setting": "heartbeat_interval_ms", "before": 1_000, "after": 3_000}
    assert change in found["changes"]


@pytest.mark.parametrize(("name", "is_said"), [("heartbeat_interval_ms", False), ("none", True)])
def test_a_plan_that_is_not_exact_says_if_the_interval_of_heartbeats_is_not_known(
    tmp_path, history, monkeypatch, name, is_said
):
    # The settings of FIFO and pools do not have it.
    monkeypatch.setattr("fairshare.lab.plan.planning.HEARTBEATS", name)
    monkeypatch.setattr("fairshare.lab.plan.planning.proof_of", lambda *_: Proof(24, 20, 0))
    sentence = "the history does not say how often nodes sent heartbeats"
    shown = " ".join(plan(tmp_path, history, 3.0).stdout.split())
    assert "20 of 24 decisions" in shown
    assert (sentence in shown) is is_said


@pytest.fixture
def instants(monkeypatch):
    """Of each simulation, in their order, the instants that it handled."""
    found = {}
    handle = Rerun._go

    def counted(self):
        found.setdefault(self, []).append(self.now_ms)
        handle(self)

    monkeypatch.setattr(Rerun, "_go", counted)
    return found


@pytest.mark.slow
def test_only_the_best_try_goes_on_after_a_history_that_ends_with_live_applications(
    tmp_path, instants
):
    scheduling = {"preemption": True, "preemption_utilization_threshold": -1.0}
    whole = read_world(recorded(tmp_path, 12, until_ms=15_000, **scheduling))
    # Without its node nothing is granted, and applications that starve are looked at for ever.
    end_ms = whole.end_ms
    last = Entry(end_ms, 10_000, 10_000, NodeLost("n1"))
    later = [msgspec.structs.replace(one, at_ms=one.at_ms + 500) for one in whole.grants]
    world = msgspec.structs.replace(whole, entries=(*whole.entries, last), grants=tuple(later))
    found = reproduced(world, 1_000, None)
    assert {one.state for one in found.applications.values()} == {""}
    compared_ms = end_ms + NEAR_MS
    lengths = [sum(at_ms > compared_ms for at_ms in one) for one in instants.values()]
    assert 2 < len(lengths) <= 1 + 2 * MOST_TRIES
    assert sum(length > 0 for length in lengths) == 1
    # It ends soon after the history: without containers nothing could change any more.
    assert IDLE_MS < found.competed.waited_ms < IDLE_MS + 60_000


@pytest.mark.parametrize("beats", [1, 2, 3, 5])
def test_a_history_of_a_server_that_was_held_up_between_two_turns_is_reproduced(tmp_path, beats):
    """A turn ends after some beats of nodes, and the machine lets the server go on only later."""
    state, journal = state_directory(tmp_path)
    manager = ResourceManager(family_of("fair").create(ResourceTypes()))
    nodes = tuple(NodeJoined(name, (4096, 4)) for name in ("n1", "n2"))
    queues = {name: QueueSettings(name) for name in ("root.a", "root.b")}
    settings = FairSettings(allocations=AllocationSettings(queues=queues, from_file=True))
    simulator = Simulator(manager, msgspec.json.encode(settings), Workload(nodes, ()), journal)
    simulator.run(400)
    asked = itertools.count(1)
    for at_ms, queue, enough in (
        (500, "root.a", lambda: next(asked) >= beats),
        (590, "root.b", None),
    ):
        group = TaskGroup("g", 6, (1024, 1))
        arrival = Arrival(0, SubmitApplication("ann", queue, tasks=(group,)), (GroupPlan(3_000),))
        simulator._move(at_ms)
        simulator._outcomes.expect(arrival)
        started, simulator._reported = simulator._reported, []
        simulator.runtime.turn(at_ms, [*started, arrival.submission], enough)
    simulator.run()
    journal.close()
    world = read_world(state)
    found = reproduced(world, 1_000, None)
    assert sum(grant.at_ms == 500 for grant in world.grants) == beats
    assert proof_of(world, found) == Proof(12, 12, 0)


def test_what_was_stopped_and_had_not_ended_keeps_its_room_to_the_end_of_the_history(tmp_path):
    """One container ends 10 ms after it was killed, another has not ended 300 ms after that."""
    state, journal = state_directory(tmp_path)
    engine = ManualEngine(starts=False, stops=False)
    runtime = Runtime(ResourceManager(family_of("fair").create(ResourceTypes())), journal, engine)
    runtime.turn(0, [LoadConfiguration(msgspec.json.encode(FairSettings()), EPOCH_MS)])
    runtime.turn(0, [NodeJoined("n1", (2048, 2))])
    group = TaskGroup("g", 1, (1024, 1), Command(("true",)))
    runtime.turn(0, [SubmitApplication("ann", tasks=(group,)) for _ in range(2)])
    runtime.turn(1_000, [])
    one, two = sorted(engine.live)
    started = [ContainerStarted(container, holds_room=True) for container in (one, two)]
    runtime.turn(1_001, started)
    runtime.turn(2_000, [KillApplication(1), KillApplication(2)])
    runtime.turn(2_010, [ContainerExited(one, 143, "stopped")])
    runtime.turn(2_300, [NodeJoined("n2", (1024, 1))])
    journal.close()
    lives = read_world(state).lives
    assert lives[1, 0, 0][0].stop_ms == 10
    assert lives[2, 0, 0][0].stop_ms > 300


def test_a_master_that_registers_in_a_turn_with_other_inputs_is_reproduced(tmp_path):
    """A busy server decides the start of a master, what that asks for, the end of its container and
    another submission in one turn: none of them waits until the others are decided."""
    state, journal = state_directory(tmp_path)
    manager = ResourceManager(family_of("fair").create(ResourceTypes()))
    runtime = Runtime(manager, journal, ManualEngine(tmp_path))
    queues = {"root.a": QueueSettings("root.a")}
    settings = FairSettings(allocations=AllocationSettings(queues=queues, from_file=True))
    loaded = LoadConfiguration(msgspec.json.encode(settings), EPOCH_MS)
    drive = Command(("drive",))
    driven = SubmitApplication("dan", "root.a", master=(1024, 1), driver=drive)
    tasks = SubmitApplication("ann", "root.a", tasks=(TaskGroup("g", 9, (1024, 1)),))
    runtime.turn(0, [loaded, NodeJoined("n1", (4096, 4)), driven])
    (master,) = manager.state.applications[1].containers
    asked = RequestContainers(1, (ContainerRequest(2, (1024, 1)),))
    registered = MasterRegistered(1)
    runtime.turn(1_010, [ContainerStarted(master), registered, asked, tasks])
    own = next(one for one in manager.state.applications[1].containers if one != master)
    runtime.turn(2_020, [LaunchContainer(1, own, drive)])
    ends = [ReleaseContainers(1, (own,)), UnregisterMaster(1), ContainerExited(master, 0)]
    runtime.turn(3_030, [*ends, msgspec.structs.replace(tasks, user="bob")])
    runtime.turn(4_040, [KillApplication(2), KillApplication(3)])
    known = [(one.now_ms, one.input, one.events) for one in journal.records()]
    journal.close()
    made = []
    again = ResourceManager(family_of("fair").create(ResourceTypes()))
    Rerun(read_world(state), again, paced=True, observers=(made.append,)).run(4_040)
    assert [(one.now_ms, one.input, one.events) for one in made] == known


def test_a_simulation_that_is_left_at_an_instant_goes_on_as_if_it_was_not(history):
    world = read_world(history)
    runs = []
    for stops in ((), (0, 4_999, 10_000, 10_000, 25_123)):
        records = []
        manager = ResourceManager(family_of("fair").create(ResourceTypes()))
        rerun = Rerun(world, manager, observers=(records.append,))
        for until_ms in stops:
            rerun.run(until_ms)
            assert max(one.now_ms for one in records) <= until_ms
        rerun.run()
        runs.append(records)
    assert runs[0] == runs[1]


def convert(tmp_path, weight, history, *options):
    conf = tmp_path / "conf"
    conf.mkdir(exist_ok=True)
    (conf / "yarn-site.xml").write_text(SITE)
    (conf / "fair-scheduler.xml").write_text(files(weight))
    arguments = ["convert", str(conf), "--compare", str(history), "--cluster", CLUSTER]
    return CliRunner().invoke(fairshare, [*arguments, *options])


def test_a_conversion_is_compared_on_a_servers_own_history(tmp_path, history):
    reported = convert(tmp_path, 3.0, history)
    assert reported.exit_code == 0, reported.output
    assert "the settings in force reproduce the history: 24 of 24 decisions" in reported.stdout
    assert "fair → capacity" in reported.stdout
    assert "Nothing competed" not in reported.stdout
    answer = json.loads(convert(tmp_path, 3.0, history, "--json").stdout)
    assert answer["plan"]["scheduler_after"] == "capacity"
    assert answer["plan"]["whole"]["after"]["applications"] == 2
    assert answer["plan"]["whole"]["after"]["refused"] == 0


def test_where_nothing_competed_a_plan_says_that_and_not_that_queues_fare_alike(tmp_path):
    state = recorded(tmp_path, tasks=1)
    for reported in (plan(tmp_path, state, 1.0), convert(tmp_path, 3.0, state)):
        assert reported.exit_code == 0, reported.output
        said = " ".join(reported.stdout.split())
        assert "Nothing competed: at most 50% of the cluster was in use, and nothing had" in said
        assert "alike" not in said


def test_a_conversion_is_compared_on_a_history_that_begins_with_a_state(tmp_path, history, kept):
    kept.trim(0, 0)
    answer = json.loads(convert(tmp_path, 3.0, history, "--json").stdout)["plan"]
    assert answer["proof"] == {"grants": 20, "reproduced": 20, "largest_ms": 0}
    before, after = answer["whole"]["before"], answer["whole"]["after"]
    assert (after["applications"], after["refused"], after["unfinished"]) == (2, 0, 0)
    assert after["containers"] == before["containers"] == 24
    assert after["wait_p95"] == before["wait_p95"] == 0


def test_a_condition_that_holds_sets_the_exit_code(tmp_path, history):
    reported = plan(tmp_path, history, 1.0, "--fail-if", "a turnaround_mean > +10%")
    assert reported.exit_code == 1
    assert "this holds: a turnaround_mean > +10%" in reported.stderr
    assert plan(tmp_path, history, 1.0, "--fail-if", "all preempted > 0").exit_code == 0


def entitlements(tmp_path, history, *options):
    """Of root.a, of all, and of ann, with a new weight of 9 for a: the part that was received."""
    found = json.loads(plan(tmp_path, history, 9.0, "--json", *options).stdout)
    shown = (found["queues"][0], found["whole"], found["users"][0])
    return [[one[side]["share_of_entitlement"] for side in ("before", "after")] for one in shown]


def test_queues_have_the_part_of_their_entitlement_that_they_received(tmp_path, history):
    # Of four slots a is due 3.6 with that weight, and has 3 as containers are whole: 12 of 13.8
    # slots times 10 s, as its last three tasks want 3. b is due the rest, and then all of them.
    of_a, of_all, of_ann = entitlements(tmp_path, history)
    assert of_a == [1.0, pytest.approx(12 / 13.8, abs=1e-3)]
    assert of_all == [1.0, pytest.approx(21.6 / 23.4, abs=1e-3)]
    assert of_ann == [None, None]  # a user has no fair share
    shown = plan(tmp_path, history, 9.0).stdout.splitlines()
    (row,) = [line for line in shown if line.startswith("a ")]
    assert row.endswith("100% → 87%")


def test_entitlements_are_known_from_a_state_on_too(tmp_path, history, kept):
    # From 20 s on, the last instant before 25 s: 10 s with 3 of 3.6, and 10 s with 3 of 3.
    of_a, _, _ = entitlements(tmp_path, history, "--last", "30s")
    assert of_a == [1.0, pytest.approx(6 / 6.6, abs=1e-3)]


def test_what_an_application_uses_counts_for_the_queue_to_which_it_is_moved(history):
    world = read_world(history)
    last = world.entries[-1]
    move = Entry(20_000, last.number + 1, last.turn + 1, MoveApplication(1, "root.b"))
    moved = msgspec.structs.replace(world, entries=(*world.entries, move))
    received = reproduced(moved, 1_000, None).received
    assert received.queues == {"root.a": 1.0, "root.b": 1.0}


@pytest.mark.parametrize(
    ("condition", "code", "words"),
    [
        ("root.a share_of_entitlement < -10%", 1, "this holds"),
        ("root.a share_of_entitlement < -20%", 0, ""),
        ("a share_of_entitlement < 0.9", 1, "this holds"),
        ("ann share_of_entitlement < 0.9", 1, "'ann' is a user, and only queues have"),
    ],
)
def test_a_plan_can_fail_by_the_entitlement_of_a_queue(tmp_path, history, condition, code, words):
    reported = plan(tmp_path, history, 9.0, "--fail-if", condition)
    assert reported.exit_code == code
    assert words in reported.stderr


def test_a_queue_that_is_no_longer_entitled_to_anything_fails_no_condition_on_it():
    before = msgspec.structs.replace(sums([outcome(0)], 0), share_of_entitlement=0.5)
    after = sums([outcome(0)], 0)
    assert not parse_condition("a share_of_entitlement > +10%").holds(before, after)


@pytest.fixture
def kept(history):
    """The same history with the states after 5 and 25 s, in which four containers run."""
    journal = SqliteJournal(history)
    records = list(journal.records())
    for at_ms in (5_000, 25_000):
        manager = ResourceManager(family_of("fair").create(ResourceTypes()))
        position = recover([one for one in records if one.now_ms <= at_ms], manager.state)
        journal.save(freeze(position.sequence, position.now_ms, {"manager": manager}))
    yield journal
    journal.close()


def test_the_last_part_of_a_history_begins_with_a_state_that_the_journal_keeps(
    tmp_path, history, kept
):
    reported = plan(tmp_path, history, 3.0, "--last", "30s")
    assert reported.stdout.splitlines()[0] == (
        "the settings in force reproduce the history: 12 of 12 decisions"
    )
    assert "while 4 containers were running" in reported.stdout
    longer = json.loads(plan(tmp_path, history, 3.0, "--last", "14d", "--json").stdout)
    assert longer["proof"]["grants"] == 24


def test_a_lighter_queue_ends_later_from_a_state_on_too(tmp_path, history, kept):
    assert kept.trim(0, 0) > 0
    found = json.loads(plan(tmp_path, history, 1.0, "--json").stdout)
    assert found["proof"] == {"grants": 20, "reproduced": 20, "largest_ms": 0}
    (later,) = found["moved"]
    assert (later["user"], later["before_ms"], later["after_ms"]) == ("ann", 40_000, 60_000)
    assert {"setting": "allocations.queues.root.a.weight", "before": 3.0, "after": 1.0} in found[
        "changes"
    ]


def test_a_plan_reaches_back_over_records_that_the_journal_has_trimmed(tmp_path, history, kept):
    with contextlib.closing(LongHistory.open_for_writing(history)) as longer:
        first, end = kept.spare(0, 0)
        longer.take(kept, end, Bounds(14, 2**30))
    kept.delete_up_to(end)
    assert (first, kept.first_record()) == (1, end + 1)
    found = json.loads(plan(tmp_path, history, 1.0, "--json").stdout)
    assert found["proof"] == {"grants": 24, "reproduced": 24, "largest_ms": 0}
    assert found["begin_ms"] == 0
    said = " ".join(plan(tmp_path, history, 1.0, "--last", "14d").stdout.split())
    assert "Reaches back to 1970-01-01 " in said
    assert "the history has no more of the last 14d" in said
    last = json.loads(plan(tmp_path, history, 1.0, "--last", "30s", "--json").stdout)
    assert (last["begin_ms"], last["begun"]) == (20_000, 4)


def test_another_scheduler_goes_on_with_what_a_state_has(tmp_path, history, kept):
    kept.trim(0, 0)
    conf = tmp_path / "conf"
    conf.mkdir()
    (conf / "yarn-site.xml").write_text(SITE.replace("fair.Fair", "fifo.Fifo"))
    arguments = ["plan", str(conf), "--against", str(history), "--json"]
    found = json.loads(CliRunner().invoke(fairshare, arguments).stdout)
    # The 12 tasks of ann run first, four at once; bob's are over after all 24, as before.
    turnarounds = {one["user"]: one["after_ms"] for one in found["moved"]}
    assert found["whole"]["after"]["unfinished"] == 0
    assert turnarounds == {"ann": 30_000}


def test_a_trimmed_journal_without_a_state_is_refused(tmp_path, history, kept):
    kept.trim(0, 0)
    kept.close()
    with contextlib.closing(sqlite3.connect(history / JOURNAL_FILE)) as file, file:
        file.execute("DELETE FROM snapshots")
    reported = plan(tmp_path, history, 3.0)
    assert reported.exit_code == 1
    assert "has no state from which the rest could be simulated: raise" in reported.stderr


@pytest.mark.parametrize(
    ("condition", "words"),
    [
        ("nonsense", "is not a condition: write"),
        ("a wait > +10%", "there is no 'wait', only wait_p50"),
        ("a wait_p50 > soon", "'soon' is not a duration"),
        ("moon wait_p50 > 5s", "no queue and no user of the history is 'moon'"),
    ],
)
def test_a_wrong_condition_is_refused(tmp_path, history, condition, words):
    reported = plan(tmp_path, history, 1.0, "--fail-if", condition)
    assert reported.exit_code != 0
    assert words in " ".join(reported.stderr.split())


def test_a_directory_without_a_history_is_refused(tmp_path, history):
    reported = plan(tmp_path, tmp_path, 1.0)
    assert reported.exit_code == 1
    assert "name a server's state directory with --against" in reported.stderr


def test_a_condition_compares_with_history_or_an_amount():
    before = sums([outcome(wait_ms=1_000)], 0)
    after = sums([outcome(wait_ms=1_200)], 0)
    never = sums([outcome(wait_ms=None)], 0)
    assert parse_condition("a wait_p95 > +10%").holds(before, after)
    assert not parse_condition("a wait_p95 > +25%").holds(before, after)
    assert parse_condition("a wait_p95 > 1s").holds(before, after)
    assert parse_condition("a wait_p95 < +0%").holds(after, before)
    assert parse_condition("a wait_p95 > +25%").holds(before, never)  # it never starts any more


def outcome(wait_ms):
    return Outcome(1, "job", "ann", "root.a", 0, "FINISHED", wait_ms, 60_000)


def test_settings_that_come_and_go_are_changes():
    found = changes({"a": 1, "b": {"c": 2}}, {"b": {"c": 2}, "d": 3})
    assert [(one.setting, one.before, one.after) for one in found] == [
        ("a", 1, None),
        ("d", None, 3),
    ]


def test_draws_of_the_history_say_which_changes_are_not_due_to_chance(tmp_path, history):
    found = json.loads(plan(tmp_path, history, 1.0, "--seeds", "4", "--json").stdout)
    drawn = {(one["name"], one["metric"]): one["change"] for one in found["draws"]}
    turnaround = drawn["root.a", "turnaround_mean"]
    assert turnaround["runs"] == 4
    assert 0 < turnaround["low"] <= turnaround["mean"] <= turnaround["high"]
    shown = plan(tmp_path, history, 1.0, "--seeds", "4").stdout
    assert "In 4 draws" in shown
    assert plan(tmp_path, history, 1.0, "--seeds", "4").stdout == shown


def test_draws_of_an_unchanged_history_have_no_change(tmp_path, history):
    found = json.loads(plan(tmp_path, history, 3.0, "--seeds", "3", "--json").stdout)
    assert {tuple(one["change"].values()) for one in found["draws"]} == {(0.0, 0.0, 0.0, 3)}


def test_one_draw_is_refused(tmp_path, history):
    assert plan(tmp_path, history, 1.0, "--seeds", "1").exit_code == 2


WORK = """
nodes:
  - {name: n1, resources: {memory-mb: 4096, vcores: 4}}
applications:
  - at: 0s
    user: ann
    queue: root.a
    groups: [{name: g, count: 12, resources: {memory-mb: 1024, vcores: 1}, duration: 10s}]
  - at: 0s
    user: bob
    queue: root.b
    groups: [{name: g, count: 12, resources: {memory-mb: 1024, vcores: 1}, duration: 10s}]
"""


def of_trace(tmp_path, *options, weight=1.0):
    present = tmp_path / "present"
    present.mkdir()
    (present / "yarn-site.xml").write_text(SITE)
    (present / "fair-scheduler.xml").write_text(files(3.0))
    work = tmp_path / "work.yaml"
    work.write_text(WORK)
    return plan(tmp_path, work, weight, *options)


def test_a_trace_has_the_history_that_the_present_configuration_gives_it(tmp_path):
    reported = of_trace(tmp_path, "--present", str(tmp_path / "present"), "--json")
    assert reported.exit_code == 0, reported.output
    found = json.loads(reported.stdout)
    assert found["proof"] == {"grants": 24, "reproduced": 24, "largest_ms": 0}
    (later,) = found["moved"]
    assert (later["user"], later["before_ms"], later["after_ms"]) == ("ann", 40_000, 60_000)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ((), "is a trace, which has no settings in force: name the configuration"),
        (("--last", "1d"), "--last cannot be given here"),
    ],
)
def test_a_trace_needs_the_present_configuration_and_has_no_last_part(tmp_path, options, words):
    reported = of_trace(tmp_path, *options)
    assert reported.exit_code != 0
    assert words in " ".join(reported.stderr.split())


def test_options_of_traces_are_refused_for_the_history_of_a_server(tmp_path, history):
    reported = plan(tmp_path, history, 3.0, "--limit", "5")
    assert reported.exit_code == 2
    assert "--limit cannot be given here" in reported.stderr


def test_a_goal_is_met_by_the_smallest_change_of_each_kind(tmp_path, history):
    found = json.loads(
        without_conf(history, "--goal", "root.b turnaround_mean < 50s", "--json").stdout
    )
    weight, nodes = found["goal"]
    assert weight["change"].startswith("weight of root.b ")
    assert nodes == {"change": "1 more node", "value": 30_000.0, "meets": True, "tried": 1}
    after = {one["name"]: one["after"]["turnaround_mean"] for one in found["queues"]}
    assert after["root.b"] == weight["value"] < 50_000
    (changed,) = found["changes"]
    assert changed["setting"] == "allocations.queues.root.b.weight"


def test_a_goal_of_a_user_is_met_by_nodes_alone(history):
    found = json.loads(
        without_conf(history, "--goal", "bob turnaround_mean < 35s", "--json").stdout
    )
    assert [one["change"] for one in found["goal"]] == ["1 more node"]
    shown = without_conf(history, "--goal", "bob turnaround_mean < 25s").stdout
    assert "the goal is met by 2 more nodes, the smallest of 2 that were tried" in shown


@pytest.mark.parametrize(
    ("goal", "words"),
    [
        ("root.b turnaround_mean < 1s", "no change that was tried meets the goal"),
        ("root.x wait_p95 < 1s", "no queue and no user of the history is 'root.x'"),
        ("soon", "is not a condition"),
    ],
)
def test_a_goal_that_cannot_be_searched_is_named(history, goal, words):
    reported = without_conf(history, "--goal", goal)
    assert reported.exit_code != 0
    assert words in " ".join(reported.stderr.split())


def test_a_goal_that_is_met_already_ends_well_with_the_plan_without_a_further_change(
    tmp_path, history
):
    shown = without_conf(history, "--goal", "root.b turnaround_mean < 90s")
    assert shown.exit_code == 0, shown.output
    assert "the goal is met without a further change" in shown.stdout
    assert "No application ends at another time." in shown.stdout
    of_more = plan(tmp_path, history, 0.2, "--goal", "root.b turnaround_mean < 50s", "--json")
    assert of_more.exit_code == 0, of_more.output
    found = json.loads(of_more.stdout)
    (met,) = found["goal"]
    assert (met["change"], met["meets"], met["tried"]) == ("as it is", True, 0)
    assert "allocations.queues.root.a.weight" in {one["setting"] for one in found["changes"]}


def test_what_a_goal_that_no_change_meets_reaches_is_said(history):
    reported = without_conf(history, "--goal", "root.b turnaround_mean < 1s")
    assert "weight of root.b 16: 40.0 s; 3 more nodes: 20.0 s" in reported.stderr


def test_settings_of_an_earlier_release_are_those_of_today_with_the_defaults(tmp_path, history):
    with contextlib.closing(SqliteJournal(history)) as journal:
        records = [*journal.records()]
    older = tmp_path / "older"
    older.mkdir()
    (older / "cluster.json").write_bytes((history / "cluster.json").read_bytes())
    with contextlib.closing(SqliteJournal(older)) as journal:
        for record in records:
            if type(record.input) is LoadConfiguration:
                tree = json.loads(record.input.settings)
                del tree["fairness"]  # as one that did not know it
                given = LoadConfiguration(json.dumps(tree).encode(), record.input.epoch_ms)
                record = msgspec.structs.replace(record, input=given)
            journal.append(record)
        journal.commit()
    assert plan(tmp_path, older, 3.0).stdout == plan(tmp_path, history, 3.0).stdout


def without_conf(history, *options):
    return CliRunner().invoke(fairshare, ["plan", "--against", str(history), *options])
