"""Owns the measurements of earlier demonstrations, so that two schedulers can be compared.

One small file in the user's cache, which may be deleted at any time. A file that cannot be read
counts as missing.
"""

import contextlib
import os
import time
from collections.abc import Mapping
from pathlib import Path

import msgspec

from fairshare.demonstration.applications.plan import Plan
from fairshare.demonstration.measurement import RunMetrics
from fairshare.demonstration.teams import Pace
from fairshare.families.registry import family_of

FORM = 2
"""The version of the file; measurements with another meaning get another number."""

LONGEST_AGE_S = 24 * 3600.0
"""After that, the speed of the machine is measured again."""


class Run(msgspec.Struct, frozen=True):
    """One demonstration that came to its end. `at_s` are seconds since 1970."""

    at_s: float
    figures: RunMetrics


class Archive(msgspec.Struct, frozen=True):
    """The last plan, and the last run of each scheduler that had this plan."""

    form: int
    plan: Plan
    runs: dict[str, Run]

    def plan_to_repeat(self, scheduler: str, pace: Pace, now_s: float) -> Plan | None:
        """The plan, if another scheduler has run it recently: other work is not comparable."""
        recent = [
            run
            for other, run in self.runs.items()
            if other != scheduler and 0 <= now_s - run.at_s < LONGEST_AGE_S
        ]
        return self.plan if recent and self.plan.pace == pace else None

    def other_run(self, scheduler: str) -> Run | None:
        """The run of another scheduler with the same plan: FIFO's, if there is one."""
        others = [run for other, run in self.runs.items() if other != scheduler]
        return min(others, key=lambda run: family_of(run.figures.scheduler).divides, default=None)


def archive_path(environment: Mapping[str, str] = os.environ) -> Path:
    """`~/.cache/fairshare/demo.json`, or below XDG_CACHE_HOME."""
    named = environment.get("XDG_CACHE_HOME", "")
    base = Path(named) if named.startswith("/") else Path("~/.cache").expanduser()
    return base / "fairshare" / "demo.json"


def read_archive(path: Path) -> Archive | None:
    """The archive; None if there is none that can be read."""
    try:
        found = msgspec.json.decode(path.read_bytes(), type=Archive)
    except (OSError, msgspec.DecodeError):
        return None
    return found if found.form == FORM else None


def with_run(before: Archive | None, plan: Plan, metrics: RunMetrics, now_s: float) -> Archive:
    """The archive with one more run; runs of another plan are forgotten."""
    runs = before.runs if before is not None and before.plan == plan else {}
    return Archive(FORM, plan, {**runs, metrics.scheduler: Run(now_s, metrics)})


def write_archive(path: Path, archive: Archive) -> None:
    """Write it; after an OSError the previous file is still there."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        draft.write_bytes(msgspec.json.encode(archive))
        draft.replace(path)
    except OSError:
        with contextlib.suppress(OSError):
            draft.unlink(missing_ok=True)
        raise


def date_text(at_s: float) -> str:
    """An instant in local time: `2024-05-01 14:30`."""
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(at_s))
