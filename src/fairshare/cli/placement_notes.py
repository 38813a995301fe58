"""The notes for an application that did not get the requested queue or priority, or whose
containers are larger than every node.

The server decides both; a difference is not an error, and without one nothing is printed.
"""

from collections.abc import Iterator

import click

from fairshare.api.work import DEFAULT_RESOURCES
from fairshare.cli.verbs import nearest
from fairshare.client import Client, Submission
from fairshare.errors import FairshareError
from fairshare.wording import plain_lines

_ROOT = "root."
_TOO_LARGE = "larger-than-every-node"


def print_differences(client: Client, submission: Submission, application: str) -> None:
    """Print on stderr if an application's queue or priority differs from the requested one, or if
    no node is large enough for a container with further resources, such as GPUs."""
    further = any(group.resources.keys() - DEFAULT_RESOURCES for group in submission.tasks)
    if submission.queue is None and submission.priority is None and not further:
        return
    lines: list[str] = []
    try:
        if submission.queue is not None or submission.priority is not None:
            found = client.application(application)
            if found.state != "REJECTED":
                lines += differences(client, submission, found.queue, found.priority)
        if further:
            reasons = client.reasons(application)
            lines += [f"it waits: {one.sentence}" for one in reasons if one.cause == _TOO_LARGE]
    except FairshareError:
        return  # it was accepted; the notes are optional
    for line in lines:
        click.echo(plain_lines(line), err=True)


def differences(client: Client, submission: Submission, queue: str, priority: int) -> Iterator[str]:
    """How the queue and the priority that an application gets differ from the requested ones."""
    yield from _queue(client, submission, queue)
    yield from _priority(client, submission, priority)


def _queue(client: Client, submission: Submission, queue: str) -> Iterator[str]:
    queue_name = submission.queue
    if queue_name is None or not queue:
        return
    full = (
        queue_name if queue_name == "root" or queue_name.startswith(_ROOT) else _ROOT + queue_name
    )
    if queue == full or queue.endswith(f".{queue_name}"):
        return
    line = f"placed in {queue}, not in {queue_name}, by the placement rules"
    near = near_queue(queue_name, [one.name for one in client.queues() if one.leaf])
    if near not in (None, queue, full):
        line += f": did you mean {near}?"
    yield line


def near_queue(wanted: str, queues: list[str]) -> str | None:
    """The full name of the queue that was probably meant.

    >>> near_queue("align", ["root.students", "root.genomics.align"])
    'root.genomics.align'
    >>> near_queue("root.visoin", ["root.students", "root.vision"])
    'root.vision'
    """
    short = wanted.rpartition(".")[2]
    same = [name for name in queues if name.rpartition(".")[2] == short]
    if same:
        return same[0]
    full = wanted if wanted.startswith(_ROOT) else _ROOT + wanted
    near = nearest(full, queues, 0.75)
    if near is not None:
        return near
    by_short = {name.rpartition(".")[2]: name for name in reversed(queues)}
    return by_short.get(nearest(short, list(by_short), 0.75) or "")


def note_unknown_queue(client: Client, wanted: str | None) -> None:
    """Print on stderr if a list was asked for a queue that does not exist."""
    if wanted is None:
        return
    queues = client.queues()
    if {wanted, _ROOT + wanted} & {queue.name for queue in queues}:
        return
    near = near_queue(wanted, [queue.name for queue in queues if queue.leaf])
    advice = f": did you mean {near}?" if near else "; `fairshare queues` lists all."
    click.echo(plain_lines(f"There is no queue {wanted}{advice}"), err=True)


def _priority(client: Client, submission: Submission, priority: int) -> Iterator[str]:
    asked = submission.priority
    if asked is None or asked == priority:
        return
    scheduler = client.cluster().scheduler
    # Imported here: only few submissions need the schedulers, and all others start faster.
    from fairshare.settings.registry import FAMILIES

    family = FAMILIES.get(scheduler)
    if family is not None and not family.has_priorities:
        yield no_priorities(asked, scheduler)
    else:
        why = ": the cluster's yarn.cluster.max-application-priority" if asked > priority else ""
        yield f"its priority is {priority}, not {asked}{why}"


def no_priorities(asked: int, scheduler: str) -> str:
    """What is said of a priority under a scheduler without priorities."""
    return (
        f"priority {asked} has no effect: the {scheduler} scheduler has no priorities of"
        " applications"
    )
