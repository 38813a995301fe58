"""Owns how an application is described as a Ray job: its status, a message, its exit code.

A job is PENDING until its first workers run, and then its entrypoint does; why it waits is the most
important of the application's reasons.
"""

from typing import Final

from fairshare.api.ray_jobs import RayJob
from fairshare.api.ray_programs import Job, exit_code_of
from fairshare.insight.why import Words
from fairshare.model.applications import Application
from fairshare.model.events import ApplicationState
from fairshare.model.identifiers import application_name
from fairshare.server.server import LiveServer

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
    words = Words(state.types, state.epoch_ms, server.service.now_ms())
    return words.explain(reasons[0]).sentence
