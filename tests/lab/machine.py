"""Runs inside a machine of its own (`tests/docs/sandbox.py`): its administrator and its users."""

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

from tests.lab.findings import FINDINGS, Finding

ROOT = Path(__file__).parents[2]
PATIENCE_S = 90
USERS = ("ann", "bob")
INIT = "fairshare init --users ann,bob --vcores 4 --memory 8g --gpu none"
SOON = r"""
sed -i '/^\[engine\]/a reserve_after_s = 1' /etc/fairshare/fairshare.toml
cat >> /etc/fairshare/fairshare.toml <<END
[configuration]
check_interval_ms = 100
settle_ms = 200
END
"""
"""What an administrator would wait a minute for happens within seconds."""

SERVE = "fairshare serve --background --no-hadoop"


def shell(lines: str) -> str:
    """What lines of root print, whatever their outcome."""
    done = subprocess.run(
        ["bash", "-c", lines],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=PATIENCE_S,
    )
    return done.stdout


def script_of(lines: str) -> str:
    """The lines of a finding as those of a shell of root; what follows `<<` belongs to its line."""
    commands: list[str] = []
    end = ""
    for line in (one.removeprefix("        ") for one in lines.strip("\n").splitlines()):
        if end:
            commands[-1] += f"\n{line}"
            end = "" if line.strip() == end else end
            continue
        commands.append(line.strip())
        here = re.search(r"<<'(\w+)'", line)
        end = here[1] if here else ""
    return "\n".join(map(as_user, commands)).replace("ROOT", str(ROOT))


def as_user(command: str) -> str:
    """A command, as the account that it names."""
    user = re.match(r"@(\w+) ", command)
    if user is None:
        return command
    name = user[1]
    home = f'env HOME=/home/{name} USER={name} LOGNAME={name} PATH="$PATH"'
    inner = shlex.quote(f"cd; {command[user.end() :]}")
    return f"runuser -u {name} -- {home} bash -c {inner}"


def judge(finding: Finding) -> str:
    """What is wrong with a finding; empty: nothing."""
    try:
        printed = shell(script_of(finding.lines))
    except subprocess.TimeoutExpired as error:
        printed = f"{(error.stdout or b'').decode()}\nnot over after {PATIENCE_S} s"
    missing = [pattern for pattern in finding.wanted if not re.search(pattern, printed)]
    found = [pattern for pattern in finding.refused if re.search(pattern, printed)]
    if not missing and not found and "Traceback" not in printed:
        return ""
    return f"missing {missing}, found {found} in:\n{printed[-3_000:]}"


def main() -> None:
    """Print a line of JSON for each finding: its name, its title, and what is wrong."""
    names = sys.argv[1:]
    for user in USERS:
        subprocess.run(["useradd", "--create-home", user], check=True)
    started = shell(f"{INIT} {SOON} {SERVE}")
    if "listening" not in started:
        sys.exit(f"the server does not start: {started}")
    for finding in FINDINGS:
        if not names or finding.name in names:
            print(json.dumps([finding.name, finding.title, judge(finding)]), flush=True)
    print(shell("fairshare shutdown --stop-containers"), file=sys.stderr)


if __name__ == "__main__":
    main()
