import pytest

from fairshare.errors import ConfigurationError
from fairshare.lab.scenarios import steps
from fairshare.lab.scenarios.document import NotAScenario, read_scenario

HEAD = "scenario: 1\nscheduler: fair\n"


def one_step(text):
    (step,) = read_scenario(f"{HEAD}steps:\n  - {text}\n", "s.yaml").steps
    return step


def problems_of(text):
    with pytest.raises(ConfigurationError) as caught:
        read_scenario(text, "s.yaml")
    return [str(problem) for problem in caught.value.problems]


def test_the_top_level_is_read_whole():
    scenario = read_scenario(
        """
        scenario: 1
        name: a name
        source: a source
        unlike_hadoop: why not
        scheduler: fair
        config: {yarn-site.xml: <configuration/>, fair-scheduler.xml: "<allocations/>"}
        properties: {a: true, b: 0.09, c: null, d: 010}
        groups: {ann: [staff, lab]}
        nodes:
          - {name: n, count: 2, rack: /r1, resources: {memory-mb: 1, vcores: 2}}
          - {name: m, resources: {memory-mb: 3}}
        steps: []
        """,
        "s.yaml",
    )
    assert scenario.name == "a name"
    assert scenario.unlike_hadoop == "why not"
    assert list(scenario.config) == ["fair-scheduler.xml", "yarn-site.xml"]
    assert scenario.properties == {"a": "true", "b": "0.09", "c": None, "d": "010"}
    assert scenario.groups == {"ann": ("staff", "lab")}
    assert [group.names for group in scenario.nodes] == [("n1", "n2"), ("m",)]
    assert [group.rack for group in scenario.nodes] == ["/r1", "/default-rack"]


def test_a_submission_has_a_clients_defaults():
    step = one_step("submit: {app: a1}")
    assert step == steps.Submit(line=4, kind="submit", app="a1")
    assert (step.user, step.queue, step.master, step.error) == ("user", "default", None, None)


def test_an_ask_is_read_whole():
    step = one_step(
        "ask: {app: a, asks: [{count: 4, resources: {vcores: 1}, priority: 2, id: 7, hosts: [n1],"
        " racks: [/r1], relax: false, duration: 30s}]}"
    )
    assert step.asks == (steps.Ask({"vcores": 1}, 4, 2, 7, ("n1",), ("/r1",), False, "", 30_000),)


@pytest.mark.parametrize(
    ("text", "nodes", "times"),
    [
        ("heartbeat: n1", ("n1",), 1),
        ("heartbeat: [n1, n2]", ("n1", "n2"), 1),
        ("heartbeat: {node: n1, times: 3}", ("n1",), 3),
        ("heartbeat: all", ("all",), 1),
    ],
)
def test_a_heartbeat_has_four_forms(text, nodes, times):
    step = one_step(text)
    assert (step.nodes, step.times) == (nodes, times)


def test_an_empty_node_to_finish_on_is_any_node():
    assert one_step("finish: {app: a1, containers: 2, on: ''}").on is None


def test_an_empty_queue_of_a_job_is_that_of_its_properties():
    head = "scenario: 1\nscheduler: mapreduce\ngeneration: '1.2'\nsteps:\n  - "
    (step,) = read_scenario(head + "submit: {app: a, queue: ''}\n", "s.yaml").steps
    assert step.queue is None


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("finish: a1", steps.Finish),
        ("finish: {app: a1}", steps.Finish),
        ("finish: {app: a1, containers: 2, on: n1}", steps.Finish),
        ("kill: a1", steps.Kill),
        ("kill: {app: a1, error: true}", steps.Kill),
        ("update: 2", steps.Update),
        ("preempt: 1", steps.Preempt),
        ("advance: 5s", steps.Advance),
        ("move: {app: a1, queue: q}", steps.Move),
        ("set_priority: {app: a1, priority: 3}", steps.SetPriority),
        ("node: {add: {name: n, resources: {}}}", steps.ChangeNode),
        ("node: {remove: n1}", steps.ChangeNode),
        ("node: {resize: {name: n1, resources: {vcores: 1}}}", steps.ChangeNode),
        ("reload: {}", steps.Reload),
        ("write: {fair-scheduler.xml: <allocations/>}", steps.Write),
        ("blacklist: {app: a1, add: [n1], remove: [n2]}", steps.Blacklist),
        ("release: {app: a1, containers: 2}", steps.Release),
        ("run: {for: 60s, heartbeat: 500ms}", steps.Run),
    ],
)
def test_every_step_has_its_struct_and_line(text, kind):
    step = one_step(text)
    assert type(step) is kind
    assert step.line == 4
    assert step.kind == text.partition(":")[0]


