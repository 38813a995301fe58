"""What a user submits with by default: `~/.config/fairshare/config.toml`, and FAIRSHARE_QUEUE.

    queue = "ml"
    memory = "4g"
    vcores = 2
    export = ["HF_HOME", "WANDB_API_KEY"]   # beside the variables that come along in any case
    notify = "mailto:ann@example.org"

Options, the lines of a script and job files come before it, and FAIRSHARE_QUEUE before its queue.

    [template.big]
    memory = "64g"
    gpus = 2

`--template big` gives these options of the verb, unless the command line has them.
"""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Final

import click
import msgspec

from fairshare.client.discovery import token_file

QUEUE_VARIABLE: Final = "FAIRSHARE_QUEUE"
"""A container has it too: what is submitted there goes into the queue of the container."""

EVERY: Final = ("all", "none")


def defaults_file(environment: Mapping[str, str] = os.environ) -> Path:
    """Where a user keeps defaults, beside the token."""
    return token_file(environment).with_name("config.toml")


def user_defaults(environment: Mapping[str, str] = os.environ) -> dict[str, Any]:
    """The options that a user does not have to write, by their fields; `exported` are variables
    that come along beside others. Raises ConfigurationError with every problem of the file."""
    said = _said(defaults_file(environment))
    said.pop("template", None)
    if queue := environment.get(QUEUE_VARIABLE):
        said["queue"] = queue
    return said


def template_option() -> click.Option:
    """`--template NAME`: the options of a table of the file."""
    return click.Option(
        ["--template"],
        metavar="NAME",
        is_eager=True,
        expose_value=False,
        callback=_use_template,
        help="Take the options of [template.NAME] in ~/.config/fairshare/config.toml.",
    )


def _use_template(context: click.Context, parameter: click.Parameter, name: str | None) -> None:
    """Make the values of a template the defaults of the verb's options, which read them as if they
    were typed. Raises UsageError."""
    if name is None or context.resilient_parsing:
        return
    path = defaults_file()
    templates = _said(path).get("template", {})
    if name not in templates:
        known = f"it has {', '.join(templates)}" if templates else "it has none"
        raise click.UsageError(f"{path} has no table [template.{name}]: {known}", context)
    options = {flag: one for one in context.command.params for flag in one.opts}
    values = {}
    for key, value in templates[name].items():
        option = options.get(f"--{key}")
        if option is None or option is parameter:
            raise click.UsageError(
                f"{path}: [template.{name}]: {context.info_name} has no option --{key}", context
            )
        items = value if isinstance(value, list) else [value]
        texts = [one if isinstance(one, bool) else str(one) for one in items]
        values[option.name] = texts if getattr(option, "multiple", False) else texts[0]
    context.default_map = values


def _said(path: Path) -> dict[str, Any]:
    """What the file says. Raises ConfigurationError."""
    try:
        content = path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        said = {}
    except OSError as error:
        from fairshare.errors import ConfigurationError

        raise ConfigurationError([f"{path}: {error.strerror}"]) from error
    else:
        said = _read(content, path)
    return said


def _read_templates(reader: Any, node: Any, what: str) -> dict[str, Any]:
    """Tables of options: texts, numbers, true, or lists of texts."""
    templates: dict[str, dict[str, Any]] = {}
    for name, table in reader.entries(node, what).items():
        templates[name] = {}
        for key, value in reader.entries(table, f"{what}.{name}").items():
            items = [value] if value.items is None else value.items
            if not items or any(not one.is_scalar or one.scalar is False for one in items):
                reader.wrong(
                    value.place, f"{key} must be a text, a number, true, or a list of texts"
                )
            templates[name][key] = value.plain
    return templates


def _read(content: bytes, path: Path) -> dict[str, Any]:
    # Imported here: only those who have such a file wait for the reader of documents.
    from fairshare.cli.units import parse_name, parse_notify, parse_variable_name
    from fairshare.documents.bounds import NOTICE_EVENTS
    from fairshare.documents.problems import Problems
    from fairshare.documents.sizes import parse_memory_mb
    from fairshare.documents.structs import read
    from fairshare.documents.toml_tree import read_toml
    from fairshare.documents.values import Reader, Value, one_of, one_or_several, parsed, whole

    form: Any = msgspec.defstruct(
        "UserDefaults",
        [
            ("queue", Annotated[Any, parsed(parse_name)], None),
            ("memory", Annotated[Any, parsed(parse_memory_mb)], None),
            ("vcores", Annotated[Any, whole(1, 2**31 - 1)], None),
            ("export", Annotated[Any, one_or_several(parsed(parse_variable_name), "")], None),
            ("notify", Annotated[Any, one_or_several(parsed(parse_notify), "")], None),
            ("notify_on", Annotated[Any, one_or_several(one_of(NOTICE_EVENTS), "")], None),
            ("template", Annotated[Any, Value({"type": "object"}, "", _read_templates)], None),
        ],
        frozen=True,
        rename={"notify_on": "notify-on"},
    )
    problems = Problems()
    root = read_toml(content, str(path), problems)
    defaults = read(root, form, Reader(problems, "defaults", untyped=True))
    problems.raise_errors()
    assert defaults is not None
    said = {name: value for name, value in msgspec.structs.asdict(defaults).items() if value}
    names = said.pop("export", ())
    if names and names[0] in EVERY:
        said["export"] = names[0]
    elif names:
        said["exported"] = names
    return said
