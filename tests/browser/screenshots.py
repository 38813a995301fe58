"""Makes the pictures of the pages: `python -m tests.browser.screenshots FOLDER`.

A cluster of 24 nodes lives for some seconds under each scheduler: work comes and ends, so the
charts have something to show. `pictures.py` lists them.
"""

import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright
from tests.browser.cluster import Cluster, running
from tests.browser.conftest import (
    ARGUMENTS,
    CHROMIUM,
    MISSING,
    capacity_configuration,
    fair_configuration,
    pools_configuration,
)
from tests.browser.pictures import PICTURES, Picture, mark

NODES = 24
ROUNDS = 9
OFFER = {"memory-mb": 65_536, "vcores": 16}
POOL_OFFER = {"memory-mb": 65_536, "vcores": 16, "map-slots": 4, "reduce-slots": 2}

TREE = {
    "prod": (4, {"serving": 3, "billing": 1, "fraud-scoring": 2, "search-index": 2}),
    "etl": (3, {"ingest": 1, "clickstream": 2, "warehouse": 2, "backfill": 1}),
    "ml": (4, {"training": 4, "tuning": 2, "embeddings": 1, "notebooks": 1}),
    "bi": (1, {"dashboards": 1, "ad-hoc": 1}),
    "research": (2, {"language": 1, "vision": 1}),
}
SIZES = ({"memory-mb": 4_096, "vcores": 1}, {"memory-mb": 2_048, "vcores": 2})
NAMES = ("nightly", "sessions", "ranking", "features", "report", "compact", "train", "score")
USERS = ("ann", "ben", "cho", "dana", "eve")


def allocations() -> str:
    """An allocation file with the queues of `TREE`."""
    families = []
    for family, (weight, leaves) in TREE.items():
        below = "".join(
            f'<queue name="{leaf}"><weight>{own}</weight>'
            f"<minResources>{8_192 * own} mb, {2 * own} vcores</minResources></queue>"
            for leaf, own in leaves.items()
        )
        families.append(f'<queue name="{family}"><weight>{weight}</weight>{below}</queue>')
    policy = "<defaultQueueSchedulingPolicy>drf</defaultQueueSchedulingPolicy>"
    return f"<allocations>{''.join(families)}{policy}</allocations>"


def live_a_little(cluster: Cluster) -> None:
    """Work comes and ends for some rounds; what follows depends on nothing but the order."""
    leaves = [
        row["name"]
        for row in cluster.http.get("/queues").json()["queues"]
        if row["leaf"] and not row["name"].endswith(("backfill", "ad-hoc", "default"))
    ]
    for turn in range(ROUNDS):
        for n, leaf in enumerate(leaves):
            if (n + turn) % 3 == 0:
                cluster.submit(
                    leaf,
                    12 + (n * 17 + turn * 29) % 60,
                    name=f"{NAMES[(n + turn) % len(NAMES)]}-{turn + 1}",
                    user=USERS[(n * 2 + turn) % len(USERS)],
                    resources=SIZES[n % 2],
                )
        cluster.end_some(len(cluster.engine.live) // 6)
        time.sleep(1.2)  # history is written down once a second


def empty(directory: Path) -> Path:
    """The Fair Scheduler again, in which nothing has happened."""
    return fair_configuration(directory, allocations())


def fair(directory: Path) -> Path:
    """The tree of families."""
    return fair_configuration(directory, allocations())


CONFIGURATIONS: dict[str, Callable[[Path], Path]] = {
    "fair": fair,
    "capacity": capacity_configuration,
    "pools": pools_configuration,
    "empty": empty,
}


def take(browser: Browser, cluster: Cluster, picture: Picture, folder: Path) -> None:
    """One picture of one page."""
    path = picture.path
    if "{application}" in path:
        rows = cluster.http.get("/applications").json()["applications"]
        waiting = next(
            row for row in rows if row["state"] == "RUNNING" and row["progress"]["waiting"]
        )
        path = path.replace("{application}", waiting["id"])
    context = browser.new_context(
        viewport={"width": picture.width, "height": 900}, color_scheme=picture.theme
    )
    page = context.new_page()
    page.goto(cluster.url + path)
    page.wait_for_load_state("load")
    page.wait_for_selector("main > *")
    page.wait_for_timeout(1_500)
    page.screenshot(path=folder / f"{picture.name}.png")
    context.close()


def main(folder: Path, wanted: str = "") -> None:
    """All pictures, or those whose name contains a word."""
    if CHROMIUM is None:
        raise SystemExit(MISSING)
    folder.mkdir(parents=True, exist_ok=True)
    pictures = [picture for picture in PICTURES if wanted in picture.name]
    with tempfile.TemporaryDirectory() as place, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=list(ARGUMENTS))
        for scheduler, configure in CONFIGURATIONS.items():
            mine = [picture for picture in pictures if picture.scheduler == scheduler]
            if not mine:
                continue
            directory = configure(Path(place) / scheduler / "conf")
            offer = POOL_OFFER if scheduler == "pools" else OFFER
            state = Path(place) / scheduler / "state"
            with running(directory, state, nodes=NODES, offer=offer) as cluster:
                if scheduler != "empty":
                    live_a_little(cluster)
                for picture in mine:
                    take(browser, cluster, picture, folder)
                    mark(picture, folder)
                    print(folder / f"{picture.name}.png")
        browser.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:3])
