"""Parsers of values in options and job files that have special rules.

`fairshare.documents` has the grammars of durations and sizes; this module adds the rules of
options. Every function raises ValueError with a sentence that says what to write instead.
"""

import os
import re
from pathlib import Path
from typing import Any, Final, cast

from fairshare.api.work import Dependency
from fairshare.client import EndSignal
from fairshare.documents import durations
from fairshare.documents.bounds import END_SIGNALS, LONGEST_GRACE_MS, OUTCOMES
from fairshare.documents.images import parse_mount
from fairshare.documents.notice_targets import parse_target
from fairshare.documents.sizes import MOST

OF_THEIR_OWN = {"memory-mb": "--memory 512m", "vcores": "--vcores 2"}
"""The resource types that every container has."""

MOST_S: Final = 2**40
LONGEST_TAG = 100


def parse_duration_ms(text: str) -> int:
    """A duration in milliseconds, at least 1.

    >>> parse_duration_ms("10m"), parse_duration_ms("1h30m"), parse_duration_ms("1.5s")
    (600000, 5400000, 1500)
    """
    return durations.parse_duration_ms(text, least_ms=1)


def parse_slurm_time_ms(text: str) -> int:
    """A time limit as Slurm writes it: minutes, minutes:seconds, hours:minutes:seconds, or days
    before them; or a duration with a unit.

    >>> parse_slurm_time_ms("30"), parse_slurm_time_ms("1:30"), parse_slurm_time_ms("1-0")
    (1800000, 90000, 86400000)
    """
    clock = re.fullmatch(r"([0-9]+):([0-5][0-9])", text.strip())
    if clock is not None:
        return durations.parse_duration_ms(f"{clock[1]}m{clock[2]}s", least_ms=1)
    return durations.parse_duration_ms(text, bare_unit="m", least_ms=1)


def parse_names(text: str) -> tuple[str, ...]:
    """Names with commas between them.

    >>> parse_names("gpu1,gpu2")
    ('gpu1', 'gpu2')
    """
    return tuple(parse_name(name) for name in text.split(","))


def parse_lifetime_s(text: str) -> int:
    """A whole number of seconds, at least 1.

    >>> parse_lifetime_s("90s"), parse_lifetime_s("1h")
    (90, 3600)
    """
    duration_ms = parse_duration_ms(text)
    if duration_ms % 1_000:
        raise ValueError(f"{text!r} is not a whole number of seconds: write 90s, 10m or 2h")
    if duration_ms > MOST_S * 1_000:
        raise ValueError(f"{text!r} is longer than can be counted: leave it out for no limit")
    return duration_ms // 1_000


def parse_name(text: str) -> str:
    """A name that is not blank.

    >>> parse_name("ann")
    'ann'
    """
    if not text.strip():
        raise ValueError("the name is empty: leave the option out, or write a name")
    return text


def parse_notify(text: str) -> str:
    """Where a notice goes: a URL, a mail address or a command.

    >>> parse_notify("mailto:ann@example.org")
    'mailto:ann@example.org'
    """
    parse_target(text)
    return text


def parse_tag(text: str) -> str:
    """A tag of an application, of 1 to 100 characters.

    >>> parse_tag("nightly")
    'nightly'
    """
    if not text or len(text) > LONGEST_TAG:
        raise ValueError(f"a tag has 1 to {LONGEST_TAG} characters, and this one has {len(text)}")
    return text


def parse_amount(text: str) -> tuple[str, int]:
    """A resource type and an amount.

    >>> parse_amount("yarn.io/gpu=2")
    ('yarn.io/gpu', 2)
    """
    name, _, amount = text.partition("=")
    if name and re.fullmatch(r"[0-9]*[.][0-9]+", amount):
        raise ValueError(
            f"{text!r} is a fraction, and amounts are whole numbers, GPUs too: write NAME=N, such"
            f" as {name}=1"
        )
    if not name or not (amount.isascii() and amount.isdigit()):
        raise ValueError(f"{text!r} is not an amount: write NAME=N, such as yarn.io/gpu=1")
    if name in OF_THEIR_OWN:
        raise ValueError(f"{name} has an option of its own: write {OF_THEIR_OWN[name]}")
    if int(amount) == 0:
        raise ValueError(f"{text!r} is zero: write 1 or more, or leave the option out")
    if int(amount) > MOST:
        raise ValueError(f"{text!r} is more than can be counted: no machine has that")
    return name, int(amount)


