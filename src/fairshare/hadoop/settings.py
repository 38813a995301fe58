"""What the protocols for nodes and masters need to know of a configuration, with YARN's defaults.

All times are milliseconds. `yarn.resourcemanager.` is left out in the names of properties.
"""

from collections.abc import Callable

from msgspec import Struct

from fairshare.manager.requests import DEFAULT_RACK
from fairshare.web.yarn.cluster import HADOOP_VERSION

MINUTE_MS = 60_000
DAY_MS = 24 * 60 * MINUTE_MS

VERSION = HADOOP_VERSION
"""The release of Hadoop whose ResourceManager this is to nodes and clients: nodes compare it with
their `yarn.nodemanager.resourcemanager.minimum.version`."""


class KeySettings(Struct, frozen=True):
    """How often the three kinds of master keys roll.

    `container-tokens.master-key-rolling-interval-secs`, `nm-tokens.…`, `am-rm-tokens.…`. A new key
    is given out first and signs only after its delay: 1.5 times the time after which a silent node
    (or master) expires, so that all have it by then.
    """

    container_rolling_ms: int = DAY_MS
    node_rolling_ms: int = DAY_MS
    master_rolling_ms: int = DAY_MS
    node_delay_ms: int = 15 * MINUTE_MS
    master_delay_ms: int = 15 * MINUTE_MS


class NodeSettings(Struct, frozen=True):
    """How nodes are treated.

    `heartbeat_ms`: `nodemanagers.heartbeat-interval-ms`. While the server is busy it asks nodes to
    beat less often, down to once in `longest_heartbeat_ms`. `expiry_ms`:
    `yarn.nm.liveness-monitor.expiry-interval-ms`. `minimum_version`:
    `nodemanager.minimum.version`; empty: any. `allowed` says of a host whether the include and
    exclude files (`nodes.include-path`, `nodes.exclude-path`) admit it; `rack_of` gives its rack.
    """

    heartbeat_ms: int = 1_000
    longest_heartbeat_ms: int = 10_000
    expiry_ms: int = 10 * MINUTE_MS
    minimum_version: str = ""
    allowed: Callable[[str], bool] = lambda host: True
    rack_of: Callable[[str], str] = lambda host: DEFAULT_RACK


class MasterSettings(Struct, frozen=True):
    """How masters are treated.

    `expiry_ms`: `yarn.am.liveness-monitor.expiry-interval-ms`. `token_life_ms`:
    `rm.container-allocation.expiry-interval-ms`, for which a container's token is valid.
    """

    expiry_ms: int = 10 * MINUTE_MS
    token_life_ms: int = 10 * MINUTE_MS
