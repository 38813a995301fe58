"""Owns where `simulate --cluster-from` gets what describes a cluster: a file, or a live YARN."""

import urllib.error
import urllib.request
from pathlib import Path
from typing import Final

from fairshare.cli.verbs import Failure
from fairshare.core.model.inputs import NodeJoined
from fairshare.core.model.resources import ResourceTypes
from fairshare.lab.simulate.clusters import ClusterUnreadable, nodes_of
from fairshare.wording import cause

MOST_BYTES: Final = 256 * 1024**2
TIMEOUT_S: Final = 30.0
NODES: Final = "/ws/v1/cluster/nodes"


def read_cluster_from(source: str, types: ResourceTypes) -> tuple[NodeJoined, ...]:
    """The nodes of a cluster: of the ResourceManager at an address, or as a file describes them.
    Raises Failure."""
    try:
        return nodes_of(_text(source), types)
    except ClusterUnreadable as error:
        raise Failure(f"--cluster-from {source}: {error}") from error


def _text(source: str) -> str:
    try:
        if source.startswith(("http://", "https://")):
            address = source.rstrip("/").removesuffix(NODES) + NODES
            request = urllib.request.Request(  # noqa: S310 - http or https
                address, headers={"Accept": "application/json"}
            )
            with urllib.request.urlopen(request, timeout=TIMEOUT_S) as answer:  # noqa: S310
                data = answer.read(MOST_BYTES + 1)
        else:
            with Path(source).open("rb") as file:
                data = file.read(MOST_BYTES + 1)
        if len(data) > MOST_BYTES:
            raise Failure(f"--cluster-from {source} has more than {MOST_BYTES:,} bytes")
        return bytes(data).decode()
    except (OSError, urllib.error.URLError, UnicodeDecodeError) as error:
        raise Failure(f"--cluster-from: cannot read {source}: {cause(error)}") from error
