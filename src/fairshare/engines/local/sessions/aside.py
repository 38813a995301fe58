"""Owns short commands beside the containers, such as those of notices: each has control groups of
its own, which end with it, and leaves no process behind.

What holds such a command is what holds one in a container, without the container. Used by the
server only; `run` blocks.
"""

import contextlib
import os
import secrets
import socket
import time
from pathlib import Path

from fairshare.api import frames
from fairshare.api.frames import STDERR, Decoder, Malformed
from fairshare.engines.local.accounts import find_account
from fairshare.engines.local.launch import Launch
from fairshare.engines.local.limits import Limits
from fairshare.engines.local.machine import user_name
from fairshare.engines.local.outcome import StartFailure
from fairshare.engines.local.sessions.opening import start_holder
from fairshare.engines.protocol import Ended

MEMORY_MB = 256
_TAIL_BYTES = 4096
_END_S = 10.0


class Aside:
    """One command. `user` has the account under which it runs, None: that of the server; `limits`
    None: the command is not limited. HOME, USER and LOGNAME are those of the account."""

    def __init__(
        self,
        arguments: tuple[str, ...],
        environment: dict[str, str],
        *,
        log: Path,
        user: str | None = None,
        limits: Limits | None = None,
        no_new_privileges: bool = False,
    ) -> None:
        self._arguments = arguments
        self._environment = environment
        self._log = log
        self._user = user
        self._limits = limits
        self._no_new_privileges = no_new_privileges
        self._connection: socket.socket | None = None
        self._closed = False

    def run(self, content: bytes, timeout_s: float) -> Ended:
        """Run the command with `content` on its stdin. Raises EngineError if no process can be
        started now, and TimeoutError if the command was ended for its time."""
        try:
            order = self._order().encode()
        except StartFailure as failure:
            if failure.is_final:
                return Ended(None, "", failure.diagnostics)
            raise
        process, self._connection = start_holder(self._log)
        try:
            assert process.stdin is not None
            with contextlib.suppress(OSError), process.stdin as file:
                file.write(order)
            return Ended(None, "") if self._closed else self._converse(content, timeout_s)
        finally:
            self._connection.close()
            with contextlib.suppress(Exception):
                process.wait(_END_S)  # it ends all that the command has started

    def _order(self) -> Launch:
        account = None if self._user is None else find_account(self._user)
        if account is None:
            home, user = os.environ.get("HOME", "/"), user_name()
        else:
            home, user = account.home, account.name
        name = f"aside-{secrets.token_hex(6)}"
        own = None if self._limits is None else self._limits.container(name, MEMORY_MB, 1)
        return Launch(
            container=0,
            container_name=name,
            arguments=(),
            environment=self._environment | {"HOME": home, "USER": user, "LOGNAME": user},
            directory="/",
            memory_mb=0 if own is None or not own.memory_checked else MEMORY_MB,
            memory_limit="watch" if own is None else own.memory_limit,
            groups=() if own is None else own.groups,
            kill_group=None if own is None else own.kill_group,
            niceness=0 if own is None else own.niceness,
            account="" if account is None else account.name,
            uid=-1 if account is None else account.uid,
            gid=-1 if account is None else account.gid,
            supplementary=() if account is None else account.groups(),
            no_new_privileges=self._no_new_privileges,
        )

    def close(self) -> None:
        """End the command, from another thread."""
        self._closed = True
        if self._connection is not None:
            with contextlib.suppress(OSError):
                self._connection.shutdown(socket.SHUT_RDWR)

    def _converse(self, content: bytes, timeout_s: float) -> Ended:
        assert self._connection is not None
        connection, decoder, stderr = self._connection, Decoder(masked=False), b""
        end_s = time.monotonic() + timeout_s
        connection.settimeout(timeout_s)
        with contextlib.suppress(OSError):  # it has ended: the reason is read below
            connection.sendall(
                frames.text_frame({"arguments": self._arguments}, os.urandom(4))
                + b"".join(
                    frames.data_frame(content[at : at + frames.PIECE_BYTES], os.urandom(4))
                    for at in range(0, len(content), frames.PIECE_BYTES)
                )
                + frames.text_frame({"eof": True}, os.urandom(4))
            )
        while True:
            connection.settimeout(max(0.001, end_s - time.monotonic()))
            try:
                data = connection.recv(64 * 1024)
                messages = decoder.feed(data)
            except TimeoutError:
                raise
            except (OSError, Malformed):
                data, messages = b"", []
            for message in messages:
                if message.data[:1] == bytes((STDERR,)):
                    stderr = (stderr + message.data[1:])[-_TAIL_BYTES:]
                if message.ping is not None:
                    with contextlib.suppress(OSError):
                        connection.sendall(frames.pong_frame(message.ping, os.urandom(4)))
                said = message.said or {}
                if "exit" in said or "problem" in said:
                    words = stderr.decode(errors="replace")
                    return Ended(said.get("exit"), words, said.get("problem", ""))
            if not data:
                return Ended(None, stderr.decode(errors="replace"))
            if time.monotonic() >= end_s:
                raise TimeoutError
