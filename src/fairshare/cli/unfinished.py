"""Owns the report about applications that did not end in a simulation."""

from typing import Final

from fairshare.insight.why import Words
from fairshare.model.applications import Application
from fairshare.model.identifiers import application_name
from fairshare.model.resources import fits
from fairshare.schedulers.protocol import Scheduler
from fairshare.schedulers.reasons import Cause, Lasts, Reason, reasons
from fairshare.simulate.report import Unfinished

NOT_SAID: Final = "Why it waits was not looked at."


def unfinished(scheduler: Scheduler, most: int | None = None) -> tuple[Unfinished, ...]:
    """The applications that are not over, each with the most important reason why it waits; with
    `most` only of so many, as each takes a while."""
    state = scheduler.state
    words = Words(state.types, state.epoch_ms)
    found: list[Unfinished] = []
    for application in state.applications.values():
        if application.over:
            continue
        if most is not None and len(found) >= most:
            name = application_name(state.epoch_ms, application.id)
            submission = application.submission
            found.append(Unfinished(name, submission.name, application.queue, sentence=NOT_SAID))
            continue
        why = reasons(application, scheduler.limits_of(application.id), state)
        found.append(_of(application, state.epoch_ms, why, words))
    return tuple(found)


def _of(application: Application, epoch_ms: int, why: list[Reason], words: Words) -> Unfinished:
    name = application_name(epoch_ms, application.id)
    submission = application.submission
    if not why:
        return Unfinished(name, submission.name, application.queue)
    explained = words.explain(why[0])
    return Unfinished(
        name,
        submission.name,
        application.queue,
        any(_for_ever(reason) for reason in why),
        why[0].cause.value,
        explained.sentence,
        explained.remedy,
    )


def _for_ever(reason: Reason) -> bool:
    """Whether waiting is useless; this includes a single container above its queue's maximum."""
    if reason.cause == Cause.QUEUE_MAXIMUM and reason.wanted and reason.limit:
        return not fits(reason.wanted, reason.limit)
    return reason.cause.lasts is Lasts.PERMANENT
