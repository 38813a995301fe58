"""What a snapshot of many applications costs: `python -m benchmarks.snapshots`.

A real LiveServer knows N applications, half of which have ended, and half of which run and wait;
then its state is written as a snapshot and read again. Times are of a processor. A copy of the
server's process writes a state of this size, so that the server's loop goes on.
"""

import argparse
import asyncio
import shutil
import tempfile
import time
from pathlib import Path

import msgspec

from benchmarks.overhead import OverheadClock
from benchmarks.recovery import InstantEngine, settings
from fairshare.core.model.inputs import SubmitApplication
from fairshare.core.model.work import Command, TaskGroup
from fairshare.engines.protocol import LaunchOrder
from fairshare.runtime.snapshot import freeze, thaw
from fairshare.server.server import LiveServer
from fairshare.settings.shell import RetentionSettings

ROUNDS = 5
AT_ONCE = 500


class HalfIdleEngine(InstantEngine):
    """What is launched first ends at once; from then on nothing ends."""

    ends = True

    def launch(self, order: LaunchOrder) -> None:
        """It has ended already, or it never ends."""
        if self.ends:
            super().launch(order)


def submission(number: int) -> SubmitApplication:
    """Three tasks of some user in some queue."""
    tasks = (TaskGroup("t", 3, (512, 1), Command(("sleep", str(number)))),)
    return SubmitApplication(f"user{number % 50}", f"root.q{number % 20}", tasks=tasks)


async def measure(state: Path, applications: int) -> None:
    """Fill a server, take snapshots, print."""
    engine = HalfIdleEngine(state, OverheadClock())
    retention = RetentionSettings(finished_applications=applications)
    plain = msgspec.structs.replace(settings(state), retention=retention)
    server = LiveServer(plain, lambda _, path: engine)
    await server.start("http://127.0.0.1:1")
    known = server.service.state.applications
    for first in range(0, applications, AT_ONCE):
        engine.ends = first < applications // 2
        numbers = range(first, first + AT_ONCE)
        await asyncio.gather(*(server.service.ask(submission(number)) for number in numbers))
        version = -1
        while engine.ends and not all(one.over for one in known.values()):
            version = await server.service.changed(version, 60.0)
    wrote, read = [], []
    for _ in range(ROUNDS):
        begun = time.process_time()
        kept = freeze(1, 1, server._parts())
        wrote.append(time.process_time() - begun)
    for _ in range(ROUNDS):
        begun = time.process_time()
        thaw(kept)
        read.append(time.process_time() - begun)
    over = sum(one.over for one in known.values())
    print(
        f"{len(known):,} applications, {over:,} of them over: written in {min(wrote) * 1000:.0f} ms"
        f" ({len(kept.body):,} bytes), read in {min(read) * 1000:.0f} ms"
    )
    await server.close()


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--applications", type=int, default=10_000)
    options = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="fairshare-snapshots-"))
    try:
        asyncio.run(measure(folder / "state", options.applications))
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