def test_expected_values_keep_their_path_and_line():
    scenario = read_scenario(
        HEAD
        + """steps:
  - expect:
      apps:
        a1: {containers: 3,
             used: {memory-mb: {about: 3, within: 1}}}
      queues: {root.q: {exists: false}}
      cluster: {containers: {min: 1}}
""",
        "s.yaml",
    )
    (step,) = scenario.steps
    assert [(check.where, check.expected, check.line) for check in step.checks] == [
        (("apps", "a1", "containers"), 3, 6),
        (("apps", "a1", "used"), {"memory-mb": {"about": 3, "within": 1}}, 7),
        (("queues", "root.q", "exists"), False, 8),
        (("cluster", "containers"), {"min": 1}, 9),
    ]


@pytest.mark.parametrize(
    ("text", "milliseconds"),
    [("5s", 5000), ("10ms", 10), ("1h30m", 5_400_000), ("1.5s", 1500), ("3", 3000), (".5", 500)],
)
def test_durations_have_units_and_a_bare_number_is_of_seconds(text, milliseconds):
    assert one_step(f"advance: {text}").duration_ms == milliseconds


@pytest.mark.parametrize("text", ["true", "TRUE", "yes", "on", "'true'"])
def test_truth_values_may_be_words_of_yaml_1_1(text):
    assert one_step(f"safe_mode: {text}").on is True


def test_memory_may_have_a_unit_in_what_happens_and_in_what_is_expected():
    submit = one_step("submit: {app: a, am: {memory-mb: 1.5g, vcores: 1}}")
    assert submit.master == {"memory-mb": 1536, "vcores": 1}
    (check,) = one_step("expect: {queues: {root.q: {used: {memory-mb: 8 GB, vcores: 2}}}}").checks
    assert check.expected == {"memory-mb": 8192, "vcores": 2}


