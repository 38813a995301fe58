"""Each rule about pools finds what it is for, at its line, and leaves the like alone."""

from pathlib import Path
from typing import NamedTuple

import pytest

from fairshare.documents.problems import Problem
from fairshare.settings.linting import lint
from fairshare.settings.pools.lint import RULES

P = "mapred.fairscheduler."
PREEMPTION = {P + "preemption": "true"}


class Sample(NamedTuple):
    """A rule, the line of the pools file where it speaks (0: of the properties), what it reads."""

    rule: str
    line: int = 0
    file: str = ""
    properties: dict[str, str] = {}  # noqa: RUF012
    toml: str = 'generation = "1.2"'


TIMEOUT = "<pool name='a'><minMaps>1</minMaps>\n{}</pool>"
SAMPLES = [
    Sample(
        "timeouts-without-preemption",
        3,
        TIMEOUT.format("<minSharePreemptionTimeout>9</minSharePreemptionTimeout>"),
    ),
    Sample("preemption-cannot-fire", 0, "", PREEMPTION),
    Sample(
        "preemption-observes",
        0,
        "<fairSharePreemptionTimeout>9</fairSharePreemptionTimeout>",
        PREEMPTION | {P + "preemption.only.log": "true"},
    ),
    Sample(
        "timeout-without-minimum",
        2,
        "<pool name='a'><minSharePreemptionTimeout>9</minSharePreemptionTimeout></pool>",
        PREEMPTION,
    ),
    Sample(
        "timeout-in-milliseconds",
        2,
        "<fairSharePreemptionTimeout>600000</fairSharePreemptionTimeout>",
        PREEMPTION,
    ),
    Sample("weight-zero", 2, "<pool name='a'><weight>0</weight></pool>"),
    Sample("minimums-above-cluster", 1, "<pool name='a'><minMaps>11</minMaps></pool>"),
    Sample("nobody-may-run", 2, "<pool name='a'><maxRunningJobs>0</maxRunningJobs></pool>"),
    Sample("default-pool-undeclared", 0, "", {P + "allow.undeclared.pools": "false"}),
    Sample("locality-half-set", 0, "", {P + "locality.delay.node": "100"}),
    Sample(
        "caps-without-multiple",
        0,
        "",
        {P + "assignmultiple": "false", P + "assignmultiple.maps": "2"},
    ),
    Sample("booster-not-chosen", 0, "", {"mapred.newjobweightbooster.factor": "2"}),
]
HARMLESS = [
    Sample(
        "timeouts-without-preemption",
        3,
        TIMEOUT.format("<minSharePreemptionTimeout>9</minSharePreemptionTimeout>"),
        PREEMPTION,
    ),
    Sample("preemption-cannot-fire", 0, SAMPLES[0].file, PREEMPTION),
    Sample("preemption-observes", 0, SAMPLES[0].file, PREEMPTION),
    Sample("timeout-without-minimum", 2, SAMPLES[0].file, PREEMPTION),
    Sample("timeout-in-milliseconds", 2, SAMPLES[0].file, PREEMPTION),
    Sample("weight-zero", 2, SAMPLES[5].file, toml='generation = "0.19"'),
    Sample("minimums-above-cluster", 2, "<pool name='a'><minMaps>10</minMaps></pool>"),
    Sample("nobody-may-run", 2, "<pool name='a'><maxRunningJobs>1</maxRunningJobs></pool>"),
    Sample("default-pool-undeclared", 0, "<pool name='default'/>", SAMPLES[8].properties),
    Sample(
        "locality-half-set",
        0,
        "",
        {P + "locality.delay.node": "100", P + "locality.delay.rack": "100"},
    ),
    Sample("caps-without-multiple", 0, "", {P + "assignmultiple.maps": "2"}),
    Sample(
        "booster-not-chosen",
        0,
        "",
        SAMPLES[11].properties
        | {P + "weightadjuster": "org.apache.hadoop.mapred.NewJobWeightBooster"},
    ),
]


def problems_of(tmp_path: Path, sample: Sample) -> list[Problem]:
    values = {"mapred.jobtracker.taskScheduler": "org.apache.hadoop.mapred.FairScheduler"}
    rows = "".join(
        f"<property><name>{name}</name><value>{value}</value></property>\n"
        for name, value in (values | sample.properties).items()
    )
    (tmp_path / "mapred-site.xml").write_text(f"<configuration>\n{rows}</configuration>")
    (tmp_path / "fair-scheduler.xml").write_text(f"<allocations>\n{sample.file}\n</allocations>")
    (tmp_path / "fairshare.toml").write_text(f"[pools]\n{sample.toml}\n")
    problems = lint(tmp_path, {"map-slots": 10, "reduce-slots": 10})
    assert [problem for problem in problems if problem.severity == "error"] == []
    return list(problems)


def found(tmp_path: Path, sample: Sample) -> list[tuple[str, str, int]]:
    problems = problems_of(tmp_path, sample)
    return [(problem.rule, Path(problem.file).name, problem.line) for problem in problems]


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample.rule)
def test_a_rule_finds_what_it_is_for_at_its_line(tmp_path: Path, sample: Sample) -> None:
    file = "fair-scheduler.xml" if sample.line else "mapred-site.xml"
    (line,) = [
        at for rule, name, at in found(tmp_path, sample) if (rule, name) == (sample.rule, file)
    ]
    assert line == sample.line or (not sample.line and line)


@pytest.mark.parametrize("sample", HARMLESS, ids=lambda sample: sample.rule)
def test_a_rule_leaves_the_like_alone(tmp_path: Path, sample: Sample) -> None:
    assert sample.rule not in [rule for rule, _, _ in found(tmp_path, sample)]


def test_every_rule_is_tried_both_ways() -> None:
    assert {sample.rule for sample in SAMPLES} == set(RULES)
    assert {sample.rule for sample in HARMLESS} == set(RULES)
