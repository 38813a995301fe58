"""The properties of node labels (yarn-site.xml): whether there are any, and who gives them.

Which labels there are and where, administrators say while the server runs (Hadoop:
RMNodeLabelsManager).
"""

from typing import Final

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
