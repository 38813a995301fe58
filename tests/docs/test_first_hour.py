"""docs/tutorials/first-hour.md is typed as it is written, by an ordinary account of a machine
of its own. Only what is in blocks of `sh`, the installation, is left out.
"""

import re
from pathlib import Path

import pytest

from .sandbox import NEEDS, POSSIBLE, as_account, run

PAGE = (Path(__file__).parents[2] / "docs" / "tutorials" / "first-hour.md").read_text()
BLOCK = re.compile(r"^```(?:xml|yaml) (\S+)\n(.*?)^```|^((?:    [^\n]*\n)+)", re.S | re.M)


@pytest.mark.skipif(not POSSIBLE, reason=NEEDS)
def test_the_first_hour_goes_as_the_page_says():
    lines = [
        f"cat > {file} <<'END'\n{content}END" if file else commands
        for file, content, commands in BLOCK.findall(PAGE)
    ]
    printed = run("useradd --create-home ann\n" + as_account("ann", lines))
    assert "0 errors, 0 warnings, 0 traps" in printed
    assert "\nhello from a container\n" in printed
    assert "\n1\n4\n9\n16\n" in printed
    assert "\nit failed\n" in printed
    assert "with exit code 3. last lines of stderr:\nno such file" in printed
    assert "Nothing is preempted for it: preemption is off" in printed
    assert re.search(r"_0005 FINISHED\n", printed)
    assert re.findall(r"\d passed, \d failed", printed) == [
        "0 passed, 1 failed",
        "1 passed, 0 failed",
    ]
    assert re.search(r"^  production .* 1G .* 1 fair$", printed, re.M)
    assert "has ended" in printed
