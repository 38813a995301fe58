"""The form in which answers are compared: plain data, in which what must differ is the same.

Identifiers lose the cluster's timestamp, instants become "set" or "0", and lists lose their order,
which Hadoop takes from hash tables.
"""

import re
from collections.abc import Iterator
from typing import Any

import msgspec

INSTANTS = frozenset(
    (
        "startTime",
        "finishTime",
        "launchTime",
        "submitTime",
        "creation_time",
        "finish_time",
        "last_health_report_time",
        "remaining_time",
    )
)
"""Fields whose values are only compared as 0 or not."""

GROWING = frozenset(
    (
        "memory_seconds",
        "vcore_seconds",
        "application_resource_usage_map",
        "application_preempted_resource_usage_map",
        "containers_utilization",
        "node_utilization",
        "decommissioningTimeout",
    )
)
"""Fields that measure: that they are there is compared, and not how much it is."""

MEASURED = frozenset(
    (
        "memorySeconds",
        "vcoreSeconds",
        "preemptedMemorySeconds",
        "preemptedVcoreSeconds",
        "resourceSecondsMap",
        "preemptedResourceSecondsMap",
        "nodePhysicalMemoryMB",
        "nodeVirtualMemoryMB",
        "nodeCPUUsage",
        "aggregatedContainersPhysicalMemoryMB",
        "aggregatedContainersVirtualMemoryMB",
        "containersCPUUsage",
        "containerAssignedPerSecond",
        "memUtilization",
        "cpuUtilization",
        "utilizedMBPercent",
        "utilizedVirtualCores",
        "utilizedVirtualCoresPercent",
        "rmSchedulerBusyPercent",
    )
)
"""The same in documents of the web services."""

ELEVEN_DIGITS = 10**11
"""Larger numbers are instants."""

SECRET = frozenset(("identifier", "password", "bytes"))


class Difference(msgspec.Struct, frozen=True):
    """One field of one answer: what the real ResourceManager has there, and what we have."""

    call: str
    field: str
    theirs: Any
    ours: Any


class Names(msgspec.Struct, frozen=True):
    """What is another one in each run: the cluster's timestamp, ports with a name for each, and
    the folder."""

    epoch_ms: int
    ports: dict[int, str]
    run: str

    def text(self, text: str) -> str:
        """A text in which all of it, and instants, have a name.

        >>> Names(1700000000000, {20123: "web"}, "/run").text("application_1700000000000_0001")
        'application_EPOCH_0001'
        """
        text = text.replace(str(self.epoch_ms), "EPOCH").replace(self.run, "RUN")
        text = re.sub(r"\w{3} \w{3} \d\d \d\d:\d\d:\d\d \S+ (\S+ )?\d{4}", "INSTANT", text)
        text = re.sub(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}\+0000", "INSTANT", text)
        text = re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d[.,]\d{3}(\+0000)?", "INSTANT", text)
        text = text.replace("//127.0.0.1:", "//localhost:")
        return re.sub(r"\b\d{5}\b", lambda found: self.number(int(found[0])), text)

    def number(self, number: int) -> str:
        """A number, or the name of the port or timestamp that it is."""
        if number == self.epoch_ms:
            return "EPOCH"
        return self.ports.get(number, str(number))


def plain(message: Any, names: Names) -> dict[str, Any]:
    """A message as data; fields that are not set are left out."""
    found: dict[str, Any] = {}
    for field, value in message.ListFields():
        if field.name in GROWING:
            found[field.name] = "measured"
            continue
        values = list(value) if field.is_repeated else [value]
        converted = [_value(field, one, names) for one in values]
        found[field.name] = _ordered(converted) if field.is_repeated else converted[0]
    return found


