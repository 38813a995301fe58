"""What calls are made of: who calls, identifiers, submissions; and the calls of every part of
a life."""

from typing import Any

from tests.hadoop.compare.side import Side

from fairshare.yarn.rpc.wire.messages import YarnApplicationStateProto

OWNER, NEIGHBOUR, STRANGER, BOSS = "ann", "bob", "mallory", "boss"
OVER = ("FINISHED", "FAILED", "KILLED")
KNOWN_TO_ONE = frozenset(
    (
        "to a parent",
        "by a stranger",
        "with an empty queue",
        "with an unknown label",
        "with an unknown label of the master",
        "with a master on an unknown host",
        "with a reservation",
        "for another cluster",
        "of number 0",
    )
)
"""Applications that one of the two keeps and the other does not; lists are compared without."""
ABSENT = 999
"""The number of an application that is never submitted."""
ELSEWHERE_MS = 1_400_000_000_000
"""The timestamp of another cluster."""


def number_of(side: Side, number: int) -> dict[str, int]:
    """An ApplicationIdProto."""
    return {"id": number, "cluster_timestamp": side.names.epoch_ms}


def attempt_of(side: Side, number: int, attempt: int = 1) -> dict[str, Any]:
    """An ApplicationAttemptIdProto."""
    return {"application_id": number_of(side, number), "attemptId": attempt}


def container_of(side: Side, number: int, container: int, attempt: int = 1) -> dict[str, Any]:
    """A ContainerIdProto."""
    return {"app_attempt_id": attempt_of(side, number, attempt), "id": container}


def timeout(instant: str) -> dict[str, Any]:
    """An ApplicationUpdateTimeoutMapProto."""
    return {"application_timeout_type": "APP_TIMEOUT_LIFETIME", "expire_time": instant}


def context(side: Side, number: int, **fields: Any) -> dict[str, Any]:
    """An ApplicationSubmissionContextProto for a master that sleeps."""
    return {
        "application_id": number_of(side, number),
        "application_name": "sleeper",
        "queue": "default",
        "applicationType": "TEST",
        "maxAppAttempts": 1,
        "am_container_spec": {
            "command": ["sleep 300"],
            "application_ACLs": [
                {"accessType": "APPACCESS_VIEW_APP", "acl": "carol"},
                {"accessType": "APPACCESS_MODIFY_APP", "acl": "dave"},
            ],
        },
        "am_container_resource_request": [ask()],
        **fields,
    }


def ask(**fields: Any) -> dict[str, Any]:
    """A ResourceRequestProto for one container."""
    return {
        "priority": {"priority": 0},
        "resource_name": "*",
        "capability": size(256),
        "num_containers": 1,
        "relax_locality": True,
        **fields,
    }


def size(memory_mb: int, vcores: int = 1) -> dict[str, int]:
    """A ResourceProto."""
    return {"memory": memory_mb, "virtual_cores": vcores}


async def submitted(side: Side, name: str, user: str = OWNER, **fields: Any) -> int:
    """Submit an application, and record the answer; its number."""
    number: int = (await side.ask(user, "getNewApplication")).application_id.id
    fields.setdefault("application_name", name)
    wanted = context(side, number, **fields)
    wanted = {field: value for field, value in wanted.items() if value is not None}
    await side.record(
        f"submit {name}", user, "submitApplication", application_submission_context=wanted
    )
    return number


def state_of(answer: Any) -> str:
    """The state in an answer of getApplicationReport."""
    name: str = YarnApplicationStateProto.Name(answer.application_report.yarn_application_state)
    return name


async def in_state(side: Side, number: int, *states: str) -> Any:
    """Wait until an application is in one of the states; its report."""
    wanted = number_of(side, number)
    found = await side.until(
        lambda answer: state_of(answer) in states,
        BOSS,
        "getApplicationReport",
        application_id=wanted,
    )
    return found.application_report


async def killed(side: Side, application: Any) -> None:
    """Kill an application, and wait until it and its containers are gone."""
    wanted = {"application_id": application}
    await side.until(lambda one: one.is_kill_completed, BOSS, "forceKillApplication", **wanted)
    await side.until(lambda one: state_of(one) in OVER, BOSS, "getApplicationReport", **wanted)


async def look(side: Side, when: str, number: int, *users: str, attempt: int = 1) -> None:
    """All reports of an application, as several users."""
    one, first = number_of(side, number), attempt_of(side, number, attempt)
    master = container_of(side, number, 1, attempt)
    calls: dict[str, dict[str, Any]] = {
        "getApplicationReport": {"application_id": one},
        "getApplicationAttempts": {"application_id": one},
        "getApplicationAttemptReport": {"application_attempt_id": first},
        "getContainers": {"application_attempt_id": first},
        "getContainerReport": {"container_id": master},
    }
    for user in users:
        for method, fields in calls.items():
            await side.record(f"{when}: {method} as {user}", user, method, **fields)
