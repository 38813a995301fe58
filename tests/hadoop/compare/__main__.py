"""The same calls to a real ResourceManager and to ours, compared field by field.

Both are started on one configuration directory, each with two NodeManagers of Hadoop, once for each
scheduler. Prints the fields in which their answers differ without a reason that
`tests/hadoop/compare/reasons.py` names; the exit code is 0 if there are none.
"""

import argparse
import asyncio
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
from tests.hadoop.cluster import Cluster
from tests.hadoop.compare import conf
from tests.hadoop.compare.answers import Difference, differences
from tests.hadoop.compare.life import live
from tests.hadoop.compare.reasons import reason_for, unneeded
from tests.hadoop.compare.side import Side
from tests.hadoop.installation import FOLDER, Installation, Missing

NODES = 2


def main() -> int:
    """Parse the options, run, and return the exit code."""
    options = argparse.ArgumentParser(prog="python -m tests.hadoop.compare", description=__doc__)
    options.add_argument("--schedulers", default="fair,capacity", help="default: fair,capacity")
    options.add_argument(
        "--runs", type=Path, default=FOLDER / "compare", help="where logs are kept"
    )
    options.add_argument(
        "--again", action="store_true", help="start ours only: the real one's last answers count"
    )
    options.add_argument("--all", action="store_true", help="print explained differences, too")
    chosen = options.parse_args()
    installation = Installation()
    try:
        installation.fetch()
    except Missing as missing:
        print(missing, file=sys.stderr)
        return 2
    chosen.runs.mkdir(parents=True, exist_ok=True)
    found = {
        scheduler: compare(scheduler, installation, chosen.runs, chosen)
        for scheduler in chosen.schedulers.split(",")
    }
    unexplained = [
        one for scheduler, some in found.items() for one in some if not reason_for(one, scheduler)
    ]
    left = unneeded(found) if len(found) > 1 else []
    for reason in left:
        print(f"a reason that explains nothing: {reason}")
    return 1 if unexplained or left else 0


def compare(
    scheduler: str, installation: Installation, runs: Path, chosen: argparse.Namespace
) -> list[Difference]:
    """Run both, and print what differs; all differences."""
    theirs: dict[str, Any]
    if chosen.again:
        theirs = msgspec.json.decode((runs / f"{scheduler}-real.json").read_bytes())
    else:
        theirs = recorded(scheduler, installation, runs, real=True)
    ours = recorded(scheduler, installation, runs, real=False)
    found = list(differences(theirs, ours))
    unexplained = [one for one in found if not reason_for(one, scheduler)]
    print(
        f"\n{scheduler}: {len(theirs)} calls, {len(found)} fields differ,"
        f" {len(unexplained)} of them without a reason"
    )
    show(found if chosen.all else unexplained, scheduler)
    return found


def recorded(
    scheduler: str, installation: Installation, runs: Path, *, real: bool
) -> dict[str, Any]:
    """The answers of one of the two, by the name of the call."""
    run = runs / f"{scheduler}-{'real' if real else 'ours'}"
    shutil.rmtree(run, ignore_errors=True)
    cluster = Cluster(run, installation, scheduler, NODES, conf.site(run))
    conf.write_queues(cluster.conf, scheduler)
    cluster.real = real
    with cluster:
        side = Side(cluster.ports, conf.node_ports(run), run)
        try:
            asyncio.run(live(side))
        finally:
            write(run.with_suffix(".json"), side.answers)
    return side.answers


def write(path: Path, answers: dict[str, Any]) -> None:
    """Keep answers, for `--again` and for a look."""
    path.write_bytes(msgspec.json.format(msgspec.json.encode(answers)))


def show(found: Sequence[Difference], scheduler: str) -> None:
    """Print differences, with the reason of each that has one."""
    for one in found:
        print(f"  {one.call}  {one.field}")
        print(f"      real {shortened(one.theirs)}")
        print(f"      ours {shortened(one.ours)}")
        reason = reason_for(one, scheduler)
        if reason:
            print(f"      because {reason}")


def shortened(value: Any) -> str:
    """A value in one line."""
    text = msgspec.json.encode(value).decode()
    return text if len(text) <= 400 else text[:400] + "..."


if __name__ == "__main__":
    sys.exit(main())
