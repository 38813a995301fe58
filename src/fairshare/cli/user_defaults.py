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
from typing import Any, Final

import click

from fairshare.client.discovery import token_file
from fairshare.errors import ConfigurationError

QUEUE_VARIABLE: Final = "FAIRSHARE_QUEUE"
"""A container has it too: what is submitted there goes into the queue of the container."""


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
        return {}
    except OSError as error:
        raise ConfigurationError([f"{path}: {error.strerror}"]) from error
    from fairshare.cli.defaults_file import read_defaults  # few have such a file

    return read_defaults(content, path)
