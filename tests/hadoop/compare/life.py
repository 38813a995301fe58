"""The life that both ResourceManagers are led through: the calls, their order and callers."""

import asyncio
from typing import Any

import msgspec
from tests.hadoop.compare.calls import (
    ABSENT,
    BOSS,
    ELSEWHERE_MS,
    KNOWN_TO_ONE,
    NEIGHBOUR,
    OVER,
    OWNER,
    STRANGER,
    ask,
    attempt_of,
    container_of,
    context,
    in_state,
    killed,
    look,
    number_of,
    size,
    submitted,
    timeout,
)
from tests.hadoop.compare.masters import unmanaged
from tests.hadoop.compare.nodes import departures, draining, nodes
from tests.hadoop.compare.side import Side

from fairshare.yarn.rpc.wire.messages import YarnApplicationStateProto


async def live(side: Side) -> None:
    """All calls of a life, one after the other."""
    try:
        new = await side.ask(OWNER, "getNewApplication")
        epoch_ms = new.application_id.cluster_timestamp
        side.names = msgspec.structs.replace(side.names, epoch_ms=epoch_ms)
        await departures(side)
        await quiet(side, "quiet")
        await absent(side)
        await refused_features(side)
        await submissions(side)
        await running(side)
        await ended(side)
        await unmanaged(side)
        await filters(side)
        await idle(side)
        await administration(side)
        await labels(side)
        await quiet(side, "at the end")
        await draining(side)
    finally:
        await side.close()


async def quiet(side: Side, when: str) -> None:
    """What is told of the cluster, its nodes and its queues."""
    await side.record(f"{when}: getResourceTypeInfo", STRANGER, "getResourceTypeInfo")
    await nodes(side, when)
    for user in (OWNER, NEIGHBOUR, STRANGER, BOSS):
        await side.record(f"{when}: getQueueUserAcls as {user}", user, "getQueueUserAcls")
    await queues(side, when)


async def queues(side: Side, when: str) -> None:
    """Queue information in all its depths."""
    for queue in ("root", "default", "root.default", "research", "nowhere", ""):
        for depth in ({}, {"includeChildQueues": True}, {"recursive": True}):
            if queue not in ("root", "default") and depth:
                continue
            name = f"{when}: getQueueInfo {queue!r} {' '.join(depth)}"
            await side.record(name, STRANGER, "getQueueInfo", queueName=queue, **depth)


async def absent(side: Side) -> None:
    """Calls about what is not there."""
    wrong = {"id": 1, "cluster_timestamp": ELSEWHERE_MS}
    for words, one in (("never submitted", number_of(side, ABSENT)), ("elsewhere", wrong)):
        attempt = {"application_id": one, "attemptId": 1}
        container = {"app_attempt_id": attempt, "id": 1}
        calls: dict[str, dict[str, Any]] = {
            "getApplicationReport": {"application_id": one},
            "getApplicationAttempts": {"application_id": one},
            "getApplicationAttemptReport": {"application_attempt_id": attempt},
            "getContainers": {"application_attempt_id": attempt},
            "getContainerReport": {"container_id": container},
            "forceKillApplication": {"application_id": one},
            "failApplicationAttempt": {"application_attempt_id": attempt},
            "moveApplicationAcrossQueues": {"application_id": one, "target_queue": "default"},
            "updateApplicationPriority": {
                "applicationId": one,
                "applicationPriority": {"priority": 1},
            },
            "updateApplicationTimeouts": {
                "applicationId": one,
                "application_timeouts": [timeout("2039-01-01T00:00:00.000+0000")],
            },
            "signalToContainer": {"container_id": container, "command": "OUTPUT_THREAD_DUMP"},
        }
        for method, fields in calls.items():
            await side.record(f"{words}: {method}", OWNER, method, **fields)
    for method in ("getApplicationReport", "forceKillApplication", "getApplicationAttempts"):
        await side.record(f"no id at all: {method}", OWNER, method)


