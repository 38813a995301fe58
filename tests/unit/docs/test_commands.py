"""Every command of fairshare that a page shows can be read: its verb and its options exist."""

import re
import shlex
from pathlib import Path

import click
import pytest

from fairshare.cli.verbs import fairshare

ROOT = Path(__file__).parents[3]
PAGES = sorted(
    page
    for page in (*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *ROOT.glob("examples/**/*.md"))
    if page.name != "CHANGELOG.md"
)
BLOCK = re.compile(r"^```(?:sh|bash|shell)\n(.*?)^```|((?:^    \S[^\n]*\n)+)", re.S | re.M)
NOT_SHELL = re.compile(r"[|;&<>]+|\$\(|\)")
FORM = re.compile(r"[\[\]…]|\.\.\.|\w\|\w")
"""What is in a form, such as `[OPTIONS]`, and not in a command."""


def commands_of(text: str) -> list[str]:
    """The commands of fairshare in the blocks of a page."""
    lines = []
    for shell, indented in BLOCK.findall(text):
        joined = (shell or indented).replace("\\\n", " ")
        lines += [line.split(" # ")[0].strip() for line in joined.splitlines()]
    return [line for line in lines if line.startswith("fairshare ") and not FORM.search(line)]


def fault_of(line: str) -> str:
    """What is wrong with a command; empty: nothing."""
    words = []
    for word in shlex.split(line)[1:]:
        if NOT_SHELL.fullmatch(word):
            break
        words.append(word)
    command: click.Command = fairshare
    context = click.Context(command, info_name="fairshare")
    while isinstance(command, click.Group) and words and not words[0].startswith("-"):
        inner = command.get_command(context, words[0])
        if inner is None:
            return f"no verb {words[0]}"
        command, words = inner, words[1:]
        context = click.Context(command, context, **command.context_settings)
    if command.name == "job":
        return ""  # which passes its words on to Ray's own program
    try:
        command.make_parser(context).parse_args(words)
    except click.UsageError as error:
        return error.format_message()
    return ""


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_the_commands_of_a_page_have_verbs_and_options_that_exist(page: Path) -> None:
    faults = {line: fault_of(line) for line in commands_of(page.read_text())}
    assert {line: fault for line, fault in faults.items() if fault} == {}


def test_a_command_that_does_not_exist_is_found() -> None:
    lines = ["Text:", "", "    fairshare dance", "    fairshare submit --banana -- true"]
    text = "\n".join([*lines, "    fairshare queues", ""])
    assert [fault_of(line) for line in commands_of(text)] == [
        "no verb dance",
        "No such option '--banana'.",
        "",
    ]
