"""Which applications are Ray jobs, which of them a caller means and may see, and how each is
described: its status, a message, its exit code.

Nothing is stored: a job is part of its application's submission. A job's id is unique among the
jobs of its user, so that no user can learn or take the ids of others. A job is PENDING until its
first workers run, and then its entrypoint does; why it waits is the most important of the
application's reasons.
"""

from collections.abc import Callable, Iterator
from typing import Final

from starlette.requests import Request

from fairshare.api.ray_jobs import RayJob
from fairshare.api.ray_programs import Job, exit_code_of, job_of
from fairshare.core.model.applications import Application
from fairshare.core.model.events import ApplicationState
from fairshare.core.model.identifiers import ApplicationId, application_name
from fairshare.core.schedulers.protocol import State
from fairshare.errors import InputError
from fairshare.server.insight.why import words_of
from fairshare.server.server import LiveServer
from fairshare.server.web.actors import caller_of, identity_of, sees_all_of
from fairshare.server.web.audit import note


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
    applications = [
        (application, job)
        for application, job in index_of(request).jobs()
        if name in (job.submission_id, application_name(epoch_ms, application.id))
        and sees_all_of(request, application)
    ]
    if not applications:
        raise InputError("unknown-job", f"Job {name:.200} does not exist")
    chosen = applications[0]
    if identity_of(request) is not None:
        user = caller_of(request, None)
        chosen = next((one for one in applications if one[0].user == user), chosen)
    note(request, application=application_name(epoch_ms, chosen[0].id))
    return chosen


_ENDED: Final = {
    ApplicationState.FINISHED: "SUCCEEDED",
    ApplicationState.FAILED: "FAILED",
    ApplicationState.KILLED: "STOPPED",
}
_MESSAGES: Final = {
    "PENDING": "Job has not started yet.",
    "RUNNING": "Job is currently running.",
    "SUCCEEDED": "Job finished successfully.",
    "FAILED": "Job failed.",
    "STOPPED": "Job was intentionally stopped.",
}
"""Ray's own words (JobInfo.__post_init__)."""


def status_of(application: Application) -> str:
    """The status of a job."""
    if application.over:
        return _ENDED.get(application.state, "FAILED")
    groups = application.tasks.groups
    runs = application.attempt.registered and groups and groups[0].running
    return "RUNNING" if runs else "PENDING"


def details_of(
    server: LiveServer, application: Application, job: Job, *, explain: bool = True
) -> RayJob:
    """A job as Ray's client reads it. Without `explain` it does not say why a job waits, which
    takes longer to find out than all else."""
    status = status_of(application)
    attempt = server.projections.attempts.of(application.id).attempt
    driver = application.submission.driver
    environment = {} if driver is None else driver.environment
    variables = {name: environment[name] for name in job.variables if name in environment}
    runtime_env = {**job.runtime_env, "env_vars": variables} if variables else job.runtime_env
    failed = status == "FAILED" and attempt is not None and attempt.final_status == "FAILED"
    return RayJob(
        job_id=application_name(server.epoch_ms, application.id),
        submission_id=job.submission_id,
        status=status,
        entrypoint=job.entrypoint,
        message=_message(server, application, status, explain=explain),
        error_type="JOB_ENTRYPOINT_COMMAND_ERROR" if failed else None,
        start_time=application.submitted_ms,
        end_time=application.finished_ms,
        metadata=job.metadata,
        runtime_env=runtime_env,
        driver_node_id=attempt.node or None if attempt is not None else None,
        driver_exit_code=0 if status == "SUCCEEDED" else exit_code_of(application.diagnostics),
    )


def _message(server: LiveServer, application: Application, status: str, *, explain: bool) -> str:
    if application.over and status != "SUCCEEDED":
        return application.diagnostics or _MESSAGES[status]
    if status != "PENDING" or not explain:
        return _MESSAGES[status]
    reasons = server.service.reasons(application.id)
    if not reasons:
        return _MESSAGES[status]
    state = server.service.state
    words = words_of(state, server.service.now_ms())
    return words.explain(reasons[0]).sentence