def parse_variable(text: str) -> tuple[str, str]:
    """An environment variable and its value; a name alone takes the value that it has here.

    >>> parse_variable("MODE=a=b")
    ('MODE', 'a=b')
    """
    name, sign, value = text.partition("=")
    if not name:
        raise ValueError(f"{text!r} does not set a variable: write NAME=VALUE")
    if not sign:
        if name not in os.environ:
            raise ValueError(
                f"{text!r} does not set a variable, and is not one that is set here: write"
                " NAME=VALUE"
            )
        value = os.environ[name]
    return name, value


def parse_variable_name(text: str) -> str:
    """The name of an environment variable; raises ValueError."""
    if not text or not set("=,\0").isdisjoint(text):
        raise ValueError(f"{text!r} is not the name of a variable: its value is the one set here")
    return text


def absolute_mount(text: str, folder: Path) -> str:
    """A mount whose source may be relative to a folder; raises ValueError."""
    source, colon, rest = text.partition(":")
    if not source or "\0" in source:
        raise ValueError(f"{text!r} is not a mount: write /data, data:/in/the/image or /data:ro")
    absolute = str((folder / Path(source).expanduser()).resolve())
    return str(parse_mount(absolute + colon + rest))


def parse_end_signal(text: str) -> EndSignal:
    """The signal before the end of a container, as for sbatch: `[B:]NAME[@TIME]`, TIME in seconds
    or as a duration; with `B:` only for the first process.

    >>> parse_end_signal("B:SIGUSR1@2m")
    EndSignal(name='USR1', before_ms=120000, first_process=True)
    """
    name, at, before = text.removeprefix("B:").partition("@")
    name = name.upper().removeprefix("SIG")
    if name not in END_SIGNALS or (at and not before):
        raise ValueError(
            f"{text!r} is not a signal before the end: write USR1 or USR1@60, with one of"
            f" {', '.join(END_SIGNALS)}"
        )
    before_ms = parse_duration_ms(f"{before}s" if before.isdigit() else before) if at else None
    return EndSignal(name=cast(Any, name), before_ms=before_ms, first_process=text.startswith("B:"))


def parse_grace_ms(text: str) -> int:
    """The time from the request to end to the end by force, in milliseconds; at most an hour.

    >>> parse_grace_ms("2m")
    120000
    """
    grace_ms = parse_duration_ms(text)
    if grace_ms > LONGEST_GRACE_MS:
        raise ValueError(f"{text!r} is more than an hour, the longest grace time")
    return grace_ms


def parse_umask(text: str) -> int:
    """The permissions that new files do not get, in octal digits.

    >>> parse_umask("027") == 0o027
    True
    """
    if not re.fullmatch("[0-7]{1,4}", text) or int(text, 8) > 0o777:
        raise ValueError(f"{text!r} is not a umask: write octal digits, such as 027")
    return int(text, 8)


def parse_dependency(text: str) -> Dependency:
    """`17`, `17:failed` or `application_1700000000000_0017:any`; raises ValueError.

    >>> parse_dependency("17:any")
    Dependency(application='17', outcome='any')
    """
    name, colon, outcome = text.strip().partition(":")
    if not name or (colon and outcome not in OUTCOMES):
        raise ValueError(
            f"{text!r}: write an application's id or number, and perhaps :ok, :failed or :any"
        )
    return Dependency(application=name, outcome=outcome if colon else "ok")  # type: ignore[arg-type]
