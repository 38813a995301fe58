"""The names of YARN's properties that Hadoop knows: which of those in the files mean nothing, what
may be meant by them, and which are Hadoop's and have no effect here.

The list is in `yarn_names.txt`. Names below the prefixes of a scheduler, and of resource types, are
reported by their readers.
"""

import difflib
import functools
import re
from pathlib import Path
from typing import Final

from fairshare.documents import literals
from fairshare.documents.problems import Problems
from fairshare.settings.site import Property, Site

_FILE: Final = "yarn_names.txt"
_YARN: Final = "yarn."
_RM: Final = "yarn.resourcemanager."

_REPORTED_ELSEWHERE: Final = (
    "yarn.scheduler.capacity.",
    "yarn.scheduler.fair.",
    f"{_RM}monitor.capacity.preemption.",
    "yarn.resource-types.",
    "yarn.scheduler.configuration.",
)

_OPEN: Final = (
    "yarn.app.",
    "yarn.service.",
    "yarn.nodemanager.aux-services.",
    "yarn.nodemanager.container-executor.",
    "yarn.nodemanager.linux-container-executor.",
    "yarn.nodemanager.resource-type.",
    "yarn.nodemanager.resource-plugins.",
    "yarn.nodemanager.runtime.",
    f"{_RM}proxyuser.",
)
"""Below these there are names of other programs, or of anything that an administrator names."""

_WITH_IDS: Final = (_RM, "yarn.web-proxy.")
_OF_ONE: Final = ("address", "hostname", "host")
"""Names that begin and end so may have the id of one of several ResourceManagers behind them."""

_AT_THE_PORTS: Final = re.compile(
    re.escape(_RM) + r"((.*\.)?(address|hostname|bind-host)(\.[^.]+)?|ha\..+|nodes\..+-path"
    r"|nodemanagers\.heartbeat-interval.*|nodemanager-graceful-decommission-timeout-secs"
    r"|nodemanager\.minimum\.version|.*\.master-key-rolling-interval-secs)"
    r"|yarn\.(nm|am)\.liveness-monitor\.expiry-interval-ms|yarn\.log-aggregation-enable"
    r"|yarn\.log-aggregation-status\.time-out\.ms|yarn\.http\.policy"
    r"|yarn\.resourcemanager\.scheduler\.class"
    r"|yarn\.timeline-service\.(enabled|hostname|address|generic-application-history\.enabled)"
)
"""What is read when the ports for Hadoop's own nodes and clients are opened, or by clients; and the
choice of the scheduler."""

_INSTEAD: Final = (
    ("yarn.nodemanager.", "Hadoop's NodeManagers read it; fairshare's nodes read [engine] in"
     " fairshare.toml"),
    (("yarn.client.", "yarn.app.", "yarn.ipc.", "yarn.rpc.", "yarn.application."),
     "programs of Hadoop's clients read it"),
    (("yarn.timeline-service.", "yarn.system-metrics-publisher.", "yarn.rm.system-metrics",
      "yarn.log.server.", "yarn.log-aggregation"),
     "the history of applications and their logs are kept by the server itself: `fairshare"
     " history`, `fairshare logs`"),
    (("yarn.federation.", "yarn.router."), "there is no federation: each server is a cluster"),
    (("yarn.sharedcache.", "yarn.minicluster."), "there is no such service"),
    ((f"{_RM}recovery.", f"{_RM}store.", f"{_RM}fs.state-store", f"{_RM}zk-",
      f"{_RM}leveldb-state-store", f"{_RM}state-store", f"{_RM}work-preserving-recovery.enabled"),
     "the state is always kept in the state directory, and running work goes on after a restart"),
    ((f"{_RM}webapp.", "yarn.webapp.", "yarn.web-proxy."),
     "the web interface is set up by [server] in fairshare.toml"),
    ((f"{_RM}principal", f"{_RM}keytab", f"{_RM}proxy-user", f"{_RM}delegation", f"{_RM}proxyuser",
      f"{_RM}application-https"),
     "there is no Kerberos: see [authentication] in fairshare.toml"),
    ((f"{_RM}node-labels.provider", f"{_RM}node-attribute", "yarn.node-attribute"),
     "nodes have labels, which administrators assign or nodes report, and no attributes"),
    ((f"{_RM}nm-container-queuing", f"{_RM}opportunistic", f"{_RM}distributed-scheduling"),
     "all containers are guaranteed"),
    (f"{_RM}submission-preprocessor.", "use queue mappings, or priorities and labels of queues"),
    ("", "what it sets is not here"),
)  # fmt: skip
"""What to use instead of a property that Hadoop honours, by the beginning of its name."""


