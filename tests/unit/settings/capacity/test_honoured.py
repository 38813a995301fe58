"""No property is read and then ignored: each setting acts, or is told to have no effect."""

import re
from pathlib import Path

import msgspec
import pytest

from fairshare.core.schedulers.capacity import settings
from fairshare.settings.capacity.reading import read_capacity
from fairshare.settings.site import Site

SOURCES = Path(settings.__file__).parents[3]
P = "yarn.scheduler.capacity."
QUEUES = {f"{P}root.queues": "a", f"{P}root.a.capacity": "100"}

REPORTED = ({f"{P}user-metrics.enable": "true"}, {f"{P}application.fail-fast": "true"})
"""What must be reported when it is written."""


def text_of_sources() -> str:
    """All code but what reads the files, and what says which settings there are."""
    paths = [
        path
        for path in sorted(SOURCES.rglob("*.py"))
        if path.parent.name != "settings" and path != Path(settings.__file__)
    ]
    return "\n".join(path.read_text(encoding="utf-8") for path in paths)


def test_each_setting_is_used_or_reported() -> None:
    text = text_of_sources()
    unused = {
        f"{form.__name__}.{name}"
        for form in vars(settings).values()
        if isinstance(form, type) and issubclass(form, msgspec.Struct)
        if form.__module__ == settings.__name__
        for name in form.__struct_fields__
        if not re.search(rf"\.{name}\b", text)
    }
    assert unused == set()


@pytest.mark.parametrize("written", REPORTED, ids=lambda w: next(iter(w)))
def test_what_is_not_honoured_is_reported_by_name(written: dict[str, str]) -> None:
    (name,) = written
    _, problems = read_capacity(Site.of({**QUEUES, **written}, "capacity-scheduler.xml"))
    reported = [p for p in problems if p.rule == "unsupported" and name in p.message]
    assert [problem.severity for problem in reported] == ["warning"]
    if written[name] == "true":
        _, problems = read_capacity(Site.of({**QUEUES, name: "false"}))
        assert problems == ()
