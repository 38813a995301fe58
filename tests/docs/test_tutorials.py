"""The pages of docs/tutorials are typed as they are written, by an ordinary account of a machine
of its own. Only what is in blocks of `sh` is left out.
"""

import re
from pathlib import Path

import pytest

from .sandbox import NEEDS, POSSIBLE, as_account, run

TUTORIALS = Path(__file__).parents[2] / "docs" / "tutorials"
BLOCK = re.compile(r"^```(?:xml|yaml|toml) (\S+)\n(.*?)^```|^((?:    [^\n]*\n)+)", re.S | re.M)

MARK = "---page:"

pytestmark = pytest.mark.skipif(not POSSIBLE, reason=NEEDS)


def lines_of(page: str) -> list[str]:
    """The commands of a page, and commands that write the files that it shows."""
    return [
        f"mkdir -p $(dirname {file})\ncat > {file} <<'END'\n{content}END" if file else commands
        for file, content, commands in BLOCK.findall((TUTORIALS / f"{page}.md").read_text())
    ]


@pytest.fixture(scope="module")
def typed() -> dict[str, str]:
    """What the commands of each page print, with the files that they show; each has to succeed.
    One account goes through all pages, in the order of the index."""
    pages = re.findall(r"\(tutorials/(.*)\.md\)", (TUTORIALS.parent / "index.md").read_text())
    assert sorted(pages) == sorted(page.stem for page in TUTORIALS.glob("*.md"))
    lines = [line for page in pages for line in (f"cd; echo {MARK}{page}", *lines_of(page))]
    printed = run("useradd --create-home ann\n" + as_account("ann", lines), timeout_s=400)
    parts = re.split(rf"^{MARK}(\S+)$", printed, flags=re.M)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def test_the_first_hour_goes_as_the_page_says(typed):
    printed = typed["first-hour"]
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


def test_the_day_of_a_user_goes_as_the_page_says(typed):
    printed = typed["a-day-as-a-user"]
    assert "\n42\n" in printed
    assert "\nant is measured\nbee is measured\ncat is measured\n" in printed
    assert "\nexit code 1\n" in printed
    assert "\nrow 3 is bad\n" in printed
    assert re.search(r"^task  \S+ +4 +3 +0 +0 +1$", printed, re.M)
    assert "No node has 512 MB, 4 vcores free" in printed
    assert "\nstarted\n" in printed
    assert re.search(r"^nightly ann .* echo good night$", printed, re.M)
    assert re.search(r"^ann +8 +13 ", printed, re.M)


def test_the_first_hour_of_an_administrator_of_yarn_goes_as_the_page_says(typed):
    printed = typed["first-hour-as-a-yarn-administrator"]
    assert re.findall(r"(\d) traps?$", printed, re.M)[:2] == ["2", "1"]
    assert "[maximum-below-capacity]" in printed
    assert "Capacity : 75.00%" in printed
    assert '"finalStatus": "SUCCEEDED"' in printed
    assert re.search(r"reproduce the history: (\d+) of \1 decisions", printed)
    assert "root.adhoc.capacity.percent: 25.0 → 50.0" in printed
    assert "1 passed, 0 failed" in printed
    assert "Capacity : 50.00%" in printed


def test_queues_are_written_and_tested_as_the_page_says(typed):
    printed = typed["write-and-test-queues"]
    assert re.findall(r"\d passed, \d failed", printed) == [
        "0 passed, 1 failed",
        "1 passed, 0 failed",
    ]
    assert "waits: no-room n1" in printed
    assert re.search(r"^Containers +546 granted, .* 166 preempted", printed, re.M)
    assert re.search(r"turnaround changes by \+4 min 14 s", printed)
