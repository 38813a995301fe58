"""Owns how the users of a trace become users in closed loops, who wait for what they submitted.

A job that was submitted before the user's last ones had ended belongs to the same turn, as long
after its beginning as in the trace. A later one begins the next turn, and the time from the end of
the last turn is the time that the user thought: the model of E. Shmueli and D. Feitelson, "On
simulation and design of parallel-systems schedulers: are we doing the right thing?" (2009), with
the end of a turn in place of that of single jobs. Where a trace does not say how long a job waited,
it is taken to have begun at once. Knows no format.
"""

from collections.abc import Iterable

from fairshare.simulate.traces.records import TraceJob
from fairshare.simulate.workload import Arrival, Session, Turn
from fairshare.wording import counted


class _User:
    """The turns of a user; of the last one the members, when it began and ended in the trace."""

    __slots__ = ("at_ms", "begin_ms", "end_ms", "members", "think_ms", "turns")

    def __init__(self, at_ms: int) -> None:
        self.at_ms = self.begin_ms = self.end_ms = at_ms
        self.think_ms = 0
        self.turns: list[Turn] = []
        self.members: list[Arrival] = []

    def add(self, job: TraceJob, arrival: Arrival) -> None:
        """Take the next job."""
        if self.members and job.at_ms >= self.end_ms:
            self._close()
            self.think_ms = job.at_ms - self.end_ms
            self.begin_ms = self.end_ms = job.at_ms
        self.members.append(Arrival(job.at_ms - self.begin_ms, arrival.submission, arrival.plans))
        self.end_ms = max(self.end_ms, job.at_ms + (job.waited_ms or 0) + arrival.least_ms)

    def _close(self) -> None:
        self.turns.append(Turn(self.think_ms, tuple(self.members)))
        self.members = []

    def session(self) -> Session:
        """All turns."""
        self._close()
        return Session(self.at_ms, tuple(self.turns))


def closed_loops(jobs: Iterable[tuple[TraceJob, Arrival]]) -> tuple[tuple[Session, ...], str]:
    """A session for each user, in the order of their first jobs; and what was assumed.

    Jobs of 10 s that came at 0, 4 and 15 s, and did not wait, are two turns: the second one came
    before the first had ended, and belongs to its turn, which ended at 14 s; so the user thought
    for 1 s before the third.
    """
    users: dict[str, _User] = {}
    unknown = turns = 0
    for job, arrival in jobs:
        unknown += job.waited_ms is None
        user = users.get(job.user)
        if user is None:
            user = users[job.user] = _User(job.at_ms)
        user.add(job, arrival)
    sessions = tuple(user.session() for user in users.values())
    turns = sum(len(session.turns) for session in sessions)
    note = (
        f"Closed loops: {counted(len(sessions), 'user')} with {counted(turns, 'turn')}. What users"
        " submitted together is a turn, and each turn follows after the think time of the trace."
    )
    if unknown:
        note += f" Jobs whose waits the trace does not have, taken as none: {unknown:,}."
    return sessions, note
