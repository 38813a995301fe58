"""What the launcher of a container gets: a launch context, as JSON, with what a node adds."""

import base64
import json
from collections.abc import Mapping
from typing import Any

from fairshare.engines.protocol import LaunchOrder
from fairshare.errors import EngineError

INHERITED = (
    "JAVA_HOME",
    "HADOOP_COMMON_HOME",
    "HADOOP_HDFS_HOME",
    "HADOOP_CONF_DIR",
    "CLASSPATH_PREPEND_DISTCACHE",
    "HADOOP_YARN_HOME",
    "HADOOP_HOME",
    "PATH",
    "LANG",
    "TZ",
)
"""Hadoop's default of yarn.nodemanager.env-whitelist."""

_PUBLIC = 1
"""LocalResourceVisibilityProto.PUBLIC."""


def specification(
    context: Any,
    order: LaunchOrder,
    address: tuple[str, int],
    web_address: tuple[str, int],
    server: Mapping[str, str],
) -> bytes:
    """The launcher's input for a ContainerLaunchContextProto.

    `address` is the node's for masters, `web_address` that of its web server; `server` are the
    variables of this process. Raises EngineError for files that this node cannot reach.
    """
    fixed = {
        "CONTAINER_ID": order.container_name,
        "NM_HOST": address[0],
        "NM_PORT": str(address[1]),
        "NM_HTTP_PORT": str(web_address[1]),
        "USER": order.user,
        "LOGNAME": order.user,
    }
    content = {
        "commands": list(context.command),
        "environment": {entry.key: entry.value for entry in context.environment},
        "inherited": {name: server[name] for name in INHERITED if name in server},
        "fixed": fixed,
        "resources": [_resource(entry.key, entry.value) for entry in context.localResources],
        "tokens": base64.b64encode(context.tokens).decode(),
    }
    return json.dumps(content).encode()


def _resource(name: str, resource: Any) -> dict[str, Any]:
    where = resource.resource
    if where.scheme not in ("", "file"):
        raise EngineError(
            f"the resource {name!r} is at {where.scheme}://{where.host}{where.file}; containers on"
            " this machine get file: resources only (fs.defaultFS file:///)"
        )
    return {
        "name": name,
        "path": where.file,
        "size": resource.size,
        "timestamp_ms": resource.timestamp,
        "type": resource.type,
        "pattern": resource.pattern,
        "public": resource.visibility == _PUBLIC,
    }
