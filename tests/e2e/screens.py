"""Programs on a terminal, as a person sees them."""

import contextlib
import fcntl
import os
import pty
import select
import struct
import subprocess
import sys
import termios
import time

PATIENCE_S = 60


class Screen:
    """A program on a terminal, as a person sees it."""

    def __init__(self, arguments, environment, directory=None):
        self.master, slave = pty.openpty()
        self.resize(30, 100)
        self.process = subprocess.Popen(
            [sys.executable, "-m", "fairshare", *arguments],
            cwd=directory,
            stdin=slave,
            stdout=slave,
            stderr=slave,
            env={**os.environ, "TERM": "vt100", **environment},
            preexec_fn=lambda: (os.setsid(), fcntl.ioctl(0, termios.TIOCSCTTY, 0)),
        )
        os.close(slave)
        self.seen = ""

    def resize(self, rows, columns):
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def type(self, text):
        os.write(self.master, text.encode())

    def until(self, text):
        """Wait until it shows a text; returns all up to it, which is not shown again."""
        end_s = time.monotonic() + PATIENCE_S
        while text not in self.seen:
            assert time.monotonic() < end_s, f"no {text!r} in {self.seen!r}"
            if select.select([self.master], [], [], 1.0)[0]:
                try:
                    self.seen += os.read(self.master, 65536).decode(errors="replace")
                except OSError:
                    assert text in self.seen, f"it ended with {self.seen!r}"
        before, _, self.seen = self.seen.partition(text)
        return before

    def exit_code(self):
        """Wait for the end, reading what it shows until then."""
        end_s = time.monotonic() + PATIENCE_S
        while self.process.poll() is None:
            assert time.monotonic() < end_s, f"it does not end: {self.seen!r}"
            if select.select([self.master], [], [], 0.05)[0]:
                with contextlib.suppress(OSError):
                    self.seen += os.read(self.master, 65536).decode(errors="replace")
        return self.process.returncode

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait(PATIENCE_S)
        os.close(self.master)
