"""What people write as the values of configurations, right and wrong: the words from which
`spellings.py` makes its scenarios."""

from typing import Any, Final

PREFIX: Final = "yarn.scheduler.capacity."
MONITOR: Final = "yarn.resourcemanager.scheduler.monitor."
PREEMPTION: Final = "yarn.resourcemanager.monitor.capacity.preemption."

# fmt: off
USERS: Final = (
    "ann", "bob", "cy",
)

GROUPS: Final[dict[str, Any]] = {
    "ann": ["staff", "lab"],
    "bob": ["lab"],
    "cy": ["none"],
}

NUMBERS: Final = (
    "-1", "0", "-2", "1", "2", "3", "50", "-50", "-1.0", "1.5", " 2 ", "0x2", "+1",
)

TEMPLATE_VALUES: Final[dict[str, Any]] = {
    "capacity": (
        "50", "10", "0", "120", "-1", "1w", "0w", "-1w", "x", "[memory=1024,vcores=1]",
        "[memory=99999,vcores=99]", "[memory=50%,vcores=1w]",
    ),
    "maximum-capacity": (
        "100", "50", "0", "-1", "130", "-5", "2w", "[memory=2048,vcores=2]", "y",
    ),
    "user-limit-factor": ("2", "0", "-1", "-2", "z"),
    "minimum-user-limit-percent": ("50", "0", "-1", "120", "q"),
    "maximum-applications": ("1", "0", "-1", "-2", "many"),
    "max-parallel-apps": ("1", "0", "-1", "none"),
    "ordering-policy": ("fair", "fifo", "utilization", "priority-utilization", "best"),
    "maximum-am-resource-percent": ("0.5", "0", "-1", "1.5", "half"),
    "state": ("RUNNING", "STOPPED", "stopped", "DRAINING", "off"),
    "maximum-allocation-mb": ("2048", "99999", "big", "-1"),
    "maximum-allocation": ("memory-mb=2048,vcores=2", "memory-mb=99999", "vcores"),
    "priority": ("1", "-1", "high"),
    "disable_preemption": ("true", "maybe"),
    "default-application-priority": ("top",),
    "maximum-application-lifetime": ("60", "-1", "0", "long"),
    "default-application-lifetime": ("30", "90", "-1", "0", "short"),
    "acl_submit_applications": ("ann", " ", "*", "ann,bob lab"),
    "accessible-node-labels": ("gpu", "*", " "),
    "default-node-label-expression": (" ",),
    "user-settings.ann.weight": ("1", "0", "-1", "5", "w"),
    "allow-zero-capacity-sum": ("true",),
    "auto-queue-creation-v2.enabled": ("true",),
}

NAMES: Final = (
    "new", "a.new", "root.a.new", "b.new", "b.c.new", "root.b.new", "c.new", "x.new",
    "root.x.new", "a.new.er", "b.new.er", "new.er", "root.new", "root", "root.", "a.", ".new",
    " ", "a..new", "a", "c", "root.a", "b", "root.b", "A", "root.A", " a", "a ", "root.a ",
    "b.c", "c.d", "default", "root.default", "root.root", "root.root.a", "root a", "a.new ",
    "ann", "a.ann", "b.ann",
)

NUMERIC: Final = (
    "user-limit-factor", "minimum-user-limit-percent", "maximum-am-resource-percent",
    "maximum-applications", "max-parallel-apps", "priority", "default-application-priority",
    "maximum-application-lifetime", "default-application-lifetime", "maximum-allocation-mb",
    "maximum-allocation-vcores", "maximum-capacity", "capacity", "user-settings.ann.weight",
    "auto-queue-creation-v2.max-queues", "auto-queue-creation-v2.maximum-queue-depth",
)

NUMERIC_OF_ALL: Final = (
    "maximum-applications", "maximum-am-resource-percent", "user-limit-factor",
    "minimum-user-limit-percent", "max-parallel-apps", "user.max-parallel-apps",
    "user.ann.max-parallel-apps", "global-queue-max-application", "node-locality-delay",
    "rack-locality-additional-delay", "per-node-heartbeat.maximum-container-assignments",
    "per-node-heartbeat.maximum-offswitch-assignments",
    "auto-queue-creation-v2.maximum-queue-depth", "auto-queue-creation-v2.queue-expiration-time",
)

