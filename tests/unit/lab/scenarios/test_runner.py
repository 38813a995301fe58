"""The runner on the Fair Scheduler, one small cluster: two nodes, one queue."""

import pytest

from fairshare.errors import ConfigurationError
from fairshare.lab.scenarios.document import read_scenario
from fairshare.lab.scenarios.runner import Runner

FILE = '<allocations><queue name="q"><maxAMShare>-1</maxAMShare></queue></allocations>'
CLUSTER = f"""
scenario: 1
scheduler: fair
config: {{fair-scheduler.xml: '{FILE}'}}
properties: {{yarn.scheduler.maximum-allocation-mb: 4096}}
groups: {{ann: [staff]}}
nodes:
  - {{name: n, count: 2, resources: {{memory-mb: 4096, vcores: 4}}}}
steps:
"""
ASK = "{count: 2, resources: {memory-mb: 1024, vcores: 1}}"
MASTER = "am: {memory-mb: 1024, vcores: 1}"


def run(*lines, cluster=CLUSTER):
    """The runner after these steps, and the outcome of each."""
    scenario = read_scenario(cluster + "\n".join(f"  - {line}" for line in lines), "s.yaml")
    runner = Runner(scenario, verify=True)
    return runner, [runner.step(step) for step in scenario.steps]


def words(outcome):
    return [(event["event"], event.get("app")) for event in outcome.events]


def test_nothing_of_the_start_is_recorded():
    _, (outcome,) = run("expect: {}")
    assert outcome.events == []
    assert outcome.error is None


def test_an_unmanaged_application_runs_and_asks_at_once():
    runner, (outcome,) = run(f"submit: {{app: a, queue: q, asks: [{ASK}]}}")
    assert outcome.events == [{"event": "app", "app": "a", "state": "RUNNING"}]
    assert runner.describe()["apps"]["a"]["pending"] == {"memory-mb": 2048, "vcores": 2}


def test_a_master_asks_when_it_has_its_container():
    runner, outcomes = run(
        f"submit: {{app: a, queue: q, {MASTER}, asks: [{ASK}]}}", "update: 1", "heartbeat: n1"
    )
    assert words(outcomes[0]) == [("app", "a")]
    assert outcomes[0].events[0]["state"] == "PENDING"
    allocated, running = outcomes[2].events
    assert allocated["am"] is True
    assert allocated["priority"] == 0
    assert running == {"event": "app", "app": "a", "state": "RUNNING"}
    assert runner.describe()["apps"]["a"]["pending"] == {"memory-mb": 2048, "vcores": 2}


def test_asks_that_are_refused_when_they_become_live_do_not_refuse_the_application():
    runner, (outcome,) = run(
        "submit: {app: a, queue: q, asks: [{resources: {memory-mb: 9999, vcores: 1}}]}"
    )
    assert outcome.error is None
    assert words(outcome) == [("error", "a"), ("app", "a")]
    assert "9999" in outcome.events[0]["message"]
    assert runner.describe()["apps"]["a"]["state"] == "RUNNING"


def test_a_refused_application_stays_known():
    runner, outcomes = run(
        "submit: {app: a, user: bob, queue: q.below}",
        f"submit: {{app: b, queue: q, asks: [{ASK}]}}",
    )
    assert outcomes[0].error
    assert outcomes[0].events == [
        {"event": "app", "app": "a", "state": "REJECTED", "why": outcomes[0].error}
    ]
    apps = runner.describe()["apps"]
    assert (apps["a"]["state"], apps["a"]["user"]) == ("REJECTED", "bob")
    assert "queue" not in apps["a"]
    assert apps["b"]["state"] == "RUNNING"


@pytest.mark.parametrize(
    ("step", "text"),
    [
        ("ask: {app: x, asks: []}", "no application x"),
        ("finish: x", "no application x"),
        ("kill: x", "no application x"),
        ("move: {app: x, queue: q}", "no application x"),
        ("heartbeat: n9", "no node n9"),
        ("node: {remove: n9}", "no node n9"),
        ("node: {resize: {name: n9, resources: {}}}", "no node n9"),
        ("node: {add: {name: n1, resources: {}}}", "there is a node n1 already"),
        ("submit: {app: a}", "application a was submitted before"),
        ("submit: {app: b, am: {gpu: 1}}", "unknown resource type 'gpu'"),
        ("reload: {yarn-site.xml: <configuration/>}", "reads fair-scheduler.xml again"),
        ("reload: {properties: {a: 1}}", "not properties"),
        ("reload: {fair-scheduler.xml: <nothing/>}", "allocations"),
    ],
)
def test_a_step_that_cannot_be_done_says_why_and_the_scenario_goes_on(step, text):
    _, outcomes = run("submit: {app: a, queue: q}", step, "update: 1")
    assert text in outcomes[1].error
    assert outcomes[2].error is None


