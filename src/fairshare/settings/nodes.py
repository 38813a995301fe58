"""The properties of nodes in yarn-site.xml: what a local engine can honour of those of the node
manager, where logs are aggregated, and node labels: whether there are any, and who gives them.

Which labels there are and where, administrators say while the server runs (Hadoop:
RMNodeLabelsManager).
"""

from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

import msgspec

from fairshare.documents.problems import Problems
from fairshare.settings.site import Site

ENABLED: Final = "yarn.node-labels.enabled"
TYPE: Final = "yarn.node-labels.configuration-type"
MASTER_DEFAULT: Final = "yarn.resourcemanager.node-labels.am.default-node-label-expression"
MASTER_BORROWS: Final = "yarn.resourcemanager.node-labels.am.allow-non-exclusive-allocation"
PROVIDER: Final = "yarn.nodemanager.node-labels.provider"
NODE_PARTITION: Final = "yarn.nodemanager.node-labels.provider.configured-node-partition"

_CENTRALIZED: Final = "centralized"
_DELEGATED: Final = "delegated-centralized"
_DISTRIBUTED: Final = "distributed"


def master_label(site: Site, name: str, default: str | None, problems: Problems) -> str | None:
    """The label of masters."""
    return (site.text(name, problems) or "").strip() or default


def are_distributed(site: Site, name: str, default: bool, problems: Problems) -> bool:
    """Whether nodes report their labels; if not, administrators say what they are."""
    kind = (site.text(name, problems) or _CENTRALIZED).strip().lower()
    known = (_CENTRALIZED, _DELEGATED, _DISTRIBUTED)
    if kind not in known:
        message = f"{name}: there is no {kind!r}: it is {', '.join(known)}"
        problems.error(site.place(name), "property-value", message, "takes it for centralized")
        return default
    if kind == _DELEGATED:
        message = (
            f"{name} is {kind}: no provider is asked here, administrators say it as if it were"
            f" {_CENTRALIZED}"
        )
        problems.warning(site.place(name), "unsupported", message, "asks its provider")
    return kind == _DISTRIBUTED


def read_node_partition(site: Site, problems: Problems) -> str:
    """The partition that a node manager reports for itself; empty: none.

    Only where labels are distributed, and the provider is `config`.
    """
    provider = (site.text(PROVIDER, problems) or "").strip()
    if provider and provider.lower() != "config":
        message = f"{PROVIDER} is {provider}: only config is known here, so nodes report no label"
        problems.warning(site.place(PROVIDER), "unsupported", message, "asks that provider")
        return ""
    distributed = (site.text(TYPE, problems) or "").strip().lower() == _DISTRIBUTED
    if not provider or not distributed:
        return ""
    return (site.text(NODE_PARTITION, problems) or "").strip()


MEMORY_CHECK = "yarn.nodemanager.pmem-check-enabled"
STRICT_CPU = "yarn.nodemanager.linux-container-executor.cgroups.strict-resource-usage"
VCORES_PER_CORE = "yarn.nodemanager.resource.pcores-vcores-multiplier"
GRACE_MS = "yarn.nodemanager.sleep-delay-before-sigkill.ms"
MEMORY_MB = "yarn.nodemanager.resource.memory-mb"
CPU_VCORES = "yarn.nodemanager.resource.cpu-vcores"
DETECTS = "yarn.nodemanager.resource.detect-hardware-capabilities"

_MEASURED: Final = -1
"""Hadoop's value for a size that the machine says."""

DEFAULT_GRACE_MS = 10_000
"""Hadoop's is 250, in which no program saves its work."""


class NodeManagerSettings(msgspec.Struct, frozen=True):
    """How a node treats containers.

    `memory_check`: a container above its memory is ended. `strict_cpu`: no container gets
    more CPU than its vcores, also when others idle. `grace_ms`: from the request to end to the end
    by force. `vcores_per_core`: the worth of a processor where the vcores of a node
    are not given. `partition`: the label that its nodes report of themselves; empty: none.
    `memory_mb` and `vcores` are the sizes of a node, where [engine] of fairshare.toml has none;
    None: its part of what the machine has.
    """

    memory_check: bool = True
    strict_cpu: bool = False
    grace_ms: int = DEFAULT_GRACE_MS
    vcores_per_core: float = 1.0
    partition: str = ""
    memory_mb: int | None = None
    vcores: int | None = None


