"""A past moment in a real browser: the whole page shows it, says what is not kept, and acts on
nothing."""

import pytest
from tests.browser.accessibility import serious_problems
from tests.browser.cluster import running
from tests.browser.conftest import fair_configuration


@pytest.fixture(scope="module")
def lived(tmp_path_factory):
    """A cluster, the id of an application that has been killed since, the moment at which it ran,
    and the id of one that waited then: (cluster, application, moment in ms, application)."""
    place = tmp_path_factory.mktemp("past")
    conf = fair_configuration(place / "conf")
    with running(conf, place / "state") as cluster:
        old = cluster.submit("root.ml.training", 5, name="old work", user="ann")
        cluster.until(lambda: len(cluster.engine.live) == 5)
        large = {"memory-mb": 8192, "vcores": 4}
        waited = cluster.submit("root.etl", 1, name="large work", user="cho", resources=large)
        then = remembered(cluster, "root.ml.training", 5)
        cluster.http.post(f"/applications/{old}/kill", json={})
        cluster.http.post(f"/applications/{waited}/kill", json={})
        cluster.until(lambda: not cluster.engine.live)
        cluster.submit("root.etl", 2, name="new work", user="cho")
        cluster.until(lambda: len(cluster.engine.live) == 2)
        remembered(cluster, "root.etl", 2)
        found = cluster.http.get("/configuration/document").json()
        text = found["text"].replace("<weight>3</weight>", "<weight>8</weight>")
        body = {"text": text, "digest": found["digest"], "note": "heavier"}
        assert cluster.http.post("/admin/configuration/document", json=body).status_code == 200
        yield cluster, old, then, waited


def remembered(cluster, queue: str, vcores: int) -> int:
    """The moment at which the history has a queue with so much, once it has one."""
    points = []

    def has_it():
        points[:] = cluster.http.get("/history", params={"queue": queue}).json()["points"]
        return points and points[-1]["used"]["vcores"] == vcores

    cluster.until(has_it, timeout_s=60)  # moments are a second apart, or more
    return int(points[-1]["at_ms"])


def at(visit, lived, path: str, **more):
    cluster, _, then, _ = lived
    page = visit(f"{cluster.url}{path}{'&' if '?' in path else '?'}at={then}", **more)
    page.locator(".notice.past", has_text="You look at").wait_for()
    return page


def test_the_list_of_applications_shows_the_past_states(visit, lived):
    page = at(visit, lived, "/cluster/apps")
    page.locator(".list-table .vt-body .vt-row", has_text="old work").get_by_text("runs").wait_for()
    page.get_by_text("1 ran, 1 waited · 5 containers.").wait_for()
    assert page.locator(".list-table .vt-body .vt-row").count() == 2
    page.get_by_role("button", name="Back to live").click()
    page.locator(".vt-row", has_text="new work").wait_for()
    page.locator(".vt-row", has_text="old work").get_by_text("killed").wait_for()


def test_one_application_shows_its_life_and_containers_up_to_then_and_no_action(visit, lived):
    page = at(visit, lived, f"/cluster/app/{lived[1]}?tab=containers")
    page.locator(".verdict", has_text="Ran in 5 containers").wait_for()
    page.wait_for_function("document.querySelectorAll('.span.running').length == 5")
    page.wait_for_function(
        "document.querySelectorAll('.tab-panel .vt-body .state.run').length == 5"
    )
    assert page.locator(".actions button").count() == 0
    for tab, words in (
        ("Why it waits", "It waited for nothing."), ("Logs", "is not kept"),
        ("Efficiency", "is not kept"),
    ):  # fmt: skip
        page.get_by_role("tab", name=tab).click()
        page.locator(".tab-panel", has_text=words).wait_for()
    page.get_by_role("tab", name="About it").click()
    page.locator(".facts", has_text="not kept of past moments").wait_for()


def test_one_application_shows_why_it_waited_then(visit, lived):
    """It waits no longer: it has been killed since."""
    cluster, waited, then = lived[0], lived[3], lived[2]
    page = visit(f"{cluster.url}/cluster/app/{waited}?at={then}&tab=why")
    page.locator(".reasons .reason-sentence", has_text="No node").wait_for(timeout=60_000)
    page.locator(".reasons .mono", has_text="no-room").wait_for()
    assert "now" not in page.locator("section", has_text="From submission").last.inner_text()
    page.get_by_role("button", name="Back to live").click()
    page.locator(".tab-panel", has_text="It is over, and waits for nothing.").wait_for()


def test_the_page_of_an_application_says_if_it_was_submitted_later(visit, lived):
    cluster, _, then, _ = lived
    rows = cluster.http.get("/applications").json()["applications"]
    new = next(row["id"] for row in rows if row["name"] == "new work")
    visit.forgiven.append("404")
    page = visit(f"{cluster.url}/cluster/app/{new}?at={then}")
    page.get_by_text("It was not there then").wait_for()


def test_nodes_show_what_they_had_and_what_ran_there(visit, lived):
    page = at(visit, lived, "/cluster/nodes")
    page.get_by_text("4 nodes, 5 containers").wait_for()
    page.get_by_role("button", name="heat map").click()
    page.locator(".node-map canvas").wait_for()
    page.get_by_role("button", name="table").click()
    full = page.locator(".list-table .vt-row", has_text="runs").first
    full.get_by_role("link").first.click()
    page.locator(".verdict", has_text="was used by").wait_for()
    page.locator(".tab-panel .vt-row", has_text="old work").first.wait_for()
    assert page.locator(".actions button").count() == 0


def test_the_panel_of_a_queue_lists_the_applications_of_then(visit, lived):
    page = at(visit, lived, "/cluster/scheduler?queue=root.ml.training&tab=applications")
    page.locator(".tab-body tr", has_text="old work").get_by_text("runs").wait_for()


def test_the_configuration_is_the_one_that_was_in_force(visit, lived):
    page = at(visit, lived, "/cluster/configuration")
    page.locator(".verdict", has_text="was in force at").wait_for()
    page.locator(".side.gone", has_text="<weight>3</weight>").wait_for()
    page.locator(".side.new", has_text="<weight>8</weight>").wait_for()
    assert page.get_by_role("button", name="Apply…").count() == 0


@pytest.mark.parametrize(
    "path", ["/cluster/apps", "/cluster/app/{}", "/cluster/nodes", "/cluster/configuration"]
)
def test_the_past_is_whole_and_open_to_all(visit, lived, path):
    for width, theme in ((1440, "light"), (800, "dark")):
        page = at(visit, lived, path.format(lived[1]), width=width, theme=theme)
        page.wait_for_selector("main .verdict, main .told")
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert serious_problems(page) == []


def test_what_nothing_is_remembered_of_is_not_shown_as_now(visit, lived):
    visit.forgiven.append("404")
    for path in ("/cluster/apps", "/cluster/nodes"):
        page = visit(f"{lived[0].url}{path}?at=1000")
        page.get_by_text("nothing is remembered").first.wait_for()
        assert page.locator(".list-table").count() == 0
