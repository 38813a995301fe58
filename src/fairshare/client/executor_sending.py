"""Owns how an executor submits applications: their names, what their tasks have in common, and its
patience with a server that is away.
"""

import itertools
import secrets
import threading
import time
from collections.abc import Callable
from typing import TypeVar

import msgspec

from fairshare.client import callables
from fairshare.client.client import Client
from fairshare.client.interpreter import Interpreter, choose_interpreter
from fairshare.client.submissions import Submission, TaskGroup
from fairshare.client.waiting import Patience

Answer = TypeVar("Answer")


class Sender:
    """Submits the applications of one executor: `submission` and `group` with what each adds."""

    def __init__(
        self, client: Client, submission: Submission, group: TaskGroup, python: str | None
    ) -> None:
        self.client = client
        self.group = group
        self.prefix = f"{submission.name}-{secrets.token_hex(4)}-"
        self._submission = submission
        self._python = python
        self._numbers = itertools.count(1)
        self._interpreter: Interpreter | None = None
        self._choosing = threading.Lock()
        self._fitting: int | None = None

    def interpreter(self) -> Interpreter:
        """The Python that runs calls; raises ServerUnreachable, InterpreterUnusable."""
        with self._choosing:
            if self._interpreter is None:
                cluster = self.client.cluster()
                self._interpreter = choose_interpreter(cluster, self._python)
                asked = self.group.resources.items()
                fits = [cluster.total.get(kind, 0) // amount for kind, amount in asked if amount]
                self._fitting = max(1, min(fits, default=1))
            return self._interpreter

    @property
    def fitting(self) -> int:
        """How many containers of a call the cluster had room for when it was empty, at least 1."""
        return self._fitting or 1

    def submit(
        self, run: Callable[[], object], count: int, patience: Patience, **fields: object
    ) -> str:
        """Submit an application of `count` tasks that run a callable, with further fields of their
        group; its id."""
        interpreter = self.outlasting(patience, self.interpreter)
        group = msgspec.structs.replace(
            self.group,
            count=count,
            callable=callables.pickled(run),
            python=interpreter.python,
            environment=interpreter.environment(self.group.environment),
            **fields,
        )
        name = f"{self.prefix}{next(self._numbers)}"
        submission = msgspec.structs.replace(self._submission, name=name, tasks=(group,))

        def submit() -> str:
            # The answer may have been lost, and not the submission.
            known = self.client.applications() if patience.absent else ()
            found = next((one.id for one in known if one.name == name), None)
            return found or self.client.submit(submission)

        return self.outlasting(patience, submit)

    def outlasting(self, patience: Patience, ask: Callable[[], Answer]) -> Answer:
        """What a question yields, also if the server is away for a while."""
        answers: list[Answer] = []
        while True:
            with patience.outlast_absence():
                answers.append(ask())
            if answers:
                return answers[0]
            time.sleep(self.client.pace_s)
