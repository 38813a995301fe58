"""Owns the form of each step: from its YAML to its struct in `steps.py`. Runs nothing.

A reader takes the value of the step's name, the line of the step, and the collector of
mistakes. A new step is one reader and one line of `STEP_READERS`.
"""

from collections.abc import Callable
from typing import Final

from fairshare.config.located import Node
from fairshare.config.problems import Problems
from fairshare.families.registry import all_families
from fairshare.scenarios import steps
from fairshare.scenarios.expectations import read_checks
from fairshare.scenarios.fields import Fields, Values

DEFAULT_RACK: Final = "/default-rack"

StepReader = Callable[[Node, int, Problems], steps.Step]


def reloaded_files() -> tuple[str, ...]:
    """The files that some scheduler reads again while it runs."""
    names = (name for family in all_families().values() for name in family.reloaded_files)
    return tuple(dict.fromkeys(names))


def read_node_group(node: Node, what: str, problems: Problems) -> steps.NodeGroup:
    """`{name: n, count: 3, ...}` is n1, n2, n3; without `count` it is n alone."""
    fields = Fields(node, what, problems)
    name = fields.needed_text("name")
    names: tuple[str, ...] = (name,)
    if "count" in fields.entries:
        count = fields.needed_whole("count", minimum=0)
        names = tuple(f"{name}{number}" for number in range(1, count + 1))
    rack, label = fields.text("rack", DEFAULT_RACK), fields.text("label")
    group = steps.NodeGroup(names, rack, fields.amounts("resources"), label)
    fields.finish()
    return group


def read_asks(fields: Fields) -> tuple[steps.Ask, ...]:
    """The list under `asks`; nothing without it."""
    node = fields.get("asks")
    if node is None:
        return ()
    return tuple(_ask(item, fields.problems) for item in fields.items_of(node, "asks"))


def _ask(node: Node, problems: Problems) -> steps.Ask:
    fields = Fields(node, "ask", problems)
    ask = steps.Ask(
        resources=fields.amounts("resources"),
        count=fields.whole("count", 1),
        priority=fields.whole("priority", 1),
        request=fields.whole("id", 0),
        hosts=fields.texts("hosts"),
        racks=fields.texts("racks"),
        relax=fields.boolean("relax", True),
        location=fields.text("location"),
        duration_ms=fields.optional_duration("duration"),
        label=fields.optional_text("label"),
    )
    if ask.location and (ask.hosts or ask.racks):
        fields.wrong(node.place, "an ask has either a location, or hosts and racks")
    fields.finish()
    return ask


def _submit(node: Node, line: int, problems: Problems) -> steps.Step:
    fields = Fields(node, "submit", problems)
    step = steps.Submit(
        line=line,
        kind="submit",
        app=fields.needed_text("app"),
        user=fields.text("user", "user"),
        queue=fields.text("queue", "default"),
        name=fields.text("name"),
        priority=fields.optional_whole("priority"),
        master=fields.optional_amounts("am"),
        tags=fields.texts("tags"),
        asks=read_asks(fields),
        recovering=fields.boolean("recovering", False),
        label=fields.optional_text("label"),
        master_label=fields.optional_text("am_label"),
        error=fields.error(),
    )
    fields.finish()
    return step


def _ask_more(node: Node, line: int, problems: Problems) -> steps.Step:
    fields = Fields(node, "ask", problems)
    app = fields.needed_text("app")
    fields.need("asks")
    asks = read_asks(fields)
    step = steps.AskMore(line=line, kind="ask", app=app, asks=asks, error=fields.error())
    fields.finish()
    return step


def _heartbeat(node: Node, line: int, problems: Problems) -> steps.Step:
    times = 1
    if node.items is not None:
        names = Values(problems).texts_of(node, "heartbeat")
    elif node.entries is None:
        names = (Values(problems).text_of(node, "heartbeat"),)
    else:
        fields = Fields(node, "heartbeat", problems)
        names = (fields.needed_text("node"),)
        times = fields.whole("times", 1, minimum=0)
        fields.finish()
    return steps.Heartbeat(line=line, kind="heartbeat", nodes=names, times=times)


