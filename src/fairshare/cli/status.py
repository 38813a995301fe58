"""The verb `status`, which shows an overview of the cluster, or one application in full."""

from collections.abc import Iterable, Sequence

import click
import msgspec

from fairshare.api import routes
from fairshare.api.applications import Notice
from fairshare.cli.apps import elapsed_text, progress_bar, progress_text, state_of
from fairshare.cli.cells import (
    NOTHING,
    amounts_text,
    bar,
    dominant_fraction,
    duration_text,
    instant_text,
    peak_text,
    share_text,
    task_text,
)
from fairshare.cli.eta_words import spread_text
from fairshare.cli.exit_codes import shown_code
from fairshare.cli.instants import moment_text
from fairshare.cli.lists import Shown, list_table
from fairshare.cli.options import json_option, print_json, with_client
from fairshare.cli.orders import named_tasks
from fairshare.cli.queues import job_lines
from fairshare.cli.tables import (
    Cell,
    Facts,
    Listing,
    Output,
    Styled,
    ascii_only,
    open_output,
    print_all,
    state_text,
)
from fairshare.client import (
    Application,
    Client,
    Cluster,
    Configuration,
    Container,
    GroupProgress,
    Refused,
)
from fairshare.client.answers import Eta, Reason
from fairshare.client.errors import in_plain_words
from fairshare.client.exchange import path_of
from fairshare.documents.notice_targets import shown_target
from fairshare.wording import counted, plain

MOST_ENDED = 20
MOST_REMARKS = 3
LONGEST_COMMAND = 200

HTTP_NOT_FOUND = 404
QUICK_S = 1.0
"""How long an overview waits for an estimate."""
MOST_REASONS = 3
"""`fairshare why` has all of them, and what would end the wait."""


@click.command()
@click.argument("application", metavar="[APP[/TASK]]", required=False)
@with_client
@json_option
def command(client: Client, application: str | None, as_json: bool) -> None:
    """Show the cluster, or one application: its command, groups, containers and diagnostics.
    APP/TASK, such as 7/3 or 7/map/3, is one task.

    For a running application it shows the live containers, for an ended one those that ended last,
    with exit code, node, peak memory and CPU time.

    APP is an id such as application_1700000000000_0007, or its number alone: 7.
    """
    if application is not None and "/" in application:
        _show_task(client, application, as_json=as_json)
        return
    if as_json:
        path = routes.SHOW_CLUSTER.path
        if application is not None:
            path = path_of(routes.SHOW_APPLICATION, application)
        print_json(client.connection.get(path))
        return
    console = open_output()
    if application is None:
        cluster = client.cluster()
        line = configuration_line(configuration_of(client), cluster.now_ms)
        print_all(console, cluster_facts(console, client.url, cluster, line))
        return
    details = client.application(application)
    now_ms = client.cluster().now_ms
    ended = worst_first(client.containers(details.id)) if details.over else []
    print_all(
        console,
        application_facts(
            details,
            now_ms,
            () if details.over else reasons_of(client, details),
            None if details.over else eta_of(client, details),
        ),
        group_table(console, details.groups) if details.groups else None,
        container_table(details.live_containers, now_ms) if details.live_containers else None,
        ended_table(ended[:MOST_ENDED]) if ended else None,
    )
    for line in remarks(ended):
        click.echo(plain(line))
    if len(ended) > MOST_ENDED:
        click.echo(
            f"Of {counted(len(ended), 'container')} these failed or ended last; all of them:"
            f" fairshare history {details.id} --containers"
        )


def _show_task(client: Client, name: str, *, as_json: bool) -> None:
    """Print the task that a name means; several where groups have the same index."""
    application, tasks = named_tasks(client, name)
    if as_json:
        print_json({"tasks": msgspec.to_builtins(tasks)})
        return
    facts = []
    for task in tasks:
        pairs: list[tuple[str, Cell]] = [
            ("Task", f"{application}/{task.group}/{task.index}"),
            ("State", task.state),
            ("Attempts", str(task.attempts)),
            ("Container", task.container or NOTHING),
        ]
        if task.exit_code is not None:
            pairs.append(("Exit", f"{task.exit_code} {task.outcome}".rstrip()))
        if task.diagnostics:
            pairs.append(("Diagnostics", plain(task.diagnostics)))
        facts.append(Facts(pairs))
    print_all(open_output(), *facts)


def configuration_of(client: Client) -> Configuration:
    """The configuration in force; empty if the server is too old to report it."""
    try:
        return client.configuration()
    except Refused as error:
        if error.status != HTTP_NOT_FOUND:
            raise
        return Configuration()


def reasons_of(client: Client, application: Application) -> Sequence[Reason]:
    """The reasons why an application waits; empty if the server is too old to report them."""
    try:
        return client.reasons(application.id)
    except Refused as error:
        if error.status != HTTP_NOT_FOUND:
            raise
        return ()


def eta_of(client: Client, application: Application) -> Eta | None:
    """When an application starts and ends; None if the server cannot say it at once."""
    try:
        return client.eta(application.id, within_s=QUICK_S)
    except Refused:
        return None


