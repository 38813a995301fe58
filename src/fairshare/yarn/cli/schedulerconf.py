"""`yarn schedulerconf`: changes the Capacity Scheduler's configuration while it runs.

Semicolons separate queues, commas properties; a backslash escapes either.
"""

import re
from collections.abc import Sequence
from xml.sax.saxutils import escape

from fairshare.yarn.cli.calls import FAILED, Call, Command, Option, WrongUsage, print_error, say
from fairshare.yarn.cli.documents import Fields, items
from fairshare.yarn.cli.manager import RemoteRefusal

COMMAND = Command(
    "yarn schedulerconf",
    Option("add", "Adds queues: root.a:capacity=10,...;root.b:...", 1, "Queues", other="addQueues"),
    Option("remove", "Removes queues: root.a;root.b", 1, "Queues", other="removeQueues"),
    Option("update", "Changes queues: root.a:capacity=20", 1, "Queues", other="updateQueues"),
    Option("global", "Changes properties: name=value,...", 1, "Properties", other="globalUpdates"),
    Option("format", "Discards all changes: the file is in force again.", other="formatConfig"),
    Option("getConf", "Prints the configuration in force.", other="getConfig"),
)
_PATH = "/scheduler-conf"


def run(call: Call, words: Sequence[str]) -> int:
    """Run the command; returns the exit code."""
    arguments = COMMAND.arguments(words)
    manager = call.manager
    try:
        if "format" in arguments:
            manager.call("GET", f"{_PATH}/format", {})
            say("Configuration format successfully.")
            return 0
        if "getConf" in arguments:
            say(as_file(items(manager.get(_PATH), "property")))
            return 0
        update: Fields = {}
        if "add" in arguments:
            update["add-queue"] = [_queue(text) for text in _parts(arguments.value("add"), ";")]
        if "remove" in arguments:
            update["remove-queue"] = _parts(arguments.value("remove"), ";")
        if "update" in arguments:
            update["update-queue"] = [
                _queue(text) for text in _parts(arguments.value("update"), ";")
            ]
        if "global" in arguments:
            update["global-updates"] = _entries(arguments.value("global"))
        if not update:
            return COMMAND.wrong_usage("Invalid Command Usage: ")
        manager.put(_PATH, update)
    except WrongUsage as wrong:
        print_error(str(wrong))
        return FAILED
    except RemoteRefusal as refusal:
        print_error(f"Configuration change unsuccessful: {refusal}")
        return FAILED
    say("Configuration changed successfully.")
    return 0


def _parts(text: str, divider: str) -> list[str]:
    r"""
    >>> _parts(r"a=1\,2,b=3", ",")
    ['a=1,2', 'b=3']
    """
    parts = re.split(rf"(?<!\\){re.escape(divider)}", text)
    return [part.replace("\\" + divider, divider) for part in parts if part]


def _queue(text: str) -> Fields:
    name, _, parameters = text.partition(":")
    return {"queue-name": name, "params": _entries(parameters)}


def _entries(text: str) -> Fields:
    entries = []
    for part in _parts(text, ","):
        key, divider, value = part.partition("=")
        if not key or not divider:
            raise WrongUsage("Specify configuration key value as confKey=confVal.")
        entries.append({"key": key, "value": value})  # an empty value removes the property
    return {"entry": entries}


def as_file(properties: Sequence[Fields]) -> str:
    """Properties as a Hadoop configuration file."""
    elements = "".join(
        f"<property><name>{escape(one['name'])}</name>"
        f"<value>{escape(str(one.get('value') or ''))}</value></property>\n"
        for one in properties
    )
    return f'<?xml version="1.0" encoding="UTF-8"?>\n<configuration>\n{elements}</configuration>'
