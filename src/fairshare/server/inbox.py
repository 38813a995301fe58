"""What waits for the writer: calls, whose callers wait for an answer, and reports of engines and
nodes, which come by the thousand when many containers start or end at once.

A batch has inputs in the order of their arrival. If there are more reports than one batch takes,
calls do not queue behind the rest of them: only a call about an application or a node waits until
the reports about it that came before are decided.
"""

import asyncio
from collections import deque
from collections.abc import Iterable, Sequence
from itertools import chain, count
from operator import attrgetter

import msgspec

from fairshare.core.model.events import Event
from fairshare.core.model.identifiers import ApplicationId, application_of
from fairshare.core.model.inputs import Input

MAX_BATCH = 500
MAX_CALLS = 100
"""The most reports of one commit, and the most calls (a submission costs ten times what a report
does): readers wait for a whole batch."""

Answer = asyncio.Future[tuple[Event, ...]]


class Pending(msgspec.Struct, gc=False):
    """An input, and the future of the caller who waits for its events; a report has none."""

    arrival: int
    input: Input
    answer: Answer | None = None


_ARRIVAL = attrgetter("arrival")


class Inbox:
    """The pending inputs of one service; used in its event loop."""

    def __init__(self) -> None:
        self.calls = 0  # inputs of callers, who wait for the answers
        self._arrivals = count(1)
        self._reports: deque[Pending] = deque()
        self._calls: deque[Sequence[Pending]] = deque()

    def __bool__(self) -> bool:
        return bool(self._reports or self._calls)

    def report_one(self, report: Input) -> None:
        """Add an input without an answer."""
        self._reports.append(Pending(next(self._arrivals), report))

    def report(self, reports: Iterable[Input]) -> None:
        """Add inputs without an answer."""
        arrivals = self._arrivals
        self._reports.extend([Pending(next(arrivals), given) for given in reports])

    def call(self, inputs: Sequence[Input], answers: Sequence[Answer]) -> None:
        """Add inputs with the futures of their callers; nothing comes between them."""
        arrival = next(self._arrivals)
        pairs = zip(inputs, answers, strict=True)
        self._calls.append([Pending(arrival, given, answer) for given, answer in pairs])
        self.calls += len(inputs)

    def take_batch(self) -> list[Pending]:
        """The inputs that are decided next, in the order of their arrival."""
        reports = self._reports
        batch = [reports.popleft() for _ in range(min(len(reports), MAX_BATCH))]
        if self._calls:
            batch += self._take_calls()
            batch.sort(key=_ARRIVAL)
        return batch

    def _take_calls(self) -> list[Pending]:
        """Those that may be decided though some reports have to wait."""
        taken: list[Pending] = []
        kept: list[Sequence[Pending]] = []
        # By application and node, the arrival of the first input about it that has to wait; made
        # for the first call that is about one. Submissions, which come most often, are about none.
        waits: dict[ApplicationId | str | None, int] | None = None
        while self._calls and len(taken) < MAX_CALLS:
            call = self._calls.popleft()
            subjects = {_subject(one.input) for one in call} - {None}
            if not subjects:
                taken += call
                continue
            if waits is None:
                waits = {_subject(one.input): one.arrival for one in reversed(self._reports)}
            if any(waits.get(subject, call[0].arrival) < call[0].arrival for subject in subjects):
                kept.append(call)
                for subject in subjects:
                    waits.setdefault(subject, call[0].arrival)
            else:
                taken += call
        self._calls.extendleft(reversed(kept))
        self.calls -= len(taken)
        return taken

    def take_all(self) -> list[Pending]:
        """All inputs, in the order of their arrival."""
        everything = sorted((*self._reports, *chain.from_iterable(self._calls)), key=_ARRIVAL)
        self._reports.clear()
        self._calls.clear()
        self.calls = 0
        return everything


def _subject(input_: Input) -> ApplicationId | str | None:
    """The application or the node that an input is about; None: neither, as a submission."""
    container = getattr(input_, "container", None)
    if container is not None:
        return application_of(container)
    number: ApplicationId | None = getattr(input_, "application", None)
    return getattr(input_, "node", None) if number is None else number
