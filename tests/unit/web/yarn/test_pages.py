"""What stands beside YARN's REST interface on its port."""

import pytest

from fairshare.web.yarn import pages

pytestmark = pytest.mark.anyio


async def test_a_containers_logs_are_shown_from_their_end(yarn, monkeypatch):
    name = await yarn.submit()
    await yarn.beat()
    attempt = (await yarn.get(f"/apps/{name}/appattempts")).json()["appAttempts"]["appAttempt"][0]
    link = attempt["logsLink"].removeprefix("http://n1:8042")
    directory = yarn.server.gateway.files(yarn.state.applications[1].attempt.master)
    directory.stdout.parent.mkdir(parents=True, exist_ok=True)
    directory.stdout.write_text("first words <b>and</b> the last")
    page = await yarn.server.http.get(link)
    assert page.status_code == 200
    assert "first words &lt;b&gt;and&lt;/b&gt; the last" in page.text
    monkeypatch.setattr(pages, "MOST_BYTES", 8)
    page = await yarn.server.http.get(link)
    assert "<pre>the last</pre>" in page.text


async def test_the_way_to_a_master_leads_to_what_it_named(yarn):
    name = await yarn.submit()
    answer = await yarn.server.http.get(f"/proxy/{name}/")
    assert (answer.status_code, answer.headers["location"]) == (302, f"/cluster/app/{name}")
    yarn.server.gateway.attempt_history.of(1).attempt.tracking_url = "http://n1:4040/"
    answer = await yarn.server.http.get(f"/proxy/{name}/")
    assert answer.headers["location"] == "http://n1:4040/"
    yarn.server.gateway.attempt_history.of(1).attempt.tracking_url = "javascript:alert(1)"
    answer = await yarn.server.http.get(f"/proxy/{name}/")
    assert answer.headers["location"] == f"/cluster/app/{name}"


@pytest.mark.parametrize("path", ["/cluster", "/cluster/"])
async def test_the_bookmark_of_a_browser_leads_to_the_applications(yarn, path):
    browser = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"
    answer = await yarn.server.http.get(path, headers={"Accept": browser})
    assert (answer.status_code, answer.headers["location"]) == (302, "/cluster/apps")
    java = "text/html, image/gif, image/jpeg, *; q=.2, */*; q=.2"
    for accepted in (java, "*/*"):
        probed = await yarn.server.http.get(path, headers={"Accept": accepted})
        assert probed.status_code == 200
        assert "All Applications" in probed.text


async def test_beans_are_found_by_name(yarn):
    found = (await yarn.server.http.get("/jmx?qry=Hadoop:service=ResourceManager,name=C*")).json()
    assert [bean["NumActiveNMs"] for bean in found["beans"]] == [1]
    assert len((await yarn.server.http.get("/jmx")).json()["beans"]) == 2