def _value(field: Any, value: Any, names: Names) -> Any:
    if field.type == field.TYPE_MESSAGE:
        return plain(value, names)
    if field.type == field.TYPE_ENUM:
        return field.enum_type.values_by_number[value].name
    if field.name in SECRET or isinstance(value, bytes):
        return "secret"
    if field.name in INSTANTS:
        return "set" if value > 0 else value
    if isinstance(value, str):
        return names.text(value)
    if isinstance(value, int) and not isinstance(value, bool):
        name = names.number(value)
        return value if name == str(value) else name
    return round(value, 4) if isinstance(value, float) else value


def document(value: Any, names: Names, field: str = "") -> Any:
    """A document of the web services, as `plain` has a message."""
    if field in MEASURED or field.startswith(("elapsed", "remaining")):
        return "measured"
    if isinstance(value, dict):
        return {key: document(one, names, key) for key, one in value.items()}
    if isinstance(value, list):
        return _ordered([document(one, names, field) for one in value])
    if isinstance(value, str):
        return names.text(value)
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, int) and value > ELEVEN_DIGITS and value != names.epoch_ms:
        return "set"
    if isinstance(value, int):
        name = names.number(value)
        return value if name == str(value) else name
    return round(value, 4)


def beans(answer: Any, names: Names) -> dict[str, dict[str, str]]:
    """The beans of `/jmx` by their names: the name and the type of each field; what only a machine
    of Java has is left out."""
    found = {}
    for bean in answer["beans"]:
        name = re.sub(r"\d{5}", lambda number: names.number(int(number[0])), bean["name"])
        if name.startswith(("Hadoop:", "java.lang:")):
            found[name] = {
                field: type(value).__name__ for field, value in bean.items() if field != "name"
            }
    return found


def _ordered(values: list[Any]) -> list[Any]:
    return sorted(values, key=_place)


def _place(value: Any) -> tuple[str, bytes]:
    """Where a value belongs in a list: by its name, if it has one."""
    name = ""
    if isinstance(value, dict):
        keys = ("queueName", "name", "nodeId", "id")
        name = str(next((value[key] for key in keys if value.get(key)), ""))
    return name, msgspec.json.encode(_comparable(value), order="sorted")


def _comparable(value: Any) -> Any:
    """A value without what measures, and what only one of the two sets, for the order."""
    if not isinstance(value, dict):
        return value
    return {
        name: _comparable(one)
        for name, one in value.items()
        if name not in GROWING and not _is_default(one)
    }


def refusal(class_name: str, message: str, names: Names) -> dict[str, Any]:
    """A refused call: its class and its message, without the stack that a real one sends."""
    lines = [one for one in message.split("\n") if not one.startswith("\tat ")]
    text = re.split(r"\nCaused by: ", "\n".join(lines))[0].strip()
    return {"refused": class_name, "message": names.text(text)}


def differences(theirs: dict[str, Any], ours: dict[str, Any]) -> Iterator[Difference]:
    """All fields of two lives in which they differ; a call is a difference if one side lacks it."""
    for call in dict.fromkeys((*theirs, *ours)):
        for field, one, other in _compared(theirs.get(call), ours.get(call), ""):
            yield Difference(call, field, one, other)


def _compared(theirs: Any, ours: Any, name: str) -> Iterator[tuple[str, Any, Any]]:
    if isinstance(theirs, dict) and isinstance(ours, dict):
        for key in dict.fromkeys((*theirs, *ours)):
            below = f"{name}.{key}" if name else key
            yield from _compared(theirs.get(key), ours.get(key), below)
    elif isinstance(theirs, list) and isinstance(ours, list) and len(theirs) == len(ours):
        for one, other in zip(theirs, ours, strict=True):
            yield from _compared(one, other, f"{name}[]")
    elif theirs != ours and not (_is_default(theirs) and _is_default(ours)):
        yield name, theirs, ours


def _is_default(value: Any) -> bool:
    """Whether Hadoop's clients read it as a field that is not set: a number, or an empty list."""
    return value is None or value is False or value in (0, [])
