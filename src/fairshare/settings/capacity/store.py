"""Where the Capacity Scheduler's configuration is kept: the files of a directory, or a store that
is changed by document (`yarn.scheduler.configuration.*`; Hadoop: YarnConfigurationStore).

Opens files; what they include must be in the directory too.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, Literal

from fairshare.documents.problems import Place, Problems
from fairshare.settings.capacity.names import CAPACITY_FILE, PREFIX, misplaced
from fairshare.settings.capacity.reading import SHIPPED
from fairshare.settings.configuration import ConfigurationStore, Entry
from fairshare.settings.setting import of_cluster
from fairshare.settings.site import Site
from fairshare.settings.site_files import include_reader, read_site

MISSING_FILE = "capacity-file"
"""The rule of the warning that there is no capacity-scheduler.xml."""


def read_capacity_site(
    directory: Path,
    documents: Sequence[tuple[str, bytes]],
    problems: Problems,
    environment: Mapping[str, str],
) -> Site:
    """The properties of `documents`, and after them those of capacity-scheduler.xml.

    Without a file there is what Hadoop ships: one queue, root.default.
    """
    path = directory / CAPACITY_FILE
    files = [*documents]
    try:
        files.append((str(path), path.read_bytes()))
    except FileNotFoundError:
        problems.warning(
            Place(str(path)),
            MISSING_FILE,
            "there is no such file: there is one queue, root.default, which has everything",
            "starts with the file that it ships, or not at all",
        )
    except OSError as error:
        problems.error(Place(str(path)), "file", f"cannot be read: {error.strerror}")
    site = read_site(files, problems, environment, include_reader(directory), misplaced)
    # A file that is broken says too little to ask for its queues.
    was_read = len(files) > len(documents) and not any(
        problem.file == str(path) for problem in problems.errors
    )
    if was_read or f"{PREFIX}root.queues" in site:
        return site
    return site.with_values(SHIPPED, str(path))


def written_properties(
    directory: Path, stored: Mapping[str, str] | None = None
) -> tuple[tuple[str, str], ...]:
    """Names and values of capacity-scheduler.xml, variables and all; `stored` instead, if given.

    Problems of the file are reported by the reader of its meaning.
    """
    if stored is not None:
        return tuple(stored.items())
    path = directory / CAPACITY_FILE
    try:
        document = path.read_bytes()
    except OSError:
        return tuple(SHIPPED.items())
    site = read_site([(str(path), document)], Problems(), {}, include_reader(directory))
    return tuple((found.name, found.value) for found in site)


_STORE: Final = "yarn.scheduler.configuration."
STORE: Final = _STORE + "store.class"
ACL_POLICY: Final = _STORE + "mutation.acl-policy.class"

SETTINGS: Final = (
    of_cluster(STORE, "kind", Site.string, "file",
        "Where changed properties are stored: `file` (they cannot be changed), `memory`,"
        " or another store, for which fairshare uses the state directory."),
    of_cluster(ACL_POLICY, "queue_administrators", Site.string,
        "DefaultConfigurationMutationACLPolicy",
        "Whether administrators of queues may change their queues, too."),
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
        message = f"{ACL_POLICY}: there is no policy {policy!r} (there are {', '.join(_POLICIES)})"
        place = site.place(ACL_POLICY)
        if chosen == "file":
            problems.warning(place, "property-value", message, "loads no policy: nothing changes")
        else:
            hadoop = "does not start without the class"
            problems.error(place, "property-value", message, hadoop)
    where = "changes are kept in the state directory"
    if kind == "file":
        where = f"{STORE} is file, and nothing changes it"
    for unread in site.unread(_STORE):
        problems.warning(
            unread.place,
            "unsupported",
            f"{unread.name} has no effect: {where}",
            "honours it if its store is chosen",
        )
    return ConfigurationStore(kind, _POLICIES.get(policy, False), written, base)
