"""The properties of MapReduce's Fair Scheduler in mapred-site.xml (`mapred.fairscheduler.*`),
joined with its pools file and the switches of fairshare.toml.

Properties that have no effect here are reported by name, with file and line, why, and what Hadoop
does.

Installed packages bring weight adjusters and load managers along, in the entry point groups
`fairshare.weight-adjusters` and `fairshare.load-managers`. Nothing but what is installed there is
ever imported: a file can choose one, and cannot make this process load code.
"""

import re
from collections.abc import Callable
from functools import cache
from importlib.metadata import EntryPoint
from typing import Any, Final

import msgspec

from fairshare.core.model.resources import UNBOUNDED, ResourceTypes
from fairshare.core.schedulers.pools import load, weights
from fairshare.core.schedulers.pools.naming import POOL, SLOW_START, TASK_LIMIT, TASK_LIMITS
from fairshare.core.schedulers.pools.settings import (
    DEFAULT_LOAD_MANAGER,
    NO_ADJUSTER,
    SLOTS,
    PoolAllocations,
    PoolsSettings,
)
from fairshare.documents.problems import Place, Problem, Problems
from fairshare.errors import ConfigurationError
from fairshare.settings.manager import ManagerSettings, read_manager
from fairshare.settings.plug_ins import load_plug_ins
from fairshare.settings.pools.file import collect_pools_file
from fairshare.settings.pools.names import ALLOCATION_FILE, PREFIX, SECTION, PoolSwitches
from fairshare.settings.shell import FILE as SHELL_FILE
from fairshare.settings.site import Site

ADJUSTER_GROUP: Final = "fairshare.weight-adjusters"
MANAGER_GROUP: Final = "fairshare.load-managers"

RULE: Final = "plug-in-package"

_PACKAGE: Final = "org.apache.hadoop.mapred."
_BUILT_IN: Final = {
    ADJUSTER_GROUP: {_PACKAGE + "NewJobWeightBooster": weights.BOOSTER},
    MANAGER_GROUP: {_PACKAGE + "CapBasedLoadManager": DEFAULT_LOAD_MANAGER},
}


def adjuster_names() -> dict[str, str]:
    """The names of all weight adjusters by what a file may write: the name, or a class.

    The first call imports those of packages and registers them. Raises ConfigurationError that
    names every entry point which cannot be used.
    """
    return _names(ADJUSTER_GROUP) | {weights.BOOSTER: weights.BOOSTER, "": NO_ADJUSTER}


def manager_names() -> dict[str, str]:
    """The names of all load managers by what a file may write; otherwise as `adjuster_names`."""
    return _names(MANAGER_GROUP) | {DEFAULT_LOAD_MANAGER: DEFAULT_LOAD_MANAGER}


@cache
def _names(group: str) -> dict[str, str]:
    kind, register = _kind_of(group)
    names: dict[str, str] = dict(_BUILT_IN[group])

    def loaded(entry: EntryPoint) -> Any:
        """What an entry point names: an object, or a class that needs no arguments."""
        plug_in: Any = entry.load()
        if isinstance(plug_in, type):
            plug_in = plug_in()
        if not isinstance(plug_in, kind):
            raise TypeError(
                f"it is not a {kind.__module__}.{kind.__name__}, but {type(plug_in).__name__}"
            )
        if plug_in.name != entry.name:
            raise ValueError(f"it calls itself {plug_in.name!r}: both names must be the same")
        if plug_in.name in names.values():
            raise ValueError(f"there is another one called {plug_in.name!r}")
        names[plug_in.name] = names[entry.value.replace(":", ".")] = plug_in.name
        return plug_in

    for plug_in in load_plug_ins(group, RULE, loaded):
        register(plug_in)
    return names


def _kind_of(group: str) -> tuple[type[Any], Callable[[Any], None]]:
    if group == ADJUSTER_GROUP:
        return weights.WeightAdjuster, weights.register
    return load.LoadManager, load.register


_DEFAULT_SELECTOR: Final = "org.apache.hadoop.mapred.DefaultTaskSelector"

_LATER: Final = (
    "allow.undeclared.pools",
    "assignmultiple.maps",
    "assignmultiple.reduces",
    "load.max.diff",
    "preemption",
    "preemption.only.log",
    "preemption.interval",
    "locality.delay",
    "locality.delay.node",
    "locality.delay.rack",
)
"""What only 1.2 knows."""

_NO_EFFECT: Final = {
    "eventlog.enabled": "the journal has every event: fairshare logs shows them",
    "eventlog.location": "the journal has every event: fairshare logs shows them",
    "dump.interval": "the state can be looked at whenever it is wanted",
}

_ACCESS: Final = (
    "with yarn.acl.enable a job is its owner's and those of yarn.admin.acl may end it, but any"
    " user's jobs may go to any pool"
)
_SWITCHES: Final = {
    "mapred.acls.enabled": (_ACCESS, "asks the lists of its queues"),
    "mapreduce.cluster.acls.enabled": (_ACCESS, "asks the lists of its queues"),
    "net.topology.nodegroup.aware": (
        "a map is on its host, on its rack or off it: there are no groups of hosts within a rack",
        "1.2 knows node groups between host and rack",
    ),
    "webinterface.private.actions": (
        "the user is asked for the right to change jobs, not the page",
        "lets the page change pools and priorities",
    ),
}
"""Switches of the master: reported when they are on."""

