"""Measures the pages in Chromium: 1,000 queues, 10,000 applications, 5,000 nodes.

    python -m benchmarks.pages [NAME...]       (SMALL=1 tries it with a tenth of everything)

Prints for each page, or for those of `PAGES` that are named: the time to the first view (from the
click to rows with numbers), and the least of some tries, since a busy machine makes it longer; the
time from a change in the cluster to its number on the page; what the tab holds in memory; what
browser and server use of a processor while nothing happens.
"""

import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from playwright.sync_api import Page, sync_playwright
from tests.browser.cluster import Cluster, running
from tests.browser.conftest import ARGUMENTS, CHROMIUM, MISSING, fair_configuration

from fairshare.core.model.inputs import SubmitApplication
from fairshare.core.model.work import Command, TaskGroup

SCALE = 10 if os.environ.get("SMALL") else 1
FAMILIES, LEAVES = 20, 49 // SCALE
APPLICATIONS = 10_000 // SCALE
NODES = 5_000 // SCALE
VIEWS = 5
CHANGES = 5
IDLE_S = 20.0
DRIVER = "node"
OFFER = {"memory-mb": 65_536, "vcores": 16}

WATCH = """rows => new MutationObserver((_, observer) => {
  if (!document.querySelector(rows)) return;
  window.firstViewMs = performance.now();
  observer.disconnect();
}).observe(document, {childList: true, subtree: true})"""
"""Runs in the page before anything else: when rows are there for the first time."""

PAGES = (
    ("scheduler", "/cluster/scheduler", ".tree .vt-body .vt-row"),
    ("applications", "/cluster/apps", ".vt-body .vt-row"),
    ("nodes", "/cluster/nodes", "main .vt-body .vt-row"),
    ("heat map", "/cluster/nodes?show=map", "main canvas"),
    ("application", "/cluster/app/1", "main .application-head h1"),
    ("node", "/cluster/node/node-0000", "main .application-head h1"),
    ("configuration", "/cluster/configuration", ".queue-list .vt-body .vt-row"),
)
IDLE_AT = ("scheduler", "applications", "nodes")


def allocations() -> str:
    """Twenty families of queues; with root and its children a thousand at full scale."""
    families = "".join(
        f'<queue name="team{family:02}">'
        + "".join(f'<queue name="q{leaf:02}"/>' for leaf in range(LEAVES))
        + "</queue>"
        for family in range(FAMILIES)
    )
    policy = "<defaultQueueSchedulingPolicy>drf</defaultQueueSchedulingPolicy>"
    return f"<allocations>{families}{policy}</allocations>"


def fill(cluster: Cluster) -> None:
    """Applications of four tasks, over all queues; about half of what they ask for fits."""
    for n in range(APPLICATIONS):
        group = TaskGroup(
            name="work", count=4, resource=(4096, 2 + n % 3), command=Command(("true",))
        )
        queue = f"root.team{n % FAMILIES:02}.q{n // FAMILIES % LEAVES:02}"
        cluster.engine.report(
            SubmitApplication(user=f"user{n % 97}", queue=queue, name=f"job-{n}", tasks=(group,))
        )


def settle(cluster: Cluster) -> None:
    """Wait until nothing happens any more."""
    version = -1
    while True:
        answer = cluster.http.get("/changes", params={"since": max(0, version), "timeout": 3})
        if answer.json()["version"] == version:
            return
        version = answer.json()["version"]


def seconds_of(process: int, name: str = "") -> float:
    """Processor time of a process and all below it, or of those that run a program of this name."""
    total = 0.0
    ticks = os.sysconf("SC_CLK_TCK")
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rsplit(")", 1)[1].split()
            program = path.with_name("cmdline").read_text().partition("\0")[0]
        except OSError:
            continue
        if name and Path(program).name != name:
            continue
        pid = int(path.parent.name)
        if pid == process or process in ancestors(pid):
            total += (int(fields[11]) + int(fields[12])) / ticks
    return total


def ancestors(process: int) -> list[int]:
    """The processes above one, the nearest first."""
    found: list[int] = []
    while process > 1:
        try:
            fields = Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()
        except OSError:
            break
        process = int(fields[1])
        found.append(process)
    return found


