"""docs/how-to/share-one-machine.md is run as it is written, on a machine of its own with two
pretended GPUs. What is in blocks of `sh` needs a network or systemd, and is left out.
"""

import re
from pathlib import Path

import pytest

from .sandbox import NEEDS, POSSIBLE, as_account, run

PAGE = (Path(__file__).parents[2] / "docs" / "how-to" / "share-one-machine.md").read_text()

pytestmark = pytest.mark.skipif(not POSSIBLE, reason=NEEDS)


def script() -> str:
    """The page as lines of a shell: its commands, each as its user, and its files."""
    found = []
    user = ""
    for part in re.split(r"(```.*?```|(?:^    [^\n]*\n)+)", PAGE, flags=re.S | re.M):
        if part.startswith("    "):
            lines = [line.strip() for line in part.strip().splitlines()]
            found.append(as_account(user, lines) if user else "\n".join(lines))
        elif part.startswith("```xml"):
            text = part.removeprefix("```xml\n").removesuffix("```")
            found.append(f"cat > /etc/fairshare/fair-scheduler.xml <<'END'\n{text}END")
        elif part.startswith("```toml\n[engine]\n"):
            keys = part.removeprefix("```toml\n[engine]\n").removesuffix("```")
            file = "/etc/fairshare/fairshare.toml"
            found.append(f"cat > keys <<'END'\n{keys}END\nsed -i '/^\\[engine\\]/r keys' {file}")
        elif not part.startswith("```"):
            named = re.search(r"As (\w+):\s*$", part)
            user = named[1] if named else ""
    return "\n".join(found).replace("--gpu auto", "--gpu 0,1").replace("/root/", "$HOME/")


def test_a_machine_is_shared_as_the_page_says():
    printed = run(script())
    assert "I am ann in /home/ann" in printed
    assert "my GPU is 0" in printed
    assert printed.count("FINISHED: ") >= 2
    assert '"status":"ready"' in printed
    assert "the state is whole: 4 applications" in printed
    assert printed.count("0 errors, 0 warnings, 0 traps") == 2