_LIST: Final = re.compile(r"mapred(uce)?\.queue\..+\.acl-(submit-job|administer-jobs)")
_THREADS: Final = "mapred.jobinit.threads"


def report_unsupported(site: Site, settings: PoolsSettings, problems: Problems) -> None:
    """Report properties that have no effect here."""
    _report_of_the_master(site, problems)
    selector = PREFIX + "taskselector"
    if site.string(selector, _DEFAULT_SELECTOR, problems) != _DEFAULT_SELECTOR:
        problems.warning(
            site.place(selector),
            "unsupported",
            f"{selector} has no effect: which of its tasks a job starts is decided by their"
            " locality and number",
            "loads the class",
        )
    for name, reason in _NO_EFFECT.items():
        if site.text(PREFIX + name, problems) is not None:
            problems.warning(
                site.place(PREFIX + name),
                "unsupported",
                f"{PREFIX}{name} has no effect: {reason}",
                "writes a log of its own",
            )
    if settings.deficits:
        for name in _LATER:
            if PREFIX + name in site:
                problems.warning(
                    site.place(PREFIX + name),
                    "generation",
                    f"{PREFIX}{name} has no effect in the generation {settings.generation}: set"
                    ' generation = "1.2" below [pools] in fairshare.toml',
                    "does not know it in that release",
                )
    for switch, effective in (
        ("fifo", settings.deficits or not settings.fifo),
        ("scale_min_shares", not settings.deficits or not settings.scale_min_shares),
        ("wait_for_maps", settings.generation == "0.20" or settings.wait_for_maps),
    ):
        if not effective:
            problems.warning(
                Place(SHELL_FILE),
                "generation",
                f"{switch} below [{SECTION}] has no effect in the generation {settings.generation}",
            )
    for unknown in site.unread(PREFIX):
        problems.warning(
            unknown.place,
            "unknown-property",
            f"{unknown.name} is unknown and has no effect",
            "ignores it",
        )


def _report_of_the_master(site: Site, problems: Problems) -> None:
    """What other parts of MapReduce's master would do, and who wrote it may rely on."""
    for name, (reason, hadoop) in _SWITCHES.items():
        if site.boolean(name, False, problems):
            _report(site, name, reason, hadoop, problems)
    for one in site:
        if _LIST.fullmatch(one.name):
            _report(site, one.name, _ACCESS, "asks it when mapred.acls.enabled is true", problems)
    if site.text(_THREADS, problems) is not None:
        reason = "a job is initialized as soon as its limits let it run"
        _report(site, _THREADS, reason, "initializes this number of jobs at once", problems)


def _report(site: Site, name: str, reason: str, hadoop: str, problems: Problems) -> None:
    message = f"{name} has no effect: {reason}"
    problems.warning(site.place(name), "unsupported", message, hadoop)


POOLS_FILE: Final = "fair-scheduler.xml"
NODE_SLOTS: Final = (
    "mapred.tasktracker.map.tasks.maximum",
    "mapred.tasktracker.reduce.tasks.maximum",
)
_NODE_SLOTS_DEFAULT: Final = 2
_FACTOR: Final = "mapred.newjobweightbooster.factor"
_DURATION: Final = "mapred.newjobweightbooster.duration"
_PER_SECOND: Final = "mapred.heartbeats.in.second"
_SCALING: Final = "mapreduce.jobtracker.heartbeats.scaling.factor"

_OF_JOBS: Final = (
    POOL,
    SLOW_START,
    TASK_LIMIT,
    *TASK_LIMITS,
    "mapred.job.queue.name",
    "user.name",
    "mapred.job.priority",
)


def read_pools(
    site: Site,
    pools_text: str | bytes | None,
    switches: PoolSwitches | None = None,
) -> tuple[PoolsSettings, tuple[Problem, ...]]:
    """The settings, and the warnings and traps found on the way.

    `pools_text` is None when there is no pools file. Raises ConfigurationError with all problems.
    """
    problems = Problems()
    settings = collect_pools(site, pools_text, POOLS_FILE, problems, switches)
    problems.raise_errors()
    return settings, problems.all


def collect_pools(
    site: Site,
    pools_text: str | bytes | None,
    pools_name: str,
    problems: Problems,
    switches: PoolSwitches | None = None,
) -> PoolsSettings:
    """As `read_pools`, but errors are only added to the problems."""
    chosen = switches or PoolSwitches()
    manager = read_manager(site, problems)
    settings = _settings(site, manager, chosen, problems)
    report_unsupported(site, settings, problems)
    if pools_text is None:
        return settings
    allocations = collect_pools_file(
        pools_text, pools_name, chosen.generation, problems, hierarchical=chosen.hierarchical
    )
    return msgspec.structs.replace(settings, allocations=allocations)