def configuration_line(configuration: Configuration, now_ms: int) -> str:
    """One line if the file on disk differs from the configuration in force; otherwise empty."""
    error = configuration.error
    if error is not None:
        for_time = duration_text(max(0, now_ms - error.since_ms))
        return (
            f"the file cannot be used, and the last good one is in force (for {for_time} so far)."
            f" What is wrong: {error.message}"
        )
    if configuration.changed:
        return f"{configuration.file} has changed, and is not in force yet"
    return ""


def cluster_facts(console: Output, url: str, cluster: Cluster, configuration: str = "") -> Facts:
    """The facts and the usage of the cluster; `configuration` is a line about its files."""
    use = dominant_fraction(cluster.used, cluster.total)
    counts = ", ".join(f"{n} {state.lower()}" for state, n in cluster.applications.items() if n)
    pairs: list[tuple[str, Cell]] = [
        ("Server", f"{url} (fairshare {cluster.version})"),
        ("Scheduler", cluster.scheduler),
        ("Engine", cluster.engine or NOTHING),
        ("State directory", cluster.state_directory or NOTHING),
        ("Up", duration_text(cluster.now_ms - cluster.started_ms)),
        ("Nodes", str(cluster.nodes)),
        (
            "Use",
            Styled(
                f"{bar(use, 20, ascii_only=ascii_only(console))} {use:.0%}",
                style="green" if use < 1 else "yellow",
            ),
        ),
        ("Used", f"{amounts_text(cluster.used)} of {amounts_text(cluster.total)}"),
        ("Available", amounts_text(cluster.available)),
        ("Asked for", amounts_text(cluster.pending)),
        ("Containers", str(cluster.containers)),
        ("Applications", counts or "none"),
    ]
    if cluster.safe_mode:
        text = "on: nothing is admitted or granted (`fairshare admin safe-mode off` ends it)"
        pairs.append(("Safe mode", Styled(text, style="yellow")))
    if cluster.disk_problem:
        pairs.append(("Disk", Styled(plain(cluster.disk_problem), style="yellow")))
    if configuration:
        pairs.append(("Configuration", Styled(plain(configuration), style="yellow")))
    return Facts(pairs)


def application_facts(
    application: Application,
    now_ms: int,
    reasons: Sequence[Reason] = (),
    eta: Eta | None = None,
) -> Facts:
    """The facts and the state of an application, why it waits, and when it starts and ends."""
    waiting = " (held back by a limit of its queue)"
    deferred = application.held or application.begin_ms is not None or application.after
    held = application.state == "PENDING" and not application.runnable and not deferred
    pairs: list[tuple[str, Cell]] = [
        ("Application", application.id),
        ("Name", application.name or NOTHING),
        ("Kind", application.kind),
        ("User", application.user),
        ("Queue", application.queue or NOTHING),
        ("Priority", str(application.priority)),
        *((("Tags", ", ".join(application.tags)),) if application.tags else ()),
        ("State", state_text(application.cause or state_of(application), waiting if held else "")),
        *past_facts(application),
        *waited_facts(application),
        ("Time", elapsed_text(application, now_ms)),
        ("Tasks", progress_text(application.progress)),
    ]
    if not application.over:
        pairs += [
            ("Used", amounts_text(application.used)),
            ("Fair share", share_text(application.fair_share)),
            ("Asked for", amounts_text(application.pending)),
            ("Headroom", amounts_text(application.headroom)),
        ]
        if application.expires_ms is not None:
            pairs.append(("Killed at", instant_text(application.expires_ms)))
    if application.job is not None:
        pairs += job_lines(application.job)
    for reason in reasons[:MOST_REASONS]:
        about = f"{reason.group}: " if reason.group else ""
        pairs.append(("Waits", f"{about}{reason.sentence}"))
    if eta is not None:
        for about, spread in (("Starts", eta.start), ("Ends", eta.end)):
            if spread is not None:
                pairs.append((about, spread_text(spread, eta.horizon_ms)))
        pairs += [("Now with", f"{one.words} for each task") for one in eta.smaller]
    if application.preempted:
        pairs.append(("Preempted", f"{counted(application.preempted, 'container')} so far"))
    for notice in application.notices:
        pairs.append(("Notice", notice_text(notice)))
    if application.diagnostics:
        pairs.append(("Diagnostics", in_plain_words(application.diagnostics)))
    return Facts(pairs)


def waited_facts(application: Application) -> list[tuple[str, Cell]]:
    """How long an application waited for its first container, if it has had one."""
    if not application.began_ms:
        return []
    return [("Waited", duration_text(application.began_ms - application.submitted_ms))]


def past_facts(application: Application) -> list[tuple[str, Cell]]:
    """The command, and when an application was submitted, began and ended."""
    pairs: list[tuple[str, Cell]] = []
    if application.command:
        pairs.append(("Command", shortened(application.command)))
    if application.directory:
        pairs.append(("Directory", application.directory))
    pairs += [
        ("Submitted", moment_text(application.submitted_ms)),
        ("Started", moment_text(application.began_ms or None) or NOTHING),
    ]
    if application.over:
        pairs.append(("Ended", moment_text(application.finished_ms) or NOTHING))
    return pairs