@functools.cache
def known_names() -> tuple[str, ...]:
    """All names, sorted; `*` is any one part."""
    lines = Path(__file__).with_name(_FILE).read_text().splitlines()
    return tuple(line for line in lines if not line.startswith("#"))


@functools.cache
def _patterns() -> re.Pattern[str]:
    starred = [re.escape(name).replace(r"\*", "[^.]+") for name in known_names() if "*" in name]
    return re.compile("|".join(starred))


def is_known(name: str) -> bool:
    """Whether Hadoop has a property of this name.

    >>> [is_known(f"yarn.{name}") for name in ("acl.enable", "acl.enabled", "app.mapreduce.am.x")]
    [True, False, True]
    """
    names = known_names()
    if name in names or name.startswith(_OPEN) or _patterns().fullmatch(name):
        return True
    base = name.rpartition(".")[0]
    return base in names and name.startswith(_WITH_IDS) and base.endswith(_OF_ONE)


def nearest(name: str) -> str | None:
    """The known name that is most like an unknown one, by its words and by its letters.

    >>> nearest("yarn.acl.enabled"), nearest("yarn.scheduler.capacity.rack-locality-delay")
    ('yarn.acl.enable', 'yarn.scheduler.capacity.rack-locality-additional-delay')
    """
    written, words = name.lower(), _words(name)
    ranked = sorted(
        known_names(), key=lambda candidate: _in_common(words, _words(candidate)), reverse=True
    )
    near = difflib.get_close_matches(
        written, [candidate.lower() for candidate in known_names()], 3, 0.8
    )
    folded = {candidate.lower(): candidate for candidate in known_names()}
    best, likeness = "", _LEAST_LIKENESS
    for candidate in (*ranked[:_MOST_COMPARED], *(folded[alike] for alike in near)):
        letters = difflib.SequenceMatcher(None, written, candidate.lower()).ratio()
        alike = (letters + _in_common(words, _words(candidate))) / 2
        if alike > likeness:
            best, likeness = candidate, alike
    return best or None


@functools.cache
def _words(name: str) -> frozenset[str]:
    return frozenset(re.split("[.-]", name.lower()))


def _in_common(one: frozenset[str], other: frozenset[str]) -> float:
    return len(one & other) / len(one | other)


_MOST_COMPARED: Final = 20
_LEAST_LIKENESS: Final = 0.65
_MOST_HINTS: Final = 50


def report_unknown(site: Site, problems: Problems) -> None:
    """Report names that neither Hadoop nor a reader of the site knows."""
    for count, unknown in enumerate(_unread(site)):
        name = literals.trim(unknown.name)
        if is_known(name):
            continue
        near = nearest(name) if count < _MOST_HINTS else None
        problems.warning(
            unknown.place,
            "unknown-property",
            f"{name} is unknown and has no effect{f': is {near} meant?' if near else ''}",
            "ignores it",
        )


def report_not_honoured(site: Site, problems: Problems) -> None:
    """Report what Hadoop honours and nothing here reads, with what to use instead: all for which
    that is the same at the place of the first."""
    groups: dict[str, list[Property]] = {}
    for found in _unread(site):
        if is_known(found.name) and not _AT_THE_PORTS.fullmatch(found.name):
            instead = next(text for start, text in _INSTEAD if found.name.startswith(start))
            groups.setdefault(instead, []).append(found)
    for instead, members in groups.items():
        names = ", ".join(member.name for member in members)
        have = "has" if len(members) == 1 else "have"
        message = f"{names} {have} no effect here: {instead}"
        problems.warning(members[0].place, "not-honoured", message, "honours it")


def _unread(site: Site) -> list[Property]:
    return [one for one in site.unread(_YARN) if not one.name.startswith(_REPORTED_ELSEWHERE)]