def test_containers_end_the_oldest_first_and_never_the_masters():
    runner, outcomes = run(
        f"submit: {{app: a, queue: q, {MASTER}, asks: [{ASK}]}}",
        "update: 1",
        "heartbeat: n1",
        "update: 1",
        "heartbeat: [n2, n1]",
        "finish: {app: a, containers: 1}",
        "finish: {app: a, containers: 5}",
    )
    (first,) = outcomes[5].events
    assert (first["event"], first["node"], first["exit"]) == ("completed", "n2", 0)
    assert "am" not in first
    assert [event["node"] for event in outcomes[6].events] == ["n1"]
    assert [container["am"] for container in runner.describe()["apps"]["a"]["list"]] == [True]


def test_a_finished_application_whose_master_never_ran_counts_as_finished():
    _, outcomes = run(f"submit: {{app: a, queue: q, {MASTER}}}", "finish: a", "finish: a")
    assert outcomes[1].events == [{"event": "app", "app": "a", "state": "FINISHED"}]
    assert outcomes[2].error


def test_what_has_ended_can_be_killed_and_nothing_happens():
    _, outcomes = run("submit: {app: a, queue: q}", "finish: a", "kill: a")
    assert (outcomes[2].error, outcomes[2].events) == (None, [])


def test_a_lost_master_means_another_attempt_with_the_same_asks():
    runner, outcomes = run(
        f"submit: {{app: a, queue: q, {MASTER}, asks: [{ASK}]}}",
        "update: 1",
        "heartbeat: n1",
        "node: {remove: n1}",
        "update: 1",
        "heartbeat: n2",
    )
    assert words(outcomes[3]) == [("completed", "a"), ("app", "a")]
    assert outcomes[5].events[0]["attempt"] == 2
    described = runner.describe()["apps"]["a"]
    assert (described["attempt"], described["state"]) == (2, "RUNNING")
    assert described["pending"] == {"memory-mb": 2048, "vcores": 2}


def test_a_duration_counts_from_the_launch_and_only_in_run():
    ask = "{count: 3, resources: {memory-mb: 1024, vcores: 1}, duration: 2s}"
    runner, outcomes = run(
        f"submit: {{app: a, queue: q, asks: [{ask}]}}",
        "update: 1",
        "heartbeat: n1",
        "advance: 10s",
        "expect: {}",
        "run: {for: 0s}",
        "run: {for: 3s, heartbeat: 1s}",
    )
    assert outcomes[3].events == outcomes[4].events == []
    assert words(outcomes[5]) == [("completed", "a")]
    # Both nodes beat after 1 s; what they launched then ends 2 s later, before they beat again.
    assert words(outcomes[6]) == [("allocated", "a")] * 2 + [("completed", "a")] * 2
    assert runner.describe()["time"] == 13_000


def test_asks_of_a_master_that_does_not_run_leave_no_duration_behind():
    refused = "{count: 1, resources: {memory-mb: 1024, vcores: 1}, duration: 1s}"
    _, outcomes = run(
        f"submit: {{app: a, queue: q, {MASTER}, asks: [{ASK}]}}",
        f"ask: {{app: a, asks: [{refused}]}}",
        "run: {for: 10s, heartbeat: 1s}",
    )
    assert outcomes[1].error
    assert ("completed", "a") not in words(outcomes[2])


def test_a_recovering_master_registers_without_a_container():
    runner, (outcome,) = run(
        f"submit: {{app: a, queue: q, {MASTER}, asks: [{ASK}], recovering: true}}"
    )
    assert outcome.error is None
    assert runner.describe()["apps"]["a"]["state"] == "PENDING"


def test_a_bad_configuration_is_refused_at_the_start():
    with pytest.raises(ConfigurationError, match=r"fair-scheduler\.xml:1"):
        run("update: 1", cluster=CLUSTER.replace("-1<", "much<"))


def test_a_bad_yarn_site_is_refused_with_its_own_name():
    site = "yarn-site.xml: <allocations/>, "
    with pytest.raises(ConfigurationError, match=r"yarn-site\.xml:1"):
        run("update: 1", cluster=CLUSTER.replace("config: {", "config: {" + site))


@pytest.mark.parametrize(
    ("toml", "words"),
    [
        ("[fairness]\\nhalf_life_s = 0", "fairness.half_life_s"),
        ("[bookings]\\npreempt = true", "unknown key 'preempt'"),
        ("[fairness.budgets.x]\\nqueue = 'a'\\nhours = 1", "no resource type 'yarn.io/gpu'"),
        ("[bookings\\nx", "fairshare.toml:1"),
    ],
)
def test_a_wrong_section_of_fairshare_toml_is_refused_at_the_start(toml, words):
    config = f'config: {{fairshare.toml: "{toml}", '
    with pytest.raises(ConfigurationError) as error:
        run("update: 1", cluster=CLUSTER.replace("config: {", config))
    assert words in str(error.value)


def test_further_resource_types_come_from_their_file():
    types = (
        "resource-types.xml: '<configuration><property><name>yarn.resource-types</name>"
        "<value>gpu</value></property></configuration>', "
    )
    runner, _ = run("update: 1", cluster=CLUSTER.replace("config: {", "config: {" + types))
    assert runner.type_names == ("memory-mb", "vcores", "gpu")
    assert runner.describe()["nodes"]["n1"]["total"]["gpu"] == 0
