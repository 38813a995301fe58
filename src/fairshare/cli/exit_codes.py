"""The exit code of a verb that waited for one command: that of the command.

Prints nothing, and asks no server.
"""

from collections.abc import Iterable

from fairshare.client import Application, Container

FAILED = 1
"""The exit code where no command has one: several failed, or something else ended them."""
KILLED_FOR_MEMORY = 137
"""What a shell reports of a command that the kernel killed for its memory."""

_OUT_OF_MEMORY = -104


def shown_code(exit_code: int | None) -> int | None:
    """The exit code of a container as a shell would report it; None where it has none.

    >>> shown_code(3), shown_code(-104), shown_code(-100)
    (3, 137, None)
    """
    if exit_code == _OUT_OF_MEMORY:
        return KILLED_FOR_MEMORY
    return None if exit_code is None or exit_code < 0 else exit_code


def worst_end(containers: Iterable[Container]) -> Container | None:
    """The last attempt of the task that ended with the largest exit code.

    The containers of a driver are its own business: where there is a master, only masters count.
    """
    ended = tuple(containers)
    masters = tuple(one for one in ended if one.master)
    last = {(one.group, one.task): one for one in masters or ended}
    return max(last.values(), key=lambda one: one.exit_code or 0, default=None)


def is_code_of_command(application: Application, end: Container | None) -> bool:
    """Whether the application failed because its command exited with the code of `end`."""
    return end is not None and application.state == "FAILED" and 0 < (end.exit_code or 0) < 256


def code_without_command(containers: Iterable[Container]) -> int:
    """The exit code where something else than a command ended the application."""
    out_of_memory = _OUT_OF_MEMORY in {one.exit_code for one in containers}
    return KILLED_FOR_MEMORY if out_of_memory else FAILED


def is_single(application: Application) -> bool:
    """Whether an application is one command: a single task, or a driver."""
    return application.kind != "tasks" or sum(one.count for one in application.groups) == 1


def code_of(application: Application, containers: Iterable[Container]) -> int:
    """The exit code of a verb that waited for an application: that of its only command, else 1."""
    if application.state == "FINISHED":
        return 0
    if not is_single(application):
        return FAILED
    ended = tuple(containers)
    end = worst_end(ended)
    if end is not None and is_code_of_command(application, end):
        return end.exit_code or FAILED
    return code_without_command(ended)
