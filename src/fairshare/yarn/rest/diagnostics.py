"""YARN's diagnostics of waiting and ended applications, in Hadoop's words (Hadoop:
SchedulerApplicationAttempt.updateAMContainerDiagnostics).

Scripts parse these texts for names and numbers, so they are written as Hadoop writes them.
"""

from fairshare.core.model.applications import Application
from fairshare.core.model.events import ApplicationState
from fairshare.core.model.identifiers import application_name, attempt_name
from fairshare.runtime.projections.attempt_history import ApplicationAttempts, Attempt
from fairshare.yarn.rest.gateway import Gateway
from fairshare.yarn.rest.rendering import java_date

NO_EXIT = -1000
"""The exit code of a master that was ended before its own exit was known (Hadoop:
ContainerExitStatus.INVALID)."""

LAUNCHED = "AM container is launched, waiting for AM container to Register with RM"


def application_diagnostics(
    gateway: Gateway, application: Application, history: ApplicationAttempts, now_ms: int
) -> str:
    """Why an application waits, or how it ended, and what its master was refused."""
    words = _diagnostics(gateway, application, history, now_ms)
    return with_refusal(words, gateway.server.refused_requests.of(application.id))


def with_refusal(words: str, refused: str) -> str:
    """Diagnostics with what a master was refused, unless they have it already."""
    return words if not refused or refused in words else f"{words}\n{refused}".lstrip()


def _diagnostics(
    gateway: Gateway, application: Application, history: ApplicationAttempts, now_ms: int
) -> str:
    last = history.attempt
    if application.over:
        if application.state is ApplicationState.FAILED and not history.unregistered:
            return _failed(gateway, application, last)
        if application.state is ApplicationState.REJECTED:
            name = application_name(gateway.scheduler.state.epoch_ms, application.id)
            return gateway.yarn.refusal(application, name, history.refusal, history.refused_by)
        return application.diagnostics
    if application.attempt.unregistered is not None:
        return application.attempt.unregistered.diagnostics
    return "" if last is None else attempt_diagnostics(gateway, application, last, now_ms)


def is_waiting(application: Application, history: ApplicationAttempts) -> bool:
    """Whether its last attempt waits for a master's container: then its diagnostics change with the
    time and with other applications, otherwise only with records about it."""
    last = history.attempt
    if application.over or application.attempt.unregistered is not None or last is None:
        return False
    if last.end or last.final_status or application.attempt.registered:
        return False
    return last.master is None


def attempt_diagnostics(
    gateway: Gateway, application: Application, attempt: Attempt, now_ms: int
) -> str:
    """The reason why one attempt waits, or how it ended."""
    if attempt.end == "FAILED":
        return _exit(gateway, application, attempt)
    if attempt.final_status:
        return attempt.diagnostics
    if attempt.end or application.attempt.registered:
        return ""
    if attempt.master is not None:
        return LAUNCHED
    why = gateway.yarn.why_waits(gateway.scheduler.state, application)
    return f"[{java_date(now_ms)}] {why}" if why else ""


def _failed(gateway: Gateway, application: Application, last: Attempt | None) -> str:
    if last is None or last.master is None:
        return application.diagnostics
    wordless = not last.diagnostics and not last.exit_code
    if wordless and not application.submission.details.must_unregister:
        return application.diagnostics
    name = application_name(gateway.scheduler.state.epoch_ms, application.id)
    most = gateway.scheduler.master_attempts
    attempts = application.submission.details.max_attempts or most
    return (
        f"Application {name} failed {last.number} times (global limit ={most}; local limit is"
        f" ={attempts}) due to {_exit(gateway, application, last)}. Failing the application."
        if attempts != most
        else f"Application {name} failed {last.number} times due to"
        f" {_exit(gateway, application, last)}. Failing the application."
    )


def _exit(gateway: Gateway, application: Application, attempt: Attempt) -> str:
    if attempt.exit_code == NO_EXIT and attempt.diagnostics:
        return attempt.diagnostics
    epoch_ms = gateway.scheduler.state.epoch_ms
    name = application_name(epoch_ms, application.id)
    return (
        f"AM Container for {attempt_name(epoch_ms, application.id, attempt.number)} exited with "
        f" exitCode: {attempt.exit_code}\nFailing this attempt.Diagnostics: {attempt.diagnostics}"
        "For more detailed output, check the application tracking page:"
        f" http://{gateway.address}/cluster/app/{name} Then click on links to logs of each"
        " attempt.\n"
    )
