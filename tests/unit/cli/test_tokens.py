"""`fairshare admin token`: where a token goes, and what is said of it."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from fairshare.cli import tokens
from fairshare.cli.verbs import fairshare
from fairshare.core.model.resources import ResourceTypes
from fairshare.server.access.tokens import UserTokens
from fairshare.server.state_directory import open_state_directory


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("FAIRSHARE_STATE", raising=False)


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(fairshare, ["admin", "token", *map(str, arguments)])


def configured(tmp_path: Path, toml: str) -> Path:
    conf = tmp_path / "conf"
    conf.mkdir()
    (conf / "fair-scheduler.xml").write_text("<allocations/>")
    (conf / "fairshare.toml").write_text(toml)
    return conf


def test_with_conf_a_token_goes_to_the_state_directory_of_fairshare_toml(tmp_path: Path) -> None:
    state = tmp_path / "state"
    toml = f'[server]\nstate_directory = "{state}"\n[authentication]\ntokens = true\n'
    conf = configured(tmp_path, toml)
    open_state_directory(state).claim("fair", ResourceTypes(), 7)
    made = run("create", "ann", "--conf", conf)
    assert made.exit_code == 0, made.output
    assert UserTokens(state).identify(made.stdout.strip(), 1) is not None
    assert made.stderr == f"kept in {state}/tokens.json\n"
    assert "ann" in run("list", "--conf", conf).stdout


def test_a_token_for_a_directory_without_a_server_comes_with_a_warning(tmp_path: Path) -> None:
    made = run("create", "ann", "--state", tmp_path / "nowhere")
    assert made.exit_code == 0
    assert made.stdout.startswith("fst_")
    assert made.stdout.count("\n") == 1
    assert "no server has kept its state in" in made.stderr


def test_a_default_directory_in_which_no_server_was_gets_no_token(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An Executor makes it, too, for the socket of its workers."""
    place = tmp_path / "home/.local/state/fairshare"
    place.mkdir(parents=True)
    monkeypatch.setenv("FAIRSHARE_URL", "http://127.0.0.1:1")  # nothing listens there
    monkeypatch.setattr(tokens, "default_directory", lambda: tmp_path / "no-configuration")
    refused = run("create", "ann")
    assert refused.exit_code == 1
    assert "none has kept its state where it does by default" in refused.stderr
    open_state_directory(place).claim("fair", ResourceTypes(), 7)
    assert run("create", "ann").stdout.startswith("fst_")


def test_a_configuration_without_tokens_causes_a_warning(tmp_path: Path) -> None:
    made = run("create", "ann", "--conf", configured(tmp_path, ""), "--state", tmp_path / "state")
    assert "does not say `tokens = true`" in made.stderr


def test_tokens_are_listed_as_json_without_what_opens_the_door(tmp_path: Path) -> None:
    state = tmp_path / "state"
    run("create", "ann", "--admin", "--state", state)
    (listed,) = json.loads(run("list", "--json", "--state", state).stdout)["tokens"]
    assert (listed["user"], listed["administrator"], listed["expires_ms"]) == ("ann", True, None)
    assert "sha256" not in listed


def test_a_directory_without_tokens_says_so(tmp_path: Path) -> None:
    assert run("list", "--state", tmp_path).stdout == "There are no tokens.\n"


def test_nothing_is_listed_or_revoked_where_no_directory_is(tmp_path: Path) -> None:
    for order in (["list"], ["revoke", "0a1b2c3d"]):
        done = run(*order, "--state", tmp_path / "nowhere")
        assert done.exit_code == 1
        assert "there is no directory" in done.stderr
    assert not (tmp_path / "nowhere").exists()
