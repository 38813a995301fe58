"""Changes of a running server's configuration by document (Hadoop: MutableConfigurationProvider).

Checks permissions, applies changes to the scheduler, and stores them. A refused change changes
nothing.
"""

import asyncio
import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from fairshare.api.configuration import Change
from fairshare.core.model.queues import parent_name
from fairshare.documents.problems import Problem
from fairshare.errors import ConfigurationError, InputError
from fairshare.settings.configuration import Entry
from fairshare.settings.configuration_update import Update
from fairshare.settings.linting import judge_change
from fairshare.settings.registry import family_of
from fairshare.settings.site_files import file_reader

if TYPE_CHECKING:
    from fairshare.server.server import LiveServer

APPLIED: Final = "Configuration change successfully applied."
FORMATTED: Final = "Configuration under store successfully formatted."
NOT_MUTABLE: Final = "Configuration change only supported by MutableConfScheduler."
REFUSED: Final = "Failed to re-init queues : "

_log = logging.getLogger("fairshare.configuration")


async def update(
    service: "LiveServer", update: Update, user: str, *, check_access: bool = True
) -> Change:
    """Change the configuration, let the scheduler take it over, and keep it.

    Raises InputError: `not-mutable`, `access-denied`, `bad-update` (the document makes no sense
    here), `configuration-refused` (its result does not); nothing has changed then.
    """
    _check_mutable(service)
    if check_access:
        await _check_access(service, update, user)
    before = dict(service.configuration.properties())
    family = family_of(service.scheduler_name)
    try:
        version, problems = await service.configuration.mutate(
            lambda properties: family.updated_properties(properties, update)
        )
    except (ConfigurationError, InputError) as error:
        refused = _refusal(error)
        _log.warning(
            "a change of the configuration by %s was refused, and nothing has changed: %s",
            user,
            refused,
        )
        raise refused from error
    _log.info("%s changed the configuration (version %d): %s", user, version, _summary(update))
    traps = await _judged(service, before, service.configuration.properties())
    return Change(version, APPLIED, update.ignored, (*problems, *traps))


async def traps_of(service: "LiveServer", update: Update) -> tuple[Problem, ...]:
    """Lint's findings that an update would add; raises as `validate`."""
    proposed = dict(await validate(service, update))
    return await _judged(service, service.configuration.properties(), proposed)


async def _judged(
    service: "LiveServer", before: Mapping[str, str], after: Mapping[str, str]
) -> tuple[Problem, ...]:
    started = service.settings.configuration
    assert started is not None, "without files there are no properties to change"
    read_file = file_reader(started.directory)
    store = service.configuration.store
    family = family_of(started.scheduler)
    return await asyncio.to_thread(
        judge_change, family, store, dict(before), dict(after), read_file
    )


async def validate(service: "LiveServer", update: Update) -> tuple[Entry, ...]:
    """The configuration that an update would give; raises as `update`, and changes nothing."""
    _check_mutable(service)
    try:
        properties = service.configuration.properties()
        proposed = family_of(service.scheduler_name).updated_properties(properties, update)
        await service.configuration.check(proposed)
    except (ConfigurationError, InputError) as error:
        raise _refusal(error) from error
    return tuple(proposed.items())


def current(service: "LiveServer") -> tuple[Entry, ...]:
    """The scheduler's properties in force, as they are configured; raises InputError
    (`not-mutable`) where documents cannot change them."""
    _check_mutable(service)
    return tuple(service.configuration.properties().items())


def version(service: "LiveServer") -> int:
    """The number of changes, plus one; raises InputError (`not-mutable`)."""
    _check_mutable(service)
    return service.configuration.properties_version()


async def format_store(service: "LiveServer", user: str, *, check_access: bool = True) -> Change:
    """Discard all changes and return to capacity-scheduler.xml. Raises as `update`."""
    _check_mutable(service)
    if check_access:
        await _check_access(service, Update(), user)
    try:
        number, problems = await service.configuration.format_store()
    except (ConfigurationError, InputError) as error:
        refused = _refusal(error)
        _log.warning("the file's configuration was refused, and nothing has changed: %s", refused)
        raise refused from error
    _log.info("%s gave up all changes of the configuration (version %d)", user, number)
    return Change(number, FORMATTED, (), problems)


def _check_mutable(server: "LiveServer") -> None:
    if not server.configuration.mutable:
        raise InputError(
            "not-mutable",
            f"{NOT_MUTABLE} The scheduler must be capacity, and"
            " yarn.scheduler.configuration.store.class in yarn-site.xml memory or leveldb",
        )


async def _check_access(server: "LiveServer", update: Update, user: str) -> None:
    """Administrators of the cluster may change everything; those of queues only their queues, if
    that is enabled."""
    if not server.controls_access:
        return
    groups = await asyncio.to_thread(server.groups.of, user)
    if server.may_administer("", user, groups):
        return
    queues = update.queues
    if not server.configuration.queue_administrators or update.globals or not queues:
        raise InputError("access-denied", f"User {user} is not admin of the cluster.")
    existing = {view.name for view in server.service.views.queues}
    added = {change.queue for change in update.add}
    for queue in queues:
        # As in Hadoop, adding or removing a queue requires administering its parent.
        held = parent_name(queue) if queue in (*added, *update.remove) else queue
        while held and held not in existing:
            held = parent_name(held)
        if not held or not server.may_administer(held, user, groups):
            raise InputError("access-denied", "User is not admin of all modified queues.")


def _refusal(error: ConfigurationError | InputError) -> InputError:
    """An error in Hadoop's words, with one line for each problem."""
    if isinstance(error, InputError):
        if error.code in ("bad-update", "not-mutable", "busy", "stopping"):
            return error
        reason = str(error).removeprefix(REFUSED)
        return InputError("configuration-refused", f"{REFUSED}{reason}")
    wrong: list[str] = []
    for problem in error.problems:
        if not isinstance(problem, Problem):
            wrong.append(str(problem))
        elif problem.severity == "error":
            wrong.append(problem.message)
    return InputError("configuration-refused", REFUSED + "\n".join(wrong))


def _summary(update: Update) -> str:
    """One line for the log."""
    parts = [f"remove {queue}" for queue in update.remove]
    for verb, changes in (("add", update.add), ("update", update.update)):
        parts += [
            f"{verb} {one.queue} ({', '.join(f'{k}={v}' for k, v in one.entries)})"
            for one in changes
        ]
    parts += [f"{name}={value}" for name, value in update.globals]
    return "; ".join(parts) or "nothing"