def first_view(open_page: Callable[[], Page], url: str, rows: str) -> tuple[float, float, Page]:
    """Milliseconds from the address to rows, in a fresh tab without a cache, by the page's own
    clock; then the processor time of browser, its driver and server meanwhile."""
    page = open_page()
    page.add_init_script(f"({WATCH})({json.dumps(rows)})")
    used = seconds_of(os.getpid())
    page.goto(url, wait_until="commit")
    page.wait_for_function("() => window.firstViewMs", timeout=60_000)
    took = float(page.evaluate("() => window.firstViewMs"))
    return took, (seconds_of(os.getpid()) - used) * 1_000, page


def update(cluster: Cluster, page: Page) -> float:
    """Milliseconds from the answer to a submission until the strip counts it."""
    shown = page.locator(".strip h3", has_text="Applications").locator("xpath=../div")
    before = shown.inner_text()
    cluster.submit("root.team00.q00", 1, resources={"memory-mb": 128, "vcores": 1})
    began = time.perf_counter()
    page.wait_for_function(
        "before => ![...document.querySelectorAll('.strip .big')]"
        ".some(e => e.innerText === before)",
        arg=before,
        polling=20,
        timeout=60_000,
    )
    return (time.perf_counter() - began) * 1_000


def memory_mb(page: Page) -> float:
    """What the scripts of a tab hold, after a collection."""
    session = page.context.new_cdp_session(page)
    session.send("HeapProfiler.collectGarbage")
    session.send("Performance.enable")
    metrics: dict[str, Any] = {
        one["name"]: one["value"] for one in session.send("Performance.getMetrics")["metrics"]
    }
    return float(metrics["JSHeapUsedSize"]) / 1_048_576


def main() -> None:
    """Measure and print."""
    if CHROMIUM is None:
        raise SystemExit(MISSING)
    with tempfile.TemporaryDirectory() as place, sync_playwright() as playwright:
        conf = fair_configuration(Path(place) / "conf", allocations())
        with running(conf, Path(place) / "state", nodes=NODES, offer=OFFER, racks=100) as cluster:
            fill(cluster)
            settle(cluster)
            count = len(cluster.http.get("/queues").json()["queues"])
            print(f"{count:,} queues, {APPLICATIONS:,} applications, {NODES:,} nodes, ", end="")
            print(f"{len(cluster.engine.live):,} containers", flush=True)
            browser = playwright.chromium.launch(executable_path=CHROMIUM, args=list(ARGUMENTS))

            def open_page() -> Page:
                return browser.new_context(viewport={"width": 1440, "height": 900}).new_page()

            for name, path, rows in PAGES:
                if sys.argv[1:] and name not in sys.argv[1:]:
                    continue
                measure(cluster, open_page, name, path, rows)
            print(f"load average  {os.getloadavg()[0]:.0f}")
            browser.close()


def measure(
    cluster: Cluster, open_page: Callable[[], Page], name: str, path: str, rows: str
) -> None:
    """One page, with a line for each figure."""
    views: list[float] = []
    efforts: list[float] = []
    driver_s = seconds_of(os.getpid(), DRIVER)
    for _ in range(VIEWS):
        took, effort, page = first_view(open_page, cluster.url + path, rows)
        views.append(took)
        efforts.append(effort)
        page.wait_for_timeout(1_500)
        held = memory_mb(page)
        if len(views) < VIEWS:
            page.context.close()
    driver_ms = 1_000 * (seconds_of(os.getpid(), DRIVER) - driver_s) / VIEWS
    told = f"(median of {VIEWS}, the least {min(views):,.0f})"
    print(f"{name:13} first view   {statistics.median(views):7,.0f} ms  {told}")
    print(
        f"{name:13} of processor {statistics.median(efforts):7,.0f} ms"
        f"  (with at most {driver_ms:.0f} ms of the program that steers the browser)"
    )
    print(f"{name:13} memory       {held:7,.1f} MB of scripts in the tab")
    if name == "scheduler":
        updates = []
        for _ in range(CHANGES):
            page.wait_for_timeout(4_000)
            updates.append(update(cluster, page))
        print(f"{name:13} update       {statistics.median(updates):7,.0f} ms  (of {CHANGES})")
    if name in IDLE_AT:
        idle(name, page)
    page.context.close()


def idle(name: str, page: Page) -> None:
    """What browser and server use while nothing happens."""
    page.wait_for_timeout(4_000)
    before, began = seconds_of(os.getpid()), time.perf_counter()
    time.sleep(IDLE_S)
    used = (seconds_of(os.getpid()) - before) / (time.perf_counter() - began)
    print(f"{name:13} idle         {100 * used:7.1f} % of a core, browser and server", flush=True)


if __name__ == "__main__":
    main()
