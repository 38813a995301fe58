"""What is installed from a wheel, without a checkout of the project."""

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """Runs Python with the content of a wheel in place of this checkout."""
    folder = tmp_path_factory.mktemp("wheel")
    subprocess.run(
        [
            *(sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check", "wheel"),
            *(
                "--no-deps",
                "--no-build-isolation",
                "--no-index",
                "--wheel-dir",
                folder,
                folder / "s",
            ),
        ],
        check=True,
        timeout=120,
        cwd=_sources(folder / "s"),
    )
    (wheel,) = folder.glob("*.whl")
    with zipfile.ZipFile(wheel) as file:
        file.extractall(folder / "site")
    environment = {**os.environ, "PYTHONPATH": str(folder / "site")}

    def run(*arguments: str) -> str:
        done = subprocess.run(
            [sys.executable, "-P", *arguments],
            env=environment,
            cwd=folder,
            capture_output=True,
            text=True,
            timeout=120,
            check=True,
        )
        return done.stdout

    return run


def _sources(folder):
    """A copy of what a wheel is made from: the build writes beside it."""
    folder.mkdir()
    for name in ("pyproject.toml", "setup.py", "README.md", "LICENSE", "src", "examples"):
        subprocess.run(["cp", "-a", ROOT / name, folder], check=True, timeout=60)
    return folder


def test_the_demonstration_finds_its_configurations(installed):
    program = (
        "from fairshare.demo.server import EXAMPLES\n"
        "from fairshare.demo.work import VARIANTS\n"
        "for variant in VARIANTS.values():\n"
        "    print(len(list((EXAMPLES / variant.configuration).iterdir())))\n"
    )
    assert installed("-c", program).split() == ["3", "3", "3", "3"]


def test_pages_and_examples_are_in_it(installed):
    program = (
        "import fairshare, pathlib\n"
        "root = pathlib.Path(fairshare.__file__).parent\n"
        "print(root)\n"
        "for name in ('server/web/pages/static', 'demo/examples/jobs'):\n"
        "    print(any((root / name).iterdir()))\n"
    )
    place, *found = installed("-c", program).splitlines()
    assert place.endswith("/site/fairshare")
    assert found == ["True", "True"]
