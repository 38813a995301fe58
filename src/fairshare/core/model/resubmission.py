"""What of an ended application is submitted again: all of it, or what did not succeed.

Raises ValueError with the reason if that is not possible.
"""

import msgspec

from fairshare.core.model.applications import Application
from fairshare.core.model.arrays import TaskArray, rows_of
from fairshare.core.model.inputs import NO_CONDITIONS, SubmitApplication
from fairshare.core.model.tasks import GroupProgress
from fairshare.core.model.work import TaskGroup


def again(application: Application, *, failed: bool) -> SubmitApplication:
    """The application once more; with `failed` only its tasks that did not succeed, with the
    indexes and lines that they had."""
    submission = application.submission
    if not application.over:
        raise ValueError("it has not ended: wait for its end, or kill it first")
    if submission.driver is None and not submission.tasks:
        raise ValueError("its master did not run in it: submit it again as you did before")
    commands = [group.command for group in submission.tasks] + [submission.driver or None]
    if any(one is not None and (one.is_callable or one.is_launch_context) for one in commands):
        raise ValueError(
            "it ran what a program had sent, which is not kept after its end: let the program"
            " submit it again"
        )
    if any(one is not None and one.variables for one in commands):
        raise ValueError(
            "it had the whole environment of a shell, which is not kept after its end: run it"
            " again from there"
        )
    if failed:
        submission = msgspec.structs.replace(submission, tasks=_left(application))
    return msgspec.structs.replace(
        submission, number=None, recovering=False, start=NO_CONDITIONS, deadline_ms=0
    )


def _left(application: Application) -> tuple[TaskGroup, ...]:
    given = application.submission
    if given.driver is not None:
        raise ValueError(
            "a driver decides itself what it runs: submit it again without asking for what failed"
        )
    found = [_part(progress) for progress in application.tasks.groups]
    kept = [group for group in found or given.tasks if group is not None]
    if not kept:
        raise ValueError("all of its tasks succeeded")
    names = {group.name for group in kept}
    return tuple(
        msgspec.structs.replace(group, after=tuple(name for name in group.after if name in names))
        for group in kept
    )


def _part(progress: GroupProgress) -> TaskGroup | None:
    """The group with the tasks that did not succeed; None if all did. A gang is not divided."""
    spec = progress.spec
    left = [task for task in range(spec.count) if task not in progress.results]
    if not left:
        return None
    if len(left) == spec.count or spec.gang:
        return spec
    if spec.array is not None:
        array = spec.array.part(left, spec.count)
    else:
        array = TaskArray(rows_of(left), total=spec.count, fills=False)
    return msgspec.structs.replace(spec, count=len(left), array=array)
