"""Files of the Capacity Scheduler are linted whole, alone or in their directory."""

from pathlib import Path

import pytest

from fairshare.documents.problems import Problem
from fairshare.settings.linting import lint

CLASS = "org.apache.hadoop.yarn.server.resourcemanager.scheduler.capacity.CapacityScheduler"
PUBLISHED = Path(__file__).parents[5].parent / "shared" / "data" / "configs" / "capacity"

PLANTED = """\
<configuration>
<property><name>yarn.scheduler.capacity.root.queues</name><value>prod,dev,lab</value></property>
<property><name>yarn.scheduler.capacity.root.prod.capacity</name><value>70</value></property>
<property><name>yarn.scheduler.capacity.root.dev.capacity</name><value>20</value></property>
<property><name>yarn.scheduler.capacity.root.lab.capacity</name><value>20</value></property>
<property><name>yarn.scheduler.capacity.root.prod.maximum-capactiy</name><value>90</value></property>
<property><name>yarn.scheduler.capacity.root.prd.user-limit-factor</name><value>2</value></property>
<property><name>yarn.scheduler.capacity.root.dev.maximum-capacity</name><value>10</value></property>
<property><name>yarn.scheduler.capacity.default.capacity</name><value>10</value></property>
<property><name>yarn.scheduler.capacity.root.dev.acl_submit_jobs</name><value>ann</value></property>
<property><name>yarn.scheduler.capacity.queue-mappings</name><value>u:ann:nowhere</value></property>
<property><name>yarn.scheduler.capacity.root.lab.minimum-allocation-mb</name><value>1</value></property>
</configuration>
"""
FOUND = [
    (2, "error", "refused", "Illegal capacity sum of 1.1 for children of queue root"),
    (
        6,
        "warning",
        "unknown-property",
        "is yarn.scheduler.capacity.root.prod.maximum-capacity meant",
    ),
    (7, "warning", "unlisted-queue", "there is no queue root.prd"),
    (
        8,
        "trap",
        "maximum-below-capacity",
        "maximum-capacity 10 of root.dev is below its capacity 20",
    ),
    (9, "warning", "unknown-property", "is yarn.scheduler.capacity.root.default.capacity meant?"),
    (10, "warning", "unknown-property", "root.dev.acl_submit_applications"),
    (11, "error", "refused", "nowhere"),
    (12, "warning", "unknown-property", "the smallest container is the same in all queues"),
]


def reported(problems: tuple[Problem, ...]) -> list[tuple[int, str, str]]:
    return [(problem.line, problem.severity, problem.rule) for problem in problems]


@pytest.mark.parametrize("alone", [True, False])
def test_planted_mistakes_are_all_found_at_their_lines(tmp_path: Path, alone: bool) -> None:
    file = tmp_path / "capacity-scheduler.xml"
    file.write_text(PLANTED)
    if not alone:
        (tmp_path / "yarn-site.xml").write_text(
            "<configuration><property><name>yarn.resourcemanager.scheduler.class</name>"
            f"<value>{CLASS}</value></property></configuration>"
        )
    found = [p for p in lint(file if alone else tmp_path) if p.rule != "no-default-queue"]
    assert reported(tuple(found)) == [expected[:3] for expected in FOUND]
    for problem, expected in zip(found, FOUND, strict=True):
        assert expected[3] in problem.message
        assert problem.hadoop
        assert problem.column > 1
    assert "Is root.prod meant?" in found[2].message


def test_a_lone_file_says_nothing_of_what_yarn_site_would_say(tmp_path: Path) -> None:
    file = tmp_path / "some-name.xml"
    file.write_text(
        PLANTED.replace("70", "60").replace("nowhere", "dev").replace("acl_submit_jobs", "priority")
        + "<!-- -->"
    )
    rules = {problem.rule for problem in lint(file)}
    assert not rules & {"lists-not-checked", "application-priority-capped", "preemption-is-off"}
    assert "refused" not in rules


def test_the_problem_of_an_empty_lone_file_names_what_is_missing(tmp_path: Path) -> None:
    file = tmp_path / "capacity-scheduler.xml"
    file.write_text("<configuration/>")
    (problem,) = lint(file)
    assert "Queue configuration missing child queue names for root" in problem.message
    assert "set yarn.scheduler.capacity.root.queues" in problem.message


