"""The verb `mcp`: what an assistant can ask of a cluster and, if its user allows it, change there,
over the Model Context Protocol on standard input and output. The assistant has the rights of the
user who starts it, and no more.

Answers are those of the REST interface: causes as codes with their numbers, beside the sentences.
"""

import functools
import json
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any, Final

import click
import msgspec

from fairshare import __version__
from fairshare.api import routes
from fairshare.cli.options import with_client
from fairshare.cli.verbs import Failure
from fairshare.client import Client, Submission, TaskGroup
from fairshare.client import logs as client_logs
from fairshare.client.exchange import path_of
from fairshare.errors import FairshareError

MOST_ROWS: Final = 200
MOST_LOG_BYTES: Final = 32_768
PATIENCE_S: Final = 300
"""How long a plan may take."""

INSTRUCTIONS: Final = (
    "fairshare schedules the work of several users on a shared cluster. Begin with overview."
    " explain says why an application waits, and what would start it; prove which remedies do; eta"
    " when an application starts and ends; owed what a queue is entitled to and does not have, and"
    " by which causes. plan says what a new"
    " configuration would have done to the history of a server, and changes nothing."
    " Fields that end with _ms are milliseconds, instants since 1970."
)


class Tools:
    """The tools, as methods whose docstrings are read by the assistant. `asking` only read."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self.asking: tuple[Callable[..., Any], ...] = (
            *(self.overview, self.applications, self.application, self.explain, self.prove),
            *(self.eta, self.owed, self.ledger, self.history, self.logs, self.lint, self.plan),
            self.at,
        )
        self.changing: tuple[Callable[..., Any], ...] = (
            *(self.submit, self.kill, self.hold, self.release, self.set_priority, self.undrain),
        )

    def overview(self) -> dict[str, Any]:
        """The cluster in numbers, all queues with their shares and use, and the nodes."""
        nodes = self._client.nodes()
        return {
            "cluster": self._client.cluster(),
            "queues": self._client.queues()[:MOST_ROWS],
            "nodes": nodes[:MOST_ROWS],
            "node_count": len(nodes),
        }

    def applications(
        self,
        state: str | None = None,
        user: str | None = None,
        queue: str | None = None,
        limit: int = 50,
    ) -> dict[str, Any]:
        """Applications, the newest first: of a state (PENDING, RUNNING, FINISHED, FAILED, KILLED),
        a user, a queue."""
        found = self._client.applications(
            state=state, user=user, queue=queue, limit=max(1, min(limit, MOST_ROWS))
        )
        return {"applications": found}

    def application(self, application: str) -> dict[str, Any]:
        """One application, by its id or its number, with its groups of tasks and containers."""
        return {"application": self._client.application(application)}

    def explain(self, application: str) -> dict[str, Any]:
        """Why an application waits, the weightiest reason first, each with a code, its numbers, a
        sentence and what would end it. No reasons: it waits for nothing."""
        return {"reasons": self._client.reasons(application)}

    def prove(self, application: str) -> dict[str, Any]:
        """What would start an application that waits: remedies that were carried out in simulations
        from the present on, the cheapest first, and after how long it starts if nothing is done.
        Takes seconds. Each action has the command or the setting that does it."""
        return {"proof": self._client.prove(application)}

    def eta(self, application: str) -> dict[str, Any]:
        """When an application starts and ends, as spans from at_ms on: within p50_ms in half of all
        cases, within p90_ms in nine of ten; where calibrated is false, of simulations alone. met of
        of: how many such limits were met in the last seven days. draws 0: there is no estimate, for
        the reason. Takes seconds."""
        return {"eta": self._client.eta(application)}

    def owed(self, queue: str) -> dict[str, Any]:
        """What a queue is entitled to, requests and does not have, by cause, and which queues have
        more than their share."""
        return {"owed": self._client.connection.get(path_of(routes.EXPLAIN_QUEUE, queue))}

    def ledger(
        self,
        hours: int = 24,
        queue: str | None = None,
        user: str | None = None,
        by: str = "queue",
    ) -> dict[str, Any]:
        """What queues were entitled to, got, lent, borrowed and were owed by which cause in the
        last hours, in units times milliseconds; by: some of hour, queue, user, label, with
        commas."""
        since_ms = time.time_ns() // 1_000_000 - max(1, hours) * 3_600_000
        ledger = self._client.ledger(
            by=tuple(by.split(",")), queue=queue, user=user, since_ms=since_ms
        )
        lines = ledger.lines[:MOST_ROWS]
        more = ledger.more or len(lines) < len(ledger.lines)
        return {"ledger": msgspec.structs.replace(ledger, lines=lines, more=more)}

    def history(
        self,
        user: str | None = None,
        queue: str | None = None,
        state: str | None = None,
        limit: int = 50,
    ) -> dict[str, Any]:
        """Applications that have ended, the last one first, with what they had and used."""
        past = self._client.history(
            user=user, queue=queue, state=state, limit=max(1, min(limit, MOST_ROWS))
        )
        return {"applications": past}

    def logs(self, container: str, stream: str = "stdout") -> dict[str, str]:
        """The end of what a container has printed, to stdout or stderr."""
        end = b""
        for part in self._client.connection.follow(client_logs.present(container, stream)):
            end = (end + part)[-MOST_LOG_BYTES:]
        return {"text": end.decode(errors="replace")}

    def lint(self, path: str) -> dict[str, Any]:
        """Errors and likely mistakes in a configuration: a directory or a file of this machine."""
        return _program("lint", "--json", "--", path)

    def at(
        self, moment: str, history: str, question: str = "queues", application: str = ""
    ) -> dict[str, Any]:
        """The queues or applications (question: queues, apps), or why an application waited (why),
        as of a past moment: an instant, an age such as 2h, or record:1234. The history is the state
        directory of a server on this machine."""
        if question not in ("queues", "apps", "why"):
            raise ValueError(f"{question!r}: ask for queues, apps or why")
        words = (moment, "--against", history, question, "--json")
        return _program("at", *words, *(("--", application) if question == "why" else ()))

    def plan(self, configuration: str, history: str) -> dict[str, Any]:
        """What a configuration directory would have done to a history: the state directory of a
        server or a copy of it, both on this machine. Waits, shares and preemption before and after,
        and what would have been refused."""
        return _program("plan", "--json", "--against", history, "--", configuration)

    def submit(
        self,
        command: list[str],
        queue: str = "default",
        name: str = "",
        memory_mb: int = 1024,
        vcores: int = 1,
        count: int = 1,
        time_limit_s: int | None = None,
    ) -> dict[str, str]:
        """Submit tasks that run a command, as its words; returns the id of the application."""
        group = TaskGroup(
            name="task",
            count=count,
            arguments=tuple(command),
            resources={"memory-mb": memory_mb, "vcores": vcores},
            time_limit_ms=None if time_limit_s is None else time_limit_s * 1_000,
        )
        submission = Submission(queue=queue, name=name or " ".join(command[:1]), tasks=(group,))
        return {"id": self._client.submit(submission)}

    def kill(self, application: str) -> dict[str, str]:
        """Kill an application."""
        self._client.kill(application)
        return {"killed": application}

    def hold(self, application: str) -> dict[str, str]:
        """Let an application start nothing more until it is released; what runs goes on."""
        self._client.hold(application)
        return {"held": application}

    def release(self, application: str) -> dict[str, str]:
        """Let a held application go on."""
        self._client.release(application)
        return {"released": application}

    def set_priority(self, application: str, priority: int) -> dict[str, str]:
        """Change the priority of an application in its queue."""
        self._client.set_priority(application, priority)
        return {"changed": application}

    def undrain(self, node: str) -> dict[str, str]:
        """Let a drained node get containers again; only administrators may."""
        self._client.order_nodes("undrain", [node])
        return {"undrained": node}


def _program(*words: str) -> dict[str, Any]:
    """What another verb prints as JSON; it ends by itself if it takes too long."""
    done = subprocess.run(
        [sys.executable, "-P", "-m", "fairshare", *words],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
    )
    try:
        return {"result": json.loads(done.stdout), "exit_code": done.returncode}
    except ValueError:
        raise Failure(done.stderr.strip() or f"it has ended with {done.returncode}") from None


@click.command()
@click.option(
    "--allow-changes",
    is_flag=True,
    help="Let the assistant submit, kill, hold and release applications, change priorities and"
    " undrain nodes, as you. [default: it only asks]",
)
@with_client
def command(client: Client, allow_changes: bool) -> None:
    """Answer an assistant's questions about the cluster (Model Context Protocol).

    Assistants start it themselves, and talk to it on standard input and output: give them the
    command `fairshare mcp`.
    """
    try:
        from mcp.server.mcpserver import MCPServer
        from mcp.server.mcpserver.exceptions import ToolError
        from mcp.server.mcpserver.tools import Tool
        from mcp.types import ToolAnnotations
    except ImportError:
        raise Failure(
            f"the package mcp is missing: {sys.executable} -m pip install 'fairshare[mcp]'"
        ) from None
    tools = Tools(client)

    def answering(tool: Callable[..., object]) -> Callable[..., Any]:
        """The tool with plain data as its answer, and errors in plain words."""

        @functools.wraps(tool)
        def answer(*arguments: object, **named: object) -> dict[str, Any]:
            try:
                plain: dict[str, Any] = msgspec.to_builtins(tool(*arguments, **named))
                return plain
            except click.ClickException as error:
                raise ToolError(error.message) from error
            except (FairshareError, subprocess.TimeoutExpired, ValueError) as error:
                raise ToolError(str(error)) from error

        return answer

    def offered(tool: Callable[..., object], *, only_reads: bool = False) -> Tool:
        made = Tool.from_function(
            answering(tool), annotations=ToolAnnotations(read_only_hint=only_reads)
        )
        made.parameters["additionalProperties"] = False
        return made

    offers = [offered(tool, only_reads=True) for tool in tools.asking]
    offers += [offered(tool) for tool in (tools.changing if allow_changes else ())]
    known = {tool.name: list(tool.parameters["properties"]) for tool in offers}

    class Server(MCPServer):
        """It refuses arguments that a tool does not have, which the package leaves out."""

        async def call_tool(self, name: str, arguments: dict[str, Any], context: Any = None) -> Any:
            names = known.get(name, [*arguments])
            wrong = ", ".join(repr(one) for one in arguments if one not in names)
            if wrong:
                takes = ", ".join(names) or "no argument"
                raise ToolError(f"{name} has no argument {wrong}: it takes {takes}")
            return await super().call_tool(name, arguments, context)

    Server("fairshare", instructions=INSTRUCTIONS, version=__version__, tools=offers).run()
