"""Owns showing what containers print while they run: stdout as stdout, stderr as stderr.

The output of a single task is passed on as it comes, that of several by whole lines.
"""

import sys
from typing import BinaryIO

from fairshare.client import Client, Container
from fairshare.client import logs as client_logs
from fairshare.client.errors import Refused

_NOT_THERE = ("log-gone", "node-unreachable", "unknown-container")


class LiveOutput:
    """What the containers of one application print. `lines`: only whole lines are passed on."""

    def __init__(self, client: Client, *, lines: bool) -> None:
        self._client = client
        self._lines = lines
        self._streams: dict[tuple[str, str], Stream] = {}

    def advance(self, containers: tuple[Container, ...]) -> bool:
        """Pass on what is new; returns whether there was anything."""
        for container in containers:
            if container.state in ("RUNNING", "COMPLETE"):
                for name, target in (("stdout", sys.stdout), ("stderr", sys.stderr)):
                    key = container.id, name
                    if key not in self._streams:
                        self._streams[key] = Stream(*key, target.buffer, lines=self._lines)
        progress = [one.advance(self._client) for one in self._streams.values() if not one.complete]
        return any(progress)

    @property
    def complete(self) -> bool:
        """Whether nothing can follow from the containers that are known."""
        return all(one.complete for one in self._streams.values())


class Stream:
    """One stream of one container."""

    def __init__(self, container: str, name: str, target: BinaryIO, *, lines: bool) -> None:
        self.complete = False
        self._container = container
        self._name = name
        self._target = target
        self._lines = lines
        self._offset = 0
        self._rest = b""

    def advance(self, client: Client) -> bool:
        """Pass on what is new; returns whether there was anything."""
        try:
            chunk = client_logs.read(client.connection, self._container, self._name, self._offset)
        except Refused as refusal:
            if refusal.code not in _NOT_THERE:
                raise
            self.complete = True
            return False
        self._offset += chunk.advance
        self.complete = chunk.complete
        data = self._rest + chunk.shown
        end = data.rfind(b"\n") + 1 if self._lines and not self.complete else len(data)
        self._rest = data[end:]
        if end:
            self._target.write(data[:end])
            self._target.flush()
        return bool(chunk.advance)
