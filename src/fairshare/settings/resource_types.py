"""The site's resource types and the sizes of containers (Hadoop: ResourceUtils,
FairScheduler.getNormalizedResource).

The assignment of GPUs declares their type, whether resource-types.xml does it or not, and so does a
state that counts further types.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final, TypeVar

import msgspec

from fairshare.core.model.resources import MEMORY, UNBOUNDED, VCORES, Resource, ResourceTypes
from fairshare.documents import units
from fairshare.documents.gpus import GPU, GpuSetting, wrong_gpus
from fairshare.documents.located import Node
from fairshare.documents.problems import Problems
from fairshare.documents.xml import escaped
from fairshare.errors import FairshareError
from fairshare.settings.site import Site

RESOURCE_TYPES = "yarn.resource-types"

_NAME = re.compile(r"(?:[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?/)?[A-Za-z][A-Za-z0-9_.-]*")
_UNITS = {MEMORY: "Mi", VCORES: ""}
_SHORT = {MEMORY: "mb", VCORES: "vcores"}
_DEVICES = (GPU, "yarn.io/fpga")
_COUNTABLE: Final = "COUNTABLE"


class AllocationLimits(msgspec.Struct, frozen=True):
    """The smallest and the largest container, in the order of the types."""

    minimum: Resource
    maximum: Resource


def read_types(site: Site, problems: Problems) -> ResourceTypes:
    """`memory-mb`, `vcores`, then `yarn.resource-types` in the order of that list, with units
    (Hadoop: ResourceUtils.getResourceInformationMapFromConfig)."""
    types: dict[str, str] = {}
    for name in site.parts(RESOURCE_TYPES, problems):
        wrong = _wrong_name(name, types)
        if wrong:
            _refuse(site, RESOURCE_TYPES, "resource-type", wrong, problems)
        else:
            key = f"{RESOURCE_TYPES}.{name}.type"
            kind = site.text(key, problems) or _COUNTABLE
            if kind != _COUNTABLE:
                message = f"{name} is of the type {kind!r}: only {_COUNTABLE} is known, in capitals"
                _refuse(site, key, "resource-type", message, problems)
            types[name] = _unit(site, name, problems)
    # Nothing is asked of the types that are always there but their smallest and largest size.
    for name in _UNITS:
        for suffix in ("units", "type"):
            key = f"{RESOURCE_TYPES}.{name}.{suffix}"
            if site.text(key, problems) is not None:
                message = f"{key} has no effect: memory-mb is counted in MiB, and vcores one by one"
                problems.warning(site.place(key), "without-effect", message, "ignores it")
    return ResourceTypes((*_UNITS, *types), (*_UNITS.values(), *types.values()))


def _wrong_name(name: str, names: Collection[str]) -> str:
    """Why Hadoop refuses a type of this name beside those that were found; empty if it does not."""
    if not name:
        return "a part of the list is empty: Incomplete configuration for resource type ''"
    if name in names:
        return f"'{name}' specified twice"
    if name in (*_UNITS, "memory"):
        return (
            f"Attempt to re-define mandatory resource '{name}': leave it out of the list, as"
            f" {' and '.join(_UNITS)} are there without"
        )
    if not _NAME.fullmatch(name):
        return (
            f"{name!r} is not a name for a resource type: it must be a letter followed by"
            " letters, digits, '_', '.' and '-', after 'domain/' if there is one"
        )
    return ""


def _unit(site: Site, name: str, problems: Problems) -> str:
    key = f"{RESOURCE_TYPES}.{name}.units"
    unit = site.text(key, problems) or ""
    if not units.is_unit(unit):
        _refuse(site, key, "resource-unit", f"{unit!r} is not a unit", problems)
        return ""
    if unit and name in _DEVICES:
        message = f"{name} is counted in whole devices: it has no unit, and not {unit!r}"
        _refuse(site, key, "resource-unit", message, problems)
        return ""
    return unit


def _refuse(site: Site, key: str, rule: str, message: str, problems: Problems) -> None:
    problems.error(site.place(key), rule, message, "does not start")


_DEFAULTS: Final = {
    (MEMORY, "minimum"): 1024,
    (VCORES, "minimum"): 1,
    (MEMORY, "maximum"): 8192,
    (VCORES, "maximum"): 4,
}


def read_limits(site: Site, types: ResourceTypes, problems: Problems) -> AllocationLimits:
    """The smallest and largest container (Hadoop: ResourceUtils.getResourceTypesMinimumAllocation
    and getResourceTypesMaximumAllocation).

    -1 for memory or vcores means the property of the scheduler. Hadoop does not look whether sizes
    below `yarn.resource-types` fit each other; those that do not are taken for the nearest that do.
    """
    least, most = (
        [_limit(site, name, bound, problems) for name in types.names]
        for bound in ("minimum", "maximum")
    )
    for number, name in enumerate(types.names):
        key = f"{RESOURCE_TYPES}.{name}.minimum-allocation"
        fitting = min(max(least[number], int(name in _UNITS)), most[number])
        if key in site and fitting != least[number]:
            problems.trap(
                site.place(key),
                "allocation-limits",
                f"{key} is {least[number]}, and counts as {fitting}: a smallest container is"
                " neither negative nor larger than the largest",
                "computes with it",
            )
            least[number] = fitting
    return AllocationLimits(tuple(least), tuple(most))


def _limit(site: Site, name: str, bound: str, problems: Problems) -> int:
    key = f"{RESOURCE_TYPES}.{name}.{bound}-allocation"
    if name not in _UNITS:
        return site.long(key, 0 if bound == "minimum" else UNBOUNDED, problems)
    written = scheduler_limit(site, name, bound, problems)
    found = site.long(key, -1, problems)
    return written if found == -1 else found


def scheduler_limit(site: Site, name: str, bound: str, problems: Problems) -> int:
    """What the property of the scheduler says of memory or vcores."""
    return site.integer(limit_key(name, bound), _DEFAULTS[name, bound], problems)


def limit_key(name: str, bound: str) -> str:
    """The property of memory or vcores: `yarn.scheduler.minimum-allocation-mb`."""
    return f"yarn.scheduler.{bound}-allocation-{_SHORT[name]}"


def read_increments(site: Site, types: ResourceTypes, problems: Problems) -> Resource:
    """What a container's size is a multiple of; 0: of nothing
    (Hadoop: FairSchedulerConfiguration.getIncrementAllocation)."""
    amounts = []
    for name in types.names:
        old, new = limit_key(name, "increment") if name in _SHORT else "", new_increment_key(name)
        amount = 0
        if old:
            amount = site.integer(old, 1024 if name == MEMORY else 1, problems)
        text = site.text(new, problems)
        if text is not None:
            try:
                amount = units.read_amount(text, types.units[types.names.index(name)])
            except ValueError as error:
                message = f"{new}: {error}"
                problems.error(site.place(new), "property-value", message, "does not start")
            if old in site:
                problems.warning(
                    site.place(old),
                    "increment",
                    f"{old} has no effect, because {new} is set too",
                    "takes the other one and warns",
                )
        amounts.append(amount)
    return tuple(amounts)


def new_increment_key(name: str) -> str:
    """The property of any type: `yarn.resource-types.gpu.increment-allocation`."""
    return f"{RESOURCE_TYPES}.{name}.increment-allocation"


Documents = Sequence[tuple[str, bytes]]


def gpus_of(root: Node) -> GpuSetting:
    """The setting in a fairshare.toml; `none` if it has none, or none that can be used, which the
    reader of the whole file reports."""
    engine = (root.entries or {}).get("engine")
    node = (engine.entries or {}).get("gpus") if engine else None
    value: Any = node.plain if node else "none"
    if wrong_gpus(value):
        return "none"
    return tuple(value) if isinstance(value, list) else value


def with_types(
    documents: Documents,
    site: Site,
    counted: Mapping[str, str],
    defaults: Mapping[str, str],
    file: str,
    *,
    gpus: bool,
) -> list[tuple[str, bytes]]:
    """Documents of properties with the types that are counted anyway (their units by name) first,
    with the type of `gpus` last, and before them the scheduler's `defaults`, without which it has
    no further types. `site` is what the documents say."""
    names = site.strings(RESOURCE_TYPES, Problems())
    order = tuple(dict.fromkeys((*counted, *names, *((GPU,) if gpus else ()))))
    files = [(file, _document(defaults)), *documents] if defaults else [*documents]
    if order != names:
        units_of = {name: unit for name, unit in counted.items() if unit and name not in names}
        added = {f"{RESOURCE_TYPES}.{name}.units": unit for name, unit in units_of.items()}
        files.append((file, _document({RESOURCE_TYPES: ",".join(order), **added})))
    return files


def _document(properties: Mapping[str, str]) -> bytes:
    lines = (
        f"<property><name>{name}</name><value>{escaped(value)}</value></property>"
        for name, value in properties.items()
    )
    return f"<configuration>{''.join(lines)}</configuration>".encode()


class UnknownResourceType(FairshareError):
    """The size of the cluster names a type that the configuration does not have."""


def cluster_of(cluster: Mapping[str, int] | None, types: ResourceTypes) -> Resource | None:
    """The vector of a described cluster; types that are not named are 0."""
    if cluster is None:
        return None
    try:
        return types.vector(cluster)
    except KeyError as error:
        known = ", ".join(types.names)
        message = f"there is no resource type {error.args[0]!r} (there are {known})"
        raise UnknownResourceType(message) from error


Settings = TypeVar("Settings", bound=msgspec.Struct)


def with_maximum(in_force: Settings, now: Any, site: Site, problems: Problems) -> Settings:
    """The new maximum; it must not be below the minimum in force, whatever the file's minimum."""
    limits: Any = in_force
    rows = zip(limits.types.names, limits.minimum_allocation, now.maximum_allocation, strict=True)
    for name, least, most in rows:
        if least > most:
            key = maximum_key(site, name)
            problems.error(
                site.place(key),
                "allocation-limits",
                f"{key} is {most}, below the minimum allocation {least} in force,"
                " which only a restart changes",
                "refuses the maximum",
            )
    return msgspec.structs.replace(in_force, maximum_allocation=now.maximum_allocation)


def maximum_key(site: Site, name: str) -> str:
    """The property that sets the maximum of a type."""
    general = f"{RESOURCE_TYPES}.{name}.maximum-allocation"
    if name in (MEMORY, VCORES) and general not in site:
        return limit_key(name, "maximum")
    return general
