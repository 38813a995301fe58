"""docs/operations.md and examples/deploy: what they name is there."""

import re
import shlex
from pathlib import Path

import click
import pytest

from fairshare.cli import admin, init, serve
from fairshare.cli.systemd_unit import unit_text
from fairshare.client.discovery import SOCKET
from fairshare.core.schedulers.reasons import Cause
from fairshare.server.metric_families import COUNTERS, GAUGES, HISTOGRAMS
from fairshare.server.state_directory import PASSABLE

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "operations.md").read_text()


def test_every_metric_on_the_page_exists():
    names = {*GAUGES, *HISTOGRAMS, *(f"{name}_total" for name in COUNTERS)}
    named = set(re.findall(r"fairshare_(\w+)", PAGE))
    assert len(named) > 2
    assert not named - names


def test_every_verb_and_reason_of_the_page_is_there():
    for verb in re.findall(r"fairshare admin ([\w-]+)", PAGE):
        assert verb in admin.command.commands, verb
    assert {"larger-than-every-node", "no-nodes"} <= {cause.value for cause in Cause}


ONE_ACCOUNT = ROOT / "examples" / "deploy" / "fairshare-one-account.service"
OF_ROOT = unit_text(Path("/opt/fairshare/bin/fairshare"), Path("/etc/fairshare"), of_root=True)


@pytest.mark.parametrize("unit", [OF_ROOT, ONE_ACCOUNT.read_text()], ids=["root", "one account"])
def test_the_unit_starts_a_server_as_it_can_be_started(unit):
    words = shlex.split(re.search(r"^ExecStart=(.*)$", unit, re.MULTILINE)[1])
    assert words[:2] == ["/opt/fairshare/bin/fairshare", "serve"]
    check_options(words[2:])
    assert serve.WRONG_CONFIGURATION == 2
    assert "RestartPreventExitStatus=2" in unit


def test_the_unit_for_many_users_makes_the_directories_that_init_and_clients_expect():
    settings = dict(re.findall(r"^(\w+)=(.*)$", OF_ROOT, re.MULTILINE))
    assert settings["ExecStart"].endswith("serve --conf /etc/fairshare")
    assert Path("/var/lib", settings["StateDirectory"]) == init.ROOTS_STATE
    assert int(settings["StateDirectoryMode"], 8) == PASSABLE
    assert Path("/run", settings["RuntimeDirectory"]) == init.ROOTS_SOCKET.parent
    assert init.ROOTS_SOCKET == SOCKET
    assert "User" not in settings


def test_the_image_is_made_of_files_that_are_there():
    lines = (ROOT / "examples" / "deploy" / "Containerfile").read_text().splitlines()
    for line in lines:
        if line.startswith("COPY "):
            for name in line.split()[1:-1]:
                assert (ROOT / name).exists(), name
    assert 'ENTRYPOINT ["fairshare"]' in lines
    commands = [line for line in lines if line.startswith("CMD [")]
    assert len(commands) == 2
    for command in commands:
        words = re.findall(r'"([^"]+)"', command)
        assert words[0] == "serve"
        check_options(words[1:])


def check_options(words):
    """Parse options without needing the directories to be here."""
    known = {name for one in serve.command.params for name in one.opts + one.secondary_opts}
    assert isinstance(serve.command, click.Command)
    assert {word for word in words if word.startswith("--")} <= known
