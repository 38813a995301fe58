"""A real browser for the pages. Whatever a test does, a page may write no error to the console,
ask no other host for anything, and break no rule of its own policy: that is
checked behind every test.
"""

import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest
from tests.browser.cluster import Cluster, running

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser"))), None)
FEATURES_LEFT_OUT = (
    *("WebUIOmniboxPopup", "WebUIOmniboxAimPopup", "WebUIOmniboxFullPopup"),
    *("PreloadTopChromeWebUI", "SpareRendererForSitePerProcess"),
    *("AvoidUnnecessaryBeforeUnloadCheckSync", "DestroyProfileOnBrowserClose", "HttpsUpgrades"),
    *("HttpsFirstBalancedModeAutoEnable", "LensOverlay", "MediaRouter", "PaintHolding"),
    *("ThirdPartyStoragePartitioning", "AvoidCorsURLLoaderRestartOnRedirect", "AimEnabled"),
    *("OptimizationHints", "NetworkTimeServiceQuerying", "PreconnectToSearch"),
)
"""What Chromium does without. It loads the pages of an address bar in each window, which no one
sees: they took as much processor time as the page of the test. Behind each page it starts a process
for a next one, which never comes. The features after these are those that Playwright leaves out: of
two such lists Chromium reads the last."""

ARGUMENTS = (
    f"--disable-features={','.join(FEATURES_LEFT_OUT)}",
    "--no-sandbox",
    "--disable-dev-shm-usage",
    "--disable-gpu",
    "--no-proxy-server",
    "--disable-background-networking",
    "--disable-component-update",
    "--no-first-run",
)
MISSING = "the pages' tests need Chromium: on Debian `apt-get install chromium`"

GONE = (
    "ERR_CONNECTION_REFUSED",
    "ERR_CONNECTION_RESET",
    "ERR_EMPTY_RESPONSE",
    "ERR_INCOMPLETE_CHUNKED_ENCODING",
)
"""What Chromium says when a server has ended, as it does at the end of many tests."""

FAIR = """<allocations>
  <queue name="prod"><weight>3</weight><minResources>4096 mb, 4 vcores</minResources>
    <queue name="serving"/>
    <queue name="billing"><maxResources>8192 mb, 8 vcores</maxResources></queue>
  </queue>
  <queue name="etl"><maxRunningApps>1</maxRunningApps></queue>
  <queue name="ml"><weight>2</weight><queue name="training"/><queue name="tuning"/></queue>
  <defaultQueueSchedulingPolicy>drf</defaultQueueSchedulingPolicy>
</allocations>"""

CAPACITY = {
    "root.queues": "prod,ml",
    "root.prod.capacity": "60",
    "root.prod.maximum-capacity": "80",
    "root.prod.queues": "serving,billing",
    "root.prod.serving.capacity": "70",
    "root.prod.billing.capacity": "30",
    "root.ml.capacity": "40",
    "root.ml.user-limit-factor": "2",
    "root.ml.minimum-user-limit-percent": "25",
}

POOLS = """<allocations>
  <pool name="ads"><minMaps>4</minMaps><weight>2.0</weight></pool><pool name="search"/>
</allocations>"""


def write_site(directory: Path, **properties: str) -> Path:
    """A configuration directory with a yarn-site.xml; dots in names are written as __."""
    directory.mkdir(parents=True, exist_ok=True)
    rows = "".join(
        f"<property><name>{name.replace('__', '.')}</name><value>{value}</value></property>"
        for name, value in properties.items()
    )
    (directory / "yarn-site.xml").write_text(f"<configuration>{rows}</configuration>")
    return directory


def fair_configuration(directory: Path, allocations: str = FAIR, **more: str) -> Path:
    """A configuration of the Fair Scheduler."""
    fair = "org.apache.hadoop.yarn.server.resourcemanager.scheduler.fair.FairScheduler"
    write_site(directory, yarn__resourcemanager__scheduler__class=fair, **more)
    (directory / "fair-scheduler.xml").write_text(allocations)
    return directory


def capacity_configuration(directory: Path, settings: Mapping[str, str] = CAPACITY) -> Path:
    """A configuration of the Capacity Scheduler; settings without their prefix."""
    capacity = "org.apache.hadoop.yarn.server.resourcemanager.scheduler.capacity.CapacityScheduler"
    write_site(directory, yarn__resourcemanager__scheduler__class=capacity)
    rows = "".join(
        f"<property><name>yarn.scheduler.capacity.{name}</name><value>{value}</value></property>"
        for name, value in settings.items()
    )
    (directory / "capacity-scheduler.xml").write_text(f"<configuration>{rows}</configuration>")
    return directory