OF_SITE: Final = ("1", "2", "512", "3000", "x", "0x200", " 1024 ")

NUMERIC_OF_SITE: Final = (
    "yarn.scheduler.minimum-allocation-mb", "yarn.scheduler.maximum-allocation-mb",
    "yarn.scheduler.minimum-allocation-vcores", "yarn.scheduler.maximum-allocation-vcores",
    "yarn.cluster.max-application-priority",
    "yarn.resourcemanager.work-preserving-recovery.scheduling-wait-ms",
)

NUMERIC_OF_PREEMPTION: Final = (
    "max_wait_before_kill", "total_preemption_per_round",
    "max_ignored_over_capacity", "natural_termination_factor",
    "intra-queue-preemption.minimum-threshold", "intra-queue-preemption.max-allowable-limit",
    "preemption-to-balance-queue-after-satisfied.max-wait-before-kill",
)

ACCESS: Final = (
    "*", " *", "* ", "* staff", "ann *", "*,ann", "ann,*", "ann *,lab", "ann lab,*", "ann lab *",
    " ", "", "ann", "ann ", " ann", "ann,bob", "ann, bob", "ann ,bob", " lab", "  lab",
    "ann lab", "bob staff", "ann  lab", "ann\nlab", "\nann", "ann\n", "ann\n  lab", "ann\tlab",
    "\tlab", " lab,staff", "ann lab staff", "cy,,ann", ",ann", "ann,", "${user.name}", "%user",
    "ANN", "ann;bob", "ann|bob", "**", "a*", "ann **", "* *", "-", "ann,bob lab,none",
)

TYPE_NAMES: Final = (
    "gpu", "memory-mb", "vcores", "memory", "yarn.io/gpu", "a/b/c", "9x", "my gpu", "GPU", "gpu",
)

OF_EITHER_FILE: Final[dict[str, Any]] = {
    MONITOR + "enable": ("true", "false"),
    PREEMPTION + "max_wait_before_kill": ("0", "1000"),
    PREEMPTION + "total_preemption_per_round": ("1.0", "0.5"),
    PREEMPTION + "natural_termination_factor": ("1.0",),
    PREEMPTION + "observe_only": ("true", "false"),
    PREEMPTION + "intra-queue-preemption.enabled": ("true",),
    "yarn.scheduler.minimum-allocation-mb": ("512", "2048"),
    "yarn.scheduler.maximum-allocation-mb": ("1024", "2048"),
    "yarn.scheduler.minimum-allocation-vcores": ("2",),
    "yarn.scheduler.maximum-allocation-vcores": ("1", "2"),
    "yarn.cluster.max-application-priority": ("5", "0"),
    "yarn.acl.enable": ("true", "false"),
    "yarn.admin.acl": ("bob", " "),
    "yarn.node-labels.enabled": ("true",),
    "yarn.resourcemanager.am.max-attempts": ("1",),
    "yarn.resource-types": ("gpu",),
    "yarn.scheduler.queue-placement-rules": ("app-name",),
    "yarn.scheduler.queue-placement-rules.app-name": ("a1:b.c",),
    "yarn.workflow-id.tag-prefix": ("wf:",),
    PREFIX + "maximum-applications": ("2", "1"),
    PREFIX + "root.a.maximum-applications": ("1", "2"),
    PREFIX + "root.a.user-limit-factor": ("2", "0.5"),
    PREFIX + "resource-calculator": (
        "org.apache.hadoop.yarn.util.resource.DominantResourceCalculator",
    ),
    PREFIX + "queue-mappings": ("u:ann:b.c", "u:bob:a"),
    PREFIX + "queue-mappings-override.enable": ("true",),
    PREFIX + "lazy-preemption-enabled": ("true",),
    PREFIX + "per-node-heartbeat.maximum-container-assignments": ("1",),
    PREFIX + "max-parallel-apps": ("1",),
    PREFIX + "user-limit-factor": ("3",),
    PREFIX + "root.acl_submit_applications": ("ann", " "),
    PREFIX + "root.acl_administer_queue": (" ",),
}