def capacities(tmp_path: Path, **settings: str) -> list[str]:
    file = tmp_path / "capacity-scheduler.xml"
    names = {"queues": "a,b", **{name.replace("_", "."): text for name, text in settings.items()}}
    rows = (
        f"<property><name>yarn.scheduler.capacity.root.{name}</name><value>{text}</value></property>"
        for name, text in names.items()
    )
    file.write_text(f"<configuration>{''.join(rows)}</configuration>")
    return [problem.message for problem in lint(file)]


@pytest.mark.parametrize(
    ("a", "b", "reported"),
    [
        ("40", "30", "root.a 40, root.b 30, together 70 percent: 30 are missing."),
        ("60", "60", "root.a 60, root.b 60, together 120 percent: 20 are too many."),
        ("0", "0", "together 0 percent: 100 are missing, because root itself has a capacity"),
    ],
)
def test_a_wrong_sum_names_the_children_and_what_is_missing(
    tmp_path: Path, a: str, b: str, reported: str
) -> None:
    found = [one for one in capacities(tmp_path, a_capacity=a, b_capacity=b) if "Illegal" in one]
    assert len(found) == 1
    assert "It should be either 0 or 1.0" in found[0]
    assert reported in found[0]


def test_an_invalid_capacity_is_reported_once(tmp_path: Path) -> None:
    reported = capacities(tmp_path, a_capacity="50%", b_capacity="50")
    assert [one for one in reported if "root.a" in one] == [
        "yarn.scheduler.capacity.root.a.capacity: '50%' is not a number"
    ]


def test_a_trap_quotes_the_value_of_the_file(tmp_path: Path) -> None:
    key = "a_maximum-am-resource-percent"
    reported = capacities(tmp_path, a_capacity="50", b_capacity="50", **{key: "-1.0"})
    assert any("maximum-am-resource-percent of root.a is -1:" in one for one in reported)


def test_a_lone_yarn_site_is_judged_by_its_own_properties(tmp_path: Path) -> None:
    file = tmp_path / "yarn-site.xml"
    preemption = "yarn.resourcemanager.monitor.capacity.preemption."
    rows = {
        "yarn.resourcemanager.scheduler.class": CLASS,
        f"{preemption}total_preemption_per_round": "much",
        f"{preemption}max_wait_before_kil": "1",
        "yarn.scheduler.minimum-allocation-mb": "0",
    }
    text = "".join(
        f"<property><name>{name}</name><value>{value}</value></property>\n"
        for name, value in rows.items()
    )
    file.write_text(f"<configuration>\n{text}</configuration>")
    assert (3, "trap", "property-value") in reported(lint(file))  # nothing preempts
    assert (4, "warning", "unknown-property") in reported(lint(file))
    assert (5, "error", "allocation-limits") in reported(lint(file))


def test_properties_of_the_fair_scheduler_have_no_effect_here(tmp_path: Path) -> None:
    (tmp_path / "yarn-site.xml").write_text(
        "<configuration><property><name>yarn.resourcemanager.scheduler.class</name>"
        f"<value>{CLASS}</value></property>\n"
        "<property><name>yarn.scheduler.fair.preemption</name><value>true</value></property>\n"
        "<property><name>yarn.scheduler.fair.assignmultiple</name><value>true</value></property>"
        "</configuration>"
    )
    assert (2, "warning", "property-of-other-scheduler") in reported(lint(tmp_path))


def test_every_published_file_is_linted_and_each_problem_has_its_place() -> None:
    files = sorted(PUBLISHED.glob("*.xml"))
    if not files:
        pytest.skip(f"there are no files in {PUBLISHED}")
    seen = set()
    for path in files:
        for problem in lint(path):
            assert problem.file == str(path)
            assert problem.line, problem
            assert problem.column, problem
            assert problem.message, problem
            assert problem.rule, problem
            seen.add(problem.rule)
    assert {"one-user-cannot-grow", "capacity-zero", "unlisted-queue", "queue-stopped"} <= seen
