"""How long what runs and waits at a moment is expected to run.

A task is expected to run as long as tasks like it did that succeeded and ran for at least as long
as it has by now: those of its own group, else those of applications of the same user and queue
whose names differ in digits only. Where nothing like it has ended it runs on for ever: no end is
promised that is not known.
"""

import re
from collections import defaultdict
from collections.abc import Callable
from typing import Final

from msgspec.structs import replace

from fairshare.core.model.applications import Application
from fairshare.core.model.events import ExitCode
from fairshare.core.model.identifiers import ApplicationId
from fairshare.lab.branch.branch import Edited
from fairshare.lab.branch.history import Moment
from fairshare.lab.simulate.world import Life, World

FOR_EVER_MS: Final = 10 * 365 * 24 * 3_600_000
"""Longer than any branch goes."""

RunTime = Callable[[ApplicationId, int, int], int]
"""The run time of a task of an application and a group that has run for so long (ms)."""


class RunTimes:
    """The run times of all tasks that have succeeded, as far as a moment knows them."""

    def __init__(self, moment: Moment) -> None:
        self._applications = moment.manager.state.applications
        self._groups: dict[tuple[ApplicationId, int], list[int]] = defaultdict(list)
        self._alike: dict[tuple[str, str, str], list[int]] = defaultdict(list)
        for number, application in self._applications.items():
            for one in moment.projections.history.application(number).containers.values():
                begun_ms = one.running_ms or one.launched_ms
                if one.exit_code != ExitCode.SUCCESS or one.group < 0 or begun_ms is None:
                    continue
                run_ms = (one.finished_ms or begun_ms) - begun_ms
                self._groups[number, one.group].append(run_ms)
                self._alike[_kind(application)].append(run_ms)

    def __call__(self, application: ApplicationId, group: int, age_ms: int) -> int:
        """The median of those that ran for longer than this; FOR_EVER_MS if none did."""
        for known in (
            self._groups.get((application, group), ()),
            self._alike.get(_kind(self._applications[application]), ()),
        ):
            longer = sorted(run_ms for run_ms in known if run_ms >= age_ms)
            if longer:
                return longer[(len(longer) - 1) // 2]
        return FOR_EVER_MS


def _kind(application: Application) -> tuple[str, str, str]:
    name = re.sub(r"\d+", "", application.submission.name)
    return application.user, application.queue, name


def with_expected_lives(world: World, run_time: RunTime) -> Edited:
    """The world in which whatever lives at its beginning, and does not end in it by itself, runs
    for as long as expected; so do the tasks that wait there, unless their lives are recorded."""
    assert world.origin is not None
    state = world.origin.manager().state
    begun, typical_ms = dict(world.begun), dict(world.typical_ms)
    for number, application in state.applications.items():
        if application.over:
            continue
        for group in range(len(application.tasks.groups)):
            typical_ms[number, group] = run_time(number, group, 0)
        for container, launched_ms in application.attempt.launched.items():
            life = begun.get(container)
            if life is not None and not life.censored:
                continue
            assigned = application.tasks.assigned.get(container)
            age_ms = world.begin_ms - launched_ms
            group = -1 if assigned is None else assigned.group
            whole_ms = FOR_EVER_MS if group < 0 else run_time(number, group, age_ms)
            rest_ms = max(0, whole_ms - age_ms)
            begun[container] = replace(life or Life(None, 0), run_ms=rest_ms)
    return Edited(replace(world, begun=begun, typical_ms=typical_ms), "expected lives")