async def refused_features(side: Side) -> None:
    """Methods of features that a simple cluster has not switched on."""
    reservation = {"id": 1, "cluster_timestamp": 1}
    definition = {
        "reservation_requests": {
            "reservation_resources": [
                {"capability": {"memory": 128, "virtual_cores": 1}, "num_containers": 1}
            ],
            "interpreter": "R_ALL",
        },
        "arrival": 2_000_000_000_000,
        "deadline": 2_000_000_100_000,
        "reservation_name": "later",
    }
    token = {"identifier": b"", "password": b"", "kind": "RM_DELEGATION_TOKEN", "service": ""}
    calls: dict[str, dict[str, Any]] = {
        "getResourceProfiles": {},
        "getResourceProfile": {"profile": "small"},
        "getClusterNodeLabels": {},
        "getNodeToLabels": {},
        "getLabelsToNodes": {},
        "getClusterNodeAttributes": {},
        "getAttributesToNodes": {},
        "getNodesToAttributes": {},
        "getNewReservation": {},
        "submitReservation": {
            "queue": "default",
            "reservation_id": reservation,
            "reservation_definition": definition,
        },
        "updateReservation": {
            "reservation_id": reservation,
            "reservation_definition": definition,
        },
        "deleteReservation": {"reservation_id": reservation},
        "listReservations": {"queue": "default"},
        "getDelegationToken": {"renewer": "yarn"},
        "renewDelegationToken": {"token": token},
        "cancelDelegationToken": {"token": token},
    }
    for method, fields in calls.items():
        await side.record(f"feature: {method}", OWNER, method, **fields)


async def submissions(side: Side) -> None:
    """Submissions that are refused, or nearly."""
    spec = context(side, 1)["am_container_spec"]
    cases: dict[str, dict[str, Any]] = {
        "to an unknown queue": {"queue": "nowhere"},
        "to a parent": {"queue": "root"},
        "with a master that is too large": {
            "am_container_resource_request": [ask(capability=size(100_000))]
        },
        "with a master of too many vcores": {
            "am_container_resource_request": [ask(capability=size(256, 100))]
        },
        "with a master of negative memory": {
            "am_container_resource_request": [ask(capability=size(-5))]
        },
        "with two requests for the master": {
            "am_container_resource_request": [ask(), ask(capability=size(512))]
        },
        "with a request for two masters": {
            "am_container_resource_request": [ask(num_containers=2)]
        },
        "with a master on an unknown host": {
            "am_container_resource_request": [ask(resource_name="elsewhere"), ask()]
        },
        "with an unknown label": {"node_label_expression": "nolabel"},
        "with an unknown label of the master": {
            "am_container_resource_request": [ask(node_label_expression="nolabel")]
        },
        "with a priority above the maximum": {"priority": {"priority": 99}},
        "with a negative priority": {"priority": {"priority": -1}},
        "with a reservation": {"reservation_id": {"id": 1, "cluster_timestamp": 1}},
        "with too many tags": {"applicationTags": [f"tag{number}" for number in range(11)]},
        "with a long tag": {"applicationTags": ["x" * 101]},
        "with a tag that is not ASCII": {"applicationTags": ["größe"]},
        "with many attempts": {"maxAppAttempts": 50},
        "with negative attempts": {"maxAppAttempts": -1},
        "with a negative lifetime": {
            "application_timeouts": [
                {"application_timeout_type": "APP_TIMEOUT_LIFETIME", "timeout": -5}
            ]
        },
        "with a long type": {"applicationType": "a type of more than twenty letters"},
        "without name, queue and type": {
            "application_name": None,
            "queue": None,
            "applicationType": None,
        },
        "with an empty queue": {"queue": ""},
        "with the old size of a master": {
            "am_container_resource_request": [],
            "resource": size(300),
        },
        "without a size of its master": {"am_container_resource_request": []},
        "without a command": {"am_container_spec": {**spec, "command": []}},
    }
    for words, fields in cases.items():
        await refused_or_running(side, words, OWNER, fields)
    await refused_or_running(side, "by a stranger", STRANGER, {"queue": "research"})
    for words, number in (("for another cluster", 3), ("of number 0", 0)):
        fields = context(side, number)
        if words == "for another cluster":
            fields["application_id"] = {"id": 3, "cluster_timestamp": ELSEWHERE_MS}
        fields["application_name"] = words
        answer = await side.record(
            f"submit {words}", OWNER, "submitApplication", application_submission_context=fields
        )
        if answer is not None:
            await killed(side, fields["application_id"])
    await side.record("submit nothing", OWNER, "submitApplication")
    await idle(side)


