"""A master's pages are fetched for browsers below `/proxy/ID/`."""

import asyncio
from contextlib import asynccontextmanager

import pytest
import uvicorn
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route

from fairshare.yarn.rest import master_pages

pytestmark = pytest.mark.anyio


class MasterServer:
    """The web server of a master: it writes down what it is asked."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, str]] = []
        self.headers: dict[str, str] = {}
        self.body = b""
        self.moves_to = ""

    async def answer(self, request):
        query = f"?{request.url.query}" if request.url.query else ""
        self.asked.append((request.method, request.scope["raw_path"].decode() + query))
        self.headers = dict(request.headers)
        self.body = await request.body()
        if self.moves_to:
            return RedirectResponse(self.moves_to, 302)
        if request.url.path.endswith("/none"):
            return Response("nothing there", 404, media_type="text/html")
        return PlainTextResponse(
            "two executors", headers={"Set-Cookie": "hadoop.auth=x", "X-Other": "1", "ETag": '"1"'}
        )


@asynccontextmanager
async def listening(master: MasterServer):
    route = Route("/{rest:path}", master.answer, methods=["GET", "POST", "PUT"])
    app = Starlette(routes=[route])
    server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="warning", lifespan="off"))
    task = asyncio.create_task(server.serve())
    while not server.started:
        await asyncio.sleep(0)
    master.address = f"127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    try:
        yield
    finally:
        server.should_exit = True
        await task


@pytest.fixture
async def master(yarn):
    """The master of a running application on a node of this machine."""
    made = MasterServer()
    made.application = await yarn.submit()
    await yarn.beat()
    made.attempt = yarn.server.gateway.attempt_history.of(1).attempt
    yarn.server.gateway.node_web_address = lambda node: yarn.server.gateway.address
    async with listening(made):
        made.attempt.tracking_url = f"http://{made.address}/ui"
        yield made


async def open_page(yarn, master, rest="", method="GET", **more):
    yarn.server.http.cookies.clear()
    path = f"/proxy/{master.application}/{rest}"
    return await yarn.server.http.request(method, path, **more)


async def test_a_page_passes_with_the_named_headers_only(yarn, master):
    answer = await open_page(
        yarn,
        master,
        "jobs/a%20b?id=7&x=%2F",
        headers={"Accept-Language": "fr", "Authorization": "Bearer x", "X-Forwarded-User": "root"},
    )
    assert (answer.status_code, answer.text) == (200, "two executors")
    assert answer.headers["etag"] == '"1"'
    assert not {"set-cookie", "x-other"} & set(answer.headers)
    assert master.asked == [("GET", "/ui/jobs/a%20b?id=7&x=%2F")]
    assert master.headers["accept-language"] == "fr"
    assert master.headers["host"] == master.address
    assert not {"authorization", "x-forwarded-user"} & set(master.headers)
    assert yarn.server.http._transport.app.state.master_calls.open == 0


async def test_a_master_packs_its_page_only_for_a_caller_that_unpacks_it(yarn, master):
    del yarn.server.http.headers["accept-encoding"]  # the test's own client unpacks
    await open_page(yarn, master, "jobs")
    assert master.headers["accept-encoding"] == "identity"
    await open_page(yarn, master, "jobs", headers={"Accept-Encoding": "br"})
    assert master.headers["accept-encoding"] == "br"


async def test_the_master_gets_the_user_in_a_cookie(yarn, master):
    await open_page(yarn, master, "?user.name=bob")
    assert master.headers["cookie"] == "proxy-user=bob"


async def test_an_answer_keeps_its_status(yarn, master):
    assert (await open_page(yarn, master, "none")).status_code == 404


async def test_a_form_reaches_the_master(yarn, master):
    await open_page(yarn, master, "kill", "POST", data={"id": "7"})
    assert (master.asked, master.body) == ([("POST", "/ui/kill")], b"id=7")


async def test_redirects_of_the_master_stay_below_the_path(yarn, master):
    own = f"/proxy/{master.application}"
    for location, expected in (
        ("/ui/jobs/?a=1", f"{own}/jobs/?a=1"),
        (f"http://{master.address}/ui/jobs/", f"{own}/jobs/"),
        (f"{own}/stages/", f"{own}/stages/"),
        ("http://history.example/job/1", "http://history.example/job/1"),
        ("jobs/", "jobs/"),
    ):
        master.moves_to = location
        answer = await open_page(yarn, master)
        assert (answer.status_code, answer.headers["location"]) == (302, expected)


async def test_a_master_that_does_not_admit_this_server_is_reported(yarn, master):
    here = yarn.server.http.base_url.netloc.decode()
    master.moves_to = f"http://{here}/proxy/{master.application}/jobs"
    answer = await open_page(yarn, master, "jobs")
    assert answer.status_code == 502
    assert "yarn.resourcemanager.webapp.address" in answer.text


async def test_a_path_without_a_slash_at_its_end_leads_to_the_one_with_it(yarn, master):
    answer = await yarn.server.http.get(f"/proxy/{master.application}")
    assert (answer.status_code, master.asked) == (302, [])
    assert answer.headers["location"] == f"/proxy/{master.application}/"


async def test_a_master_that_does_not_answer_is_named(yarn, master):
    master.attempt.tracking_url = "http://127.0.0.1:9/"
    answer = await open_page(yarn, master)
    assert answer.status_code == 502
    assert "127.0.0.1:9" in answer.text


async def test_the_page_of_an_application_that_is_over_is_where_it_said(yarn, master):
    await yarn.call("PUT", f"/apps/{master.application}/state", json={"state": "KILLED"})
    answer = await open_page(yarn, master)
    assert (answer.status_code, answer.headers["location"]) == (302, master.attempt.tracking_url)
    assert master.asked == []


@pytest.mark.slow
@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "[::1]", "[::ffff:127.0.0.1]"])
async def test_a_master_elsewhere_cannot_have_services_of_this_machine_called(yarn, master, host):
    yarn.server.gateway.node_web_address = lambda node: "192.0.2.1:8042"
    master.attempt.tracking_url = f"http://{host}:{master.address.partition(':')[2]}/"
    answer = await open_page(yarn, master)
    assert (answer.status_code, master.asked) == (302, [])


@pytest.mark.slow
@pytest.mark.parametrize("host", ["169.254.169.254", "[fe80::1]", "224.0.0.1", "0.0.0.0"])
async def test_no_master_can_have_services_of_the_link_called(yarn, master, host):
    master.attempt.tracking_url = f"http://{host}/latest"
    assert (await open_page(yarn, master)).status_code == 302


async def test_a_request_that_came_through_here_already_is_refused(yarn, master):
    answer = await open_page(yarn, master, headers={"Via": "1.1 fairshare"})
    assert (answer.status_code, master.asked) == (508, [])


async def test_requests_at_one_time_are_limited(yarn, master, monkeypatch):
    monkeypatch.setattr(master_pages, "MOST_AT_ONCE", 0)
    assert (await open_page(yarn, master)).status_code == 503
