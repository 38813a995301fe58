"""The reference pages of the command line, the REST interface, events, metrics and lint rules, made
from what the code defines, and from the samples that test the rules.

`make docs` has them written for the site (`python -m tests.references docs/generated`).
"""

import inspect
import re
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any, Final

import click
import msgspec
from tests.unit.settings.capacity.lint import test_rules as capacity_samples
from tests.unit.settings.fair.lint import test_rules as fair_samples
from tests.unit.settings.pools import test_lint as pool_samples

from fairshare.cli.verbs import SECTIONS, fairshare
from fairshare.core.model import events as common_events
from fairshare.core.model import inputs
from fairshare.core.model.events import BookkeepingEvent, Event
from fairshare.documents.problems import Problem
from fairshare.server.metric_families import COUNTERS, GAUGES, HISTOGRAMS
from fairshare.server.web.app import ROUTES
from fairshare.server.web.openapi.document import document_of
from fairshare.settings.capacity.lint import RULES as CAPACITY_RULES
from fairshare.settings.fair.lint import RULES as FAIR_RULES
from fairshare.settings.pools.lint import RULES as POOL_RULES
from fairshare.settings.registry import all_families

NOTE: Final = (
    "This page is generated from the code by `python -m tests.references`; do not edit it."
)


def cell(text: str) -> str:
    """A text as a cell of a table."""
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;")


