"""Owns users in closed loops: each submits the next applications when the last ones are over, and
it has thought. An application is over when it has ended or was rejected.

Learns from the records what has become of an application, as `container_outcomes.py` does. A drawn
think time follows from the seed, the session and the turn alone, so that it is the same under every
configuration. Knows no scheduler.
"""

import random
from collections import deque
from collections.abc import Sequence
from heapq import heappop, heappush

from fairshare.core.model.events import ApplicationEnded, ApplicationRejected, ApplicationSubmitted
from fairshare.core.model.identifiers import ApplicationId
from fairshare.core.model.inputs import SubmitApplication
from fairshare.core.record import Record
from fairshare.lab.simulate.workload import Arrival, Session, Turn
from fairshare.wording import counted

NO_SESSION = -1


class _Progress:
    """How far one session is: `begun` turns have begun, and of the last one some are not over."""

    __slots__ = ("begun", "chance", "open")

    def __init__(self) -> None:
        self.begun = 0
        self.open = 0
        self.chance: random.Random | None = None


class Sessions:
    """The sessions of one run. Must observe every record of it, and be informed with `expect` of
    all submissions, also of others, in the order in which they are handled."""

    def __init__(self, sessions: Sequence[Session], seed: int) -> None:
        self.submitted: list[Arrival] = []
        """All applications, in the order of their numbers."""
        self.numbers: list[int] = []
        """Of each of them the number of its session, from 1; 0 without one."""
        self._sessions = sessions
        self._seed = seed
        self._progress = [_Progress() for _ in sessions]
        self._heap: list[tuple[int, int, int, Arrival]] = []
        self._pushed = 0
        self._expected: deque[tuple[Arrival, int]] = deque()
        self._live: dict[ApplicationId, int] = {}
        self._arrived = 0
        for number, session in enumerate(sessions):
            self._begin(session.at_ms, number)

    @property
    def due(self) -> int:
        """The number of applications that arrive at an instant which is known by now."""
        return len(self._heap)

    def next_ms(self) -> int | None:
        """The instant of the next arrival, if any is known."""
        return self._heap[0][0] if self._heap else None

    def take(self, now_ms: int) -> list[Arrival]:
        """What arrives by an instant; it is expected then."""
        taken = []
        while self._heap and self._heap[0][0] <= now_ms:
            _, _, number, arrival = heappop(self._heap)
            self.expect(arrival, number)
            self._arrived += 1
            taken.append(arrival)
        return taken

    def expect(self, arrival: Arrival, number: int = NO_SESSION) -> None:
        """Announce the arrival whose submission will be handled next, of a session or of none."""
        self._expected.append((arrival, number))

    def observe(self, record: Record) -> None:
        """Let the next turn of a session begin where its last one is over."""
        submitted = type(record.input) is SubmitApplication and bool(self._expected)
        arrival, number = self._expected.popleft() if submitted else (None, NO_SESSION)
        for event in record.events:
            if type(event) is ApplicationEnded:
                self._over(record.now_ms, self._live.pop(event.application, NO_SESSION))
            elif arrival is None:
                continue
            elif type(event) is ApplicationRejected:
                self._arrives(arrival, number)
                self._over(record.now_ms, number)
            elif type(event) is ApplicationSubmitted:
                self._arrives(arrival, number)
                if number != NO_SESSION:
                    self._live[event.application] = number

    def _arrives(self, arrival: Arrival, number: int) -> None:
        """An application has its number."""
        self.submitted.append(arrival)
        self.numbers.append(number + 1)

    def note(self) -> str:
        """That applications never came, if so, for the report."""
        whole = sum(len(turn.members) for session in self._sessions for turn in session.turns)
        missing = whole - self._arrived
        if not missing:
            return ""
        return (
            f"{counted(missing, 'application')} of users in closed loops never came: those before"
            " them were not over."
        )

    def _over(self, now_ms: int, number: int) -> None:
        """An application of a session is over."""
        if number == NO_SESSION:
            return
        progress, turns = self._progress[number], self._sessions[number].turns
        progress.open -= 1
        if not progress.open and progress.begun < len(turns):
            turn = turns[progress.begun]
            self._begin(now_ms + self._think_ms(number, turn), number)

    def _begin(self, at_ms: int, number: int) -> None:
        """Let the next turn of a session begin at an instant."""
        progress = self._progress[number]
        turn = self._sessions[number].turns[progress.begun]
        progress.begun += 1
        progress.open = len(turn.members)
        for arrival in turn.members:
            self._pushed += 1
            heappush(self._heap, (at_ms + arrival.at_ms, self._pushed, number, arrival))

    def _think_ms(self, number: int, turn: Turn) -> int:
        if not turn.drawn or not turn.think_ms:
            return turn.think_ms
        progress = self._progress[number]
        if progress.chance is None:
            # A text as seed: the same on every machine, whatever the hashes of Python.
            progress.chance = random.Random(f"{self._seed}/session/{number}")  # noqa: S311
        return round(progress.chance.expovariate(1 / turn.think_ms))
