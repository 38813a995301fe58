"""The pages that `make docs` makes from the code have everything that the code defines."""

import re

import click
import pytest
from tests import references
from tests.unit.docs.test_commands import commands_of, fault_of

from fairshare.cli.examples import EXAMPLES
from fairshare.cli.verbs import fairshare
from fairshare.server.metric_families import GAUGES
from fairshare.server.web.app import ROUTES
from fairshare.settings.capacity.lint import RULES


@pytest.mark.parametrize("name", references.PAGES)
def test_a_page_has_headings_of_its_own_and_no_cell_without_a_text(name: str) -> None:
    text = references.PAGES[name]()
    sections = re.split(r"^## ", text, flags=re.M)
    for section in sections:
        headings = re.findall(r"^### (.*)$", section, re.M)
        assert len(headings) == len(set(headings))
    assert text.startswith("# ")
    assert not re.search(r"^\|.*\| +\|$", text, re.M)


def test_the_page_of_the_command_line_has_every_option_and_commands_that_exist() -> None:
    text = references.command_line()
    assert {"### submit", "### admin config add-queue", "### ray job"} <= set(text.splitlines())
    of_all = text.partition("\n### ")[0]
    context = click.Context(fairshare)
    for name in fairshare.list_commands(context):
        for words, command in references.commands_of(fairshare.get_command(context, name), name):
            section = text.partition(f"\n### {words}\n")[2].partition("\n### ")[0]
            assert section, words
            for option in command.params:
                if isinstance(option, click.Option) and not option.hidden:
                    row = rf"^\| `.*{option.opts[0]}\b.*` \| .*[a-z]"
                    assert re.search(row, of_all + section, re.M), (words, option.opts)
    commands = commands_of(text)
    assert set(EXAMPLES.values()) <= set(commands)
    assert {line: fault_of(line) for line in commands if fault_of(line)} == {}


def test_the_help_of_every_verb_has_an_example() -> None:
    context = click.Context(fairshare)
    for name in fairshare.list_commands(context):
        verb = fairshare.get_command(context, name)
        assert verb is not None
        for words, command in references.commands_of(verb, name):
            text = command.get_help(click.Context(command, info_name="this"))
            assert re.search(rf"(^ *|Example: |\$\()fairshare {words}\b", text, re.M), words


def test_the_page_of_the_interface_has_every_path_and_defined_records_only() -> None:
    text = references.rest_interface()
    for route in ROUTES:
        (method,) = (route.methods or set()) - {"HEAD"}
        assert f"\n### {method} /api/v1{route.path}\n" in text
    records = set(re.findall(r"^\| (\w+) \|", text, re.M))
    named = set(re.findall(r"(?:Body|\d\d\d): (\w+)\.", text)) - {"any", "object"}
    assert named <= records


def test_the_page_of_lint_rules_has_an_example_of_each_rule_and_its_message() -> None:
    text = references.lint_rules()
    for rule in RULES:
        section = text.partition("## The Capacity Scheduler")[2].partition(f"\n### {rule}\n")[2]
        section = section.partition("\n### ")[0]
        assert re.search(r"^```xml\n<property>", section, re.M), rule
        assert re.search(r"^(Trap|Warning): .* Hadoop ", section, re.M), rule


def test_the_page_of_events_has_those_of_every_scheduler() -> None:
    text = references.events_and_inputs()
    for event in ("ContainerAllocated", "BookingMade", "SubmitApplication"):
        assert f"\n| `{event}` | " in text
    assert "## Events of the scheduler capacity" in text


def test_the_page_of_metrics_has_every_metric_with_its_labels() -> None:
    text = references.metrics()
    assert "| `fairshare_gpu_held` | gauge | `node`, `gpu`, `user` | " in text
    assert all(f"| `fairshare_{name}` | gauge | " in text for name in GAUGES)