def _update(node: Node, line: int, problems: Problems) -> steps.Step:
    passes = Values(problems).whole_of(node, "update", minimum=0)
    return steps.Update(line=line, kind="update", passes=passes)


def _preempt(node: Node, line: int, problems: Problems) -> steps.Step:
    passes = Values(problems).whole_of(node, "preempt", minimum=0)
    return steps.Preempt(line=line, kind="preempt", passes=passes)


def _advance(node: Node, line: int, problems: Problems) -> steps.Step:
    duration = Values(problems).duration_of(node, "advance")
    return steps.Advance(line=line, kind="advance", duration_ms=duration)


def _finish(node: Node, line: int, problems: Problems) -> steps.Step:
    if node.entries is None:
        app = Values(problems).text_of(node, "finish")
        return steps.FinishApplication(line=line, kind="finish", app=app)
    fields = Fields(node, "finish", problems)
    app, error = fields.needed_text("app"), fields.error()
    step: steps.Step
    if "containers" in fields.entries or "on" in fields.entries:
        step = steps.FinishContainers(
            line=line,
            kind="finish",
            app=app,
            containers=fields.needed_whole("containers", minimum=0),
            on=fields.text("on") or None,
            error=error,
        )
    else:
        step = steps.FinishApplication(line=line, kind="finish", app=app, error=error)
    fields.finish(("containers", "on"))
    return step


def _kill(node: Node, line: int, problems: Problems) -> steps.Step:
    if node.entries is None:
        return steps.Kill(line=line, kind="kill", app=Values(problems).text_of(node, "kill"))
    fields = Fields(node, "kill", problems)
    step = steps.Kill(line=line, kind="kill", app=fields.needed_text("app"), error=fields.error())
    fields.finish()
    return step


def _move(node: Node, line: int, problems: Problems) -> steps.Step:
    fields = Fields(node, "move", problems)
    step = steps.Move(
        line=line,
        kind="move",
        app=fields.needed_text("app"),
        queue=fields.needed_text("queue"),
        error=fields.error(),
    )
    fields.finish()
    return step


def _set_priority(node: Node, line: int, problems: Problems) -> steps.Step:
    fields = Fields(node, "set_priority", problems)
    step = steps.SetPriority(
        line=line,
        kind="set_priority",
        app=fields.needed_text("app"),
        priority=fields.needed_whole("priority"),
        error=fields.error(),
    )
    fields.finish()
    return step


def _node(node: Node, line: int, problems: Problems) -> steps.Step:
    fields = Fields(node, "node", problems)
    add, remove, resize = fields.get("add"), fields.get("remove"), fields.get("resize")
    drain, undrain = fields.get("drain"), fields.get("undrain")
    fields.finish()
    if sum(change is not None for change in (add, remove, resize, drain, undrain)) != 1:
        fields.wrong(node.place, "node needs one of add, remove, resize, drain and undrain")
    if drain is not None:
        name = fields.text_of(drain, "node.drain")
        return steps.DrainNode(line=line, kind="node", name=name, on=True)
    if undrain is not None:
        name = fields.text_of(undrain, "node.undrain")
        return steps.DrainNode(line=line, kind="node", name=name, on=False)
    if add is not None:
        group = read_node_group(add, "node.add", problems)
        return steps.AddNodes(line=line, kind="node", nodes=group)
    if resize is not None:
        inner = Fields(resize, "node.resize", problems)
        step = steps.ResizeNode(
            line=line,
            kind="node",
            name=inner.needed_text("name"),
            resources=inner.amounts("resources"),
        )
        inner.finish()
        return step
    name = "" if remove is None else fields.text_of(remove, "node.remove")
    return steps.RemoveNode(line=line, kind="node", name=name)


def _safe_mode(node: Node, line: int, problems: Problems) -> steps.Step:
    on = Values(problems).boolean_of(node, "safe_mode")
    return steps.SafeMode(line=line, kind="safe_mode", on=on is True)


