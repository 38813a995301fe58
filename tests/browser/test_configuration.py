"""The page of the configuration in a real browser: stage, see, apply, roll back."""

import pytest
from tests.browser.cluster import running
from tests.browser.conftest import capacity_configuration, fair_configuration
from tests.browser.test_applications import check_whole

PAGE = "/cluster/configuration"
TABS = ("settings", "text", "difference", "problems", "versions", "files")


def ready(page):
    """Wait for the list of queues; the page."""
    page.wait_for_selector(".queue-list .vt-body .vt-row")
    return page


def stage(page, name: str, value: str) -> None:
    """Give a setting of the shown queue another value."""
    field = page.locator(f".form input[name='{name}']")
    field.fill(value)
    field.press("Tab")
    page.locator(".form tr.changed", has_text=name).wait_for()


def weight(cluster, queue: str) -> float:
    return float(cluster.queue(queue)["weight"])


@pytest.mark.parametrize("tab", TABS)
def test_each_part_is_whole_and_open_to_all_in_every_size_and_scheme(visit, fair, tab):
    page = ready(visit(f"{fair.url}{PAGE}?queue=root.prod"))
    stage(page, "weight", "7")
    page.click(f"#tab-{tab}")
    page.wait_for_selector(f".tab-{tab} > *")
    check_whole(page, tab, both=tab in ("settings", "difference"))


@pytest.mark.parametrize("scheduler", ["capacity", "pools"])
def test_the_files_of_the_other_schedulers_have_a_form_too(request, visit, scheduler):
    cluster = request.getfixturevalue(scheduler)
    page = ready(visit(cluster.url + PAGE))
    page.locator(".queue-list .vt-body .vt-row").nth(1).click()
    page.wait_for_selector(".form input")
    check_whole(page, scheduler)


def test_a_value_says_where_it_is_written_and_leads_there(visit, fair):
    page = ready(visit(f"{fair.url}{PAGE}?queue=root.prod"))
    row = page.locator(".form tr", has_text="minResources")
    assert row.locator("input").input_value() == "4096 mb, 4 vcores"
    row.get_by_role("button", name="line 2").click()
    page.wait_for_selector(".text-area")
    selected = page.evaluate(
        "(() => { const area = document.querySelector('.text-area');"
        " return area.value.slice(area.selectionStart, area.selectionEnd); })()"
    )
    assert '<queue name="prod">' in selected
    page.click("#tab-files")
    page.locator("tr", has_text="yarn.resourcemanager.scheduler.class").get_by_text(
        "yarn-site.xml:1"
    ).wait_for()


def test_a_change_is_staged_seen_applied_and_rolled_back(visit, tmp_path):
    visit.forgiven += ["ERR_"]
    conf = fair_configuration(tmp_path / "conf")
    file = conf / "fair-scheduler.xml"
    before = file.read_text()
    with running(conf, tmp_path / "state") as cluster:
        page = ready(visit(f"{cluster.url}{PAGE}?queue=root.prod"))
        stage(page, "weight", "7")
        page.locator(".queue-list .vt-row", has_text="prod").get_by_text("staged").wait_for()
        assert (file.read_text(), weight(cluster, "root.prod")) == (before, 3.0)
        page.reload()
        page.get_by_role("button", name="See the difference").click()
        page.locator(".side.gone", has_text="<weight>3</weight>").wait_for()
        page.locator(".side.new", has_text="<weight>7</weight>").wait_for()
        page.get_by_role("button", name="Apply…").click()
        page.locator("dialog", has_text="come into force at once").wait_for()
        page.get_by_label("What is it for?").fill("more for prod")
        page.get_by_role("button", name="Apply it").click()
        page.locator(".verdict", has_text="more for prod").wait_for()
        page.locator(".verdict", has_text="Nothing is staged").wait_for()
        assert weight(cluster, "root.prod") == 7.0
        assert file.read_text() == before.replace("<weight>3<", "<weight>7<")
        page.click("#tab-versions")
        assert page.locator(".versions tbody tr").count() == 2
        page.locator(".versions tr").nth(2).get_by_role("button", name="Compare").click()
        page.locator(".side.new", has_text="<weight>7</weight>").wait_for()
        page.get_by_role("button", name="Roll back…").click()
        page.locator("dialog", has_text="in force again at once").wait_for()
        page.get_by_role("button", name="Roll back", exact=True).click()
        page.locator(".versions tbody tr").nth(2).wait_for()
        assert file.read_text() == before
        assert weight(cluster, "root.prod") == 3.0


def test_two_changes_made_at_once_are_both_staged(visit, fair):
    page = ready(visit(f"{fair.url}{PAGE}?queue=root.prod"))
    page.evaluate(
        """Object.entries({ weight: "7", maxRunningApps: "9" }).forEach(([name, value]) => {
            const field = document.querySelector(`.form input[name='${name}']`);
            field.value = value;
            field.dispatchEvent(new Event("change", { bubbles: true }));
        })"""
    )
    for name in ("weight", "maxRunningApps"):
        page.locator(".form tr.changed", has_text=name).wait_for()


def test_an_error_is_shown_at_its_queue_and_disables_applying(visit, fair):
    page = ready(visit(f"{fair.url}{PAGE}?queue=root.ml"))
    stage(page, "weight", "heavy")
    page.locator(".problems.here .error", has_text="heavy").wait_for()
    page.locator(".queue-list .vt-row[data-key='root.ml'] .mark.error").wait_for()
    assert page.get_by_role("button", name="Apply…").is_disabled()
    page.click("#tab-problems")
    page.locator(".problem.error").get_by_role("button", name="line").click()
    page.locator(".text-lines .error").wait_for()
    page.get_by_role("button", name="Discard").click()
    page.locator(".verdict", has_text="Nothing is staged").wait_for()


