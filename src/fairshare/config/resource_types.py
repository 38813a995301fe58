"""Owns the site's resource types and the sizes of containers (Hadoop: ResourceUtils,
FairScheduler.getNormalizedResource).

The assignment of GPUs declares their type, whether resource-types.xml does it or not. Knows no
device and no scheduler: which of the sizes it uses, and what else must hold, is the scheduler's.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from fairshare.config import units
from fairshare.config.located import Node
from fairshare.config.problems import Problems
from fairshare.config.site import Site
from fairshare.config.xml import escaped
from fairshare.documents.gpus import GPU, GpuSetting, wrong_gpus
from fairshare.model.resources import MEMORY, UNBOUNDED, VCORES, Resource, ResourceTypes

RESOURCE_TYPES = "yarn.resource-types"

_NAME = re.compile(r"(?:[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?/)?[A-Za-z][A-Za-z0-9_.-]*")
_UNITS = {MEMORY: "Mi", VCORES: ""}
_SHORT = {MEMORY: "mb", VCORES: "vcores"}


class AllocationLimits(msgspec.Struct, frozen=True):
    """The smallest and the largest container, in the order of the types."""

    minimum: Resource
    maximum: Resource


def read_types(site: Site, problems: Problems) -> ResourceTypes:
    """`memory-mb`, `vcores`, then `yarn.resource-types` in the order of that list, with units."""
    names = [MEMORY, VCORES]
    for name in site.strings(RESOURCE_TYPES, problems):
        place = site.place(RESOURCE_TYPES)
        if name in _UNITS:
            continue  # both are there in any case
        if name in names:
            problems.warning(place, "resource-type", f"the resource type {name!r} is given twice")
        elif name == "memory":
            problems.error(
                place,
                "resource-type",
                f"a resource type must not be called 'memory': {MEMORY!r} is there without asking",
                "does not start",
            )
        elif not _NAME.fullmatch(name):
            problems.error(
                place,
                "resource-type",
                f"{name!r} is not a name for a resource type: it must be a letter followed by"
                " letters, digits, '_', '.' and '-', after 'domain/' if there is one",
                "does not start",
            )
        else:
            names.append(name)
    for name in names:
        kind = site.string(f"{RESOURCE_TYPES}.{name}.type", "COUNTABLE", problems)
        if kind.upper() != "COUNTABLE":
            problems.error(
                site.place(f"{RESOURCE_TYPES}.{name}.type"),
                "resource-type",
                f"{name} is of the type {kind!r}: only COUNTABLE is known",
                "does not start",
            )
    return ResourceTypes(tuple(names), tuple(_unit(site, name, problems) for name in names))


def _unit(site: Site, name: str, problems: Problems) -> str:
    key = f"{RESOURCE_TYPES}.{name}.units"
    expected = _UNITS.get(name)
    unit = site.string(key, expected or "", problems)
    if expected is not None and unit != expected:
        wanted = f"be {expected!r}" if expected else "have no unit"
        problems.error(
            site.place(key), "resource-unit", f"{name} must {wanted}, not {unit!r}",
            "does not start",
        )  # fmt: skip
        return expected
    if not units.is_unit(unit):
        problems.error(
            site.place(key), "resource-unit", f"{unit!r} is not a unit", "does not start"
        )
        return ""
    return unit


def read_limits(site: Site, types: ResourceTypes, problems: Problems) -> AllocationLimits:
    """The smallest and largest container (Hadoop: FairSchedulerConfiguration.getMinimumAllocation
    and getMaximumAllocation)."""
    defaults = {(MEMORY, "minimum"): 1024, (VCORES, "minimum"): 1}
    defaults |= {(MEMORY, "maximum"): 8192, (VCORES, "maximum"): 4}
    found: dict[str, list[int]] = {"minimum": [], "maximum": []}
    for bound, amounts in found.items():
        for name in types.names:
            default = defaults.get((name, bound), 0 if bound == "minimum" else UNBOUNDED)
            if name in _SHORT:
                default = site.integer(limit_key(name, bound), default, problems)
            amounts.append(
                site.long(f"{RESOURCE_TYPES}.{name}.{bound}-allocation", default, problems)
            )
    return AllocationLimits(tuple(found["minimum"]), tuple(found["maximum"]))


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


def with_gpu_type(
    documents: Documents, site: Site, defaults: Mapping[str, str], file: str
) -> list[tuple[str, bytes]]:
    """Documents of properties with the type of GPUs, and before them the scheduler's `defaults`,
    without which it has no further types. `site` is what the documents say."""
    names = site.strings(RESOURCE_TYPES, Problems())
    found = [(file, _document(defaults)), *documents] if defaults else [*documents]
    if GPU not in names:
        found.append((file, _document({RESOURCE_TYPES: ",".join((*names, GPU))})))
    return found


def _document(properties: Mapping[str, str]) -> bytes:
    lines = (
        f"<property><name>{name}</name><value>{escaped(value)}</value></property>"
        for name, value in properties.items()
    )
    return f"<configuration>{''.join(lines)}</configuration>".encode()