def _labels(node: Node, line: int, problems: Problems) -> steps.Step:
    fields = Fields(node, "labels", problems)
    step = steps.ChangeLabels(
        line=line,
        kind="labels",
        add=_exclusivities(fields),
        remove=fields.texts("remove"),
        nodes=_texts_by_name(fields, "nodes"),
        error=fields.error(),
    )
    fields.finish()
    return step


def _exclusivities(fields: Fields) -> dict[str, bool]:
    """`{x: exclusive, y: shared}`."""
    found = {}
    for name, word in _texts_by_name(fields, "add").items():
        if word not in ("exclusive", "shared"):
            fields.wrong(fields.node.place, f"label {name} is exclusive or shared, not {word!r}")
        found[name] = word == "exclusive"
    return found


def _texts_by_name(fields: Fields, name: str) -> dict[str, str]:
    node = fields.get(name)
    if node is None:
        return {}
    inner = Fields(node, name, fields.problems)
    return {key: inner.text(key) for key in inner.entries}


def _reload(node: Node, line: int, problems: Problems) -> steps.Step:
    fields = Fields(node, "reload", problems)
    properties = fields.get("properties")
    step = steps.Reload(
        line=line,
        kind="reload",
        files=read_files(fields, reloaded_files()),
        properties={} if properties is None else read_properties(properties, problems),
        error=fields.error(),
    )
    fields.finish(reloaded_files())
    return step


def _write(node: Node, line: int, problems: Problems) -> steps.Step:
    fields = Fields(node, "write", problems)
    step = steps.Write(line=line, kind="write", files=read_files(fields, reloaded_files()))
    fields.finish(reloaded_files())
    return step


def read_files(fields: Fields, known: tuple[str, ...]) -> dict[str, str]:
    """The texts of files by their names."""
    return {name: fields.text(name) for name in known if name in fields.entries}


def read_properties(node: Node, problems: Problems) -> dict[str, str | None]:
    """Values as they are written; None where there is none (`name: null` removes)."""
    fields = Fields(node, "properties", problems)
    values = ((name, fields.get(name)) for name in fields.entries)
    return {
        name: None if value is None else fields.text_of(value, f"properties.{name}")
        for name, value in values
    }


def _blacklist(node: Node, line: int, problems: Problems) -> steps.Step:
    fields = Fields(node, "blacklist", problems)
    step = steps.Blacklist(
        line=line,
        kind="blacklist",
        app=fields.needed_text("app"),
        add=fields.texts("add"),
        remove=fields.texts("remove"),
        error=fields.error(),
    )
    fields.finish()
    return step


def _release(node: Node, line: int, problems: Problems) -> steps.Step:
    fields = Fields(node, "release", problems)
    step = steps.Release(
        line=line,
        kind="release",
        app=fields.needed_text("app"),
        containers=fields.whole("containers", 1, minimum=0),
        error=fields.error(),
    )
    fields.finish()
    return step


def _run(node: Node, line: int, problems: Problems) -> steps.Step:
    fields = Fields(node, "run", problems)
    heartbeat = fields.optional_duration("heartbeat")
    step = steps.Run(
        line=line,
        kind="run",
        duration_ms=fields.needed_duration("for"),
        heartbeat_ms=1000 if heartbeat is None else heartbeat,
    )
    fields.finish()
    return step


def _expect(node: Node, line: int, problems: Problems) -> steps.Step:
    return steps.Expect(line=line, kind="expect", checks=read_checks(node, problems))


STEP_READERS: Final[dict[str, StepReader]] = {
    "submit": _submit,
    "ask": _ask_more,
    "heartbeat": _heartbeat,
    "update": _update,
    "advance": _advance,
    "finish": _finish,
    "kill": _kill,
    "move": _move,
    "set_priority": _set_priority,
    "node": _node,
    "labels": _labels,
    "safe_mode": _safe_mode,
    "reload": _reload,
    "write": _write,
    "preempt": _preempt,
    "blacklist": _blacklist,
    "release": _release,
    "run": _run,
    "expect": _expect,
}