def read_node_manager(site: Site, problems: Problems) -> NodeManagerSettings:
    """Read them, with Hadoop's defaults except for the grace time."""
    return NodeManagerSettings(
        memory_check=site.boolean(MEMORY_CHECK, True, problems),
        strict_cpu=site.boolean(STRICT_CPU, False, problems),
        grace_ms=site.integer(GRACE_MS, DEFAULT_GRACE_MS, problems, minimum=0),
        vcores_per_core=_vcores_per_core(site, problems),
        partition=read_node_partition(site, problems),
        memory_mb=_size(site, MEMORY_MB, problems),
        vcores=_size(site, CPU_VCORES, problems),
    )


def _size(site: Site, name: str, problems: Problems) -> int | None:
    """An amount of a node. Where there is none the machine is measured, as Hadoop does if `DETECTS`
    is true."""
    size = site.integer(name, _MEASURED, problems)
    if size > 0:
        return size
    if size != _MEASURED:
        message = f"{name}: a node cannot have {size}; leave it out to offer what the machine has"
        problems.error(site.place(name), "property-value", message, "starts a useless node")
    elif not site.boolean(DETECTS, True, problems):
        message = f"{DETECTS} is false, and {name} not set: the machine is measured all the same"
        problems.warning(site.place(DETECTS), "unsupported", message, "offers 8192 MB and 8 vcores")
    return None


def report_other_sizes(
    site: Site, memory_mb: int | None, vcores: int | None, problems: Problems
) -> None:
    """Report sizes of nodes that [engine] of fairshare.toml overrides; these are given."""
    for name, key, size in ((MEMORY_MB, "memory_mb", memory_mb), (CPU_VCORES, "vcores", vcores)):
        if size is None or name not in site:
            continue
        written = site.integer(name, size, Problems())
        if written != size:
            message = (
                f"{name} is {written}, and {key} in [engine] of fairshare.toml is {size}: the"
                " latter applies"
            )
            problems.warning(site.place(name), "overridden", message, "starts nodes of this size")


def _vcores_per_core(site: Site, problems: Problems) -> float:
    found = site.single(VCORES_PER_CORE, 1.0, problems)
    if found > 0:
        return found
    message = f"Illegal value for {VCORES_PER_CORE}: {found:g} must be greater than 0"
    problems.error(site.place(VCORES_PER_CORE), "property-value", message, "does not start")
    return 1.0


AGGREGATION: Final = "yarn.log-aggregation-enable"
REMOTE_LOGS: Final = "yarn.nodemanager.remote-app-log-dir"
LOG_FORMATS: Final = "yarn.log-aggregation.file-formats"
_TFILE: Final = "TFile"


class RemoteLogs(msgspec.Struct, frozen=True):
    """Where the nodes of this machine aggregate logs: below `directory`, in `suffix` of each user.
    `problem` says why they cannot."""

    directory: Path
    suffix: str
    problem: str = ""


def read_remote_logs(site: Site, problems: Problems) -> RemoteLogs:
    """Where that is, with Hadoop's defaults (Hadoop: LogAggregationFileController)."""
    written = urlsplit(site.string(REMOTE_LOGS, "/tmp/logs", problems))  # noqa: S108
    scheme = written.scheme
    if not scheme:
        scheme = urlsplit(site.string("fs.defaultFS", "file:///", problems)).scheme
    suffix = site.string(f"{REMOTE_LOGS}-suffix", "logs", problems)
    problem = ""
    if scheme != "file":
        problem = (
            f"{REMOTE_LOGS} is in {scheme}:, and the nodes of this machine write to file: only"
        )
    elif _TFILE not in (site.strings(LOG_FORMATS, problems) or (_TFILE,)):
        problem = f"{LOG_FORMATS} has no {_TFILE}, which is what the nodes of this machine write"
    return RemoteLogs(Path(written.path), f"{suffix}-{_TFILE.lower()}", problem)
