"""The check of scenario files and its words: a result for each file, a line for each failure.

Numbers must be equal; `{about: 3333, within: 1}` allows a distance and `{min: 3, max: 5}` a range.
A mapping looks only at the keys that it names.
"""

import json
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any, Final, Literal

import msgspec

from fairshare.documents.values import unknown_word
from fairshare.errors import ConfigurationError
from fairshare.lab.scenarios.description import NOTHING, Description
from fairshare.lab.scenarios.document import NotAScenario, Scenario, read_scenario
from fairshare.lab.scenarios.expectations import is_number
from fairshare.lab.scenarios.job_runner import JobRunner
from fairshare.lab.scenarios.outcome import ScenarioRunner
from fairshare.lab.scenarios.runner import Runner
from fairshare.lab.scenarios.steps import Check, Expect, Step
from fairshare.wording import cause, counted


def runner_of(scenario: Scenario, *, verify: bool = False) -> ScenarioRunner:
    """A runner that is ready for the first step; raises what `Runner` and `JobRunner` raise."""
    if scenario.family.jobs:
        return JobRunner(scenario, verify=verify)
    return Runner(scenario, verify=verify)


Kind = Literal["differs", "unsupported", "malformed"]

TOLERANCE = 1e-6


class Difference(msgspec.Struct, frozen=True, kw_only=True):
    """One failed check. `step` counts from 0, as in a record; None before the first step.

    `where` names what was looked at (`apps.a1.containers`, `error`). For what cannot be compared
    `kind` says so, and `found` says why.
    """

    kind: Kind = "differs"
    step: int | None = None
    line: int | None = None
    where: str
    expected: Any = None
    found: Any = None


def check(
    step: int, expected: Check, state: Description, types: tuple[str, ...]
) -> Difference | None:
    """Compare one value; None when it is as expected. `types` are the resource types' names."""
    *path, key = expected.where
    thing: Any = state
    for name in path:
        thing = thing.get(name) if thing is not None else None
    problem = Difference(
        step=step, line=expected.line, where=".".join(expected.where), expected=expected.expected
    )
    if key == "exists":
        actual: object = thing is not None
    elif thing is None:
        return msgspec.structs.replace(problem, found=None)
    elif key not in thing:
        reason = f"{path[0]} have no {key!r} with this scheduler"
        return msgspec.structs.replace(problem, kind="unsupported", found=reason)
    else:
        actual = thing[key]
    if key == "diagnostics" and str(expected.expected) in str(actual):
        return None
    unknown = _unknown_type(expected.expected, actual, types)
    if unknown is not None:
        return msgspec.structs.replace(problem, kind="unsupported", found=unknown)
    if equal(expected.expected, actual):
        return None
    if isinstance(expected.expected, dict) and isinstance(actual, dict):
        actual = {key: actual.get(key) for key in expected.expected}
    return msgspec.structs.replace(problem, found=actual)


def equal(expected: Any, actual: Any) -> bool:
    """Whether a found value is as expected.

    >>> equal({"memory-mb": 1}, {"memory-mb": 1, "vcores": 9}), equal({"n1": 0}, {})
    (True, True)
    >>> equal({"about": 3333, "within": 1}, 3334), equal({"min": 3, "max": 5}, 6), equal(1, True)
    (True, False, False)
    """
    if isinstance(expected, dict):
        if "about" in expected:
            distance = expected.get("within", 0)
            return is_number(actual) and bool(abs(actual - expected["about"]) <= distance)
        if expected and expected.keys() <= {"min", "max"}:
            return is_number(actual) and bool(
                expected.get("min", actual) <= actual <= expected.get("max", actual)
            )
        return isinstance(actual, dict) and all(
            equal(value, actual.get(key, 0 if is_number(value) else None))
            for key, value in expected.items()
        )
    if isinstance(expected, bool) or isinstance(actual, bool):
        return expected is actual
    if is_number(expected) and is_number(actual):
        return bool(abs(expected - actual) < TOLERANCE)
    return bool(expected == actual)


