"""A decision of the past as a scenario: a file that makes the same state with the fewest steps, and
then expects what was decided there, or for what an application waited.

The steps are not the history: they place what lived, one ask for the containers of an application
on a node, and then ask for what was outstanding. What depends on more than the state, such as how
long something had waited, or a node that was reserved, may be decided otherwise; so a case is run
before it is given to anybody.
"""

import json
import tempfile
from collections import Counter
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import Any, Final

import msgspec

from fairshare.cli.verbs import Failure
from fairshare.core.model.applications import Application
from fairshare.core.model.asks import AskKey
from fairshare.core.model.events import ContainerAllocated
from fairshare.core.model.identifiers import ApplicationId
from fairshare.core.model.inputs import NodeBeat
from fairshare.core.model.resources import ResourceTypes
from fairshare.core.model.tasks import GROUP_REQUESTS
from fairshare.core.schedulers.reasons import reasons
from fairshare.lab.branch.history import Cut, History, Moment
from fairshare.lab.scenarios.configuration import ConfigurationFiles
from fairshare.lab.scenarios.document import config_names
from fairshare.lab.scenarios.report import check_file
from fairshare.settings.registry import family_of
from fairshare.wording import counted

MOST_RECORDS: Final = 1_000_000
"""After the moment in which a decision is looked for."""

MOST_STEPS: Final = 1_000
"""Of a case: a larger one is not what a report of a defect needs."""

MOST_PROBLEMS: Final = 3


class Decision(msgspec.Struct, frozen=True):
    """What is reproduced: the first grant after the state, to an application on a node; or, without
    a node, that it waits."""

    moment: Moment
    application: ApplicationId
    node: str | None = None
    count: int = 0


def decision(history: History, cut: Cut, application: ApplicationId | None) -> Decision:
    """The first grant after a cut, of an application or of all; if it gets none any more, that it
    waits at the cut. Raises Failure."""
    moment = history.moment(cut)
    last = moment.position.sequence
    for record in history.journal.records(last):
        grants = [one for one in record.events if type(one) is ContainerAllocated]
        mine = [one for one in grants if application in (None, one.application)]
        if mine:
            if type(record.input) is not NodeBeat:
                raise Failure(
                    f"the container was granted by {type(record.input).__name__} (record"
                    f" {record.sequence:,}) and not at a heartbeat: a scenario has no step for that"
                )
            number = mine[0].application
            before = history.moment(Cut(record=record.sequence - 1))
            count = sum(one.application == number for one in mine)
            return Decision(before, number, mine[0].node, count)
        if record.sequence - last > MOST_RECORDS:
            break
    if application is None:
        raise Failure(
            "nothing is granted after that moment: name an earlier one, or an application that"
            " waits"
        )
    known = moment.manager.state.applications.get(application)
    if known is None:
        raise Failure(
            f"there is no application {application} at that moment, nor does one of that number get"
            " a container after it: `fairshare at T apps --all` lists those of a moment"
        )
    if known.over:
        raise Failure(
            f"application {application} has ended by that moment: name an earlier one with --at"
        )
    return Decision(moment, application)


def written(what: Decision, conf: Path) -> str:
    """The scenario, which has been checked. `conf` is the configuration directory that was in
    force. Raises Failure if the scenario does not reproduce it."""
    manager = what.moment.manager
    family = family_of(manager.scheduler.name)
    texts = {
        name: path.read_text(encoding="utf-8")
        for name in config_names()
        if (path := conf / name).is_file()
    }
    loaded = ConfigurationFiles(texts, {}, family).read()
    if loaded.types.names != manager.state.types.names:
        raise Failure(
            f"{conf} has the resource types {', '.join(loaded.types.names)}, and the history"
            f" {', '.join(manager.state.types.names)}: name the directory that was in force"
        )
    steps = [*_Writer(what).steps()]
    if len(steps) > MOST_STEPS:
        raise Failure(
            f"the case would have {counted(len(steps), 'step')}, and at most {MOST_STEPS:,} are"
            " written: choose a moment at which less runs"
        )
    lines = ["scenario: 1", f"name: {_name(what)}", f"scheduler: {family.public_name}", "config:"]
    for name, text in texts.items():
        lines += [f"  {name}: |2", *(f"    {line}".rstrip() for line in text.splitlines())]
    lines += ["nodes:", *(f"  - {_flow(node)}" for node in _nodes(what)), "steps:"]
    lines += [f"  - {name}: {_flow(argument)}" for name, argument in steps]
    text = "\n".join(lines) + "\n"
    with tempfile.TemporaryDirectory(prefix="fairshare-case-") as folder:
        file = Path(folder, "case.yaml")
        file.write_text(text, encoding="utf-8")
        result = check_file(file)
    if result.result != "passed":
        differences = "; ".join(
            f"{one.where}: expected {one.expected!r}, found {one.found!r}"
            for one in result.problems[:MOST_PROBLEMS]
        )
        raise Failure(
            "the state alone does not reproduce this decision, so that no case is written"
            f" ({differences}). It depends on what came before, such as how long something had"
            " waited; on reservations, which a scenario makes as Hadoop does whatever"
            " fairshare.toml says;"
            f" or on another configuration than {conf}"
        )
    return text


def _name(what: Decision) -> str:
    if what.node is None:
        return f"application {what.application} waits"
    return f"application {what.application} gets {counted(what.count, 'container')} on {what.node}"


def _flow(value: object) -> str:
    """A value in one line: JSON is YAML."""
    return json.dumps(value, ensure_ascii=False)