def pools_configuration(directory: Path) -> Path:
    """A configuration of MapReduce's scheduler of pools, in which a job's queue is its pool."""
    directory.mkdir(parents=True, exist_ok=True)
    properties = {
        "mapred.jobtracker.taskScheduler": "org.apache.hadoop.mapred.FairScheduler",
        "mapred.fairscheduler.poolnameproperty": "pool.name",
    }
    rows = "".join(
        f"<property><name>{name}</name><value>{value}</value></property>"
        for name, value in properties.items()
    )
    (directory / "mapred-site.xml").write_text(f"<configuration>{rows}</configuration>")
    (directory / "fair-scheduler.xml").write_text(POOLS)
    return directory


@pytest.fixture(scope="module")
def browser() -> Iterator[object]:
    """One Chromium for all tests of a file. Not longer: while it is there its event loop runs in
    this thread, and no other test could have one."""
    if CHROMIUM is None:
        if os.environ.get("CI") == "true":
            pytest.fail(MISSING)
        pytest.skip(MISSING)
    playwright = pytest.importorskip("playwright.sync_api")
    with playwright.sync_playwright() as started:
        chromium = started.chromium.launch(executable_path=CHROMIUM, args=list(ARGUMENTS))
        yield chromium
        chromium.close()


@pytest.fixture
def visit(browser) -> Iterator[Callable[..., object]]:
    """Open an address: `visit(url, width=1440, theme="light")`; what goes wrong is told at the end.

    `forgiven`: texts of console errors that a test means to happen.
    """
    contexts = []
    troubles: list[str] = []
    forgiven: list[str] = [*GONE]

    def open_page(url: str, *, width: int = 1440, height: int = 900, theme: str = "light"):
        context = browser.new_context(
            viewport={"width": width, "height": height}, color_scheme=theme
        )
        context.set_default_timeout(30_000)
        contexts.append(context)
        page = context.new_page()
        page.on(
            "console",
            lambda said: troubles.append(f"console: {said.text}") if said.type == "error" else None,
        )
        page.on("pageerror", lambda error: troubles.append(f"error: {error}"))
        origin = "/".join(url.split("/")[:3])
        page.on(
            "request",
            lambda asked: (
                None
                if asked.url.startswith((f"{origin}/", "data:", "blob:"))
                else troubles.append(f"another host: {asked.url}")
            ),
        )
        page.goto(url)
        return page

    open_page.forgiven = forgiven
    yield open_page
    for context in contexts:
        context.close()
    left = [one for one in troubles if not any(words in one for words in forgiven)]
    assert left == []


@pytest.fixture(scope="module")
def fair(tmp_path_factory) -> Iterator[Cluster]:
    """A cluster of four nodes under the Fair Scheduler, in which three queues are at work."""
    place = tmp_path_factory.mktemp("fair")
    with running(fair_configuration(place / "conf"), place / "state") as cluster:
        cluster.submit("root.prod.serving", 6, name="serve", user="ann")
        cluster.submit("root.etl", 2, name="load", user="cho")
        cluster.until(lambda: len(cluster.engine.live) >= 8)
        cluster.submit("root.ml.training", 40, name="train", user="ben")
        cluster.submit("root.etl", 2, name="load again", user="cho")
        cluster.until(lambda: len(cluster.engine.live) >= 32)
        yield cluster


@pytest.fixture(scope="module")
def pools(tmp_path_factory) -> Iterator[Cluster]:
    """Two pools of MapReduce with a job each, on four nodes with two map slots each."""
    place = tmp_path_factory.mktemp("pools")
    slots = {"memory-mb": 8192, "vcores": 8, "map-slots": 2, "reduce-slots": 1}
    one = {"memory-mb": 256, "vcores": 1, "map-slots": 1}
    with running(pools_configuration(place / "conf"), place / "state", offer=slots) as cluster:
        cluster.submit("ads", 20, name="clicks", user="ann", resources=one)
        cluster.submit("search", 9, name="index", user="ben", resources=one)
        cluster.until(lambda: len(cluster.engine.live) >= 8)
        yield cluster


@pytest.fixture(scope="module")
def capacity(tmp_path_factory) -> Iterator[Cluster]:
    """The same under the Capacity Scheduler: in root.ml one user asks for more, one does not."""
    place = tmp_path_factory.mktemp("capacity")
    with running(capacity_configuration(place / "conf"), place / "state") as cluster:
        cluster.submit("root.ml", 2, name="small", user="ann")
        cluster.until(lambda: len(cluster.engine.live) >= 2)
        cluster.submit("root.ml", 60, name="large", user="ben")
        cluster.until(lambda: len(cluster.engine.live) >= 20)
        yield cluster