async def refused_or_running(side: Side, words: str, user: str, fields: dict[str, Any]) -> None:
    """Submit; record the report if there is one, and kill what was accepted."""
    number = await submitted(side, words, user, **fields)
    wanted = {"application_id": number_of(side, number)}
    if "refused" not in side.answers[f"submit {words}"]:
        report = await in_state(side, number, "ACCEPTED", "RUNNING", *OVER)
        state = YarnApplicationStateProto.Name(report.yarn_application_state)
        if state not in OVER:
            await killed(side, number_of(side, number))
            side.answers[f"accepted {words}"] = {"state": state, "queue": report.queue}
            side.answers[f"accepted {words}"]["name"] = report.name
            side.answers[f"accepted {words}"]["type"] = report.applicationType
            side.answers[f"accepted {words}"]["priority"] = report.priority.priority
            return
    await side.record(f"report of one {words}", OWNER, "getApplicationReport", **wanted)


async def idle(side: Side) -> None:
    """Wait until no node has a container."""
    await side.until(
        lambda answer: not any(one.numContainers for one in answer.nodeReports),
        BOSS,
        "getClusterNodes",
    )


async def running(side: Side) -> None:
    """An application whose master runs and never registers: looks, changes, the kill."""
    number = await submitted(
        side,
        "a sleeper",
        queue="research",
        applicationTags=["night", "day"],
        priority={"priority": 3},
    )
    one = {"application_id": number_of(side, number)}
    await in_state(side, number, "ACCEPTED")
    attempt = attempt_of(side, number)
    await side.until(
        lambda answer: any(found.container_state == 2 for found in answer.containers),
        OWNER,
        "getContainers",
        application_attempt_id=attempt,
    )
    await asyncio.sleep(1.5)  # the next heartbeat of its node, with which its usage is known
    again = context(side, number)
    await side.record(
        "submit again", OWNER, "submitApplication", application_submission_context=again
    )
    await look(side, "running", number, OWNER, STRANGER, NEIGHBOUR, "carol", "dave")
    master = container_of(side, number, 2)
    await side.record(
        "running: an absent container", OWNER, "getContainerReport", container_id=master
    )
    attempts = {"application_attempt_id": attempt_of(side, number, 2)}
    await side.record(
        "running: an absent attempt", OWNER, "getApplicationAttemptReport", **attempts
    )
    await side.record(
        "running: containers of an absent attempt", OWNER, "getContainers", **attempts
    )
    await side.record(
        "running: fail an absent attempt", OWNER, "failApplicationAttempt", **attempts
    )
    await quiet(side, "while it runs")
    with_applications = {"queueName": "root", "includeApplications": True}
    for user in (OWNER, STRANGER):
        for queue in ("root", "research"):
            with_applications["queueName"] = queue
            name = f"while it runs: getQueueInfo {queue} with applications as {user}"
            await side.record(name, user, "getQueueInfo", **with_applications)
    await changes(side, number)
    await side.record("kill as a stranger", STRANGER, "forceKillApplication", **one)
    await side.record("kill as a viewer", "carol", "forceKillApplication", **one)
    await side.until(
        lambda answer: answer.is_kill_completed,
        OWNER,
        "forceKillApplication",
        diagnostics="no more of it",
        **one,
    )
    await in_state(side, number, *OVER)
    await look(side, "killed", number, OWNER, STRANGER)
    await side.record("kill what is killed", OWNER, "forceKillApplication", **one)
    await changes(side, number, "killed: ")