def _unknown_type(expected: object, found: object, types: tuple[str, ...]) -> str | None:
    """What to say when amounts are expected of a type that the cluster does not have.

    Without this a misspelt type would be 0, and `{memory: 0}` would always hold.
    """
    if not isinstance(expected, dict) or not isinstance(found, dict) or found.keys() != set(types):
        return None
    unknown = [name for name in expected if name not in found]
    return unknown_word("resource type", unknown[0], types) if unknown else None


def check_error(
    step: int, line: int, expected: str | bool | None, outcome_error: str | None
) -> Difference | None:
    """Compare a step's refusal with its `error`; None when both agree."""
    if expected is None and outcome_error is None:
        return None
    if (
        expected is not None
        and outcome_error is not None
        and (expected is True or str(expected) in outcome_error)
    ):
        return None
    return Difference(step=step, line=line, where="error", expected=expected, found=outcome_error)


Verdict = Literal["passed", "failed", "skipped"]


class Result(msgspec.Struct, frozen=True):
    """What became of one file. `checks` counts comparisons; a skipped file is not a scenario. With
    a check that failed `picture` has the cluster at the first of them, as lines of text."""

    file: str
    name: str | None
    result: Verdict
    checks: int
    problems: tuple[Difference, ...] = ()
    picture: tuple[str, ...] = ()

    def as_malformed(self) -> "Result":
        """The same file, as one that should have been a scenario."""
        problem = Difference(
            kind="malformed", where="scenario", found="not a scenario: it has no key 'scenario: 1'"
        )
        return msgspec.structs.replace(self, result="failed", problems=(problem,))


def check_file(path: Path, *, verify: bool = False) -> Result:
    """Run the scenario in a file. With `verify` the state's invariants are checked too."""
    file = str(path)
    try:
        scenario = read_scenario(path.read_text(encoding="utf-8"), file, path.parent)
    except NotAScenario:
        return Result(file, None, "skipped", 0)
    except (ConfigurationError, OSError, UnicodeDecodeError) as error:
        return Result(file, None, "failed", 0, tuple(_malformed(error)))
    return check_scenario(scenario, verify=verify)


def check_scenario(scenario: Scenario, *, verify: bool = False) -> Result:
    """Run a scenario to its end; a failed check does not stop it."""
    try:
        runner = runner_of(scenario, verify=verify)
    except ConfigurationError as refusal:
        return _finished(scenario, 1, _refused_at_start(scenario, str(refusal)))
    if scenario.error is not None:
        return _finished(scenario, 1, _refused_at_start(scenario, None))
    count = 0
    problems: list[Difference] = []
    picture: tuple[str, ...] = ()
    for number, step in enumerate(scenario.steps):
        compared, found = _run_step(runner, number, step)
        count += compared
        problems += found
        if found and not picture:
            lines = _picture(number, runner.describe(why=True))
            picture = tuple(islice(lines, MOST_LINES))
    return _finished(scenario, count, problems, picture)


MOST_LINES: Final = 60
"""Of a picture."""

_NAMES_OF_CAUSES: Final = ("queue", "user", "node")


def _picture(step: int, state: Description) -> Iterator[str]:
    """The queues that something is in, and the applications with what they wait for."""
    yield f"The cluster after step {step}, at {state['time'] / 1_000:g} s:"
    for name, queue in state["queues"].items():
        amounts = {"used": queue.get("used"), "demand": queue.get("demand")}
        if not any(any(each.values()) for each in amounts.values() if each):
            continue
        share = queue.get("fair_share") or queue.get("effective_min")
        words = [
            f"{key} {show(value)}" for key, value in (*amounts.items(), ("share", share)) if value
        ]
        yield f"  queue {name}: {', '.join(words)}"
    for name, application in state["apps"].items():
        place = f" in {application['queue']}" if "queue" in application else ""
        containers = counted(application["containers"], "container")
        text = f"  {name}: {application['state']}{place}, {containers}"
        why = application.get("why") or {"cause": NOTHING}
        if why["cause"] != NOTHING:
            about = [str(why[key]) for key in _NAMES_OF_CAUSES if key in why]
            text += f", waits: {' '.join([str(why['cause']), *about])}"
        if application.get("diagnostics"):
            text += f", {application['diagnostics']}"
        yield text


