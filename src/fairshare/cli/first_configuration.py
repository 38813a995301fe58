"""Owns the text of a first configuration: one machine that its users share equally.

Knows neither the machine nor the disk.
"""

import json
import re
from pathlib import Path
from typing import Final

import msgspec

from fairshare.documents.gpus import GpuSetting

STEP_MB: Final = 128
"""The sizes of containers are multiples of it."""
NAME: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.@-]{0,99}")
"""A user who can have a queue of the same name."""


class InitOptions(msgspec.Struct, frozen=True, kw_only=True):
    """What a first configuration is about. Without `users` every user gets a queue. With `socket`
    callers are those whom the kernel names; `as_users`: containers run under their accounts."""

    users: tuple[str, ...]
    gpus: GpuSetting
    memory_mb: int
    vcores: int
    memory_given: bool = False
    vcores_given: bool = False
    port: int | None = None
    state_directory: Path | None = None
    socket: Path | None = None
    as_users: bool = False


def parse_users(text: str) -> tuple[str, ...]:
    """The users of an option; raises ValueError.

    >>> parse_users("ann, bob")
    ('ann', 'bob')
    """
    names = tuple(name.strip() for name in text.split(",") if name.strip())
    for name in names:
        if not NAME.fullmatch(name):
            raise ValueError(f"{name!r} is not the name of a user: write names, as in ann,bob")
        if names.count(name) > 1:
            raise ValueError(f"{name} is named twice")
    if not names:
        raise ValueError("name at least one user, as in ann,bob")
    return names


def files_of(options: InitOptions) -> dict[str, str]:
    """The files of the configuration, by name."""
    return {
        "yarn-site.xml": _site(options),
        "fair-scheduler.xml": _allocations(options),
        "fairshare.toml": _shell(options),
    }


def _site(options: InitOptions) -> str:
    properties = {
        "yarn.resourcemanager.scheduler.class": (
            "org.apache.hadoop.yarn.server.resourcemanager.scheduler.fair.FairScheduler",
            "Users get equal shares; what one does not use, the others have.",
        ),
        "yarn.scheduler.minimum-allocation-mb": (
            STEP_MB,
            "Requests are rounded up to this, in MB.",
        ),
        "yarn.scheduler.increment-allocation-mb": (STEP_MB, ""),
        "yarn.scheduler.maximum-allocation-mb": (
            max(STEP_MB, options.memory_mb // STEP_MB * STEP_MB),
            "The largest container: what this machine offers.",
        ),
        "yarn.scheduler.maximum-allocation-vcores": (options.vcores, ""),
        "yarn.scheduler.fair.assignmultiple": (
            "true",
            "As many containers as fit are started at once.",
        ),
        "yarn.scheduler.fair.dynamic.max.assign": ("false", ""),
        "yarn.scheduler.fair.preemption": (
            "false",
            "With true, containers of users above their share are ended for users below theirs.",
        ),
    }
    lines = ['<?xml version="1.0"?>', "<!-- Made by `fairshare init`. -->", "<configuration>"]
    for name, (value, why) in properties.items():
        lines += ["", "  <property>", f"    <name>{name}</name>", f"    <value>{value}</value>"]
        if why:
            lines.append(f"    <description>{why}</description>")
        lines.append("  </property>")
    return "\n".join([*lines, "", "</configuration>", ""])


def _allocations(options: InitOptions) -> str:
    lines = [
        '<?xml version="1.0"?>',
        "<!-- Made by `fairshare init`. A queue for each user, with equal shares. A weight of 2 is",
        '     twice the share: <queue name="ann"><weight>2.0</weight></queue> -->',
        "<allocations>",
        "",
    ]
    # As Hadoop names a user's queue.
    queues = [name.replace(".", "_dot_") for name in options.users]
    lines += [f'  <queue name="{name}"/>' for name in queues]
    if options.users:
        lines.append("")
    placement = ['    <rule name="user" create="true"/>']
    if options.users:
        placement = ['    <rule name="user" create="false"/>', '    <rule name="reject"/>']
    lines += [
        "  <!-- A share is of memory, vcores or GPUs: of what a user has most of. -->",
        "  <defaultQueueSchedulingPolicy>drf</defaultQueueSchedulingPolicy>",
        "",
        "  <queuePlacementPolicy>",
        *placement,
        "  </queuePlacementPolicy>",
        "",
        "</allocations>",
        "",
    ]
    return "\n".join(lines)


def _shell(options: InitOptions) -> str:
    lines = ["# Made by `fairshare init`. All keys: docs/configuration.md", ""]
    server: list[str] = []
    if options.port is not None:
        server.append(f"port = {options.port}")
    if options.state_directory is not None:
        server.append(f"state_directory = {_text(str(options.state_directory))}")
    if options.socket is not None:
        server += [
            "# Users of this machine call here, without tokens: the kernel says who they are.",
            f"socket = {_text(str(options.socket))}",
        ]
    if server:
        lines += ["[server]", *server, ""]
    if options.socket is not None:
        lines += [
            "[authentication]",
            "# All others need a token. For the pages in a browser: tokens = true, and",
            "# `fairshare admin token create USER`.",
            "socket = true",
            "",
        ]
    lines.append("[engine]")
    if options.as_users:
        lines += ["# Containers run under the accounts of their users.", 'run_as = "user"']
    lines += [
        "# The GPUs of this machine, each assigned to one container.",
        f"gpus = {json.dumps(options.gpus)}",
        "# What containers get of this machine: by default four fifths of its memory, and all",
        "# processors.",
        f"{'' if options.memory_given else '# '}memory_mb = {options.memory_mb}",
        f"{'' if options.vcores_given else '# '}vcores = {options.vcores}",
        "",
    ]
    return "\n".join(lines)


def _text(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
