"""Owns the properties of MapReduce's master and Fair Scheduler that have no effect here: each is
reported by its name, with file and line, why, and what Hadoop does.

Settings that do have one are read in `pools`.
"""

import re
from typing import Final

from fairshare.config.problems import Place, Problems
from fairshare.config.site import Site
from fairshare.families.pools.names import PREFIX, SECTION
from fairshare.families.pools.switches import SHELL_FILE
from fairshare.schedulers.pools.settings import PoolsSettings

_DEFAULT_SELECTOR: Final = "org.apache.hadoop.mapred.DefaultTaskSelector"

_LATER: Final = (
    "allow.undeclared.pools",
    "assignmultiple.maps",
    "assignmultiple.reduces",
    "load.max.diff",
    "preemption",
    "preemption.only.log",
    "preemption.interval",
    "locality.delay",
    "locality.delay.node",
    "locality.delay.rack",
)
"""What only 1.2 knows."""

_NO_EFFECT: Final = {
    "eventlog.enabled": "the journal has every event: fairshare logs shows them",
    "eventlog.location": "the journal has every event: fairshare logs shows them",
    "dump.interval": "the state can be looked at whenever it is wanted",
}

_ACCESS: Final = (
    "with yarn.acl.enable a job is its owner's and those of yarn.admin.acl may end it, but any"
    " user's jobs may go to any pool"
)
_SWITCHES: Final = {
    "mapred.acls.enabled": (_ACCESS, "asks the lists of its queues"),
    "mapreduce.cluster.acls.enabled": (_ACCESS, "asks the lists of its queues"),
    "net.topology.nodegroup.aware": (
        "a map is on its host, on its rack or off it: there are no groups of hosts within a rack",
        "1.2 knows node groups between host and rack",
    ),
    "webinterface.private.actions": (
        "the user is asked for the right to change jobs, not the page",
        "lets the page change pools and priorities",
    ),
}
"""Switches of the master: reported when they are on."""

_LIST: Final = re.compile(r"mapred(uce)?\.queue\..+\.acl-(submit-job|administer-jobs)")
_THREADS: Final = "mapred.jobinit.threads"


def report_unsupported(site: Site, settings: PoolsSettings, problems: Problems) -> None:
    """Report properties that have no effect here."""
    _report_of_the_master(site, problems)
    selector = PREFIX + "taskselector"
    if site.string(selector, _DEFAULT_SELECTOR, problems) != _DEFAULT_SELECTOR:
        problems.warning(
            site.place(selector),
            "unsupported",
            f"{selector} has no effect: which of its tasks a job starts is decided by their"
            " locality and number",
            "loads the class",
        )
    for name, reason in _NO_EFFECT.items():
        if site.text(PREFIX + name, problems) is not None:
            problems.warning(
                site.place(PREFIX + name),
                "unsupported",
                f"{PREFIX}{name} has no effect: {reason}",
                "writes a log of its own",
            )
    if settings.deficits:
        for name in _LATER:
            if PREFIX + name in site:
                problems.warning(
                    site.place(PREFIX + name),
                    "generation",
                    f"{PREFIX}{name} has no effect in the generation {settings.generation}: set"
                    ' generation = "1.2" below [pools] in fairshare.toml',
                    "does not know it in that release",
                )
    for switch, effective in (
        ("fifo", settings.deficits or not settings.fifo),
        ("scale_min_shares", not settings.deficits or not settings.scale_min_shares),
        ("wait_for_maps", settings.generation == "0.20" or settings.wait_for_maps),
    ):
        if not effective:
            problems.warning(
                Place(SHELL_FILE),
                "generation",
                f"{switch} below [{SECTION}] has no effect in the generation {settings.generation}",
            )
    for unknown in site.unread(PREFIX):
        problems.warning(
            unknown.place,
            "unknown-property",
            f"{unknown.name} is unknown and has no effect",
            "ignores it",
        )


def _report_of_the_master(site: Site, problems: Problems) -> None:
    """What other parts of MapReduce's master would do, and who wrote it may rely on."""
    for name, (reason, hadoop) in _SWITCHES.items():
        if site.boolean(name, False, problems):
            _report(site, name, reason, hadoop, problems)
    for one in site:
        if _LIST.fullmatch(one.name):
            _report(site, one.name, _ACCESS, "asks it when mapred.acls.enabled is true", problems)
    if site.text(_THREADS, problems) is not None:
        reason = "a job is initialized as soon as its limits let it run"
        _report(site, _THREADS, reason, "initializes so many jobs at once", problems)


def _report(site: Site, name: str, reason: str, hadoop: str, problems: Problems) -> None:
    message = f"{name} has no effect: {reason}"
    problems.warning(site.place(name), "unsupported", message, hadoop)
