"""Features of the resource manager that are not here: named with file and line."""

from pathlib import Path

import pytest

from fairshare.settings.linting import lint

RM = "yarn.resourcemanager."
NM = "yarn.nodemanager."
SCHEDULER = RM + "scheduler.class"
CLASSES = {
    "fair": "org.apache.hadoop.yarn.server.resourcemanager.scheduler.fair.FairScheduler",
    "fifo": "org.apache.hadoop.yarn.server.resourcemanager.scheduler.fifo.FifoScheduler",
}


def problems(directory: Path, scheduler: str, name: str, value: str) -> list[tuple[str, int]]:
    """What is said of one property, on line 2; as rule and line."""
    file = directory / "yarn-site.xml"
    file.write_text(
        f"<configuration><property><name>{SCHEDULER}</name><value>{CLASSES[scheduler]}</value>"
        f"</property>\n<property><name>{name}</name><value>{value}</value></property>"
        "</configuration>"
    )
    reported = [one for one in lint(directory) if f"{name} has no effect" in one.message]
    assert all(Path(one.file).name == "yarn-site.xml" for one in reported)
    return [(one.rule, one.line) for one in reported]


@pytest.mark.parametrize("scheduler", CLASSES)
@pytest.mark.parametrize(
    ("name", "on", "off"),
    [
        (RM + "reservation-system.enable", "true", "false"),
        (RM + "opportunistic-container-allocation.enabled", "true", "false"),
        (RM + "auto-update.containers", "true", "false"),
        (RM + "placement-constraints.handler", "scheduler", "disabled"),
        (NM + "distributed-scheduling.enabled", "true", "false"),
        (NM + "opportunistic-containers-max-queue-length", "10", "0"),
        (NM + "node-attributes.provider", "config", ""),
    ],
)
def test_what_is_not_here_is_named_once_with_its_line_if_it_is_switched_on(
    tmp_path: Path, scheduler: str, name: str, on: str, off: str
) -> None:
    assert problems(tmp_path, scheduler, name, on) == [("unsupported", 2)]
    assert problems(tmp_path, scheduler, name, off) == []
