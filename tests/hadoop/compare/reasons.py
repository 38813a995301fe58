"""The differences that are meant, each with its reason.

`docs/hadoop-differences.md` has those that somebody may notice.
"""

from fnmatch import fnmatchcase

import msgspec
from tests.hadoop.compare.answers import Difference


class Reason(msgspec.Struct, frozen=True):
    """Why fields differ: patterns of the call's and of the field's name, and words. `scheduler`:
    with that one alone."""

    call: str
    field: str
    why: str
    scheduler: str = ""


NOT_KEPT = "what was refused stays in the list, with the reason for which it was refused"
CLEARER = "the same class, and clearer words"
NULL = "a defect: a null reference"
COUNTED = (
    "counts the applications that are known: the real one keeps some that we refuse, the other way"
    " round, or has taken one of another cluster"
)
FEATURE = "what would be ignored is refused by name"
SHARED_PLACEHOLDER = "a defect: its placeholder for strangers has what another application used"
LATER = "decided at the next heartbeat of a node there, at once here"
FAIR_DEFECT = "a defect: the maximum of vcores is written into the field of the minimum"
NOT_FAIR = "there are no node labels under the Fair Scheduler"
FEDERATION = "there is no federation"
GONE = "says why the node is gone, and not how it was before"
OFFERS = "a node is only reserved once its room has changed: before that it would serve nothing"
INSIDE = "measures the inside of Hadoop's server"
NOT_MEASURED = "a field that is not measured here is left out"
BEANS_OF_THE_INSIDE = (
    "DelegationTokenSecretManagerMetrics",
    "GenericEventTypeMetrics",
    "HttpServer2",
    "MetricsSystem",
    "RpcDetailedActivityForPort",
    "UgiMetrics",
)

