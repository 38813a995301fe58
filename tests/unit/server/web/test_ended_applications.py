"""What is said of applications that have ended is the same when they are packed, and when another
server has read them from records or from a snapshot."""

import shutil

import msgspec
import pytest
from tests.manual_engine import ManualEngine

from fairshare.core.model.ended import EndedApplication, pack
from fairshare.core.model.inputs import UpdateShares
from fairshare.core.model.invariants import check
from fairshare.engines.protocol import NodeOffer

from .conftest import served

pytestmark = pytest.mark.anyio

SMALL = {"memory-mb": 64, "vcores": 1}
YARN = "http://127.0.0.1:1/ws/v1/cluster"


def group(name="work", count=4, **more):
    return {"name": name, "command": "work {}", "count": count, "resources": SMALL, **more}


def state_of(page):
    return page.server.service.state


@pytest.fixture
def engine(tmp_path):
    offer = NodeOffer("n1", "/r1", {"memory-mb": 8192, "vcores": 16}, {})
    return ManualEngine(tmp_path / "containers", offer)


async def fill(page):
    """Applications that ended well and badly, were killed while they ran, waited, or were held,
    were moved and refused, and one with a driver."""
    await page.submit(user="ann", queue="a", name="well", tags=["t"], tasks=[group()])
    await page.launched(4)  # before those of the next one
    first = group("first", count=2, max_attempts=1, keep_going=True)
    second = group("second", after=["first"], array={"lines": list("abcd")})
    await page.submit(user="bob", queue="b", name="badly", tasks=[first, second])
    for number, container in enumerate(await page.launched(6)):
        page.engine.end(container, number // 5, diagnostics=f"said {number}")
    for name in ("runs", "waits"):
        await page.submit(user="eve", queue="a", name=name, tasks=[group(count=40)])
    await page.submit(user="eve", queue="b", name="held", held=True, tasks=[group()])
    drives = {"driver": {"command": "drive"}, "master": {"resources": SMALL}}
    await page.submit(user="ann", queue="b", name="drives", **drives)
    large = group(resources={"memory-mb": 10**9, "vcores": 1})
    refused = await page.post("/applications", json={"user": "ann", "queue": "a", "tasks": [large]})
    assert refused.status_code == 409, refused.text
    known = list(state_of(page).applications.values())
    assert len(known) == 7
    await page.until(lambda: known[0].over and known[1].over)
    move = f"/applications/{name_of(page, known[3])}/move"
    moved = await page.post(move, json={"queue": "b", "user": "eve"})
    assert moved.status_code == 200, moved.text
    for application in known[2:6]:
        await page.post(f"/applications/{name_of(page, application)}/kill", json={})
    await page.until(lambda: all(application.over for application in known))
    await page.server.service.ask(UpdateShares())


def name_of(page, application):
    return f"application_{state_of(page).epoch_ms}_{application.id:04d}"


async def answers(page):
    """All that is said of all applications, by path."""
    names = [name_of(page, one) for one in state_of(page).applications.values()]
    paths = ["/applications", "/applications?sort=-name&offset=0"]
    for name in names:
        parts = ("", "/tasks", "/containers", "/timeline", "/efficiency")
        paths += [f"/applications/{name}{part}" for part in parts]
    paths += [f"{YARN}/apps", f"{YARN}/apps?states=KILLED", f"{YARN}/apps?applicationTags=t"]
    paths += [f"{YARN}/apps?user=eve&queue=root.a", f"{YARN}/metrics", f"{YARN}/appstatistics"]
    for name in names:
        paths += [f"{YARN}/apps/{name}", f"{YARN}/apps/{name}/appattempts"]
    found = {}
    for path in paths:
        answer = await page.get(path)
        said = answer.json()
        said.pop("now_ms", None)
        found[path] = (answer.status_code, said)
    return found


def pack_all(page):
    for application in state_of(page).applications.values():
        assert pack(application), application.id
        page.server.projections.pack(application.id)
    assert {type(one) for one in state_of(page).applications.values()} == {EndedApplication}


async def test_answers_about_packed_ones_are_as_before_also_from_later_servers(
    page, server_settings, engine, tmp_path
):
    await fill(page)
    before = await answers(page)
    assert not {path: code for path, (code, _) in before.items() if code != 200}
    pack_all(page)
    assert await answers(page) == before
    check(state_of(page))
    copy = tmp_path / "as it was when the server was killed"
    shutil.copytree(server_settings.state_directory, copy)
    await page.server.end()
    for directory in (copy, server_settings.state_directory):
        settings = msgspec.structs.replace(server_settings, state_directory=directory)
        async with served(settings, engine) as later:
            assert await answers(later) == before
            pack_all(later)
            assert await answers(later) == before


async def test_metrics_and_filters_open_no_packed_application(page):
    await fill(page)
    filters = "applicationTags=t", "applicationTypes=yarn", "states=FAILED", "finishedTimeEnd=1"
    paths = [f"{YARN}/apps?limit=1&{one}" for one in filters]
    paths += [f"{YARN}/metrics", f"{YARN}/appstatistics?applicationTypes=yarn"]
    paths.append("http://127.0.0.1:1/jmx?qry=Hadoop:service=ResourceManager,name=QueueMetrics,*")
    before = [(await page.get(path)).json() for path in paths]
    assert before[-1]["beans"][0]["AppsSubmitted"] > 0
    pack_all(page)
    whole = {one: one.packed for one in state_of(page).applications.values()}
    for application, packed in whole.items():
        application.packed = packed[:-8]
        with pytest.raises(msgspec.DecodeError):
            application.submission  # noqa: B018
    assert [(await page.get(path)).json() for path in paths] == before
    for application, packed in whole.items():  # for the snapshot at the end
        application.packed = packed


async def test_long_names_and_many_tags_are_packed_and_read_again(page):
    tags = [f"tag-{number}-{'x' * number}" for number in range(20)]
    await page.submit(user="ann", queue="a", name="n" * 1000, tags=tags, tasks=[group(count=1)])
    (application,) = state_of(page).applications.values()
    await page.post(f"/applications/{name_of(page, application)}/kill", json={})
    await page.until(lambda: application.over)
    submission, brief = application.submission, application.brief
    pack_all(page)
    assert (application.submission, application.brief) == (submission, brief)
    assert (application.unmanaged, application.managed) == (False, False)
