"""Writes docs/traces.md: traces of real clusters under an example's configuration, and under each
scheduler's defaults: `make traces`.

Waits of the traces' own clusters are beside ours where the trace has them. They are not to be
reached: those clusters had other schedulers, other users' jobs before, and rules that no trace has.
"""

import argparse
import concurrent.futures
import itertools
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from fairshare.cli.cells import duration_text
from fairshare.lab.simulate.report import Spread, spread
from fairshare.lab.simulate.traces.registry import open_trace

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "traces.md"
TRACES = ROOT.parent / "shared" / "data" / "traces"
CLASSES = {
    "fair": "fair.FairScheduler",
    "capacity": "capacity.CapacityScheduler",
    "fifo": "fifo.FifoScheduler",
}
SITE = (
    "<configuration><property><name>yarn.resourcemanager.scheduler.class</name><value>"
    "org.apache.hadoop.yarn.server.resourcemanager.scheduler.{}</value></property></configuration>"
)
HEAD = """# Traces of real clusters

This page shows the first {limit} jobs of each trace under the example configuration and under the
defaults of each scheduler (an empty configuration that names the scheduler). `make traces`
generates it; [formats of traces](reference/trace-formats.md) lists the assumptions about each
trace.

* *Original wait*: the waits that the trace itself records for these jobs, if any. They come from
  another scheduler, whose cluster also ran earlier jobs, so they are a reference and not a goal.
* *Wait*: the time from a job's arrival to its first container, as median and 95th percentile.
* *Used*: the mean utilization of memory and of vcores.
* *Rejected*: the number of jobs that the scheduler rejected.

| trace | jobs | original wait | configuration | wait | used | rejected |
| --- | ---: | --- | --- | --- | --- | ---: |
"""


def configurations(directory: Path) -> dict[str, Path]:
    """The configurations by name; those of the defaults are written below a directory."""
    found = {"three-teams": ROOT / "examples" / "three-teams"}
    for name, scheduler in CLASSES.items():
        conf = directory / name
        conf.mkdir()
        (conf / "yarn-site.xml").write_text(SITE.format(scheduler), encoding="utf-8")
        found[f"{name}, defaults"] = conf
    return found


def simulated(trace: Path, conf: Path, limit: int, timeout_s: float) -> dict[str, Any] | None:
    """The report of a run in a process of its own; None if it takes too long."""
    arguments = [sys.executable, "-m", "fairshare", "simulate", str(trace), "--conf", str(conf)]
    try:
        done = subprocess.run(
            [*arguments, "--limit", str(limit), "--json"],
            capture_output=True,
            timeout=timeout_s,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return None
    if not done.stdout:
        raise SystemExit(f"{trace.name} under {conf.name}: {done.stderr.decode()}")
    report: dict[str, Any] = json.loads(done.stdout)
    return report


def waits_there(trace: Path, limit: int) -> Spread | None:
    """The waits that the trace records for its jobs; None if it has none."""
    jobs = itertools.islice(open_trace(trace).jobs, limit)
    return spread([job.waited_ms for job in jobs if job.waited_ms is not None])


def wait_text(found: Spread | dict[str, Any] | None) -> str:
    """The median and the 95th percentile."""
    if found is None:
        return "-"
    p50, p95 = (found["p50"], found["p95"]) if isinstance(found, dict) else (found.p50, found.p95)
    return f"{duration_text(p50)}, {duration_text(p95)}"


def row(trace: Path, there: str, name: str, report: dict[str, Any] | None) -> str:
    """One line of the table."""
    if report is None:
        return f"| {trace.name} | | {there} | {name} | took too long | | |"
    jobs, used = report["applications"], report["utilization"]
    share = ", ".join(f"{used.get(kind, 0):.0%}" for kind in ("memory-mb", "vcores"))
    rejected = report["applications_by_state"].get("REJECTED", 0)
    wait = wait_text(report["waiting"])
    return f"| {trace.name} | {len(jobs)} | {there} | {name} | {wait} | {share} | {rejected} |"


def main() -> None:
    """Run all and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("traces", nargs="?", type=Path, default=TRACES)
    parser.add_argument("--limit", type=int, default=100)
    parser.add_argument("--timeout", type=float, default=3_600.0, help="of a run, in seconds")
    parser.add_argument("--workers", type=int, default=2)
    given = parser.parse_args()
    if not given.traces.is_dir():
        raise SystemExit(f"there is no directory {given.traces}: name one that has traces")
    folders = sorted(one for one in given.traces.iterdir() if one.is_dir())
    with (
        tempfile.TemporaryDirectory() as directory,
        concurrent.futures.ThreadPoolExecutor(given.workers) as pool,
    ):
        confs = configurations(Path(directory))
        runs = {
            (folder, name): pool.submit(simulated, folder, conf, given.limit, given.timeout)
            for folder in folders
            for name, conf in confs.items()
        }
        lines = []
        for folder in folders:
            there = wait_text(waits_there(folder, given.limit))
            for name in confs:
                lines.append(row(folder, there, name, runs[folder, name].result()))
                print(lines[-1], flush=True)
    PAGE.write_text(HEAD.format(limit=given.limit) + "\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
