import json
from pathlib import Path

from fairshare.lab.scenarios.document import read_scenario
from fairshare.lab.verbs.scenarios import record, record_text

TEXT = """
scenario: 1
name: a name
scheduler: fair
config: {fair-scheduler.xml: '<allocations><queue name="q"/></allocations>'}
properties:
  yarn.scheduler.increment-allocation-mb: 512
nodes:
  - {name: n1, rack: /r1, resources: {memory-mb: 4096, vcores: 4}}
steps:
  - submit: {app: a, user: u, queue: q, asks: [{count: 1, resources: {memory-mb: 3000, vcores: 1}}]}
  - submit: {app: b, user: u, queue: q, asks: [{count: 2, resources: {memory-mb: 3000, vcores: 1}}]}
  - update: 1
  - heartbeat: {node: n1, times: 2}
  - expect: {cluster: {containers: 1}}
  - kill: b
  - finish: a
  - move: {app: a, queue: q, error: true}
"""
AMOUNT = {"memory-mb": 3072, "vcores": 1}


def written(states="all", text=TEXT):
    return record(read_scenario(text, "s.yaml"), states)


def test_a_record_has_every_step_in_order():
    steps = written("end")["steps"]
    assert [(step["step"], step["kind"]) for step in steps] == list(
        enumerate(["submit", "submit", "update", "heartbeat", "expect", "kill", "finish", "move"])
    )


def test_events_have_the_records_words():
    steps = written("end")["steps"]
    assert steps[3]["events"] == [
        {
            "event": "allocated",
            "app": "a",
            "container": 1,
            "node": "n1",
            "priority": 1,
            "resource": AMOUNT,
        },
        {"event": "reserved", "app": "b", "node": "n1", "priority": 1, "resource": AMOUNT},
    ]
    assert steps[5]["events"] == [
        {"event": "unreserved", "app": "b", "node": "n1", "priority": 1, "resource": AMOUNT},
        {"event": "app", "app": "b", "state": "KILLED"},
    ]
    completed, ended = steps[6]["events"]
    assert (completed["event"], completed["exit"], completed["resource"]) == (
        "completed",
        -100,
        AMOUNT,
    )
    assert ended == {"event": "app", "app": "a", "state": "FINISHED"}
    assert "events" not in steps[2]
    assert steps[7]["error"]


def test_a_fulfilled_reservation_is_recorded_as_an_allocation():
    more = TEXT.replace("- kill: b", "- finish: {app: a, containers: 1}\n  - heartbeat: n1")
    steps = written("end", more)["steps"]
    (allocated,) = steps[6]["events"]
    assert (allocated["event"], allocated["app"], allocated["reserved"]) == ("allocated", "b", True)


def test_containers_are_recorded_when_marked_for_preemption_and_when_killed():
    path = Path(__file__).parents[3] / "scenarios" / "own" / "victims-are-marked-then-killed.yaml"
    steps = written("end", path.read_text(encoding="utf-8"))["steps"]
    events = [event for step in steps for event in step.get("events", ())]
    marked = [event for event in events if event["event"] == "marked"]
    killed = [event for event in events if event["event"] == "completed"]
    assert [set(event) for event in marked] == [{"event", "app", "container"}] * 4
    assert [event["exit"] for event in killed] == [-102] * 4
    assert [event["container"] for event in killed] == [event["container"] for event in marked]


def test_states_are_written_after_all_steps_or_checks_or_none():
    def with_state(states):
        return [step["step"] for step in written(states)["steps"] if "state" in step]

    assert with_state("all") == list(range(8))
    assert with_state("checks") == [4]
    assert with_state("end") == []
    assert written("end")["state"]["apps"]["a"]["state"] == "FINISHED"


def test_the_state_describes_applications_queues_nodes_and_cluster():
    state = written("checks")["steps"][4]["state"]
    a = state["apps"]["a"]
    assert (a["queue"], a["user"], a["on"], a["used"]) == ("root.q", "u", {"n1": 1}, AMOUNT)
    assert a["list"] == [{"container": 1, "node": "n1", "priority": 1, "resource": AMOUNT}]
    assert state["apps"]["b"]["reserved"] == AMOUNT
    assert state["queues"]["root.q"]["fair_share"] == {"memory-mb": 4096, "vcores": 0}
    assert state["queues"]["root.q"]["weight"] == 1.0
    assert state["nodes"]["n1"]["reserved_for"] == "b"
    assert state["nodes"]["n1"]["rack"] == "/r1"
    assert state["cluster"] == {
        "total": {"memory-mb": 4096, "vcores": 4},
        "used": AMOUNT,
        "containers": 1,
        "apps_running": 2,
    }
    assert state["time"] == 0


def test_the_text_has_sorted_keys_and_one_line_for_each_step():
    text = record_text(written())
    lines = text.splitlines()
    assert json.loads(text) == written()
    assert lines[0] == '{"file": "s.yaml",'
    assert lines[1] == ' "name": "a name",'
    assert lines[2].startswith(' "state": {"apps": ')
    assert lines[3] == ' "steps": ['
    assert len(lines) == 4 + 8 + 1
    assert [json.loads(line.rstrip(","))["step"] for line in lines[4:12]] == list(range(8))


def test_a_record_is_the_same_each_time():
    assert record_text(written()) == record_text(written())


def test_a_refused_configuration_is_an_error_and_nothing_else():
    text = "scenario: 1\nname: bad\nscheduler: fair\nconfig: {fair-scheduler.xml: <queue/>}\n"
    found = written(text=text)
    assert "allocations" in found["error"]
    assert found["steps"] == []
    assert "state" not in found
