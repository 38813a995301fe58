"""Where an agent keeps its state: in a place that no other account can take first."""

import os
from pathlib import Path

import pytest

from fairshare.errors import EngineError
from fairshare.ray import agent


@pytest.fixture
def common(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory for temporary files of all accounts, and one in which only root can write."""
    place = tmp_path / "tmp"
    place.mkdir()
    place.chmod(0o1777)
    monkeypatch.setattr("tempfile.gettempdir", lambda: str(place))
    monkeypatch.setattr(agent, "ROOTS_DIRECTORY", tmp_path / "fairshare-agents")
    return place


def test_a_name_that_another_account_has_taken_does_not_keep_roots_agent_from_starting(
    common: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    taken = common / "fairshare-0"
    taken.symlink_to(common.parent)
    if os.getuid() != 0:
        pytest.skip("root's directory has to be root's")
    place = agent._directory("one", "node", passable=True)
    assert place.parent == common.parent / "fairshare-agents"
    assert place.parent.stat().st_mode & 0o777 == 0o711


def test_an_agent_uses_a_directory_for_temporary_files_that_only_its_account_can_write(
    common: Path,
) -> None:
    common.chmod(0o711)
    place = agent._directory("one", "node", passable=False)
    assert place.parent == common / f"fairshare-{os.geteuid()}"
    assert place.parent.stat().st_mode & 0o777 == 0o700


def test_the_agent_of_another_account_refuses_a_name_that_is_not_its_own(
    common: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    account = os.getuid() + 4000
    monkeypatch.setattr(os, "geteuid", lambda: account)
    (common / f"fairshare-{account}").mkdir()
    with pytest.raises(EngineError, match="must be a directory of this user"):
        agent._directory("one", "node", passable=False)


def test_what_agents_left_before_the_machine_started_again_is_deleted(tmp_path: Path) -> None:
    earlier = tmp_path / "b0b0b0b0-one-node"
    work = earlier / "containers" / "application_1" / "container_1" / "work"
    work.mkdir(parents=True)
    (work / "link").symlink_to(tmp_path)
    now = tmp_path / "a1a1a1a1-one-node"
    now.mkdir()
    agent._remove_earlier(tmp_path, "a1a1a1a1")
    assert list(tmp_path.iterdir()) == [now]
