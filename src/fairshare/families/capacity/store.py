"""Owns where the Capacity Scheduler's configuration is kept, and who changes it by document.

Reads the properties `yarn.scheduler.configuration.*`; keeps nothing itself
(Hadoop: YarnConfigurationStore).
"""

from typing import Final, Literal

from fairshare.config.problems import Problems
from fairshare.config.site import Site
from fairshare.families.setting import of_cluster
from fairshare.families.store import ConfigurationStore, Entry

PREFIX: Final = "yarn.scheduler.configuration."
STORE: Final = PREFIX + "store.class"
ACL_POLICY: Final = PREFIX + "mutation.acl-policy.class"

SETTINGS: Final = (
    of_cluster(
        STORE, "kind", Site.string, "file",
        "Where changed properties are stored: `file` (they cannot be changed), `memory`,"
        " or another store, for which fairshare uses the state directory.",
    ),
    of_cluster(
        ACL_POLICY, "queue_administrators", Site.string, "DefaultConfigurationMutationACLPolicy",
        "Whether administrators of queues may change their queues, too.",
    ),
)  # fmt: skip

_ELSEWHERE: Final = {"leveldb": "LevelDB", "zk": "ZooKeeper", "fs": "a file system of Hadoop's"}
_KINDS: Final = ("file", "memory", *_ELSEWHERE)
_PACKAGE: Final = "org.apache.hadoop.yarn.server.resourcemanager.scheduler."
_POLICIES: Final = {
    _PACKAGE + "DefaultConfigurationMutationACLPolicy": False,
    _PACKAGE + "capacity.conf.QueueAdminConfigurationMutationACLPolicy": True,
}


def read_store(
    site: Site, base: Site, written: tuple[Entry, ...], problems: Problems
) -> ConfigurationStore:
    """The store that the properties ask for; `base` are those of yarn-site.xml and its like."""
    chosen = site.string(STORE, "file", problems)
    kind: Literal["file", "memory", "persistent"] = "file"
    if chosen == "memory":
        kind = "memory"
    elif chosen in _ELSEWHERE:
        kind = "persistent"
        problems.warning(
            site.place(STORE),
            "unsupported",
            f"{STORE}: changes of the configuration are kept in the state directory, and not in"
            f" {_ELSEWHERE[chosen]}",
            f"keeps them in {_ELSEWHERE[chosen]}",
        )
    elif chosen != "file":
        problems.error(
            site.place(STORE),
            "property-value",
            f"{STORE}: Invalid configuration store class: {chosen} (there are {', '.join(_KINDS)})",
            "does not start",
        )
    policy = site.string(ACL_POLICY, next(iter(_POLICIES)), problems)
    if policy not in _POLICIES:
        problems.error(
            site.place(ACL_POLICY),
            "property-value",
            f"{ACL_POLICY}: there is no policy {policy!r} (there are {', '.join(_POLICIES)})",
            "does not start without the class",
        )
    where = "changes are kept in the state directory"
    if kind == "file":
        where = f"{STORE} is file, and nothing changes it"
    for unread in site.unread(PREFIX):
        problems.warning(
            unread.place,
            "unsupported",
            f"{unread.name} has no effect: {where}",
            "honours it if its store is chosen",
        )
    return ConfigurationStore(kind, _POLICIES.get(policy, False), written, base)
