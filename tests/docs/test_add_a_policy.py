"""docs/how-to/add-a-policy.md is run: its package is installed, its scenario is checked."""

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

PAGE = (Path(__file__).parents[2] / "docs" / "how-to" / "add-a-policy.md").read_text()

BY_NAME = "<schedulingPolicy>shortest-first</schedulingPolicy>"
BY_CLASS = "<schedulingPolicy>shortest_first.ShortestFirst</schedulingPolicy>"


def block(language: str) -> str:
    """The one piece of code of a language on the page."""
    (text,) = re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)
    assert isinstance(text, str)
    return text


def install(folder: Path, module: str, entries: dict[str, str], text: str) -> None:
    """Put a package into a folder, as pip would leave it there."""
    (folder / f"{module}.py").write_text(text)
    information = folder / f"{module}-1.0.dist-info"
    information.mkdir(parents=True)
    (information / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {module}\nVersion: 1.0\n")
    lines = "".join(f"{name} = {value}\n" for name, value in entries.items())
    (information / "entry_points.txt").write_text(f"[fairshare.policies]\n{lines}")


def run(packages: Path, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "fairshare", *map(str, arguments)],
        env={**os.environ, "PYTHONPATH": str(packages), "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture
def packages(tmp_path: Path) -> Path:
    """A folder with the package of the page."""
    folder = tmp_path / "packages"
    folder.mkdir()
    entries = tomllib.loads(block("toml"))["project"]["entry-points"]["fairshare.policies"]
    install(folder, "shortest_first", entries, block("python"))
    return folder


def scenario(path: Path, text: str) -> Path:
    file = path / "scenario.yaml"
    file.write_text(text)
    return file


def test_the_policy_of_the_page_decides(packages: Path, tmp_path: Path) -> None:
    done = run(packages, "check", scenario(tmp_path, block("yaml")))
    assert done.stdout.splitlines() == ["1 passed, 0 failed, 0 skipped"], done.stderr


def test_without_the_policy_the_scenario_of_the_page_fails(packages: Path, tmp_path: Path) -> None:
    text = block("yaml").replace(BY_NAME, "")
    assert run(packages, "check", scenario(tmp_path, text)).returncode == 1


def test_the_class_can_be_named_as_the_page_says(packages: Path, tmp_path: Path) -> None:
    assert BY_CLASS in PAGE
    text = block("yaml").replace(BY_NAME, BY_CLASS)
    assert text != block("yaml")
    assert run(packages, "check", scenario(tmp_path, text)).returncode == 0


def test_a_class_that_no_package_announces_is_not_imported(packages: Path, tmp_path: Path) -> None:
    (packages / "sly.py").write_text(f"open({str(tmp_path / 'was-here')!r}, 'w')\n")
    file = tmp_path / "fair-scheduler.xml"
    file.write_text(f"<allocations><queue name='a'>{BY_CLASS}</queue></allocations>")
    assert run(packages, "lint", file).returncode == 0
    file.write_text(file.read_text().replace("shortest_first.ShortestFirst", "sly.Policy"))
    done = run(packages, "lint", file)
    assert done.returncode == 1
    assert "there is no policy 'sly.Policy' (there are drf, fair, fifo, shortest-first)" in (
        done.stdout
    )
    assert not (tmp_path / "was-here").exists()


def test_a_policy_for_leaves_is_reported_at_a_parent(packages: Path, tmp_path: Path) -> None:
    file = tmp_path / "fair-scheduler.xml"
    file.write_text(
        f"<allocations>\n<queue name='a'>{BY_NAME}<queue name='b'/></queue></allocations>"
    )
    done = run(packages, "lint", file)
    assert "root.a is a parent queue, and the policy shortest-first is for leaf" in done.stdout


OTHER = "from shortest_first import ShortestFirst\n\n\nclass Other(ShortestFirst):\n    pass\n"


@pytest.mark.parametrize(
    ("entries", "text", "said"),
    [
        ({"shortest-first": "bad:Other"}, OTHER, "there is another policy 'shortest-first'"),
        ({"other": "bad:Other"}, OTHER, "calls itself 'shortest-first'"),
        ({"other": "bad:Nobody"}, OTHER, "Nobody"),
        (
            {"other": "bad:number"},
            "number = 7\n",
            "it is not a fairshare.core.schedulers.fair.policies",
        ),
        ({"other": "bad:x"}, "raise RuntimeError('not on this machine')\n", "not on this machine"),
    ],
)
def test_a_package_that_cannot_be_used_is_named(
    packages: Path, tmp_path: Path, entries: dict[str, str], text: str, said: str
) -> None:
    install(packages, "bad", entries, text)
    file = tmp_path / "fair-scheduler.xml"
    file.write_text("<allocations/>")
    done = run(packages, "lint", file)
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert re.match(r"package \S+: error: ", done.stderr)
    assert said in done.stderr