def with_slots(types: ResourceTypes) -> ResourceTypes:
    """The types of a site, and both kinds of slots."""
    further = [name for name in SLOTS if name not in types.names]
    return ResourceTypes((*types.names, *further), (*types.units, *("" for _ in further)))


def read_node_slots(site: Site, problems: Problems) -> dict[str, int]:
    """How many tasks of each kind a node runs at once."""
    return {
        name: site.integer(key, _NODE_SLOTS_DEFAULT, problems, minimum=0)
        for name, key in zip(SLOTS, NODE_SLOTS, strict=True)
    }


def _settings(
    site: Site, manager: ManagerSettings, switches: PoolSwitches, problems: Problems
) -> PoolsSettings:
    def boolean(name: str, default: bool) -> bool:
        return site.boolean(PREFIX + name, default, problems)

    def integer(name: str, default: int) -> int:
        return site.integer(PREFIX + name, default, problems)

    def delay(name: str) -> int | None:
        key = PREFIX + name
        return site.long(key, -1, problems, minimum=-1) if key in site else None

    site.text(ALLOCATION_FILE, problems)  # who gave the text has followed it
    types = with_slots(manager.types)
    further = len(types.names) - len(manager.types.names)
    multiple = PREFIX + "assignmultiple"
    return PoolsSettings(
        types=types,
        minimum_allocation=(*manager.minimum_allocation, *((0,) * further)),
        maximum_allocation=(*manager.maximum_allocation, *((UNBOUNDED,) * further)),
        generation=switches.generation,
        allocations=PoolAllocations(),
        pool_property=site.string(PREFIX + "poolnameproperty", "", problems),
        allow_undeclared_pools=boolean("allow.undeclared.pools", True)
        or switches.generation != "1.2",
        assign_multiple=boolean("assignmultiple", False) if multiple in site else None,
        maps_per_heartbeat=integer("assignmultiple.maps", -1),
        reduces_per_heartbeat=integer("assignmultiple.reduces", -1),
        size_based_weight=boolean("sizebasedweight", False),
        weight_adjuster=_plug_in(site, "weightadjuster", problems),
        booster_factor=site.double(_FACTOR, 3.0, problems),
        booster_duration_ms=site.long(_DURATION, 300_000, problems),
        boost_from=switches.boost_from,
        load_manager=_plug_in(site, "loadmanager", problems),
        load_max_difference=site.double(PREFIX + "load.max.diff", 0.0, problems),
        update_interval_ms=site.long(PREFIX + "update.interval", 500, problems, minimum=1),
        preemption=boolean("preemption", False),
        preemption_only_log=boolean("preemption.only.log", False),
        preemption_interval_ms=site.long(PREFIX + "preemption.interval", 15_000, problems, 1),
        locality_delay_ms=site.long(PREFIX + "locality.delay", -1, problems, minimum=-1),
        locality_delay_node_ms=delay("locality.delay.node"),
        locality_delay_rack_ms=delay("locality.delay.rack"),
        heartbeats_per_second=site.integer(_PER_SECOND, 100, problems, minimum=1),
        heartbeat_scaling=site.double(_SCALING, 1.0, problems),
        wait_for_maps=switches.wait_for_maps,
        strict=switches.strict,
        fifo=switches.fifo,
        hierarchical=switches.hierarchical,
        scale_min_shares=switches.scale_min_shares,
        priority_factors=switches.factors,
        acl_enabled=manager.acl_enabled,
        administrators=manager.administrators,
        master_max_attempts=manager.master_max_attempts,
        defaults=_defaults(site, problems),
    )


def _plug_in(site: Site, name: str, problems: Problems) -> str:
    """The plug-in that a property chooses, by its name or its class."""
    adjuster = name == "weightadjuster"
    written = site.string(PREFIX + name, "", problems)
    if not written:
        return "" if adjuster else DEFAULT_LOAD_MANAGER
    try:
        known: dict[str, Any] = adjuster_names() if adjuster else manager_names()
    except ConfigurationError as error:
        for problem in error.problems:
            problems.error(site.place(PREFIX + name), "plug-in", str(problem))
        return "" if adjuster else DEFAULT_LOAD_MANAGER
    plugin = known.get(written)
    if plugin is None:
        names = ", ".join(sorted(filter(None, known)))
        problems.error(
            site.place(PREFIX + name),
            "plug-in",
            f"{PREFIX}{name}: there is no {written!r} (there are {names}); a package brings others",
            "loads any class that it finds",
        )
        return "" if adjuster else DEFAULT_LOAD_MANAGER
    return str(plugin)


def _defaults(site: Site, problems: Problems) -> dict[str, str]:
    """The site's values of properties that a job may set, and of those that they are made of.

    As they are written: `${user.name}` is replaced by the user of each job.
    """
    chosen = site.string(PREFIX + "poolnameproperty", "", problems)
    names = [name for name in (*_OF_JOBS, chosen) if name]
    classes: dict[str, str] = {}
    written = {one.name: one.value for one in site}
    while names:
        name = names.pop()
        if name in written and name not in classes:
            site.text(name, problems)
            classes[name] = written[name]
            names += [other for other in written if "${" + other + "}" in written[name]]
    return {name: classes[name] for name in sorted(classes)}
