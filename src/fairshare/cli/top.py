"""The verb `top`, which shows queues, applications and nodes on one screen, kept up to date.

Without a terminal it prints them once. Rows that do not fit on the screen are counted. `q` ends it
as Ctrl-C does, but successfully.
"""

import contextlib
import os
import select
import signal
import sys
import termios
import threading
import time
import tty
from collections.abc import Sequence
from typing import Any, Self

import click
import msgspec
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.text import Text

from fairshare.api import routes
from fairshare.cli.apps import ACTIVE, application_table
from fairshare.cli.cells import amounts_text, duration_text
from fairshare.cli.nodes import node_table
from fairshare.cli.options import json_option, print_json, with_client
from fairshare.cli.queues import in_tree, queue_table
from fairshare.cli.tables import open_console, print_all
from fairshare.client import Application, Client, Cluster, Node, Queue
from fairshare.wording import counted

QUIT = b"qQ"


class Keys:
    """Reads keys from stdin while the context is open, if it is a terminal.

    A thread reads: the verb mostly waits for an answer of the server. It interrupts the verb by
    SIGINT; `quit` is then true.
    """

    def __init__(self) -> None:
        self.quit = False
        self._before: list[Any] | None = None
        self._input = -1
        self._wake, self._end = -1, -1

    def __enter__(self) -> Self:
        with contextlib.suppress(OSError, ValueError, termios.error):
            self._input = sys.stdin.fileno()
            self._before = termios.tcgetattr(self._input)
        if self._before is not None:
            tty.setcbreak(self._input, termios.TCSADRAIN)
            self._wake, self._end = os.pipe()
            self._reader = threading.Thread(target=self._read, name="keys", daemon=True)
            self._reader.start()
        return self

    def __exit__(self, *error: object) -> None:
        if self._before is None:
            return
        os.close(self._end)
        self._reader.join()
        os.close(self._wake)
        termios.tcsetattr(self._input, termios.TCSADRAIN, self._before)

    def _read(self) -> None:
        while True:
            ready, _, _ = select.select([self._input, self._wake], [], [])
            if self._wake in ready:
                return
            typed = os.read(self._input, 64)
            if not typed:
                return
            if any(key in QUIT for key in typed):
                self.quit = True
                os.kill(os.getpid(), signal.SIGINT)
                return


LONGEST_POLL_S = 2
"""The maximum age of the displayed times without changes."""

PACE_S = 0.3
"""The minimum interval between two screens."""

FRAME_LINES = 9
"""The lines of a screen besides rows: summary, titles, column names, and omitted rows."""


class Scene(msgspec.Struct, frozen=True):
    """The displayed data."""

    cluster: Cluster
    queues: tuple[Queue, ...]
    applications: tuple[Application, ...]
    nodes: tuple[Node, ...]


@click.command()
@click.option("--once", is_flag=True, help="Print it once, as without a terminal.")
@with_client
@json_option
def command(client: Client, once: bool, as_json: bool) -> None:
    """Watch queues, applications and nodes, until q or Ctrl-C.

    A bar is the used fraction of the cluster, of memory or of vcores, whichever is larger; the
    mark in it is the fair share.
    """
    if as_json:
        print_json(raw_scene(client))
        return
    console = open_console()
    if once or not console.is_terminal:
        print_all(console, draw(console, look(client), None))
        return
    with Keys() as keys:
        try:
            watch(client, console)
        except KeyboardInterrupt:
            if not keys.quit:
                raise


def look(client: Client) -> Scene:
    """The current state, with the applications that are not over."""
    return Scene(
        cluster=client.cluster(),
        queues=client.queues(),
        applications=client.applications(state=",".join(ACTIVE)),
        nodes=client.nodes(),
    )


def raw_scene(client: Client) -> dict[str, Any]:
    """The same, as the server's JSON."""
    get = client.connection.get
    return {
        "cluster": get(routes.SHOW_CLUSTER.path),
        **get(routes.LIST_QUEUES.path),
        **get(routes.LIST_APPLICATIONS.path, state=",".join(ACTIVE)),
        **get(routes.LIST_NODES.path),
    }


def watch(client: Client, console: Console) -> None:
    """Draw the screen at every change, until Ctrl-C or the end of the server."""
    version = client.changes()
    with Live(console=console, screen=True, auto_refresh=False) as live:
        while True:
            live.update(draw(console, look(client), console.height), refresh=True)
            time.sleep(PACE_S)
            version = client.changes(version, LONGEST_POLL_S)


def draw(console: Console, scene: Scene, height: int | None) -> RenderableType:
    """The screen; with a height its tables are cut to fit, and count the omitted rows."""
    queues, applications, nodes = in_tree(scene.queues), scene.applications, scene.nodes
    kept = (len(queues), len(applications), len(nodes))
    if height is not None:
        kept = shares_of(height - FRAME_LINES, kept)
    now_ms = scene.cluster.now_ms
    parts: list[RenderableType] = [
        Text(summary(scene.cluster), style="bold", no_wrap=True, overflow="ellipsis"),
        Text(),
    ]
    parts.append(queue_table(console, queues[: kept[0]], scene.cluster.total))
    parts += missing(queues, kept[0], "queues")
    parts.append(Text())
    if applications:
        parts.append(application_table(console, applications[: kept[1]], now_ms))
        parts += missing(applications, kept[1], "applications")
    else:
        parts.append(Text("Nothing runs or waits."))
    parts.append(Text())
    parts.append(node_table(console, nodes[: kept[2]]) if nodes else Text("No node has joined."))
    parts += missing(nodes, kept[2], "nodes")
    return Group(*parts)


def summary(cluster: Cluster) -> str:
    """The first line."""
    counts = cluster.applications
    return (
        f"{cluster.scheduler} | up {duration_text(cluster.now_ms - cluster.started_ms)}"
        f" | {amounts_text(cluster.used)} of {amounts_text(cluster.total)}"
        f" | {counted(cluster.containers, 'container')}"
        f" | {counts.get('RUNNING', 0)} running, {counts.get('PENDING', 0)} pending"
    )


def shares_of(lines: int, wanted: tuple[int, int, int]) -> tuple[int, int, int]:
    """How many rows of each table fit: equal parts, with unused rows given to the others.

    >>> shares_of(12, (3, 20, 4)), shares_of(30, (3, 20, 4)), shares_of(2, (9, 9, 9))
    ((3, 5, 4), (3, 20, 4), (1, 1, 1))
    """
    kept = [min(1, n) for n in wanted]
    while sum(kept) < lines:
        hungry = [number for number in range(3) if kept[number] < wanted[number]]
        if not hungry:
            break
        kept[min(hungry, key=lambda number: (kept[number], number))] += 1
    return kept[0], kept[1], kept[2]


def missing(rows: Sequence[object], kept: int, what: str) -> list[RenderableType]:
    """A line that counts omitted rows, if there are any."""
    more = len(rows) - kept
    return [Text(f"and {more} more {what}", style="dim")] if more > 0 else []
