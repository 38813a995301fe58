"""Lets the tests import what lies beside them in this checkout, such as `tests.facts`, and says
where they write.

A server waits for the disk at each commit, and the tests start hundreds of servers: what they write
lies in memory, if the machine has enough of it. A test that needs another place asks for that. What
a server in a test's own process keeps in reserve there is one piece, not sixteen of them: the
machine fills each with zeros.

Tests interrupt programs as Ctrl-C does. A shell that runs the suite in the background has it ignore
that signal, and programs inherit this: it is undone here.

Servers of tests may be root's, with containers of root's for every caller: they end soon.

Examples of Hypothesis have no deadline: on a busy machine some take longer than its 200 ms.

Collecting makes some ten thousand tests and hardly any garbage, and looking for it again and again
took a third of that time.
"""

import gc
import os
import signal
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

ROOT = str(Path(__file__).parents[1])
IN_MEMORY = Path("/dev/shm")
ENOUGH_BYTES = 4 * 1024**3

os.environ["FAIRSHARE_TRUST_LOCAL_USERS"] = "1"

if ROOT not in sys.path:
    sys.path.insert(0, ROOT)


@pytest.fixture
def anyio_backend() -> str:
    """Tests that are coroutines run in asyncio, as servers do."""
    return "asyncio"


@pytest.fixture(scope="session", autouse=True)
def one_piece_in_reserve() -> Iterator[None]:
    """Servers in this process reserve as little of the disk as can be given back."""
    from fairshare.runtime.journal import files

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(files, "RESERVE_BYTES", files.PIECE_BYTES)
        yield


def has_room(path: Path) -> bool:
    """Whether tests can write there, and run what they have written."""
    if not path.is_dir() or not os.access(path, os.W_OK | os.X_OK):
        return False
    found = os.statvfs(path)
    return not found.f_flag & os.ST_NOEXEC and found.f_frsize * found.f_bavail >= ENOUGH_BYTES


if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

gc.disable()


def pytest_configure() -> None:
    """Random tests that name no number of examples try those of Hypothesis: a part of them for
    `make quick`."""
    from tests.effort import examples  # only now can it be imported

    number = examples(settings.default.max_examples)
    settings.register_profile("unhurried", settings.default, deadline=None, max_examples=number)
    settings.load_profile("unhurried")


def pytest_sessionstart(session: pytest.Session) -> None:
    """Let processes of xdist report less, if this is one."""
    from tests.reports import report_outcomes_only

    report_outcomes_only(session.config)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out for `make quick` what `tests.effort` says."""
    from tests.effort import in_haste, part_of

    if not in_haste():
        return
    cases: defaultdict[str, list[pytest.Item]] = defaultdict(list)
    for item in items:
        if item.get_closest_marker("slow") is None:
            cases[item.nodeid.partition("[")[0]].append(item)
    kept = {item for of_one_test in cases.values() for item in part_of(of_one_test)}
    config.hook.pytest_deselected(items=[item for item in items if item not in kept])
    items[:] = [item for item in items if item in kept]


def pytest_collection_finish() -> None:
    """Collect garbage again from here on, among what the tests make themselves."""
    gc.freeze()
    gc.enable()


# Workers inherit it; pytest looks at it when the first test asks for a directory.
if has_room(IN_MEMORY):
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(IN_MEMORY))