def _run_step(runner: ScenarioRunner, number: int, step: Step) -> tuple[int, list[Difference]]:
    """How many values were compared, and the differences."""
    outcome = runner.step(step)
    problems = [check_error(number, step.line, step.error, outcome.error)]
    if step.error is None:
        problems += [
            check_error(number, step.line, None, event["message"])
            for event in outcome.events
            if event["event"] == "error"
        ]
    count = int(step.error is not None) + len(outcome.comparisons)
    problems += [
        Difference(
            step=number,
            line=step.line,
            where=comparison.where,
            expected=comparison.expected,
            found=comparison.found,
        )
        for comparison in outcome.comparisons
        if not comparison.same
    ]
    if isinstance(step, Expect):
        state = runner.describe(
            why=any(comparison.where[-1] == "why" for comparison in step.checks)
        )
        types = runner.type_names
        problems += [check(number, expected, state, types) for expected in step.checks]
        count += len(step.checks)
    return count, [problem for problem in problems if problem is not None]


def _refused_at_start(scenario: Scenario, refusal: str | None) -> list[Difference]:
    expected = scenario.error
    if refusal is not None and (expected is True or (expected and str(expected) in refusal)):
        return []
    return [Difference(where="error", expected=expected, found=refusal)]


def _malformed(error: Exception) -> list[Difference]:
    if not isinstance(error, ConfigurationError):
        return [Difference(kind="malformed", where="scenario", found=cause(error))]
    return [
        Difference(
            kind="malformed",
            where="scenario",
            line=getattr(problem, "line", None) or None,
            found=str(problem),
        )
        for problem in error.problems
    ]


def _finished(
    scenario: Scenario, checks: int, problems: list[Difference], picture: tuple[str, ...] = ()
) -> Result:
    verdict: Verdict = "failed" if problems else "passed"
    return Result(scenario.file, scenario.name, verdict, checks, tuple(problems), picture)


def problem_line(file: str, problem: Difference) -> str:
    """`file.yaml:12 step 7 apps.a1.containers: expected 3, found 2`."""
    if problem.kind == "malformed" and problem.line:
        return str(problem.found)  # it begins with file and line already
    place = file if problem.line is None else f"{file}:{problem.line}"
    if problem.step is not None:
        place += f" step {problem.step}"
    if problem.kind == "malformed":
        return f"{place}: {problem.found}"
    if problem.where == "error":
        return f"{place} error: {_refusal(problem.expected, problem.found)}"
    text = f"{place} {problem.where}: expected {show(problem.expected)}"
    return (
        f"{text}, but {problem.found}"
        if problem.kind == "unsupported"
        else (f"{text}, found {show(problem.found)}")
    )


def _refusal(expected: object, refusal: str | None) -> str:
    if expected is None:
        return f"expected no refusal, found {refusal}"
    wanted = "a refusal" if expected is True else f"a refusal with {expected!r} in it"
    return f"expected {wanted}, found " + ("none" if refusal is None else refusal)


def show(value: object) -> str:
    """A value on one line; `nothing` for what is not there."""
    return "nothing" if value is None else json.dumps(value, sort_keys=True)


def summary(results: list[Result]) -> str:
    """The last line: `3 passed, 1 failed, 0 skipped`."""
    counts = [
        f"{sum(result.result == verdict for result in results)} {verdict}"
        for verdict in ("passed", "failed", "skipped")
    ]
    return ", ".join(counts)
