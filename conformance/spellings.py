"""Random scenarios of the ways in which configurations are written: lists, numbers, modes,
labels, templates, resource types, files, short names of queues, access lists.

Each scenario is small and of one kind: what both sides accept, refuse, and decide for a few
applications. Number n of a scheduler is always the same scenario.
"""

import random
from collections.abc import Callable, Iterable
from typing import Any, Final

from conformance import spelled_values as values
from conformance.oracle import Document
from conformance.spelled_values import MONITOR, PREEMPTION, PREFIX

_CAPACITY_PACKAGE: Final = "org.apache.hadoop.yarn.server.resourcemanager.scheduler.capacity."
_SMALL: Final = {"memory-mb": 1024, "vcores": 1}


class Draft:
    """A scenario in the making."""

    def __init__(self, rng: random.Random, name: str, scheduler: str) -> None:
        self.rng = rng
        self.name = name
        self.scheduler = scheduler
        self.properties: dict[str, str] = {}
        self.config: dict[str, str] = {}
        self.steps: list[dict[str, Any]] = []
        self.memory = rng.choice([4096, 8192, 16384])

    def pick(self, *values: Any) -> Any:
        """One of these."""
        return self.rng.choice(values)

    def chance(self, part: float) -> bool:
        """True in this part of all cases."""
        return self.rng.random() < part

    def set(self, queue: str, **settings: Any) -> None:
        """Properties of a queue; `_` is written for `-`, and None is not written."""
        for suffix, value in settings.items():
            self.put(f"{PREFIX}{queue}.{suffix.replace('_', '-')}", value)

    def put(self, name: str, value: Any) -> None:
        """One property, unless the value is None. The oracle keeps an empty one of yarn-site.xml,
        Hadoop does not."""
        if value is not None and (value or name.startswith(PREFIX)):
            self.properties[name] = str(value)

    def submit(self, queue: str | None, *, managed: float = 0.5, **more: Any) -> None:
        """An application of a few containers, in this part of all cases with a master."""
        step: dict[str, Any] = {"app": f"a{len(self.steps)}", "user": self.pick(*values.USERS)}
        if queue is not None:
            step["queue"] = queue
        if self.chance(managed):
            step["am"] = dict(_SMALL)
        step["asks"] = [{"count": self.pick(1, 2, 3), "resources": dict(_SMALL)}]
        self.steps.append({"submit": {**step, **more}})

    def work(self) -> None:
        """A few heartbeats."""
        self.steps.append({"heartbeat": {"node": "n1", "times": self.pick(2, 4)}})

    def reload(self, changes: dict[str, str | None]) -> None:
        """Some properties change."""
        self.steps.append({"reload": {"properties": changes}})

    def document(self) -> Document:
        """The scenario as plain data."""
        resources = {"memory-mb": self.memory, "vcores": self.memory // 1024}
        return {
            "scenario": 1,
            "name": self.name,
            "scheduler": self.scheduler,
            "config": self.config,
            "properties": self.properties,
            "groups": values.GROUPS,
            "nodes": [{"name": "n1", "resources": resources}],
            "steps": self.steps,
        }


def scenario(scheduler: str, number: int, kinds: Iterable[str] = ()) -> Document:
    """The scenario of that number; `kinds` are those to choose from, all if there are none."""
    known = CAPACITY if scheduler == "capacity" else FAIR
    chosen = [kind for kind in known if not kinds or kind in kinds]
    rng = random.Random(  # noqa: S311 - chance, not a secret
        f"{scheduler}-{number}-{','.join(chosen)}"
    )
    kind = rng.choice(chosen)
    draft = Draft(rng, f"{kind} {number}", scheduler)
    known[kind](draft)
    return draft.document()


# What all kinds are made of.


def _list(draft: Draft, names: Iterable[str], *, twice: bool = True) -> str:
    """Names as a list, in one of the ways in which people write them."""
    parts = list(names)
    if draft.chance(0.15):
        parts.insert(draft.rng.randrange(len(parts) + 1), "")
    if twice and parts and draft.chance(0.1):
        parts.append(parts[0])
    commas = (",", ",", ",", ", ", " , ", ",\n    ")
    between = draft.pick(*commas, "\n", "\r\n", ";", " ", "\t", "\uff0c")
    form: str = draft.pick("{}", "{}", "{}", " {} ", "\n  {}\n", "{},", ",{}")
    return form.format(between.join(parts))


def _tree(draft: Draft, mode: str | None = None) -> tuple[str, list[str]]:
    """Queues a, b and b.c, b.d in one mode."""
    mode = mode or draft.pick("percent", "weight", "absolute")
    draft.set("root", queues="a,b")
    draft.set("root.b", queues="c,d")
    half = draft.memory // 2
    parts = {
        "percent": ("50", "50"),
        "weight": ("1w", "2w"),
        "absolute": (f"[memory={half},vcores={half // 1024}]",) * 2,
    }[mode]
    quarter = half // 2
    for name in ("root.a", "root.b"):
        draft.set(name, capacity=parts[name == "root.b"])
    for name in ("root.b.c", "root.b.d"):
        inner = f"[memory={quarter},vcores={quarter // 1024}]" if mode == "absolute" else None
        draft.set(name, capacity=inner or parts[name == "root.b.d"])
    return mode, ["root.a", "root.b.c", "root.b.d"]


def _apps(draft: Draft, queues: Iterable[str | None]) -> None:
    known = list(queues)
    for _ in range(draft.pick(2, 3, 4)):
        draft.submit(draft.pick(*known))
        if draft.chance(0.5):
            draft.work()
    draft.work()


def _undo(draft: Draft, names: Iterable[str]) -> None:
    """Half of the time the properties come only with a reload."""
    if draft.chance(0.4):
        moved: dict[str, str | None] = {
            name: draft.properties.pop(name) for name in names if name in draft.properties
        }
        draft.reload(moved)
        _apps(draft, ["root.a", "root.b.c", "a"])


# The Capacity Scheduler's kinds.


def _labels(draft: Draft) -> None:
    """Accessible labels and default labels across queues."""
    _, leaves = _tree(draft, draft.pick("percent", "weight"))
    draft.put("yarn.node-labels.enabled", draft.pick("true", "true", "true", "false", None))
    named = []
    for queue in ("root", "root.a", "root.b", "root.b.c", "root.b.d"):
        before = set(draft.properties)
        if draft.chance(0.45):
            labels = draft.pick(["gpu"], ["ssd"], ["gpu", "ssd"], ["*"], [" "], ["gpu", "*"], [])
            text = _list(draft, labels) if draft.chance(0.3) else ",".join(labels)
            draft.set(queue, accessible_node_labels=text)
        if draft.chance(0.3):
            default = draft.pick(
                "gpu", "ssd", "", " ", "gpu ", "gpu && ssd", "*", "none", "gpu,ssd"
            )
            draft.set(queue, default_node_label_expression=default)
        if draft.chance(0.15) and queue != "root":
            part = draft.pick("100", "50", "0", "1w", "-1", "[memory=1024,vcores=1]")
            draft.put(f"{PREFIX}{queue}.accessible-node-labels.gpu.capacity", part)
        if draft.chance(0.06):
            part = draft.pick("100", "50", "-1", "0")
            draft.put(f"{PREFIX}{queue}.accessible-node-labels.ssd.maximum-capacity", part)
        named += sorted(set(draft.properties) - before)
    _undo(draft, named)
    if draft.chance(0.6):
        draft.steps.append(
            {"labels": {"add": {"gpu": "exclusive", "ssd": "shared"}, "nodes": {"n1": ""}}}
        )
    _apps(draft, leaves)


def _template_values(draft: Draft, prefix: str) -> None:
    for suffix in draft.rng.sample(sorted(values.TEMPLATE_VALUES), draft.pick(1, 1, 2, 3)):
        draft.put(f"{prefix}.{suffix}", draft.pick(*values.TEMPLATE_VALUES[suffix]))


def _legacy(draft: Draft) -> None:
    """A managed parent of the older auto-creation against its template."""
    mode, _ = _tree(draft)
    parent = draft.pick("root.a", "root.a", "root.b.c")
    before = set(draft.properties)
    draft.put(f"{PREFIX}{parent}.auto-create-child-queue.enabled", "true")
    template = f"{PREFIX}{parent}.leaf-queue-template"
    fitting = {"percent": "50", "weight": "1w", "absolute": "[memory=1024,vcores=1]"}[mode]
    if draft.chance(0.6):
        draft.put(f"{template}.capacity", draft.pick(fitting, fitting, "50", "1w"))
    _template_values(draft, template)
    if draft.chance(0.15):
        name = draft.pick("GuaranteedOrZeroCapacityOverTimePolicy", "NoSuchPolicy")
        package = _CAPACITY_PACKAGE + draft.pick("queuemanagement.", "queuemanagement.", "")
        if draft.chance(0.2):
            package, name = "java.lang.", "String"
        draft.put(f"{PREFIX}{parent}.auto-create-child-queue.management-policy", package + name)
    if draft.chance(0.15):
        draft.set(parent, queues="e,f")
    if draft.chance(0.1):
        draft.put(f"{PREFIX}{parent}.auto-queue-creation-v2.enabled", "true")
    for suffix, part in (("max-queues", 0.2), ("fail-on-exceeding-parent-capacity", 0.2)):
        if draft.chance(part):
            value = draft.pick("0", "-1", "1", "x") if suffix == "max-queues" else "true"
            draft.put(f"{PREFIX}{parent}.auto-create-child-queue.{suffix}", value)
    if draft.chance(0.3):
        label = draft.pick("gpu", "ssd")
        draft.put("yarn.node-labels.enabled", draft.pick("true", None))
        draft.set(parent, accessible_node_labels="gpu")
        part = draft.pick("100", "50", "1w", "[memory=512,vcores=1]")
        draft.put(f"{template}.accessible-node-labels.{label}.capacity", part)
        if draft.chance(0.5):
            draft.put(
                f"{PREFIX}{parent}.accessible-node-labels.gpu.capacity", draft.pick("100", "0")
            )
    if draft.chance(0.7):
        draft.put(PREFIX + "queue-mappings", f"u:%user:{parent}.%user")
    _undo(draft, sorted(set(draft.properties) - before))
    _apps(draft, [f"{parent}.ann", f"{parent}.bob", "ann", "root.b.d", parent, None])


def _flexible(draft: Draft) -> None:
    """Templates of flexible auto-creation, which are read when a queue is made."""
    mode = draft.pick("weight", "weight", "weight", "percent", "absolute")
    _tree(draft, mode)
    if mode != "weight" and draft.chance(0.6):
        draft.put(PREFIX + "legacy-queue-mode.enabled", "false")
    before = set(draft.properties)
    for parent in draft.rng.sample(["root.a", "root.b", "root"], draft.pick(1, 1, 2)):
        name = f"{PREFIX}{parent}.auto-queue-creation-v2"
        draft.put(f"{name}.enabled", "true")
        for kind in ("template", "leaf-template", "parent-template"):
            if draft.chance(0.5):
                _template_values(draft, f"{name}.{kind}")
        if draft.chance(0.2):
            draft.put(f"{name}.max-queues", draft.pick("0", "1", "-1", "x"))
        if draft.chance(0.2):
            draft.put(f"{name}.maximum-queue-depth", draft.pick("0", "1", "-1", "3", "x"))
    if draft.chance(0.2):
        _template_values(draft, f"{PREFIX}root.*.auto-queue-creation-v2.template")
        _template_values(draft, f"{PREFIX}root.a.*.auto-queue-creation-v2.leaf-template")
    if draft.chance(0.3):  # what is written of a queue that is still to be made
        _template_values(draft, PREFIX + draft.pick("root.a.new", "root.b.new", "root.new"))
    if draft.chance(0.2):
        draft.put("yarn.acl.enable", "true")
    _undo(draft, sorted(set(draft.properties) - before))
    _apps(
        draft, ["root.a.new", "root.b.new", "root.a.new.er", "root.new", "root.new.er", "root.a.x"]
    )
    if draft.chance(0.3):
        draft.reload({})
        _apps(draft, ["root.a.new", "root.b.new", "root.a.new.er"])


def _short_names(draft: Draft) -> None:
    """Short and partial names of queues, of which some are still to be made."""
    mode, _ = _tree(draft, draft.pick("weight", "weight", "weight", "percent"))
    if mode == "percent" and draft.chance(0.5):
        draft.put(PREFIX + "legacy-queue-mode.enabled", "false")
    if draft.chance(0.3):
        draft.set("root.a", queues="c,e")
        for name in ("root.a.c", "root.a.e"):
            draft.set(name, capacity="1w" if mode == "weight" else "50")
    makers = [q for q in ("root", "root.a", "root.b", "root.b.c") if draft.chance(0.5)]
    for parent in makers:
        how = "auto-queue-creation-v2.enabled"
        if mode == "percent" and parent in ("root.a", "root.b.c") and draft.chance(0.5):
            how = "auto-create-child-queue.enabled"
            draft.put(f"{PREFIX}{parent}.leaf-queue-template.capacity", "50")
        draft.put(f"{PREFIX}{parent}.{how}", "true")
    if draft.chance(0.6):
        rules = []
        for _ in range(draft.pick(1, 2)):
            source = draft.pick("u:%user", "u:ann", "g:lab", "u:bob")
            parts = (
                "%user",
                "a.%user",
                "root.a.%user",
                "b.%user",
                "b.c.%user",
                "c.%user",
                "new",
                "root.new",
                "a.new",
                "%primary_group.%user",
                "a.%primary_group.%user",
                "a",
                "c",
                "root.b.%primary_group",
                "e.new",
                "root.%user",
                "d",
                "nowhere",
                "root.no.where",
            )
            rules.append(f"{source}:{draft.pick(*parts)}")
        draft.put(
            PREFIX + "queue-mappings", _list(draft, rules) if draft.chance(0.2) else ",".join(rules)
        )
        draft.put(PREFIX + "queue-mappings-override.enable", draft.pick("true", "false", None))
    if draft.chance(0.15):
        rule = draft.pick("a0:a.new", "%application:root.a.%application", "a0:new", "a1:b")
        draft.put("yarn.scheduler.queue-placement-rules.app-name", rule)
        draft.put(
            "yarn.scheduler.queue-placement-rules", draft.pick("app-name", "user-group", None)
        )
    draft.work()  # so that both sides say which queues there are
    for _ in range(draft.pick(4, 6, 8)):
        draft.submit(draft.pick(*values.NAMES, None), managed=0.1)
        if draft.chance(0.2):
            draft.work()
    if draft.chance(0.3):
        draft.steps.append({"move": {"app": "a1", "queue": draft.pick(*values.NAMES[:24])}})
    draft.work()


def _sentinels(draft: Draft) -> None:
    """Numbers that mean "not set", and others that are out of range."""
    _, leaves = _tree(draft, draft.pick("percent", "percent", "weight"))
    before = set(draft.properties)
    for _ in range(draft.pick(1, 1, 2, 3)):
        value = draft.pick("-1", "-1", "0", "-2", *values.NUMBERS)
        where = draft.rng.random()
        if where < 0.55:
            queue = draft.pick("root.a", "root.a", "root.b", "root.b.c", "root")
            draft.put(f"{PREFIX}{queue}.{draft.pick(*values.NUMERIC)}", value)
        elif where < 0.8:
            name = draft.pick(*values.NUMERIC_OF_ALL)
            late = name.startswith("user.")  # read when an application is submitted
            draft.put(PREFIX + name, draft.pick("-1", "0", "1", "2") if late else value)
        elif where < 0.9:
            draft.put(draft.pick(*values.NUMERIC_OF_SITE), draft.pick(*values.OF_SITE))
        else:
            draft.put(MONITOR + "enable", "true")
            draft.put(PREEMPTION + draft.pick(*values.NUMERIC_OF_PREEMPTION), value)
    own = sorted(name for name in set(draft.properties) - before if name.startswith(PREFIX))
    _undo(draft, own)
    for _ in range(draft.pick(3, 5)):
        lifetime = {"priority": draft.pick(0, 1, -1, 5)} if draft.chance(0.3) else {}
        draft.submit(draft.pick(*leaves), **lifetime)
        if draft.chance(0.5):
            draft.work()
    draft.steps.append({"run": {"for": draft.pick("5s", "70s")}})


def _lists(draft: Draft) -> None:
    """Lists with line ends, blanks, empty and repeated parts."""
    draft.set("root", queues=_list(draft, ["a", "b"], twice=False))
    mode = draft.pick("percent", "weight")
    for name in ("root.a", "root.b"):
        draft.set(name, capacity="50" if mode == "percent" else "1w")
    before = set(draft.properties)
    if draft.chance(0.4):
        draft.put("yarn.node-labels.enabled", "true")
        for queue in ("root.a", "root.b"):
            draft.set(queue, accessible_node_labels=_list(draft, ["gpu", "ssd"]))
    if draft.chance(0.4):
        rules = ["u:ann:a", "g:lab:root.b", "u:%user:a"]
        draft.put(PREFIX + "queue-mappings", _list(draft, draft.rng.sample(rules, 2)))
    if draft.chance(0.3):
        draft.put("yarn.acl.enable", "true")
        for suffix in ("acl_submit_applications", "acl_administer_queue"):
            draft.put(f"{PREFIX}root.{suffix}", " ")
        text = _list(draft, ["ann", "bob"]) + draft.pick(
            "", " ", " lab", "\nlab", " " + _list(draft, ["lab", "staff"])
        )
        draft.put(f"{PREFIX}root.a.acl_submit_applications", text)
    if draft.chance(0.2):
        draft.put(PREFIX + "workflow-priority-mappings", _list(draft, ["wf:a:3", "wx:root.b:2"]))
        draft.put("yarn.cluster.max-application-priority", "9")
    if draft.chance(0.2):
        policies = [
            "org.apache.hadoop.yarn.server.resourcemanager.monitor.capacity.ProportionalCapacityPreemptionPolicy",
            _CAPACITY_PACKAGE + "AutoCreatedQueueDeletionPolicy",
        ]
        draft.put(MONITOR + "enable", "true")
        draft.put(MONITOR + "policies", _list(draft, policies))
    if draft.chance(0.2):
        draft.put("yarn.scheduler.queue-placement-rules", _list(draft, ["user-group", "app-name"]))
        draft.put(
            "yarn.scheduler.queue-placement-rules.app-name", _list(draft, ["a0:b", "a1:root.a"])
        )
    if draft.chance(0.15):
        draft.set("root.a", ordering_policy=draft.pick("fair", " fair", "fair\n", "FAIR", ""))
    if draft.chance(0.15):
        draft.set("root.a", state=draft.pick("running", " RUNNING", "STOPPED\n", "Stopped", ""))
    if draft.chance(0.2):
        own = [name for name in set(draft.properties) - before if name.startswith(PREFIX)]
        _undo(draft, sorted(own))
    _apps(draft, ["root.a", "root.b", "a", "b", "default", None])


def _access(draft: Draft) -> None:
    """Access lists."""
    _, leaves = _tree(draft, "percent")
    draft.put("yarn.acl.enable", draft.pick("true", "true", "true", "true", " true", "TRUE", "yes"))
    if draft.chance(0.5):
        draft.put("yarn.admin.acl", draft.pick(*values.ACCESS))
    for queue in ("root", "root.a", "root.b", "root.b.c", "root.b.d"):
        for suffix in ("acl_submit_applications", "acl_administer_queue"):
            if draft.chance(0.8):
                value = (
                    draft.pick(" ", " ", *values.ACCESS)
                    if queue in ("root", "root.b")
                    else draft.pick(*values.ACCESS)
                )
                draft.put(f"{PREFIX}{queue}.{suffix}", value)
    if draft.chance(0.2):
        draft.put("yarn.cluster.max-application-priority", "9")
        who = draft.pick(
            "user=ann group=lab",
            "group=lab user=ann",
            "user=* ",
            "group=*",
            "user=ann,bob",
            "user= group=lab",
        )
        most, default = draft.pick("5", "-1", "0", "12"), draft.pick("3", "-1", "7")
        rules = f"[{who} max_priority={most} default_priority={default}]"
        draft.put(f"{PREFIX}root.a.acl_application_max_priority", rules)
    for _ in range(draft.pick(4, 6)):
        more = {"priority": draft.pick(1, 5, 9)} if draft.chance(0.2) else {}
        draft.submit(draft.pick(*leaves), **more)
    draft.work()


def _types(draft: Draft) -> None:
    """Resource types that repeat, contradict or misname others."""
    if draft.scheduler == "capacity":
        _tree(draft, "percent")
    else:
        draft.config["fair-scheduler.xml"] = "<allocations><queue name='a'/></allocations>"
    lines: dict[str, str] = {}
    prefix = "yarn.resource-types"
    names = draft.rng.sample(values.TYPE_NAMES, draft.pick(0, 1, 1, 2, 3))
    if names or draft.chance(0.3):
        lines[prefix] = _list(draft, names) if draft.chance(0.3) else ",".join(names)
    for name in {*names, draft.pick("memory-mb", "vcores", "gpu")}:
        if draft.chance(0.4):
            lines[f"{prefix}.{name}.units"] = draft.pick(
                "Mi", "", "G", "Gi", "MB", "m", "k", "Ki", " Mi"
            )
        if draft.chance(0.3):
            lines[f"{prefix}.{name}.type"] = draft.pick(
                "COUNTABLE", "countable", "SET", "", " COUNTABLE"
            )
        for bound in ("minimum", "maximum"):
            if draft.chance(0.3):
                low = "-1" if name in ("memory-mb", "vcores") else "0"
                value = draft.pick("1", low, "2", "8192", "4G", "x", "1.5")
                lines[f"{prefix}.{name}.{bound}-allocation"] = value
        if draft.chance(0.1):
            lines[f"{prefix}.{name}.tags"] = draft.pick("a,b", "")
    if draft.chance(0.5) and draft.scheduler == "capacity":
        draft.put(
            PREFIX + "resource-calculator",
            "org.apache.hadoop.yarn.util.resource.DominantResourceCalculator",
        )
    for name in values.NUMERIC_OF_SITE[:4]:
        if draft.chance(0.1):
            draft.put(name, draft.pick("1024", "0", "-1", "1", "4", "16384"))
    file = draft.pick("resource-types.xml", "resource-types.xml", "yarn-site.xml")
    draft.config[file] = _configuration(lines)
    _apps(draft, ["root.a"])


def _configuration(properties: dict[str, str]) -> str:
    lines = (
        f"<property><name>{name}</name><value>{value}</value></property>"
        for name, value in properties.items()
    )
    return f"<configuration>{''.join(lines)}</configuration>"


def _files(draft: Draft) -> None:
    """Properties in the one file, in the other, or in both."""
    _tree(draft, "percent")
    both: dict[str, dict[str, str]] = {
        "yarn-site.xml": {},
        "capacity-scheduler.xml": draft.properties,
    }
    draft.properties = {}
    for name in draft.rng.sample(sorted(values.OF_EITHER_FILE), draft.pick(1, 2, 4, 6)):
        # What the oracle reads of yarn-site.xml always wins over capacity-scheduler.xml.
        count = 1 if name.startswith(PREFIX) else draft.pick(1, 1, 2)
        for file in draft.rng.sample(sorted(both), count):
            both[file][name] = draft.pick(*values.OF_EITHER_FILE[name])
    for file, properties in both.items():
        draft.config[file] = _configuration(properties)
    _apps(draft, ["root.a", "root.a", "root.b.c", "root.b.d"])
    draft.submit("root.a", priority=draft.pick(1, 3, 9))
    draft.steps.append({"run": {"for": "20s"}})
    draft.submit("root.b.c")
    draft.steps.append({"run": {"for": "20s"}})
    if draft.chance(0.5):
        draft.reload({})
        draft.submit("root.a", priority=draft.pick(1, 3, 9))
        draft.steps.append({"run": {"for": "20s"}})


# The Fair Scheduler's kinds.

_FAIR: Final = "yarn.scheduler.fair."


def _allocations(*lines: str) -> str:
    return "<allocations>" + "".join(lines) + "</allocations>"


def _fair_access(draft: Draft) -> None:
    draft.put("yarn.acl.enable", draft.pick("true", "true", "true", None))
    if draft.chance(0.4):
        draft.put("yarn.admin.acl", draft.pick(*values.ACCESS))

    def lists(queue: str) -> str:
        found = ""
        for element in ("aclSubmitApps", "aclAdministerApps"):
            if draft.chance(0.8):
                value = (
                    draft.pick(" ", " ", *values.ACCESS)
                    if queue == "root"
                    else draft.pick(*values.ACCESS)
                )
                found += f"<{element}>{value}</{element}>"
        return found

    queues = "".join(f"<queue name='{name}'>{lists(name)}</queue>" for name in "abc")
    draft.config["fair-scheduler.xml"] = _allocations(
        f"<queue name='root'>{lists('root')}{queues}</queue>"
    )
    for _ in range(draft.pick(4, 6)):
        draft.submit(draft.pick("root.a", "root.b", "c", "new"))
    draft.steps.append({"update": 1})
    draft.work()


def _fair_elements(draft: Draft) -> None:
    def elements(count: int, *, leaf: bool = False) -> str:
        known = [name for name in sorted(values.ELEMENTS) if leaf or name != "maxAMShare"]
        chosen = draft.rng.sample(known, count)
        return "".join(f"<{name}>{draft.pick(*values.ELEMENTS[name])}</{name}>" for name in chosen)

    more = ""
    if draft.chance(0.3):
        name, like = draft.pick(*values.DEFAULTS.items())
        more = f"<{name}>{draft.pick(*values.ELEMENTS[like])}</{name}>"
    kind = draft.pick("", "", " type='parent'", " type='leaf'", " type='PARENT'", " type=''")
    queues = f"<queue name='a'{kind}>{elements(draft.pick(0, 1, 2), leaf=not kind)}</queue>"
    inner = f"<queue name='c'>{elements(draft.pick(0, 1))}</queue>"
    queues += f"<queue name='b'>{elements(draft.pick(0, 1))}{inner}</queue>"
    if draft.chance(0.15):
        queues += draft.pick(
            "<queue name=' d '/>",
            "<queue/>",
            "<queue name='e.f'/>",
            "<queue name=''/>",
            "<pool name='g'/>",
        )
    if draft.chance(0.2):
        most = draft.pick(*values.ELEMENTS["maxRunningApps"])
        more += f"<user name='ann'><maxRunningApps>{most}</maxRunningApps></user>"
    text = _allocations(queues, more)
    if draft.chance(0.3):
        draft.config["fair-scheduler.xml"] = _allocations("<queue name='a'/>")
        draft.submit("root.a")
        draft.steps.append({"reload": {"fair-scheduler.xml": text}})
    else:
        draft.config["fair-scheduler.xml"] = text
    _fair_apps(draft, ["root.a", "root.b.c", "root.b", "d", "g"])


def _fair_apps(draft: Draft, queues: Iterable[str | None]) -> None:
    known = list(queues)
    for _ in range(draft.pick(3, 4, 5)):
        draft.submit(draft.pick(*known))
        if draft.chance(0.5):
            draft.steps.append({"update": 1})
            draft.work()
    draft.steps.append({"update": 1})
    draft.work()


def _fair_site(draft: Draft) -> None:
    draft.config["fair-scheduler.xml"] = _allocations(
        "<queue name='a'/><queue name='b'><queue name='c'/></queue>"
    )
    for name in draft.rng.sample(sorted(values.FAIR_SITE), draft.pick(1, 2, 3)):
        draft.put(_FAIR + name, draft.pick(*values.FAIR_SITE[name]))
    if draft.chance(0.3):
        draft.put(draft.pick(*values.NUMERIC_OF_SITE), draft.pick(*values.OF_SITE))
    _fair_apps(draft, ["root.a", "root.b.c", "a", None, "default", "new", "root.new"])


def _fair_names(draft: Draft) -> None:
    rules = []
    if draft.chance(0.6):
        for _ in range(draft.pick(1, 2, 3)):
            name = draft.pick(
                "specified",
                "user",
                "primaryGroup",
                "secondaryGroupExistingQueue",
                "nestedUserQueue",
                "default",
                "reject",
            )
            create = draft.pick("", " create='false'", " create='true'", " create='no'")
            inner = "<rule name='primaryGroup'/>" if name == "nestedUserQueue" else ""
            queue = (
                draft.pick("", " queue='a'", " queue='root.b.c'", " queue='new'")
                if name == "default"
                else ""
            )
            rules.append(f"<rule name='{name}'{create}{queue}>{inner}</rule>")
        rules.append(draft.pick("<rule name='default'/>", "<rule name='reject'/>", ""))
    policy = f"<queuePlacementPolicy>{''.join(rules)}</queuePlacementPolicy>" if rules else ""
    kind = draft.pick("", " type='parent'")
    draft.config["fair-scheduler.xml"] = _allocations(
        f"<queue name='a'{kind}/><queue name='b'><queue name='c'/></queue>{policy}"
    )
    for name in ("user-as-default-queue", "allow-undeclared-pools"):
        draft.put(_FAIR + name, draft.pick("true", "false", None, None))
    _fair_apps(draft, [*values.NAMES, None])


CAPACITY: Final[dict[str, Callable[[Draft], None]]] = {
    "labels": _labels,
    "legacy": _legacy,
    "flexible": _flexible,
    "names": _short_names,
    "sentinels": _sentinels,
    "lists": _lists,
    "access": _access,
    "types": _types,
    "files": _files,
}
"""The kinds of the Capacity Scheduler."""

FAIR: Final[dict[str, Callable[[Draft], None]]] = {
    "access": _fair_access,
    "elements": _fair_elements,
    "site": _fair_site,
    "names": _fair_names,
    "types": _types,
}
"""The kinds of the Fair Scheduler."""