def test_what_is_typed_into_the_text_is_judged_and_kept(visit, fair):
    page = ready(visit(f"{fair.url}{PAGE}?tab=text"))
    area = page.locator(".text-area")
    area.fill(area.input_value().replace("</allocations>", ""))
    page.locator(".text-lines .error").wait_for()
    page.click("#tab-problems")
    page.locator(".problem.error", has_text="bad XML").wait_for()
    page.get_by_role("button", name="Discard").click()
    page.click("#tab-text")
    assert page.locator(".text-area").input_value().endswith("</allocations>")


def test_queues_are_added_and_taken_out(visit, fair):
    page = ready(visit(f"{fair.url}{PAGE}?queue=root.ml"))
    page.get_by_role("button", name="Add a queue below…").click()
    page.get_by_label("Full name").fill("root.ml.eval<i>")
    page.get_by_role("button", name="Stage it").click()
    page.locator(".queue-list .vt-row", has_text="eval<i>").wait_for()
    page.locator(".form-head h2", has_text="root.ml.eval<i>").wait_for()
    page.get_by_role("button", name="Remove…").click()
    page.get_by_role("button", name="Stage it").click()
    page.locator(".queue-list .vt-row", has_text="eval").wait_for(state="detached")


def test_a_change_by_another_user_is_shown_and_not_overwritten(visit, tmp_path):
    visit.forgiven += ["ERR_"]
    conf = fair_configuration(tmp_path / "conf")
    with running(conf, tmp_path / "state") as cluster:
        page = ready(visit(f"{cluster.url}{PAGE}?queue=root.prod"))
        stage(page, "weight", "7")
        found = cluster.http.get("/configuration/document").json()
        other = found["text"].replace("<weight>2</weight>", "<weight>9</weight>")
        body = {"text": other, "digest": found["digest"]}
        assert cluster.http.post("/admin/configuration/document", json=body).status_code == 200
        page.locator(".notice", has_text="came into force since you began").wait_for()
        assert page.get_by_role("button", name="Apply…").is_disabled()
        page.get_by_role("button", name="Compare with it").click()
        page.click("#tab-difference")
        page.locator(".side.gone", has_text="<weight>9</weight>").wait_for()
        assert weight(cluster, "root.ml") == 9.0


def test_a_property_of_the_capacity_scheduler_is_staged_and_applied(visit, tmp_path):
    visit.forgiven += ["ERR_"]
    conf = capacity_configuration(tmp_path / "conf")
    with running(conf, tmp_path / "state") as cluster:
        page = ready(visit(f"{cluster.url}{PAGE}?queue=root.ml"))
        stage(page, "user-limit-factor", "3")
        page.get_by_role("button", name="Apply…").click()
        page.get_by_role("button", name="Apply it").click()
        page.locator(".verdict", has_text="Nothing is staged").wait_for()
        assert cluster.queue("root.ml")["capacity"]["user_limit_factor"] == 3.0
        stage(page, "capacity", "50")
        page.locator(".mark.error").first.wait_for()
        assert page.get_by_role("button", name="Apply…").is_disabled()


def test_what_is_in_force_in_memory_only_is_what_is_shown_and_can_be_written(visit, tmp_path):
    visit.forgiven += ["ERR_"]
    conf = fair_configuration(tmp_path / "conf")
    file = conf / "fair-scheduler.xml"
    before = file.read_text()
    with running(conf, tmp_path / "state") as cluster:
        found = cluster.http.get("/configuration/document").json()
        first = cluster.http.get("/configuration").json()["version"]
        heavier = before.replace("<weight>3<", "<weight>7<")
        body = {"text": heavier, "digest": found["digest"]}
        assert cluster.http.post("/admin/configuration/document", json=body).status_code == 200
        cluster.http.post("/admin/configuration/roll-back", json={"version": first})
        page = ready(visit(f"{cluster.url}{PAGE}?queue=root.prod"))
        page.locator(".verdict", has_text="in memory only").wait_for()
        page.locator(".notice", has_text="not what the file says").wait_for()
        assert page.locator("input[name=weight]").input_value() == "3"
        assert file.read_text() == heavier
        page.get_by_role("button", name="Write it to the file…").click()
        page.get_by_role("button", name="Write it", exact=True).click()
        page.locator(".notice", has_text="not what the file says").wait_for(state="detached")
        assert file.read_text() == before


def test_a_staged_change_is_tried_on_the_history_before_it_is_applied(visit, tmp_path):
    conf = fair_configuration(tmp_path / "conf")
    with running(conf, tmp_path / "state") as cluster:
        cluster.submit("root.ml.training", 3)
        cluster.until(lambda: len(cluster.engine.live) == 3)
        page = ready(visit(f"{cluster.url}{PAGE}?queue=root.prod"))
        stage(page, "weight", "7")
        page.get_by_role("button", name="Try on the last 24 hours").click()
        page.locator(".trial .notice", has_text="3 of 3 decisions").wait_for()
        page.locator(".trial-queues tr", has_text="ml").wait_for()
        check_whole(page, "trial", both=True)
        assert weight(cluster, "root.prod") != 7.0