def table(*columns: str, rows: list[tuple[str, ...]]) -> str:
    """A table."""
    lines = [columns, ("---",) * len(columns), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


# The command line.

CLI: Final = Path(__file__).parents[1] / "docs" / "cli.md"
EXPLAINED: Final = set(re.findall(r"^## (.*)$", CLI.read_text(encoding="utf-8"), re.M))
"""The verbs with a section in the page that a person wrote."""

SUBMITTERS: Final = ("submit", "run", "shell", "jupyter", "cron add")
"""Verbs that describe work; what they have in common has one table."""


def commands_of(command: click.Command, name: str) -> Iterator[tuple[str, click.Command]]:
    """A command and those within it, with the words of each."""
    yield name, command
    for inner, within in getattr(command, "commands", {}).items():
        yield from commands_of(within, f"{name} {inner}")


def options_of(command: click.Command) -> list[tuple[str, str]]:
    """The names of the options, and what each means, as `--help` has it."""
    context = click.Context(command, **command.context_settings)
    rows = []
    for parameter in command.get_params(context):
        record = parameter.get_help_record(context)
        if isinstance(parameter, click.Option) and record is not None and "--help" not in record[0]:
            rows.append((f"`{cell(record[0])}`", cell(record[1])))
    return rows


def prose(text: str) -> str:
    """What `--help` says, in Markdown: blocks that are not to be wrapped are code."""
    parts = []
    for part in inspect.cleandoc(text).split("\n\n"):
        if part.startswith("\b"):
            parts.append("\n".join(f"    {line}" for line in part.splitlines()[1:]))
        else:
            parts.append(" ".join(part.split()).replace("<", "&lt;"))
    return "\n\n".join(parts)


def verb_text(name: str, command: click.Command, common: set[tuple[str, str]]) -> str:
    """The section of one verb."""
    context = click.Context(command, info_name=f"fairshare {name}", **command.context_settings)
    usage = " ".join(command.collect_usage_pieces(context))
    parts = [f"### {name}", f"    fairshare {name} {usage}", prose(command.help or "")]
    if command.epilog:
        parts.append("For example:\n\n    " + command.epilog.rpartition("Example: ")[2])
    if name in EXPLAINED:
        parts.append(f"[More words](../cli.md#{name.replace(' ', '-')})")
    options = options_of(command)
    if rows := [row for row in options if row not in common]:
        parts.append(table("option", "meaning", rows=rows))
    if common & set(options) and name in SUBMITTERS:
        parts.append("And the [options of work](#options-of-work).")
    return "\n\n".join(part for part in parts if part)


def command_line() -> str:
    """All verbs, in the groups of `fairshare --help`."""
    context = click.Context(fairshare)
    commands: dict[str, click.Command] = {}
    for verbs in SECTIONS.values():
        for verb in verbs:
            command = fairshare.get_command(context, verb)
            assert command is not None, f"install {verb} first: make setup"
            commands.update(commands_of(command, verb))
    described = [options_of(commands[verb]) for verb in SUBMITTERS]
    of_work = [row for row in described[0] if all(row in options for options in described[1:])]
    everywhere = [
        row for row in options_of(commands["queues"]) if row in options_of(commands["apps"])
    ]
    common = {*of_work, *everywhere}
    parts = [
        "# All verbs and options",
        NOTE,
        "[The command line](../cli.md) has what needs more words. The same everywhere are:",
        table("option", "meaning", rows=[("`-h, --help`", "Show help and exit."), *everywhere]),
        "## Options of work",
        f"Of {', '.join(SUBMITTERS)}:",
        table("option", "meaning", rows=[row for row in of_work if row not in everywhere]),
    ]
    for section, verbs in SECTIONS.items():
        parts.append(f"## {section}")
        names = [name for name in commands if name.split()[0] in verbs]
        parts += [verb_text(name, commands[name], common) for name in names]
    return "\n\n".join(parts) + "\n"


# The REST interface.


def form_of(schema: Mapping[str, Any]) -> str:
    """A schema in a few words."""
    if "$ref" in schema:
        return str(schema["$ref"]).rpartition("/")[2]
    if "anyOf" in schema:
        return " or ".join(dict.fromkeys(map(form_of, schema["anyOf"])))
    if "enum" in schema:
        return " or ".join(f"`{word}`" for word in schema["enum"])
    kind = schema.get("type")
    if kind == "array":
        return f"list of {form_of(schema['items'])}" if schema.get("items") else "list"
    if kind == "object" and isinstance(schema.get("additionalProperties"), dict):
        return f"{form_of(schema['additionalProperties'])} by name"
    bounds = [
        f"{words} {schema[key]}"
        for key, words in (("minimum", "from"), ("maximum", "to"), ("maxLength", "up to"))
        if key in schema
    ]
    return " ".join([str(kind or "any JSON"), *bounds])


def operation_text(method: str, path: str, operation: Mapping[str, Any]) -> str:
    """The section of one operation."""
    parts = [f"### {method.upper()} {path}", cell(operation["description"])]
    parameters = [one for one in operation["parameters"] if one["in"] != "path"]
    if parameters:
        rows = [
            (f"`{one['name']}`", cell(form_of(one["schema"])), cell(one["description"]))
            for one in parameters
        ]
        parts.append(table("parameter", "form", "meaning", rows=rows))
    words = []
    if body := operation.get("requestBody"):
        (content,) = body["content"].items()
        words.append(f"Body: {content_text(*content)}.")
    for status, response in operation["responses"].items():
        if status != "default":
            (content,) = response["content"].items()
            words.append(f"{status}: {content_text(*content)}.")
    return "\n\n".join([*parts, " ".join(words)])


def content_text(media: str, content: Mapping[str, Any]) -> str:
    """What a body or an answer is."""
    return form_of(content["schema"]) if media == "application/json" else f"`{media}`"


def rest_interface() -> str:
    """All paths by their tags, and the records that they take and give."""
    document = document_of(ROUTES)
    by_tag: dict[str, list[str]] = {}
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            text = operation_text(method, path, operation)
            by_tag.setdefault(operation["tags"][0], []).append(text)
    parts = [
        "# All paths of the REST interface",
        NOTE,
        "[The REST interface](../rest.md) explains what they have in common. A server describes"
        " them as OpenAPI, too: `GET /api/v1/openapi.json`. Any path may answer with a Refusal.",
    ]
    for tag, texts in by_tag.items():
        parts += [f"## {tag.capitalize()}", *texts]
    rows = []
    for name, schema in document["components"]["schemas"].items():
        needed = set(schema.get("required", ()))
        fields = [
            f"`{field}` {form_of(form)}" + ("" if field in needed else " (optional)")
            for field, form in schema.get("properties", {}).items()
        ]
        rows.append((name, cell("; ".join(fields) or form_of(schema))))
    parts += ["## Records", table("record", "fields", rows=rows)]
    return "\n\n".join(parts) + "\n"


# Events and inputs.


def structs_of(module: ModuleType) -> Iterator[type[msgspec.Struct]]:
    """The structs that a module defines and that a journal names."""
    for kind in vars(module).values():
        own = inspect.isclass(kind) and kind.__module__ == module.__name__
        if not own or not issubclass(kind, msgspec.Struct) or kind in (Event, BookkeepingEvent):
            continue
        if kind.__struct_config__.tag:
            yield kind


def struct_table(column: str, kinds: Iterable[type[msgspec.Struct]]) -> str:
    """A row for each struct."""
    rows = [
        (
            f"`{kind.__name__}`",
            ", ".join(f"`{name}`" for name in kind.__struct_encode_fields__) or "none",
            cell(inspect.getdoc(kind) or ""),
        )
        for kind in kinds
    ]
    return table(column, "fields", "meaning", rows=rows)


def events_and_inputs() -> str:
    """The events of all schedulers, those of each, and the inputs that lead to them."""
    parts = [
        "# Events and inputs",
        NOTE,
        "The journal and the [event stream](../operations.md#event-stream) have the events of each"
        " input in their order, each with its fields in the order of this page. Fields are only"
        " added, at the end, so that journals of earlier versions can be read.",
        "## Events of all schedulers",
        struct_table("event", structs_of(common_events)),
    ]
    for name, family in all_families().items():
        if family.events:
            parts += [f"## Events of the scheduler {name}", struct_table("event", family.events)]
    parts += ["## Inputs", struct_table("input", structs_of(inputs))]
    return "\n\n".join(parts) + "\n"


# Metrics.


def metrics() -> str:
    """All metrics."""
    rows = [
        (f"`fairshare_{name}{suffix}`", kind, ", ".join(f"`{one}`" for one in labels), cell(text))
        for described, kind, suffix in (
            (GAUGES, "gauge", ""),
            (COUNTERS, "counter", "_total"),
            (HISTOGRAMS, "histogram", ""),
        )
        for name, (text, labels, *_) in described.items()
    ]
    return (
        "\n\n".join(
            [
                "# Metrics",
                NOTE,
                "Of `/metrics` ([running a server](../operations.md#prometheus-metrics))."
                " Amounts are in the unit of the `resource`: memory in MB, vcores, GPUs.",
                table("metric", "kind", "labels", "meaning", rows=rows),
            ]
        )
        + "\n"
    )


# Lint rules.


def code(name: str, text: str) -> str:
    return f"`{name}`:\n\n```xml\n{text}\n```"


def properties_text(properties: Mapping[str, Any]) -> str:
    rows = []
    for name, value in properties.items():
        text = str(value).lower() if isinstance(value, bool) else value
        if value is not None:
            rows.append(f"<property><name>{name}</name><value>{text}</value></property>")
    return "\n".join(rows)


def rule_text(rule: str, problem: Problem, examples: list[tuple[str, str]], note: str = "") -> str:
    """The section of one rule: what it says of an example."""
    parts = [f"### {rule}", *(code(name, text) for name, text in examples if text)]
    if note:
        parts.append(note)
    parts.append(
        f"{problem.severity.capitalize()}: {cell(problem.message)}. Hadoop {cell(problem.hadoop)}."
    )
    return "\n\n".join(parts)


def cluster_note(cluster: object) -> str:
    if isinstance(cluster, Mapping):
        amounts = ",".join(f"{name}={amount}" for name, amount in cluster.items())
    elif isinstance(cluster, tuple):
        amounts = ",".join(
            f"{n}={a}" for n, a in zip(("memory-mb", "vcores"), cluster, strict=False)
        )
    else:
        return ""
    return f"With `--cluster {amounts}`."


def fair_rule(rule: str, folder: Path) -> str:
    sample = next(sample for sample in fair_samples.SAMPLES if sample.rule == rule)
    problem = next(one for one in fair_samples.found_in(sample) if one.rule == rule)
    examples = [
        ("fair-scheduler.xml", sample.xml),
        ("yarn-site.xml", properties_text(sample.properties)),
    ]
    return rule_text(rule, problem, examples, cluster_note(sample.cluster))


def capacity_rule(rule: str, folder: Path) -> str:
    sample = next(sample for sample in capacity_samples.SAMPLES if sample.rule == rule)
    found, _ = capacity_samples.problems_of(folder, sample.queues, sample.site, sample.cluster)
    problem = next(one for one in found if one.rule == rule)
    queues = {capacity_samples.P + name: value for name, value in sample.queues.items()}
    examples = [
        ("capacity-scheduler.xml", properties_text(queues)),
        ("yarn-site.xml", properties_text(sample.site)),
    ]
    return rule_text(rule, problem, examples, cluster_note(sample.cluster))


def pool_rule(rule: str, folder: Path) -> str:
    sample = next(sample for sample in pool_samples.SAMPLES if sample.rule == rule)
    problem = next(one for one in pool_samples.problems_of(folder, sample) if one.rule == rule)
    examples = [
        ("pools.xml", sample.file),
        ("mapred-site.xml", properties_text(sample.properties)),
    ]
    return rule_text(rule, problem, examples)


def lint_rules() -> str:
    """The rules of each scheduler, each with an example and what it says of it."""
    parts = [
        "# Lint rules",
        NOTE,
        "What [`fairshare lint`](../cli.md#lint) looks for beside errors, each with a part of a"
        " file as an example, what lint says of it, and what Hadoop does.",
    ]
    groups: dict[str, tuple[Mapping[str, Any], Callable[[str, Path], str]]] = {
        "The Fair Scheduler": (FAIR_RULES, fair_rule),
        "The Capacity Scheduler": (CAPACITY_RULES, capacity_rule),
        "The pool scheduler of MapReduce": (POOL_RULES, pool_rule),
    }
    for title, (rules, text_of) in groups.items():
        parts.append(f"## {title}")
        for rule in rules:
            with tempfile.TemporaryDirectory() as folder:
                parts.append(text_of(rule, Path(folder)).replace(folder + "/", ""))
    return "\n\n".join(parts) + "\n"


PAGES: Final[Mapping[str, Callable[[], str]]] = {
    "command-line.md": command_line,
    "events.md": events_and_inputs,
    "lint-rules.md": lint_rules,
    "metrics.md": metrics,
    "rest-interface.md": rest_interface,
}


def main(directory: Path) -> None:
    """Write all pages."""
    directory.mkdir(exist_ok=True)
    for name, text_of in PAGES.items():
        (directory / name).write_text(text_of(), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