def notice_text(notice: Notice) -> Cell:
    """A notice and its outcome."""
    text = f"{shown_target(notice.target)} ({notice.event}): {notice.state}"
    if not notice.error:
        return text
    return Styled(plain(f"{text}, {counted(notice.attempts, 'attempt')}: {notice.error}"), "yellow")


def _time_limit(group: GroupProgress) -> str:
    return "" if group.time_limit_ms is None else duration_text(group.time_limit_ms)


def group_table(console: Output, groups: Sequence[GroupProgress]) -> Listing:
    """One row for each group of tasks."""
    columns: tuple[Shown[GroupProgress], ...] = (
        Shown("Group", of=lambda row: row.name),
        Shown(
            "Progress", whole=True, of=lambda row: progress_bar(console, row.succeeded, row.count)
        ),
        Shown("Tasks", right=True, whole=True, of=lambda row: row.count),
        Shown("Succeeded", right=True, whole=True, of=lambda row: row.succeeded),
        Shown("Running", right=True, whole=True, of=lambda row: row.running),
        Shown("Waiting", right=True, whole=True, of=lambda row: row.waiting),
        Shown("Failed", right=True, whole=True, of=lambda row: row.failed),
        Shown("Time limit", right=True, whole=True, of=_time_limit),
    )
    if all(group.time_limit_ms is None for group in groups):
        columns = columns[:-1]
    return list_table(columns, groups)


def container_table(containers: Sequence[Container], now_ms: int) -> Listing:
    """One row for each container."""
    columns: tuple[Shown[Container], ...] = (
        Shown("Container", whole=True, of=lambda one: one.id),
        Shown("Task", of=task_text),
        Shown("State", whole=True, of=lambda one: state_text(one.state)),
        Shown("Node", of=lambda one: one.node),
        Shown("Resources", whole=True, of=granted_text),
        Shown(
            "Time",
            right=True,
            extra=True,
            of=lambda one: duration_text((one.finished_ms or now_ms) - one.allocated_ms),
        ),
        Shown("Peak", right=True, extra=True, of=lambda one: peak_text(one.peak_memory_mb)),
    )
    return list_table(columns, containers)


def worst_first(containers: Iterable[Container]) -> list[Container]:
    """Containers that ended: those that failed, then the others, the last ones first."""
    over = [one for one in containers if one.over]
    return sorted(over, key=lambda one: (not one.failed, -(one.finished_ms or 0)))


def ended_table(containers: Sequence[Container]) -> Listing:
    """One row for each container that ended."""
    return list_table(ENDED_COLUMNS, containers)


def remarks(containers: Sequence[Container]) -> list[str]:
    """What is to be known of containers that succeeded, such as output that was left out.

    The reason of one that failed is among the diagnostics of its application.
    """
    lines = [
        f"{task_text(one)}: {' '.join(one.diagnostics.split())}"
        for one in containers
        if one.exit_code == 0 and one.diagnostics
    ]
    more = len(lines) - MOST_REMARKS
    return [*lines[:MOST_REMARKS], *([f"and {counted(more, 'task')} more"] if more > 0 else [])]


def shortened(command: str) -> str:
    """A command line, without the end of a long one."""
    return command if len(command) <= LONGEST_COMMAND else f"{command[:LONGEST_COMMAND]}..."


IDLE_MS = 60_000
"""How long a GPU is not used before that is worth a word."""


def granted_text(container: Container) -> str:
    """The resources of a container, and which GPUs it has: `1G 1c 1 gpu (GPU 0, idle 2h 05m)`."""
    amounts = amounts_text(container.resources)
    idle_ms = container.gpus_idle_ms
    idle = f", idle {duration_text(idle_ms)}" if idle_ms is not None and idle_ms >= IDLE_MS else ""
    return f"{amounts} (GPU {','.join(container.gpus)}{idle})" if container.gpus else amounts


ENDED_COLUMNS: tuple[Shown[Container], ...] = (
    Shown("Container", whole=True, of=lambda one: one.id),
    Shown("Task", of=task_text),
    Shown("Outcome", whole=True, of=lambda one: one.outcome),
    Shown("Exit", right=True, whole=True, of=lambda one: shown_code(one.exit_code)),
    Shown("Node", of=lambda one: one.node),
    Shown("Resources", whole=True, extra=True, of=granted_text),
    Shown(
        "Time",
        right=True,
        whole=True,
        of=lambda one: duration_text((one.finished_ms or 0) - one.allocated_ms),
    ),
    Shown("Peak", right=True, whole=True, of=lambda one: peak_text(one.peak_memory_mb)),
    Shown(
        "CPU",
        right=True,
        whole=True,
        of=lambda one: duration_text(one.cpu_ms) if one.cpu_ms else None,
    ),
)