def _amounts(types: ResourceTypes, resource: tuple[int, ...]) -> dict[str, int]:
    return {name: amount for name, amount in types.mapping(resource).items() if amount}


def _nodes(what: Decision) -> Iterator[dict[str, Any]]:
    state = what.moment.manager.state
    for node in state.nodes.values():
        yield {
            "name": node.name,
            "rack": node.rack,
            "resources": _amounts(state.types, state.offered(node)),
        }


class _Writer:
    """Makes the steps of a decision."""

    def __init__(self, what: Decision) -> None:
        self._what = what
        self._manager = what.moment.manager
        self._state = self._manager.state
        nodes = self._state.nodes.values()
        on_host = Counter(node.host for node in nodes)
        self._of_host = {node.host: node.name for node in nodes if on_host[node.host] == 1}

    def steps(self) -> Iterator[tuple[str, Any]]:
        """All steps, each by its name."""
        state = self._state
        labels = self._manager.scheduler.labels()
        if labels:
            kinds = {name: "exclusive" if labels[name] else "shared" for name in labels}
            assigned = {node.name: state.label_of(node) for node in state.nodes.values()}
            yield "labels", {"add": kinds, "nodes": {n: x for n, x in assigned.items() if x}}
        live = [one for one in state.applications.values() if not one.over]
        waiting = [one for one in live if one.id not in state.deferred]
        for application in waiting:
            yield "submit", self._submission(application)
        yield from self._placed(waiting)
        for application in waiting:
            if asks := [self._ask(key) for key in application.attempt.asks.wanting]:
                yield "ask", {"app": f"a{application.id}", "asks": asks}
            if application.attempt.blacklist:
                places = [self._of_host.get(one, one) for one in application.attempt.blacklist]
                yield "blacklist", {"app": f"a{application.id}", "add": places}
        for name in state.drains:
            if name in state.nodes:
                yield "node", {"drain": name}
        yield "update", 1
        apps = {}
        for application in waiting:
            if application.containers:
                on = Counter(container.node for container in application.containers.values())
                apps[f"a{application.id}"] = {"on": dict(on)}
        if apps:
            yield "expect", {"apps": apps}
        yield from self._decided()

    def _decided(self) -> Iterator[tuple[str, Any]]:
        """The last steps: what is expected."""
        what = self._what
        name, application = f"a{what.application}", self._state.applications[what.application]
        if what.node is not None:
            yield "heartbeat", what.node
            before = Counter(one.node for one in application.containers.values())
            yield "expect", {"apps": {name: {"on": {what.node: before[what.node] + what.count}}}}
            return
        scheduler = self._manager.scheduler
        limits = scheduler.limits_of(application.id)
        found = reasons(application, limits, self._state, what.moment.position.now_ms)
        if not found:
            raise Failure(
                f"application {application.id} neither waits there nor gets anything: name another"
                " moment with --at"
            )
        yield "heartbeat", "all"
        expected: dict[str, Any] = {"cause": str(found[0].cause)}
        if found[0].queue:
            expected["queue"] = found[0].queue
        yield "expect", {"apps": {name: {"containers": len(application.containers)}}}
        yield "expect", {"apps": {name: {"why": expected}}}

    def _submission(self, application: Application) -> dict[str, Any]:
        submission = application.submission
        submit: dict[str, Any] = {
            "app": f"a{application.id}",
            "user": application.user,
            "queue": application.queue,
        }
        if submission.master is not None:
            submit["am"] = _amounts(self._state.types, submission.master)
        if application.attempt.active and submission.priority is not None:
            submit["priority"] = submission.priority
        if submission.label:
            submit["label"] = submission.label
        return submit

    def _placed(self, live: list[Application]) -> Iterator[tuple[str, Any]]:
        """Let each application get what it has, the oldest containers first: nothing else is
        outstanding, and no other node beats."""
        containers = sorted(
            (one for application in live for one in application.containers.values()),
            key=lambda one: (one.allocated_ms, one.container),
        )
        kinds = groupby(
            containers,
            lambda one: (
                one.application,
                one.node,
                one.resource,
                one.priority,
                one.request,
                one.master,
            ),
        )
        for (number, node, resource, priority, request, master), alike in kinds:
            count = len([*alike])
            if not master:
                ask = {
                    "resources": _amounts(self._state.types, resource),
                    "count": count,
                    "priority": priority,
                    "id": _request_id(request),
                }
                label = self._state.label_of(self._state.nodes[node])
                if label:
                    ask["label"] = label
                yield "ask", {"app": f"a{number}", "asks": [ask]}
                yield "update", 1
            yield "heartbeat", {"node": node, "times": count}

    def _ask(self, key: AskKey) -> dict[str, Any]:
        assert key.anywhere is not None
        priority, request = key.order
        ask: dict[str, Any] = {
            "resources": _amounts(self._state.types, key.anywhere.resource),
            "count": key.anywhere.count,
            "priority": priority,
            "id": _request_id(request),
        }
        racks = [place for place in key.places if place in self._state.racks]
        hosts = [self._of_host.get(one, one) for one in key.places if one not in racks]
        if hosts:
            ask["hosts"] = hosts
        elif racks:
            ask["racks"] = racks
        if not key.anywhere.relax:
            ask["relax"] = False
        if key.label:
            ask["label"] = key.label
        return ask


def _request_id(request: int) -> int:
    """Groups of tasks have numbers of their own, which a scenario's asks cannot have."""
    return request - GROUP_REQUESTS if request >= GROUP_REQUESTS else request