async def changes(side: Side, number: int, when: str = "") -> None:
    """Moves, priorities, lifetimes and signals, by those who may and by those who may not."""
    one = number_of(side, number)
    for user in (STRANGER, "carol", "dave", NEIGHBOUR):
        for target in ("default", "research") if user != STRANGER else ("default",):
            fields = {"application_id": one, "target_queue": target}
            name = f"{when}move to {target} as {user}"
            await side.record(name, user, "moveApplicationAcrossQueues", **fields)
    for target in ("nowhere", "root", "research"):
        fields = {"application_id": one, "target_queue": target}
        name = f"{when}move to {target} as its owner"
        await side.record(name, OWNER, "moveApplicationAcrossQueues", **fields)
    for user, priority in ((STRANGER, 5), (OWNER, 5), (OWNER, 99), (OWNER, -1)):
        fields = {"applicationId": one, "applicationPriority": {"priority": priority}}
        name = f"{when}priority {priority} as {user}"
        await side.record(name, user, "updateApplicationPriority", **fields)
    for user, instant in (
        (STRANGER, "2039-01-01T00:00:00.000+0000"),
        (OWNER, "2039-01-01T00:00:00.000+0000"),
        (OWNER, "2001-01-01T00:00:00.000+0000"),
        (OWNER, "soon"),
    ):
        fields = {"applicationId": one, "application_timeouts": [timeout(instant)]}
        name = f"{when}lifetime until {instant[:10]} as {user}"
        await side.record(name, user, "updateApplicationTimeouts", **fields)
    await side.record(
        f"{when}lifetime that is not said", OWNER, "updateApplicationTimeouts", applicationId=one
    )
    await side.record(f"{when}changed", OWNER, "getApplicationReport", application_id=one)
    master = container_of(side, number, 1)
    for user in (STRANGER, OWNER):
        fields = {"container_id": master, "command": "OUTPUT_THREAD_DUMP"}
        if user == STRANGER or when:
            name = f"{when}signal as {user}"
            await side.record(name, user, "signalToContainer", **fields)
    attempt = {"application_attempt_id": attempt_of(side, number)}
    await side.record(f"{when}fail as a stranger", STRANGER, "failApplicationAttempt", **attempt)


async def ended(side: Side) -> None:
    """Applications whose masters end by themselves, or are failed."""
    spec = {"command": ["echo it goes wrong >&2; exit 3"]}
    number = await submitted(side, "one that fails twice", maxAppAttempts=2, am_container_spec=spec)
    await in_state(side, number, *OVER)
    await look(side, "failed", number, OWNER, STRANGER)
    await look(side, "failed again", number, OWNER, attempt=2)
    number = await submitted(side, "one that ends with 0", am_container_spec={"command": ["true"]})
    await in_state(side, number, *OVER)
    await look(side, "ended with 0", number, OWNER)
    number = await submitted(side, "one that is failed")
    attempt = {"application_attempt_id": attempt_of(side, number)}
    await side.until(
        lambda answer: any(found.container_state == 2 for found in answer.containers),
        OWNER,
        "getContainers",
        **attempt,
    )
    await side.record("fail its attempt", OWNER, "failApplicationAttempt", **attempt)
    await in_state(side, number, *OVER)
    await look(side, "failed by its owner", number, OWNER)
    lifetime = {"application_timeout_type": "APP_TIMEOUT_LIFETIME", "timeout": 3}
    number = await submitted(side, "one with a short life", application_timeouts=[lifetime])
    await in_state(side, number, *OVER)
    await look(side, "past its lifetime", number, OWNER)


async def filters(side: Side) -> None:
    """Lists of applications."""
    cases: dict[str, dict[str, Any]] = {
        "finished": {"application_states": ["FINISHED"]},
        "failed or killed": {"application_states": ["FAILED", "KILLED"]},
        "of a type": {"application_types": ["TEST"]},
        "of a type in other letters": {"application_types": ["test"]},
        "of another type": {"application_types": ["SPARK"]},
        "of a user": {"users": [OWNER]},
        "of another user": {"users": [NEIGHBOUR]},
        "of a queue": {"queues": ["research"]},
        "of a queue by its path": {"queues": ["root.research"]},
        "of a parent": {"queues": ["root"]},
        "of no queue": {"queues": ["nowhere"]},
        "with a tag": {"applicationTags": ["night"]},
        "with a name": {"name": "a sleeper"},
        "at most none": {"limit": 0},
        "started before": {"start_begin": 0, "start_end": 1},
        "finished since": {"finish_begin": 1, "finish_end": 9_000_000_000_000_000},
        "viewable": {"scope": "VIEWABLE"},
        "own": {"scope": "OWN"},
        "all": {"scope": "ALL"},
    }
    for words, fields in cases.items():
        for user in (OWNER, STRANGER) if "scope" in fields else (OWNER,):
            name = f"list: {words} as {user}"
            answer = await side.record(name, user, "getApplications", **fields)
            if answer is not None:
                names = sorted(one.name for one in answer.applications)
                shared = [one for one in names if one not in KNOWN_TO_ONE]
                side.answers[name] = {"names": ", ".join(shared)}
    answer = await side.ask(OWNER, "getApplications", limit=2)
    side.answers["list: at most two"] = {"number": len(answer.applications)}