@pytest.mark.parametrize(
    ("text", "place", "words"),
    [
        ("- sumbit: {app: a}", "4:5", "unknown step 'sumbit': did you mean 'submit'?"),
        ("- submit: {app: a, colour: red}", "4:22", "unknown key 'colour' in submit"),
        ("- submit: {user: a}", "4:13", "submit needs a value for 'app'"),
        ("- submit: {app: a, am: 5}", "4:26", "submit.am must be {memory-mb"),
        ("- submit: {app: a, am: {vcores: one}}", "4:35", "submit.am.vcores must be a whole"),
        ("- ask: {app: a}", "4:10", "ask needs a value for 'asks'"),
        ("- ask: {app: a, asks: [{}]}", "4:26", "ask.asks[0] needs a value for 'resources'"),
        ("- update: true", "4:13", "update must be a whole number, found 'true'"),
        ("- update: -1", "4:13", "update is -1: it must be at least 0"),
        ("- advance: 5 days", "4:14", "advance: '5 days' is not a duration: write 500ms, 30s"),
        ("- advance: 1" + "0" * 99, "4:14", "is longer than can be counted"),
        ("- advance: 1" + "0" * 400 + "h", "4:14", "a duration has at most 100 characters"),
        ("- heartbeat: {times: 2}", "4:16", "heartbeat needs a value for 'node'"),
        ("- heartbeat: {node: [n1]}", "4:23", "heartbeat.node must be a text, found a list"),
        ("- finish: {app: a, on: n1}", "4:13", "finish needs a value for 'containers'"),
        ("- node: {}", "4:11", "node needs one of add, remove, resize, drain and undrain"),
        ("- reload: {mapred-site.xml: <x/>}", "4:14", "unknown key 'mapred-site.xml' in reload"),
        ("- write: {error: true}", "4:13", "unknown key 'error' in write"),
        ("- {update: 1, kill: a}", "4:5", "one key such as 'update: 1', found 2 keys"),
        ("- update", "4:5", "a step is a mapping with one key"),
        ("- expect: {apps: {a: {contaners: 1}}}", "4:25", "did you mean 'containers'?"),
        ("- expect: {apps: {a: {used: {memory-mb: {about: 3, whithin: 1}}}}}", "4:54", "within"),
        ("- expect: {cluster: {used: {memory-mb: {min: few}}}}", "4:48", "must be a number"),
        (
            "- expect: {apps: {a: {why: no-room}}}",
            "4:30",
            "apps.a.why is a mapping, as {cause:",
        ),
        ("- expect: {apps: {a: {why: {cause: no-rom}}}}", "4:38", "did you mean 'no-room'?"),
        ("- expect: {apps: {a: {why: {que: a}}}}", "4:31", "unknown key 'que' in apps.a.why"),
        ("- safe_mode: 1", "4:16", "safe_mode: '1' is neither true nor false: write true"),
        ("- safe_mode: [on]", "4:16", "safe_mode must be true or false, found a list"),
        ("- submit: {app: a, am: {memory-mb: lots}}", "4:38", "am.memory-mb: 'lots' is not a size"),
        ("- expect: {cluster: {used: {memory-mb: 1kg}}}", "4:42", "used.memory-mb: '1kg' is not a"),
        ("- expect: {nodes: 3}", "4:21", "expect.nodes must be a mapping"),
    ],
)
def test_a_mistake_in_a_step_is_named_with_its_place(text, place, words):
    (problem,) = problems_of(f"{HEAD}steps:\n  {text}\n")
    assert problem.startswith(f"s.yaml:{place}: error: ")
    assert words in problem


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("scenario: 2\nscheduler: fair", "reads version 1"),
        ("scenario: 1", "needs a value for 'scheduler'"),
        ("scenario: 1\nscheduler: fiar", "unknown scheduler 'fiar': did you mean 'fair'?"),
        (HEAD + "config: {core-site.xml: x}", "unknown key 'core-site.xml' in config"),
        (HEAD + "nodes: [{name: n, resources: {}}, {name: n, resources: {}}]", "given twice"),
        (HEAD + "error: true\nsteps: [{update: 1}]", "can have no steps"),
        (HEAD + "stpes: []", "did you mean 'steps'?"),
    ],
)
def test_a_mistake_at_the_top_is_named(text, words):
    (problem,) = problems_of(text)
    assert words in problem


def test_all_mistakes_of_a_file_are_reported_together():
    problems = problems_of(f"{HEAD}nodse: []\nsteps:\n  - update: x\n  - kll: a\n  - advance: y\n")
    assert [problem.split(":")[1] for problem in problems] == ["3", "5", "6", "7"]


def test_a_file_without_the_word_scenario_is_none():
    with pytest.raises(NotAScenario):
        read_scenario("site_name: documentation", "mkdocs.yaml")


def test_a_scenario_of_mapreduce_says_which_release_decides():
    with pytest.raises(ConfigurationError, match=r"unknown generation '2\.0'"):
        read_scenario("scenario: 1\nscheduler: mapreduce\ngeneration: '2.0'", "s.yaml")
    with pytest.raises(ConfigurationError, match="needs a value for 'generation'"):
        read_scenario("scenario: 1\nscheduler: mapreduce", "s.yaml")
