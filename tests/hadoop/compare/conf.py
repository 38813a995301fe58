"""The configuration of both: two queues with access lists, labels, and access control on.

ann may use both queues, bob administers `research`, mallory may use `default`, boss administers the
cluster.
"""

import re
from pathlib import Path

from tests.hadoop import configuration

FAIR = """<?xml version="1.0"?>
<allocations>
  <queue name="root">
    <aclSubmitApps> </aclSubmitApps>
    <aclAdministerApps> </aclAdministerApps>
    <queue name="default">
      <weight>1</weight>
      <aclSubmitApps>*</aclSubmitApps>
    </queue>
    <queue name="research">
      <weight>2</weight>
      <minResources>1024 mb,1 vcores</minResources>
      <maxResources>6144 mb,6 vcores</maxResources>
      <maxRunningApps>4</maxRunningApps>
      <aclSubmitApps>ann,bob</aclSubmitApps>
      <aclAdministerApps>bob</aclAdministerApps>
    </queue>
  </queue>
  <queueMaxAMShareDefault>-1.0</queueMaxAMShareDefault>
  <queuePlacementPolicy>
    <rule name="specified" create="false"/>
    <rule name="default" queue="root.default"/>
  </queuePlacementPolicy>
</allocations>
"""
CAPACITY: dict[str, object] = {
    **configuration.CAPACITY,
    "yarn.scheduler.capacity.maximum-am-resource-percent": 1.0,
    "yarn.scheduler.capacity.root.acl_submit_applications": " ",
    "yarn.scheduler.capacity.root.acl_administer_queue": " ",
    "yarn.scheduler.capacity.root.default.acl_submit_applications": "*",
    "yarn.scheduler.capacity.root.research.acl_submit_applications": "ann,bob",
    "yarn.scheduler.capacity.root.research.acl_administer_queue": "bob",
    "yarn.scheduler.capacity.root.research.default-application-priority": 2,
    "yarn.scheduler.capacity.root.accessible-node-labels": "*",
}


def site(run: Path) -> dict[str, object]:
    """Properties of yarn-site.xml beside those that every run has."""
    return {
        "yarn.acl.enable": "true",
        "yarn.admin.acl": "boss",
        "yarn.cluster.max-application-priority": 10,
        "yarn.resourcemanager.nodes.exclude-path": run / "exclude",
        "yarn.nm.liveness-monitor.expiry-interval-ms": 20_000,
        "yarn.node-labels.enabled": "true",
        "yarn.node-labels.fs-store.root-dir": f"file://{run}/labels",
        "yarn.nodemanager.disk-health-checker.enable": "false",
    }


def write_queues(folder: Path, scheduler: str) -> None:
    """The scheduler's file, and an exclude file with nobody."""
    if scheduler == "fair":
        (folder / "fair-scheduler.xml").write_text(FAIR)
    else:
        configuration.write(folder / "capacity-scheduler.xml", CAPACITY)
    (folder.parent / "exclude").write_text("")


def node_ports(run: Path) -> dict[int, str]:
    """The ports of the NodeManagers of a run, as their own directories have them."""
    found = {}
    for path in run.glob("conf-node*/yarn-site.xml"):
        node = path.parent.name.removeprefix("conf-")
        for what in ("", "localizer.", "webapp."):
            name = f"yarn.nodemanager.{what}address"
            match = re.search(rf"<name>{name}</name><value>[^:]+:(\d+)", path.read_text())
            assert match is not None
            found[int(match[1])] = f"{node} {what}".strip(" .")
    return found
