"""What the processes that run the suite report to the one that prints: a test's outcome.

xdist sends six messages for each test, three of which say that it begins, is set up and is torn
down. Nothing is printed from these unless something went wrong; ten thousand tests of a
millisecond spend as much time on them as on themselves.
"""

from typing import Any

import pytest

ALL_ARE_PRINTED = frozenset("PpA")
"""The letters of `-r` that print what passed tests have written."""


def report_outcomes_only(config: pytest.Config) -> None:
    """In a process of xdist: leave out what the process that prints has no use for."""
    options = config.option
    if options.durations is not None or options.xmlpath or options.verbose > 0:
        return
    if ALL_ARE_PRINTED.intersection(options.reportchars):
        return
    for plugin in config.pluginmanager.get_plugins():
        if hasattr(plugin, "sendevent"):
            plugin.sendevent = _without_routine(plugin.sendevent)


def _without_routine(send: Any) -> Any:
    def send_the_rest(name: str, **contents: Any) -> None:
        if not is_routine(name, contents):
            send(name, **contents)

    return send_the_rest


def is_routine(name: str, contents: dict[str, Any]) -> bool:
    """Whether a message says only that a test begins, or has been set up or torn down."""
    if name == "logstart":
        return True
    data = contents.get("data", {})
    return name == "testreport" and data["outcome"] == "passed" and data["when"] != "call"