ELEMENTS: Final[dict[str, Any]] = {
    "weight": ("1", "2.0", "0", " 3 ", "1e1", "0x1p1", "1f", "1d", "heavy", "1,5"),
    "maxRunningApps": ("1", "0", "-1", "-2", " 2 ", "2.0", "+1", "x"),
    "maxAMShare": ("0.5", "-1", "-1.0", "-0.5", "0", "1.5", "2", "x", "-2"),
    "minSharePreemptionTimeout": ("5", "-1", "0", "x"),
    "fairSharePreemptionTimeout": ("5", "-1", "0", "x"),
    "fairSharePreemptionThreshold": ("0.5", "-1", "0", "2", "x"),
    "schedulingPolicy": (
        "fair", "drf", "fifo", "FIFO", " fair ", "Fair", "best", "",
        "org.apache.hadoop.yarn.server.resourcemanager.scheduler.fair.policies.FifoPolicy",
    ),
    "allowPreemptionFrom": ("true", "false", "no", ""),
    "reservation": ("",),
    "minResources": (
        "1024 mb, 1 vcores", "1024mb,1vcores", "-1 mb, 1 vcores", "1024 mb", "1 vcores, 1024 mb",
        "vcores=1", "memory-mb=1024", "memory-mb=1g", "memory-mb = 1024 , vcores = 1", "50%",
        "1024 MB, 1 VCORES", "1024\nmb,\n1 vcores", ",1024 mb, 1 vcores", "memory-mb=1024,",
        "memory=1024",
    ),
    "maxResources": (
        "2048 mb, 2 vcores", "50%", "50% memory, 50% cpu", "-1", "-1 mb, -1 vcores",
        "0 mb, 0 vcores", "vcores=2", "memory-mb=50%", "memory-mb=2048, vcores=50%", "50.5%",
        "-50%", "2048 mb\n, 2 vcores", "vcores=-1",
    ),
    "maxContainerAllocation": (
        "2048 mb, 2 vcores", "512 mb, 1 vcores", "vcores=1", "-1", "50%", "memory-mb=2048",
    ),
    "maxChildResources": ("1024 mb, 1 vcores", "50%"),
}

FAIR_SITE: Final[dict[str, Any]] = {
    "assignmultiple": ("true", "false", "yes"),
    "max.assign": ("-1", "0", "1", "-2", "2"),
    "dynamic.max.assign": ("true", "false"),
    "locality.threshold.node": ("-1.0", "0", "0.5", "1.5", "-2"),
    "locality.threshold.rack": ("-1.0", "0.5", "x"),
    "sizebasedweight": ("true", "1"),
    "preemption": ("true", "TRUE", "false", "on"),
    "preemption.cluster-utilization-threshold": ("0", "-1", "2", "0.8", "x"),
    "waitTimeBeforeKill": ("0", "-1", "5000", "5s"),
    "user-as-default-queue": ("true", "false", "", "no"),
    "allow-undeclared-pools": ("true", "false", "no"),
    "update-interval-ms": ("500", "0", "-1", "1s"),
    "increment-allocation-mb": ("512", "0", "-1", "1000"),
    "increment-allocation-vcores": ("2", "0", "-1"),
    "continuous-scheduling-enabled": ("false", "no"),
    "reservable-nodes": ("0.05", "1.0", "0", "-1", "2"),
}

DEFAULTS: Final = {
    "queueMaxAppsDefault": "maxRunningApps", "userMaxAppsDefault": "maxRunningApps",
    "queueMaxAMShareDefault": "maxAMShare", "queueMaxResourcesDefault": "maxResources",
    "defaultQueueSchedulingPolicy": "schedulingPolicy",
    "defaultMinSharePreemptionTimeout": "minSharePreemptionTimeout",
    "defaultFairSharePreemptionTimeout": "fairSharePreemptionTimeout",
    "defaultFairSharePreemptionThreshold": "fairSharePreemptionThreshold",
}
# fmt: on
