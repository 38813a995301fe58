"""Forms, callers and refusals of YARN's interface."""

import gzip
from xml.etree import ElementTree

import pytest

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize(
    ("accept", "kind"),
    [
        (None, "application/json"),
        ("*/*", "application/json"),
        ("application/xml", "application/xml"),
        ("application/xml;q=0.5, application/json", "application/json"),
        ("text/html,application/xml;q=0.9,*/*;q=0.8", "application/xml"),
        ("application/*, application/xml", "application/xml"),
        ("*/*, application/xml", "application/xml"),
        ("application/xml, application/json", "application/xml"),
        ("application/xml;q=0, */*", "application/json"),
    ],
)
async def test_the_caller_chooses_the_form(yarn, accept, kind):
    headers = {"Accept": accept} if accept else {}
    answer = await yarn.get("/info", headers=headers)
    assert answer.status_code == 200
    assert answer.headers["content-type"].startswith(kind)


async def test_a_form_that_there_is_not_is_406(yarn):
    assert (await yarn.get("/info", headers={"Accept": "text/plain"})).status_code == 406


JAVA = "text/html, image/gif, image/jpeg, *; q=.2, */*; q=.2"


@pytest.mark.parametrize(
    ("accept", "status", "kind"),
    [
        ("*/*", 200, "application/vnd.sun.wadl+xml;charset=utf-8"),
        (JAVA, 200, "application/vnd.sun.wadl+xml;charset=utf-8"),
        ("application/vnd.sun.wadl+xml", 200, "application/vnd.sun.wadl+xml;charset=utf-8"),
        ("application/xml", 200, "application/xml;charset=utf-8"),
        ("application/json", 204, "text/plain;charset=utf-8"),
        ("text/html,application/json", 204, "text/plain;charset=utf-8"),
    ],
)
async def test_the_methods_of_a_path_are_described_as_by_the_server_of_3_4_1(
    yarn, accept, status, kind
):
    answer = await yarn.call("OPTIONS", "/apps/x/state", headers={"Accept": accept})
    assert (answer.status_code, answer.headers["content-type"]) == (status, kind)
    assert answer.headers["allow"] == "OPTIONS,HEAD,PUT,GET"
    if status == 200:
        space = "{http://wadl.dev.java.net/2009/02}"
        (path,) = ElementTree.fromstring(answer.content).iter(f"{space}resource")
        assert path.get("path") == "ws/v1/cluster/apps/x/state"
        assert {one.get("name") for one in path.iter(f"{space}method")} == {"GET", "PUT"}


async def test_what_is_not_there_is_answered_in_xml_as_by_the_server_of_3_4_1(yarn):
    name = f"application_{yarn.state.epoch_ms}_9999"
    answer = await yarn.get(f"/apps/{name}", headers={"Accept": "application/xml"})
    assert (answer.status_code, answer.text) == (500, "")
    assert (await yarn.get(f"/apps/{name}")).status_code == 404


async def test_a_body_may_come_packed(yarn):
    name = await yarn.submit()
    answer = await yarn.call(
        "PUT",
        f"/apps/{name}/state",
        content=gzip.compress(b'{"state":"KILLED"}'),
        headers={"Content-Type": "application/json", "Content-Encoding": "gzip"},
    )
    assert answer.status_code == 202


@pytest.mark.parametrize(
    "content",
    [b"<!DOCTYPE x [<!ENTITY a 'b'>]><appstate><state>&a;</state></appstate>", b"<a", b""],
)
async def test_a_body_that_is_not_plain_xml_is_refused(yarn, content):
    name = await yarn.submit()
    headers = {"Content-Type": "application/xml"}
    answer = await yarn.call("PUT", f"/apps/{name}/state", content=content, headers=headers)
    assert answer.status_code == 400


async def test_a_name_is_remembered_by_a_cookie_that_only_we_can_make(yarn):
    reported = await yarn.get("/userinfo?user.name=alice")
    cookie = reported.headers["set-cookie"].partition(";")[0]
    again = await yarn.get("/userinfo", headers={"Cookie": cookie})
    assert again.json()["requestedUser"] == "alice"
    forged = cookie.replace("alice", "admin")
    assert (await yarn.get("/userinfo", headers={"Cookie": forged})).json() == {
        "rmLoginUser": "yarn",
        "requestedUser": "dr.who",
    }


@pytest.mark.parametrize(
    "name", ["Ā", "名前", "a&u=admin", 'a"; Domain=x', "two words", "a\nb", "50%41"]
)
async def test_a_cookie_carries_any_name_and_nothing_else(yarn, name):
    answer = await yarn.get("/userinfo", params={"user.name": name})
    assert answer.status_code == 200
    cookie = answer.headers["set-cookie"].partition(";")[0]
    again = await yarn.get("/userinfo", headers={"Cookie": cookie})
    assert again.json()["requestedUser"] == name


async def test_anonymous_access_can_be_disabled(start):
    yarn = await start(**{"hadoop.http.authentication.simple.anonymous.allowed": False})
    assert (await yarn.get("/info")).status_code == 401
    assert (await yarn.get("/info?user.name=alice")).status_code == 200


async def test_only_a_proxy_may_act_for_others(start):
    yarn = await start(
        **{"hadoop.proxyuser.hue.hosts": "*", "hadoop.proxyuser.hue.groups": "staff"}
    )
    yarn.server.gateway._groups["bob"] = ["staff"]
    allowed = await yarn.get("/userinfo?user.name=hue&doAs=bob")
    assert allowed.json()["requestedUser"] == "bob"
    assert (await yarn.get("/userinfo?user.name=hue&doAs=carol")).status_code == 403
    assert (await yarn.get("/userinfo?user.name=eve&doAs=bob")).status_code == 403


async def test_pages_of_trusted_sites_may_read(start):
    yarn = await start(
        **{
            "hadoop.http.filter.initializers": "x.HttpCrossOriginFilterInitializer",
            "yarn.resourcemanager.webapp.cross-origin.enabled": True,
            "hadoop.http.cross-origin.allowed-origins": "http://*.example",
        }
    )
    trusted = await yarn.get("/info", headers={"Origin": "http://ui.example"})
    assert trusted.headers["access-control-allow-origin"] == "http://ui.example"
    foreign = await yarn.get("/info", headers={"Origin": "http://evil.test"})
    assert foreign.status_code == 403


async def test_the_list_of_applications_says_the_same_in_both_forms(yarn):
    names = [await yarn.submit() for _ in range(3)]
    await yarn.call("PUT", f"/apps/{names[0]}/state", json={"state": "KILLED"})
    found = (await yarn.get("/apps")).json()["apps"]["app"]
    assert [one["id"] for one in found] == names
    written = (await yarn.get("/apps", headers={"Accept": "application/xml"})).text
    assert written.count("<app>") == 3
    assert (await yarn.get("/apps?states=KILLED")).json()["apps"]["app"] == found[:1]