async def administration(side: Side) -> None:
    """What `yarn rmadmin` calls, as an administrator and as a stranger."""
    capability = {"resource": size(2048, 2), "over_commit_timeout": -1}
    change = {"node_id": side.node(1), "resource_option": capability}
    unknown = {"node_id": {"host": "nowhere", "port": 1}, "resource_option": capability}
    calls: dict[str, tuple[str, dict[str, Any]]] = {
        "refresh queues": ("refreshQueues", {}),
        "refresh nodes": ("refreshNodes", {"decommissionType": 1}),
        "refresh super users": ("refreshSuperUserGroupsConfiguration", {}),
        "refresh groups": ("refreshUserToGroupsMappings", {}),
        "refresh administrators": ("refreshAdminAcls", {}),
        "refresh service lists": ("refreshServiceAcls", {}),
        "refresh the sizes of nodes": ("refreshNodesResources", {}),
        "refresh the highest priority": ("refreshClusterMaxPriority", {}),
        "groups": ("getGroupsForUser", {"user": "nobodyofthisname"}),
        "size of a node": ("updateNodeResource", {"node_resource_map": [change]}),
        "size of an unknown node": ("updateNodeResource", {"node_resource_map": [unknown]}),
        "nodes on their way out": ("checkForDecommissioningNodes", {}),
        "attributes": ("mapAttributesToNodes", {"nodeToAttributes": [{"node": "localhost"}]}),
        "sub-clusters": ("getFederationSubClusters", {}),
        "deregister a sub-cluster": ("deregisterSubCluster", {"subClusterId": "a"}),
        "policies": ("listFederationQueuePolicies", {}),
    }
    for words, (method, fields) in calls.items():
        for user in (STRANGER, BOSS):
            await side.record(f"admin: {words} as {user}", user, method, **fields)
    await side.until(
        lambda answer: any(one.capability.memory == 2048 for one in answer.nodeReports),
        OWNER,
        "getClusterNodes",
    )
    await side.record("admin: nodes with another size", OWNER, "getClusterNodes")


async def labels(side: Side) -> None:
    """Labels: added, given to nodes, listed, taken away."""
    steps: list[tuple[str, str, dict[str, Any]]] = [
        (
            "add",
            "addToClusterNodeLabels",
            {"nodeLabels": [{"name": "gpu", "isExclusive": False}, {"name": "ssd"}]},
        ),
        ("add with another rule", "addToClusterNodeLabels", {"nodeLabels": [{"name": "gpu"}]}),
        ("add a wrong name", "addToClusterNodeLabels", {"nodeLabels": [{"name": "a b"}]}),
        (
            "give",
            "replaceLabelsOnNodes",
            {"nodeToLabels": [{"nodeId": side.node(1), "nodeLabels": ["gpu"]}]},
        ),
        (
            "give two",
            "replaceLabelsOnNodes",
            {"nodeToLabels": [{"nodeId": side.node(1), "nodeLabels": ["gpu", "ssd"]}]},
        ),
        (
            "give one that is not there",
            "replaceLabelsOnNodes",
            {"nodeToLabels": [{"nodeId": side.node(1), "nodeLabels": ["nolabel"]}]},
        ),
        (
            "give to an unknown node",
            "replaceLabelsOnNodes",
            {
                "nodeToLabels": [{"nodeId": {"host": "nowhere", "port": 1}, "nodeLabels": ["gpu"]}],
                "failOnUnknownNodes": True,
            },
        ),
    ]
    for words, method, fields in steps:
        for user in (STRANGER, BOSS) if words == "add" else (BOSS,):
            await side.record(f"labels: {words} as {user}", user, method, **fields)
    for method in ("getClusterNodeLabels", "getNodeToLabels", "getLabelsToNodes"):
        await side.record(f"labels: {method}", STRANGER, method)
    await side.record("labels: of one", STRANGER, "getLabelsToNodes", nodeLabels=["gpu"])
    await side.record("labels: of none", STRANGER, "getLabelsToNodes", nodeLabels=["nolabel"])
    await side.record("labels: nodes", STRANGER, "getClusterNodes")
    await side.record("labels: root", STRANGER, "getQueueInfo", queueName="root")
    for words, names in (("ssd", ["ssd"]), ("nolabel", ["nolabel"]), ("gpu", ["gpu"])):
        await side.record(
            f"labels: remove {words}", BOSS, "removeFromClusterNodeLabels", nodeLabels=names
        )
    await side.record("labels: what is left", STRANGER, "getClusterNodeLabels")
