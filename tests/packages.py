"""Installs the wheel of this checkout under every Python that this machine has, beside an earlier
commit, and uses both: `python -m tests.packages [--base COMMIT] [--brief] [PYTHON ...]`.

Under each: an earlier release with work that runs, an upgrade, the way back, the upgrade again, the
demonstration, and an uninstallation that leaves nothing. It downloads what fairshare depends on.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
MINORS = range(11, 15)
EXTRAS = "hadoop,mcp,parquet,postgres"
CONFIGURATION = {
    "fair-scheduler.xml": "<allocations><queue name='lab'/></allocations>",
    "fairshare.toml": "[engine]\nmemory_mb = 2048\nvcores = 4\n",
}


def ran(*words: str | Path, folder: Path, check: bool = True, timeout_s: float = 600) -> str:
    """What a program prints, in a home of its own; with `check` it must succeed."""
    environment = {
        "PATH": os.environ["PATH"],
        "LANG": "C.UTF-8",
        "HOME": str(folder / "home"),
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
    }
    done = subprocess.run(
        words,
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=timeout_s,
    )
    if check and done.returncode:
        raise SystemExit(f"{' '.join(map(str, words))}: exit code {done.returncode}\n{done.stdout}")
    return done.stdout


def wheel_of(commit: str, folder: Path) -> Path:
    """The wheel of a commit."""
    source = folder / commit / "source"
    ran("git", "clone", "--quiet", "--no-checkout", ROOT, source, folder=folder)
    ran("git", "-C", source, "checkout", "--quiet", commit, folder=folder)
    pip = (sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation")
    ran(*pip, "--wheel-dir", source.parent, source, folder=folder)
    (wheel,) = source.parent.glob("*.whl")
    return wheel


class Installation:
    """A Python with fairshare, and the state of its server."""

    def __init__(self, python: str, folder: Path) -> None:
        self.folder = folder
        self.bin = folder / "venv" / "bin"
        self.state = folder / "state"
        for directory in (folder / "home", folder / "conf"):
            directory.mkdir(parents=True)
        for name, text in CONFIGURATION.items():
            (folder / "conf" / name).write_text(text)
        ran(python, "-m", "venv", folder / "venv", folder=folder)

    def pip(self, *words: str) -> None:
        """Run pip in the environment."""
        ran(self.bin / "pip", *words, "--quiet", folder=self.folder)

    def fairshare(self, *words: str, check: bool = True) -> str:
        """What a verb prints, for the server of this installation."""
        program = ("env", f"FAIRSHARE_STATE={self.state}", str(self.bin / "fairshare"))
        return ran(*program, *words, folder=self.folder, check=check)

    def serve(self) -> None:
        """Start the server on its state."""
        words = ["--conf", "conf", "--port", "0", "--state", str(self.state), "--background"]
        if os.geteuid() == 0:
            words.append("--trust-local-users")
        self.fairshare("serve", *words)


def expect(printed: str, *texts: str) -> None:
    """End with what was printed if a text is not in it."""
    for text in texts:
        if text not in printed:
            raise SystemExit(f"expected {text!r} in:\n{printed}")


def tried(python: str, base: Path, wheel: Path, folder: Path, brief: bool) -> list[str]:
    """The steps that went well, under one Python."""
    here = Installation(python, folder)
    extras = "" if brief else f"[{EXTRAS}]"
    here.pip("install", f"{base}{extras}")
    here.serve()
    here.fairshare("submit", "--queue", "lab", "--wait", "--", "echo", "early")
    here.fairshare("submit", "--queue", "lab", "--", "sleep", "600")
    here.fairshare("shutdown")
    done = ["earlier release"]

    again = ("install", "--force-reinstall", "--no-deps")
    here.pip(*again, str(wheel))
    here.pip("install", f"{wheel}{extras}")
    here.serve()
    expect(here.fairshare("logs", "1"), "early")
    expect(here.fairshare("status", "2"), "RUNNING")
    here.fairshare("submit", "--queue", "lab", "--wait", "--", "true")
    expect(here.fairshare("apps", "--all"), "_0001", "_0002", "_0003")
    here.fairshare("shutdown")
    done.append("upgrade, with a task that went on")

    here.pip(*again, str(base))
    here.serve()
    expect(here.fairshare("status", "2"), "RUNNING")
    expect(here.fairshare("status", "3"), "FINISHED")
    here.fairshare("kill", "2")
    here.fairshare("wait", "2", check=False)
    here.fairshare("shutdown")
    done.append("the way back")

    here.pip(*again, str(wheel))
    here.fairshare("doctor", check=False)
    if not brief:
        expect(here.fairshare("demo"), "nothing is left: no process, no file")
        done.append("demo")

    here.pip("uninstall", "--yes", "fairshare")
    left = list((folder / "venv").rglob("*fairshare*"))
    if left:
        raise SystemExit(f"left after the uninstallation: {left}")
    done.append("nothing left")
    return done


def pythons() -> list[str]:
    """The supported Pythons of this machine, by their names in PATH."""
    names = [f"python3.{minor}" for minor in MINORS]
    return [name for name in names if shutil.which(name) and _works(name)]


def _works(python: str) -> bool:
    return subprocess.run([python, "-c", "import venv"], capture_output=True).returncode == 0


def main() -> int:
    """Print a line for each Python."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--base", default="HEAD~1", help="the commit before [HEAD~1]")
    parser.add_argument("--brief", action="store_true", help="no extras, and no demonstration")
    parser.add_argument("pythons", nargs="*", metavar="PYTHON")
    options = parser.parse_args()
    named = options.pythons or pythons()
    with tempfile.TemporaryDirectory(prefix="fairshare-packages-") as name:
        folder = Path(name)
        commits = [
            subprocess.check_output(["git", "rev-parse", commit], cwd=ROOT, text=True).strip()
            for commit in (options.base, "HEAD")
        ]
        base, wheel = [wheel_of(commit, folder) for commit in commits]
        print(f"{wheel.name}, {wheel.stat().st_size / 1e6:.1f} MB, beside {commits[0][:8]}")
        for number, python in enumerate(named):
            version = subprocess.check_output([python, "-V"], text=True).strip()
            steps = tried(python, base, wheel, folder / str(number), options.brief)
            print(f"✓ {version}: {', '.join(steps)}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
