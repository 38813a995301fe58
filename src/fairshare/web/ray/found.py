"""Owns which applications are Ray jobs, and which of them a caller means and may see.

Nothing is stored: a job is part of its application's submission. A job's id is unique among the
jobs of its user, so that no user can learn or take the ids of others.
"""

from collections.abc import Callable, Iterator

from starlette.requests import Request

from fairshare.api.ray_programs import Job, job_of
from fairshare.errors import InputError
from fairshare.model.applications import Application
from fairshare.model.events import ApplicationState
from fairshare.model.identifiers import ApplicationId, application_name
from fairshare.schedulers.protocol import State
from fairshare.web.actors import caller_of, identity_of, sees_all_of
from fairshare.web.audit import note


class JobIndex:
    """The jobs among the known applications. Applications are looked at once."""

    def __init__(self, state: Callable[[], State]) -> None:
        self._state = state
        self._jobs: dict[ApplicationId, Job] = {}
        self._last: ApplicationId = -1
        self.coming: set[tuple[str, str]] = set()
        """User and id of jobs that are being submitted."""

    def jobs(self) -> Iterator[tuple[Application, Job]]:
        """All jobs, the newest first."""
        known = self._state().applications
        new = []
        for number in reversed(known):
            if number <= self._last:
                break
            new.append(number)
        for number in reversed(new):
            application = known[number]
            driver = application.submission.driver
            if driver is None or application.state == ApplicationState.REJECTED:
                continue
            job = job_of(driver.arguments)
            if job is not None:
                self._jobs[number] = job
        if new:
            self._last = new[0]
        for number in [number for number in self._jobs if number not in known]:
            del self._jobs[number]
        return ((known[number], self._jobs[number]) for number in reversed(list(self._jobs)))

    def of_user(self, user: str, submission_id: str) -> bool:
        """Whether a user has a job of this id, or is submitting one."""
        return (user, submission_id) in self.coming or any(
            application.user == user and job.submission_id == submission_id
            for application, job in self.jobs()
        )

    def needed(self) -> frozenset[str]:
        """The packages that unfinished jobs need, as their SHA-256."""
        return frozenset(
            digest
            for application, job in self.jobs()
            if not application.over
            for digest in job.packages.values()
        )


def index_of(request: Request) -> JobIndex:
    """The jobs of the server that handles the request."""
    index = request.app.state.ray_jobs
    assert isinstance(index, JobIndex)
    return index


def visible_jobs(request: Request) -> Iterator[tuple[Application, Job]]:
    """The jobs that the caller may see, the newest first."""
    return (
        (application, job)
        for application, job in index_of(request).jobs()
        if sees_all_of(request, application)
    )


def read_job(request: Request) -> tuple[Application, Job]:
    """The job that the path names: by its id, or the id of its application. Of several the
    caller's own, and then the newest.

    Raises InputError (`unknown-job`), also for a job that the caller may not see.
    """
    name = request.path_params["job"]
    epoch_ms = request.app.state.server.epoch_ms
    found = [
        (application, job)
        for application, job in index_of(request).jobs()
        if name in (job.submission_id, application_name(epoch_ms, application.id))
        and sees_all_of(request, application)
    ]
    if not found:
        raise InputError("unknown-job", f"Job {name:.200} does not exist")
    chosen = found[0]
    if identity_of(request) is not None:
        user = caller_of(request, None)
        chosen = next((one for one in found if one[0].user == user), chosen)
    note(request, application=application_name(epoch_ms, chosen[0].id))
    return chosen
