"""The life of a master: it registers, asks, and finishes."""

import asyncio
from typing import Any

from tests.hadoop.compare.answers import plain
from tests.hadoop.compare.calls import (
    ABSENT,
    OVER,
    OWNER,
    STRANGER,
    ask,
    container_of,
    in_state,
    look,
    number_of,
    size,
    submitted,
)
from tests.hadoop.compare.side import Side


async def unmanaged(side: Side) -> None:
    """An application whose master is this process: registers, allocates, finishes."""
    number = await submitted(side, "one that is unmanaged", unmanaged_am=True)
    one = {"application_id": number_of(side, number)}
    found = await side.until(
        lambda answer: answer.application_report.HasField("am_rm_token"),
        OWNER,
        "getApplicationReport",
        **one,
    )
    token = found.application_report.am_rm_token
    await look(side, "unmanaged", number, OWNER, STRANGER)

    async def call(name: str, method: str, **fields: Any) -> Any:
        return await side.keep(f"master: {name}", side.ask_as_master(token, method, **fields))

    await call("allocate before it registers", "allocate", response_id=0, progress=0.0)
    status = {"final_application_status": "APP_SUCCEEDED"}
    await call("finish before it registers", "finishApplicationMaster", **status)
    register = {"host": "here", "rpc_port": 77, "tracking_url": ""}
    await call("register", "registerApplicationMaster", **register)
    await call("register twice", "registerApplicationMaster", **register)
    await look(side, "registered", number, OWNER)
    await asks(side, call)
    await finish(side, call, number)


async def asks(side: Side, call: Any) -> None:
    """What a master asks for, gives back and asks wrongly."""
    response_id = 0

    async def beat(name: str, **fields: Any) -> Any:
        nonlocal response_id
        fields.setdefault("response_id", response_id)
        answer = await call(name, "allocate", progress=0.5, **fields)
        response_id = response_id if answer is None else answer.response_id
        return answer

    await beat("allocate nothing")
    await beat("the same again", response_id=0)
    await beat("a wrong response id", response_id=77)
    wrong: dict[str, dict[str, Any]] = {
        "too much memory": {"ask": [ask(capability=size(100_000))]},
        "negative memory": {"ask": [ask(capability=size(-1))]},
        "an unknown label": {"ask": [ask(node_label_expression="nolabel")]},
        "another's container": {"release": [container_of(side, ABSENT, 5)]},
        "everything on the blacklist": {
            "blacklist_request": {"blacklist_additions": ["*"]},
        },
    }
    for words, fields in wrong.items():
        await beat(f"ask for {words}", **fields)
    wanted = ask(priority={"priority": 7}, allocation_request_id=5)
    answer = await beat("ask for one", ask=[wanted])
    granted = list(answer.allocated_containers)
    for _ in range(100):
        if granted:
            break
        await asyncio.sleep(0.2)
        side.answers.pop("master: until it comes", None)
        answer = await beat("until it comes")
        granted += answer.allocated_containers
    await look_at_container(side, "allocated", granted[0].id)
    answer = await beat("release", release=[granted[0].id])
    ends = list(answer.completed_container_statuses)
    for _ in range(50):
        side.answers.pop("master: after the release", None)
        answer = await beat("after the release")
        ends += answer.completed_container_statuses
        if ends:
            break
        await asyncio.sleep(0.2)
    for times in ("release", "after the release"):  # whichever of them brings it
        side.answers[f"master: {times}"].pop("completed_container_statuses", None)
    side.answers["master: what was released"] = {"ends": [plain(one, side.names) for one in ends]}
    await beat("ask for a negative number", ask=[ask(num_containers=-1)])


async def look_at_container(side: Side, when: str, container: Any) -> None:
    """The report of a container that its application's master does not start."""
    await side.record(f"{when}: its report", OWNER, "getContainerReport", container_id=container)


async def finish(side: Side, call: Any, number: int) -> None:
    """The end of a master, and what it calls afterwards."""
    for times in range(100):
        side.answers.pop("master: finish", None)
        status = {"final_application_status": "APP_SUCCEEDED", "diagnostics": "all is done"}
        status["tracking_url"] = "http://127.0.0.1:1/history"
        answer = await call("finish", "finishApplicationMaster", **status)
        if answer is None or answer.isUnregistered:
            break
        await asyncio.sleep(0.1 * (times < 50))
    await in_state(side, number, *OVER)
    await look(side, "finished", number, OWNER, STRANGER)
    await call("allocate after its end", "allocate", response_id=5, progress=1.0)
    await call("register after its end", "registerApplicationMaster", host="", rpc_port=0)
    await call(
        "finish after its end", "finishApplicationMaster", final_application_status="APP_FAILED"
    )