REASONS: tuple[Reason, ...] = (
    # Calls about nothing.
    Reason("no id at all: *", "*", NULL),
    Reason("submit nothing", "*", NULL),
    Reason("admin: attributes as boss", "*", "nodes have no attributes; " + NULL),
    # Reports.
    Reason("*", "*submitTime", "the real one leaves it empty"),
    Reason("*", "*.app_resource_Usage.*_seconds", SHARED_PLACEHOLDER),
    Reason("*", "*.app_resource_Usage.*usage_map", SHARED_PLACEHOLDER),
    Reason("*", "*.launchTime", "an unmanaged master is launched when it registers, not at -1"),
    Reason("*", "application_report.progress", "what has ended makes no more progress"),
    Reason(
        "report of one to an unknown queue",
        "application_report.*",
        "refused before it has a label or logs there; the leaf queues are listed here",
    ),
    Reason(
        "past its lifetime: *", "application_report.diagnostics", "says how long its lifetime was"
    ),
    Reason(
        "*", "application_attempt*.diagnostics", "an attempt that is over waits for nothing more"
    ),
    Reason("unmanaged: *", "*diagnostics", "its master may register: it waits for no container"),
    # Submissions.
    Reason("report of one *", "*", NOT_KEPT),
    Reason("accepted with*", "*", "see its submission"),
    Reason("submit to a parent", "*", "the report says that it is not a leaf"),
    Reason("submit with a master on an unknown host", "*", FEATURE),
    Reason("submit with a reservation", "*", FEATURE),
    Reason("submit with an empty queue", "*", "an empty name is no name: the default queue"),
    Reason("submit by a stranger", "message", CLEARER),
    Reason("submit with an unknown label*", "message", NOT_FAIR, "fair"),
    Reason("submit for another cluster", "*", "an application of another cluster is not ours"),
    Reason("submit of number 0", "*", "numbers begin at 1"),
    Reason(
        "list: viewable as mallory",
        "names",
        "a defect: of an application to an unknown queue the access lists are forgotten",
        "capacity",
    ),
    # Changes.
    Reason("*move to nowhere as its owner", "message", CLEARER),
    Reason("*lifetime until soon as ann", "*", CLEARER),
    Reason("killed: signal as mallory", "message", "there is no container, whoever asks"),
    # Queues.
    Reason(
        "*getQueueUserAcls as boss",
        "queueUserAcls[].userAcls",
        "an administrator of the cluster may administer every queue, and is told so",
    ),
    Reason("*", "queueInfo.*queueStatistics.numApps*", COUNTED),
    Reason("*", "queueInfo.*queueStatistics.pending*", "see: ask for a negative number"),
    Reason(
        "*",
        "queueInfo.*queueStatistics.numActiveUsers",
        "a defect: counts a user again with each application",
        "fair",
    ),
    Reason(
        "*",
        "queueInfo.*queueStatistics.available*",
        "the fair share less what is used; the real one computes it only when asked over JMX",
        "fair",
    ),
    Reason("*", "queueInfo.*ResourceVCore", FAIR_DEFECT, "fair"),
    Reason("*", "queueInfo.*queuePath", "the real one leaves it empty", "fair"),
    Reason("*", "queueInfo.*maximumCapacity", "the real one leaves it empty", "fair"),
    Reason("*", "queueInfo.*apacity", "computed with each change, twice a second there", "fair"),
    # Nodes.
    Reason("*", "*nodeReports[].httpAddress", "a node that is gone has no web server"),
    Reason("*", "*health_report", GONE),
    Reason("*", "content.*healthReport", GONE),
    Reason(
        "drained no more: *",
        "*.decommissioning_timeout",
        "a node that does not drain has no timeout",
    ),
    # Documents of the web services.
    Reason("*: GET metrics", "*.apps*", COUNTED),
    Reason("*: GET metrics", "*ending*", "see: ask for a negative number"),
    Reason("*: GET metrics", "*eserved*", OFFERS, "fair"),
    Reason("*: GET *", "*.reserved*", OFFERS, "fair"),
    Reason("*: GET *", "content.app*.diagnostics", OFFERS, "fair"),
    Reason(
        "*: GET *",
        "content.app*.diagnostics",
        "figures of now, and not of when the application became active",
        "capacity",
    ),
    Reason(
        "*: GET *",
        "content.app*.resourceInfo",
        "its usage is for those who may view it",
        "capacity",
    ),
    Reason("*: GET info", "content.*StateStoreName", "the state is kept in files"),
    Reason("*: GET info", "content.*V*ersion*", "what serves it is not Hadoop"),
    # Beans.
    Reason("*: GET jmx", "java.lang:*", "there is no Java machine"),
    *(Reason("*: GET jmx", f"Hadoop:*name={bean}*", INSIDE) for bean in BEANS_OF_THE_INSIDE),
    Reason("*: GET jmx", "Hadoop:*name=FSOpDurations", INSIDE, "fair"),
    Reason("*: GET jmx", "Hadoop:*name=CapacitySchedulerMetrics", INSIDE, "capacity"),
    Reason("*: GET jmx", "Hadoop:*name=ResourceManager", "its one field is in RMInfo as well"),
    Reason(
        "*: GET jmx",
        "Hadoop:*name=PartitionQueueMetrics*.*",
        "amounts alone are known by partition: applications are counted by queue",
        "capacity",
    ),
    Reason(
        "*: GET jmx",
        "Hadoop:*name=PartitionQueueMetrics*",
        "the only partition has what the queue has",
        "fair",
    ),
    Reason("*: GET jmx", "Hadoop:*,user=*.*", NOT_MEASURED, "fair"),
    Reason("*: GET jmx", "Hadoop:*name=ClusterMetrics.*", NOT_MEASURED),
    Reason("*: GET jmx", "Hadoop:*name=JvmMetrics.*", NOT_MEASURED),
    Reason("*: GET jmx", "Hadoop:*name=RpcActivityForPort*.*", NOT_MEASURED),
    Reason("*: GET jmx", "Hadoop:*name=QueueMetrics*.A*A*", NOT_MEASURED),
    Reason("*: GET jmx", "Hadoop:*name=QueueMetrics*.Aggregate*", NOT_MEASURED),
    Reason(
        "*: GET jmx",
        "Hadoop:*name=QueueMetrics,q0=root.*A[Mm]*",
        "a parent has no ApplicationMasters",
    ),
    Reason("*: GET jmx", "Hadoop:*.MaxAMShare*", "a limit that does not exist is left out", "fair"),
    # Masters.
    Reason("master: *", "response_id", LATER),
    Reason("master: ask for one", "*", LATER),
    Reason("master: until it comes", "*", LATER),
    Reason("master: *", "limit.*", "headroom: " + LATER),
    Reason("master: *", "preempt", "an empty message says nothing", "fair"),
    Reason("master: ask for a negative number", "*", "a defect: queues count less than nothing"),
    Reason("master: ask for *", "message", CLEARER),
    Reason("master: a wrong response id", "message", CLEARER),
    Reason("master: allocate before it registers", "message", CLEARER),
    Reason("master: register after its end", "*", "says that the attempt is over, as for allocate"),
    Reason(
        "master: what was released",
        "ends[].*",
        "the same fields as for a container that ran",
    ),
    # Administration.
    Reason("admin: refresh service lists *", "message", CLEARER),
    Reason("admin: groups as mallory", "*", "the class of all other refused callers"),
    Reason("admin: sub-clusters *", "message", FEDERATION),
    Reason("admin: deregister a sub-cluster *", "message", FEDERATION),
    Reason("admin: policies *", "message", FEDERATION),
    Reason("labels: *", "*", NOT_FAIR, "fair"),
    Reason("labels: give to an unknown node as boss", "message", CLEARER),
    Reason("feature: *DelegationToken", "*", "delegation tokens are for clusters with Kerberos"),
)


def reason_for(difference: Difference, scheduler: str) -> str:
    """Why a field differs; empty if nothing explains it."""
    for one in REASONS:
        if _explains(one, difference, scheduler):
            return one.why
    return ""


def _explains(one: Reason, difference: Difference, scheduler: str) -> bool:
    return (
        one.scheduler in ("", scheduler)
        and fnmatchcase(difference.call, one.call)
        and fnmatchcase(difference.field, one.field.replace("[]", "[[]]"))
    )


def unneeded(found: dict[str, list[Difference]]) -> list[Reason]:
    """Reasons that explain nothing, of differences by scheduler."""
    return [
        one
        for one in REASONS
        if not any(_explains(one, diff, name) for name in found for diff in found[name])
    ]
