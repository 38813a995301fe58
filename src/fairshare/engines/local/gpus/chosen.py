"""Which GPUs are offered, as which resource type, and by which node.

A GPU is offered as exactly one type, so that each amount can be counted by itself: `yarn.io/gpu-X`
if the configuration has that type and all words of X are words of the model's name (the type with
the most words first), and otherwise `yarn.io/gpu`.
"""

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from fairshare.documents.gpus import GPU, GpuSetting
from fairshare.engines.local.gpus.found import AMD, Gpu
from fairshare.engines.local.machine import split
from fairshare.errors import EngineError
from fairshare.wording import counted

_OF_TYPE = GPU + "-"


class ChosenGpus(NamedTuple):
    """The GPUs that an engine assigns, by resource type, and those that no container may have."""

    offered: dict[str, tuple[Gpu, ...]] = {}  # noqa: RUF012 - never mutated
    others: tuple[Gpu, ...] = ()

    @property
    def all(self) -> tuple[Gpu, ...]:
        """All that are offered."""
        return tuple(gpu for gpus in self.offered.values() for gpu in gpus)

    @property
    def vendor(self) -> str:
        """The vendor of them; empty if it is unknown, or there are none."""
        return next((gpu.vendor for gpu in self.all if gpu.vendor), "")


def choose(
    setting: GpuSetting,
    found: Sequence[Gpu],
    types: Sequence[str],
    environment: Mapping[str, str],
) -> ChosenGpus | None:
    """What a setting means on a machine with these GPUs; None: GPUs are not assigned.

    `types` are the names of the configuration's resource types, `environment` is the server's: what
    it may not use itself (CUDA_VISIBLE_DEVICES, ROCR_VISIBLE_DEVICES), it does not offer. Raises
    EngineError for GPUs that are not there.
    """
    if setting == "none":
        return None
    if isinstance(setting, tuple):
        gpus = [_named(name, found) for name in setting]
        for place, gpu in enumerate(gpus):
            if _device(gpu) in map(_device, gpus[:place]):
                raise EngineError(f"gpus names one GPU twice, the second time as {gpu.name}")
    else:
        gpus = _visible(found, environment)
        if isinstance(setting, int):
            if setting > len(gpus):
                raise EngineError(
                    f"gpus = {setting}, and this machine has {_listed(gpus)} that the server may"
                    " use; where it cannot list them, give their names: gpus = ["
                    + ", ".join(f'"{index}"' for index in range(min(setting, 2)))
                    + ("]" if setting <= 2 else ", ...]")
                )
            gpus = gpus[:setting]
    offered: dict[str, list[Gpu]] = {GPU: []}
    for gpu in gpus:
        offered.setdefault(type_of(gpu.model, types), []).append(gpu)
    # In the order of the configuration, as all amounts of a node.
    ordered = {name: tuple(offered[name]) for name in types if name in offered}
    return ChosenGpus(ordered, _others(gpus, found))


def assigned_elsewhere(names: Sequence[str], present: Sequence[Gpu]) -> ChosenGpus:
    """GPUs that another scheduler has assigned to the engine as a whole, by their names there."""
    gpus = tuple(next((gpu for gpu in present if name in _names(gpu)), Gpu(name)) for name in names)
    # The name is the other scheduler's: the programs get what it would have set.
    gpus = tuple(gpu._replace(name=name) for gpu, name in zip(gpus, names, strict=True))
    return ChosenGpus({GPU: gpus}, _others(gpus, present))


def type_of(model: str, types: Sequence[str]) -> str:
    """The resource type as which GPUs of a model are offered.

    >>> type_of("NVIDIA A100-SXM4-80GB", ("yarn.io/gpu", "yarn.io/gpu-a100"))
    'yarn.io/gpu-a100'
    """
    words = set(_words(model))
    best, most = GPU, 0
    for name in types:
        wanted = _words(name.removeprefix(_OF_TYPE)) if name.startswith(_OF_TYPE) else []
        if len(wanted) > most and words.issuperset(wanted):
            best, most = name, len(wanted)
    return best


def per_node(chosen: ChosenGpus, nodes: Sequence[str]) -> dict[str, dict[str, tuple[Gpu, ...]]]:
    """The GPUs of each node by type: every GPU belongs to one node, the parts are as those of all
    other resources."""
    parts: dict[str, dict[str, tuple[Gpu, ...]]] = {node: {} for node in nodes}
    for name, gpus in chosen.offered.items() if nodes else ():
        begin = 0
        for node, count in zip(nodes, split(len(gpus), len(nodes)), strict=True):
            parts[node][name] = gpus[begin : begin + count]
            begin += count
    return parts


def _named(name: str, gpus: Sequence[Gpu]) -> Gpu:
    for gpu in gpus:
        if name in _names(gpu):
            return gpu._replace(name=name)
    if gpus and (name.isdigit() or name.startswith("GPU-")):
        raise EngineError(
            f"there is no GPU {name!r} on this machine: it has {_listed(gpus)}"
            f" ({', '.join(gpu.name for gpu in gpus)})"
        )
    return Gpu(name)  # a part of one (MIG), or nothing lists the GPUs here


def _visible(gpus: Sequence[Gpu], environment: Mapping[str, str]) -> list[Gpu]:
    variable = "ROCR_VISIBLE_DEVICES" if gpus and gpus[0].vendor == AMD else _CUDA
    written = environment.get(variable)
    if written is None:
        return list(gpus)
    names = [name.strip() for name in written.split(",") if name.strip()]
    return [gpu for name in names for gpu in gpus if name in _names(gpu)]


_CUDA = "CUDA_VISIBLE_DEVICES"


def _others(gpus: Sequence[Gpu], found: Sequence[Gpu]) -> tuple[Gpu, ...]:
    own = set(map(_device, gpus))
    return tuple(gpu for gpu in found if _device(gpu) not in own)


def _device(gpu: Gpu) -> str:
    """What identifies a device, whatever name it was given."""
    return gpu.address or gpu.uuid or gpu.name


def _names(gpu: Gpu) -> tuple[str, ...]:
    return (gpu.name, gpu.uuid) if gpu.uuid else (gpu.name,)


def _words(text: str) -> list[str]:
    return re.findall(r"[a-z0-9]+", text.lower())


def _listed(gpus: Sequence[Gpu]) -> str:
    return counted(len(gpus), "GPU") if gpus else "no GPU"
