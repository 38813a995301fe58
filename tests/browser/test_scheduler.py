"""The page of the queues in a real browser: what it shows, how it is used, and what it survives."""

import re

import msgspec
import pytest
from tests.browser.accessibility import SIZES, serious_problems
from tests.browser.cluster import running
from tests.browser.conftest import capacity_configuration, fair_configuration, pools_configuration
from tests.hadoop.configuration import free_ports

from fairshare.server.access.tokens import Identity, UserTokens
from fairshare.server.settings import LiveSettings
from fairshare.settings.shell import AuthenticationSettings

PAGE = "/cluster/scheduler"


def rows(page) -> list[str]:
    """The names in the tree, from above to below."""
    names = page.locator(".tree .vt-body .queue-name .ell").all_inner_texts()
    return list(names)


def row(page, queue: str):
    return page.locator(f'.tree .vt-body .vt-row[data-key="{queue}"]')


def ready(page):
    """Wait for the tree; the page."""
    page.wait_for_selector(".tree .vt-body .vt-row")
    page.wait_for_selector(".panel h1")
    return page


def until(page, condition, timeout_s: float = 20.0) -> None:
    """Let the browser's events arrive until the condition holds."""
    for _ in range(int(timeout_s * 100)):
        if condition():
            return
        page.wait_for_timeout(10)
    raise AssertionError("the condition did not come true")


def field(page, title: str) -> str:
    """A row of the panel's table, or one of its facts, as it is read."""
    found = page.locator(".panel").get_by_text(title, exact=True).locator("xpath=..")
    return re.sub(r"\s+", " ", found.first.inner_text())


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("scheduler", ["fair", "capacity", "pools"])
def test_it_is_whole_and_open_to_all_in_every_size_and_theme(request, visit, scheduler, theme):
    cluster = request.getfixturevalue(scheduler)
    page = ready(visit(cluster.url + PAGE, theme=theme))
    assert page.evaluate("document.documentElement.dataset.theme") == theme
    for width in SIZES:
        page.set_viewport_size({"width": width, "height": 900})
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        # What the schedulers show in different ways, axe-core finds in the widest page.
        if scheduler == "fair" or width == SIZES[0]:
            assert serious_problems(page) == [], f"at {width} pixels"


def test_on_a_phone_one_searches_and_changes_the_theme(visit, fair):
    page = visit(fair.url + PAGE, theme="light")
    page.set_viewport_size({"width": 400, "height": 800})
    ready(page)
    page.get_by_role("button", name="Light or dark").click()
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"
    page.locator(".find input").fill("billing")
    found = page.locator(".found").first
    found.wait_for()
    box = found.bounding_box()
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= 400
    assert page.get_by_role("navigation", name="Pages").get_by_role("link").count() == 7


def test_the_servers_address_opens_it_and_the_tree_is_there(visit, fair):
    page = ready(visit(fair.url))
    assert rows(page) == ["root", "etl", "ml", "training", "tuning", "prod", "billing", "serving"]


def test_without_authentication_the_page_names_no_user_and_offers_all_actions(visit, fair):
    page = ready(visit(fair.url))
    assert page.locator(".who").inner_text() == "not signed in"
    assert page.evaluate(
        "import('/static/session.js').then(m => m.session.administersQueue('root'))"
    )


def test_every_field_of_the_fair_schedulers_document_is_shown(visit, fair):
    page = ready(visit(f"{fair.url}{PAGE}?queue=root.prod.serving"))
    assert field(page, "Used Resources") == "Used Resources 6 GiB 6"
    reported = fair.queue("root.prod.serving")
    for title, name in (
        ("Min Resources", "min_share"),
        ("Max Resources", "max_share"),
        ("Instantaneous Fair Share", "fair_share"),
        ("Steady Fair Share", "steady_fair_share"),
    ):
        most = 32 if name == "max_share" else 2**63
        assert field(page, title).endswith(f"GiB {min(reported[name]['vcores'], most)}"), title
    assert field(page, "Num Active Applications") == "Num Active Applications 1"
    assert field(page, "Num Pending Applications") == "Num Pending Applications 0"


def test_an_application_that_a_limit_holds_back_counts_as_pending(visit, fair):
    page = ready(visit(f"{fair.url}{PAGE}?queue=root.etl"))
    assert field(page, "Num Pending Applications") == "Num Pending Applications 1"
    assert "held back by a limit" in page.locator(".verdict").inner_text()


def test_the_minimum_of_a_queue_is_the_configured_one(visit, fair):
    page = ready(visit(f"{fair.url}{PAGE}?queue=root.prod"))
    assert field(page, "Min Resources") == "Min Resources 4 GiB 4"


def test_the_maximum_of_a_queue_is_the_configured_one(visit, fair):
    page = ready(visit(f"{fair.url}{PAGE}?queue=root.prod.billing"))
    assert field(page, "Max Resources") == "Max Resources 8 GiB 8"


def test_active_users_of_a_capacity_queue_are_marked_and_others_are_not(visit, capacity):
    page = ready(visit(f"{capacity.url}{PAGE}?queue=root.ml&tab=users"))
    heads = page.locator("table.users thead th").all_inner_texts()
    assert heads[:4] == ["User Name", "Max Resource", "Weight", "Used Resource"]
    ben = page.locator("table.users tbody tr", has_text="ben")
    ann = page.locator("table.users tbody tr", has_text="ann")
    assert "active-user" in (ben.get_attribute("class") or "")
    assert "active-user" not in (ann.get_attribute("class") or "")
    mark = "e => getComputedStyle(e.querySelector('td')).backgroundColor"
    assert ben.evaluate(mark) == "rgb(255, 241, 189)"
    assert ann.evaluate(mark) != ben.evaluate(mark)
    assert re.search(r"2 GiB, 2 vcores", ann.inner_text().replace("\n", " "))


def test_a_user_with_several_applications_has_one_row_which_adds_them_up(visit, tmp_path):
    conf = capacity_configuration(tmp_path / "conf")
    with running(conf, tmp_path / "state") as cluster:
        cluster.submit("root.ml", 2, user="ann")
        cluster.submit("root.ml", 3, user="ann")
        cluster.until(lambda: len(cluster.engine.live) == 5)
        page = ready(visit(f"{cluster.url}{PAGE}?queue=root.ml&tab=users"))
        ann = page.locator("table.users tbody tr")
        assert ann.count() == 1
        assert "5 GiB, 5 vcores" in ann.inner_text().replace("\n", " ")


def test_max_resource_of_inactive_users_may_exceed_the_cluster_and_active_ones_are_right(
    visit, tmp_path
):
    default = "root.default"
    settings = {
        "root.queues": "default,swords",
        f"{default}.capacity": "10",
        "root.swords.capacity": "90",
        "maximum-am-resource-percent": "10.0",
        f"{default}.user-limit-factor": "20.0",
        f"{default}.user-settings.hadoop1.weight": "0.5",
    }
    conf = capacity_configuration(tmp_path / "conf", settings)
    offer = {"memory-mb": 20_480, "vcores": 20}
    with running(conf, tmp_path / "state", nodes=1, offer=offer) as cluster:
        cluster.submit(default, 1, user="hadoop0")
        cluster.until(lambda: len(cluster.engine.live) == 1)
        cluster.submit(default, 40, user="hadoop1")
        cluster.until(lambda: len(cluster.engine.live) == 20)
        page = ready(visit(f"{cluster.url}{PAGE}?queue={default}&tab=users"))
        limits = {
            user: page.locator("table.users tbody tr", has_text=user)
            .locator("td")
            .first.inner_text()
            for user in ("hadoop0", "hadoop1")
        }
        assert limits["hadoop0"].startswith("40 GiB")
        assert limits["hadoop1"].startswith("20 GiB")


def test_configured_and_absolute_capacities_are_shown(visit, capacity):
    page = ready(visit(f"{capacity.url}{PAGE}?queue=root.prod"))
    assert field(page, "Configured Capacity") == "Configured Capacity 60%"
    assert field(page, "Absolute Configured Capacity") == "Absolute Configured Capacity 60%"
    assert field(page, "Absolute Configured Max Capacity").endswith("80%")
    assert field(page, "Queue State") == "Queue State RUNNING"


def test_jobs_of_a_pool_have_their_deficits_and_their_priority_is_changed_in_place(visit, pools):
    page = ready(visit(f"{pools.url}{PAGE}?queue=root.ads"))
    job = page.locator("table.jobs tbody tr", has_text="clicks")
    job.wait_for()
    heads = page.locator("table.jobs thead th").all_inner_texts()
    assert heads[-1] == "Deficit"
    assert re.search(r"\d", job.locator("td").last.inner_text())
    job.get_by_label("Priority of clicks").select_option("VERY_HIGH")
    pools.until(lambda: rest_job(pools, "clicks")["job"]["priority"] == "VERY_HIGH")
    page.reload()
    assert page.get_by_label("Priority of clicks").input_value() == "5"


def test_the_pool_of_a_job_is_changed_in_place(visit, pools):
    page = ready(visit(f"{pools.url}{PAGE}?queue=root.search"))
    page.get_by_label("Pool of index").select_option("root.ads")
    pools.until(lambda: rest_job(pools, "index")["queue"] == "root.ads")
    page.locator("table.jobs tbody tr", has_text="index").wait_for(state="detached")


def rest_job(cluster, name: str):
    rows = cluster.http.get("/applications").json()["applications"]
    return next(one for one in rows if one["name"] == name)


def test_an_arrow_opens_and_closes_a_part_of_the_tree(visit, fair):
    page = ready(visit(fair.url + PAGE))
    row(page, "root.ml").locator("button.twist").click()
    assert rows(page) == ["root", "etl", "ml", "prod", "billing", "serving"]
    page.reload()
    ready(page)
    assert "training" not in rows(page)


def test_the_tree_is_used_by_keys_alone(visit, fair):
    page = ready(visit(fair.url + PAGE))
    page.locator(".tree .vt").focus()
    for key in ("ArrowDown", "ArrowDown", "ArrowLeft"):
        page.keyboard.press(key)
    page.wait_for_function("() => !document.querySelector('[data-key=\"root.ml.training\"]')")
    page.keyboard.press("End")
    assert "queue=root.prod.serving" in page.url
    assert page.locator(".panel h1").inner_text().startswith("serving")


def test_what_was_chosen_is_in_the_address_and_comes_back_with_it(visit, fair):
    page = ready(visit(fair.url + PAGE))
    page.get_by_role("button", name="of cluster").click()
    page.get_by_role("button", name="vcores", exact=True).click()
    row(page, "root.ml.training").click()
    page.get_by_role("tab", name="Limits").click()
    again = ready(visit(page.url))
    assert again.get_by_role("button", name="of cluster").get_attribute("aria-pressed") == "true"
    assert again.get_by_role("tab", name="Limits").get_attribute("aria-selected") == "true"
    assert again.locator(".panel h1").inner_text().startswith("training")


def test_a_queue_is_found_by_a_part_of_its_name(visit, fair):
    page = ready(visit(fair.url + PAGE))
    page.keyboard.press("/")
    page.keyboard.type("tun")
    page.locator("#found-0", has_text="root.ml.tuning").wait_for()
    page.keyboard.press("Enter")
    page.wait_for_url("**queue=root.ml.tuning**")


def test_queues_that_become_known_during_typing_are_found(visit, fair):
    page = ready(visit(fair.url + PAGE))
    held = []
    page.route("**/api/v1/pages/queues", lambda route: held.append(route), times=1)
    page.keyboard.press("/")
    page.keyboard.type("tun")
    page.locator("#found-0", has_text="with").wait_for()
    assert "tuning" not in page.locator("#found").inner_text()
    until(page, lambda: held)  # the handler runs some time after the page has sent its request
    held[0].continue_()
    page.locator("#found-0", has_text="root.ml.tuning").wait_for()


def test_a_number_explains_itself_and_escape_puts_it_away(visit, fair):
    page = ready(visit(f"{fair.url}{PAGE}?queue=root.ml.training"))
    share = page.locator(".matrix tr", has_text="Instantaneous Fair Share").locator("button").first
    share.click()
    reported = page.get_by_role("dialog")
    assert "at least the minimum" in reported.inner_text()
    assert "root.ml.tuning, weight 1" in reported.inner_text()
    page.keyboard.press("Escape")
    assert reported.count() == 0
    assert share.evaluate("e => e === document.activeElement")


def test_numbers_follow_the_cluster_and_rows_keep_their_place(visit, tmp_path):
    with running(fair_configuration(tmp_path / "conf"), tmp_path / "state") as cluster:
        cluster.submit("root.ml.training", 4)
        page = ready(visit(cluster.url + PAGE))
        row(page, "root.ml.training").get_by_text("4 GiB").wait_for()
        before = rows(page)
        kept = row(page, "root.ml.training").element_handle()
        cluster.submit("root.prod.serving", 8)
        row(page, "root.prod.serving").get_by_text("8 GiB").wait_for()
        assert rows(page) == before
        assert kept.evaluate("e => e.isConnected")


def test_a_past_moment_is_shown_as_it_was_and_live_comes_back(visit, tmp_path):
    with running(fair_configuration(tmp_path / "conf"), tmp_path / "state") as cluster:
        cluster.submit("root.ml.training", 4)
        cluster.until(lambda: cluster.queue("root.ml.training")["containers"] == 4)
        cluster.until(lambda: len(cluster.server.past_views) >= 2)
        then = max(
            point["at_ms"]
            for point in cluster.http.get("/history").json()["points"]
            if point["used"]["vcores"] == 4
        )
        page = ready(visit(cluster.url + PAGE))
        row(page, "root.ml.training").get_by_text("4 GiB").wait_for()
        cluster.submit("root.ml.tuning", 9)
        row(page, "root.ml.tuning").get_by_text("9 GiB").wait_for()
        page.goto(f"{cluster.url}{PAGE}?at={then}&queue=root.ml.tuning")
        ready(page)
        page.get_by_text("You look at").wait_for()
        assert "idle" in row(page, "root.ml.tuning").inner_text()
        assert "Nothing runs or waits here" in page.locator(".verdict").inner_text()
        assert "4 of 32" in page.locator(".strip").inner_text()
        page.get_by_role("button", name="Back to live").click()
        row(page, "root.ml.tuning").get_by_text("9 GiB").wait_for()
        assert "at=" not in page.url


def test_the_strip_of_time_is_scrubbed_by_keys_and_by_the_mouse(visit, fair):
    page = ready(visit(fair.url + PAGE))
    page.wait_for_selector(".track .full-line")
    page.get_by_role("slider").focus()
    page.keyboard.press("ArrowLeft")
    page.wait_for_url("**at=**")
    page.get_by_text("actions are off").wait_for()
    page.keyboard.press("End")
    page.wait_for_function("() => !location.search.includes('at=')")
    box = page.locator(".track").bounding_box()
    page.mouse.click(box["x"] + box["width"] * 0.98, box["y"] + 10)
    page.wait_for_url("**at=**")


def test_the_chart_zooms_by_dragging_and_shows_all_again(visit, fair):
    page = ready(visit(f"{fair.url}{PAGE}?queue=root.ml"))
    page.wait_for_selector(".plot .used-line")
    box = page.locator(".plot svg").bounding_box()
    page.mouse.move(box["x"] + 200, box["y"] + 60)
    page.mouse.down()
    page.mouse.move(box["x"] + 320, box["y"] + 60, steps=4)
    page.mouse.up()
    page.wait_for_url("**from=**")
    page.get_by_role("group", name="Span").get_by_role("button", name="all").click()
    page.wait_for_function("() => !location.search.includes('from=')")


def test_hostile_names_are_shown_as_text(visit, tmp_path):
    hostile = '<img src=x onerror="window.pwned=1"><script>window.pwned=1</script>'
    queue = "&lt;img src=x onerror='pwned=1'&gt;"
    allocations = f'<allocations><queue name="{queue}"/><queue name="b"/></allocations>'
    with running(fair_configuration(tmp_path / "conf", allocations), tmp_path / "state") as cluster:
        name = next(
            one["name"]
            for one in cluster.http.get("/queues").json()["queues"]
            if "onerror" in one["name"]
        )
        cluster.submit(name, 2, name=hostile, user="<b>ann</b>")
        cluster.until(lambda: cluster.engine.live)
        page = ready(visit(f"{cluster.url}{PAGE}?tab=applications"))
        page.locator(".tree .queue-name", has_text="onerror").click()
        page.locator(".panel td", has_text="<script>window.pwned=1</script>").wait_for()
        page.keyboard.press("/")
        page.keyboard.type("img")
        page.locator("#found-0", has_text="onerror").wait_for()
        assert page.evaluate("window.pwned") is None
        assert page.locator("main img").count() == 0


def test_a_server_that_comes_back_is_found_again_and_nothing_is_lost(visit, tmp_path):
    visit.forgiven += ["503"]
    conf, state = fair_configuration(tmp_path / "conf"), tmp_path / "state"
    (port,) = free_ports(1)
    with running(conf, state, port=port) as cluster:
        cluster.submit("root.ml.training", 4)
        page = ready(visit(cluster.url + PAGE))
        row(page, "root.ml.training").get_by_text("4 GiB").wait_for()
    page.get_by_text("Not connected", exact=True).wait_for()
    assert "4 GiB" in row(page, "root.ml.training").inner_text()
    with running(conf, state, port=port) as cluster:
        page.get_by_text("Not connected", exact=True).wait_for(state="detached")
        cluster.submit("root.prod.serving", 3)
        row(page, "root.prod.serving").get_by_text("3 GiB").wait_for()


def test_a_thousand_queues_are_a_few_rows_and_the_last_is_reached(visit, tmp_path):
    queues = "".join(
        f'<queue name="team{team:02}">'
        + "".join(f'<queue name="q{n:02}"/>' for n in range(49))
        + "</queue>"
        for team in range(20)
    )
    allocations = f"<allocations>{queues}</allocations>"
    with running(fair_configuration(tmp_path / "conf", allocations), tmp_path / "state") as cluster:
        page = ready(visit(cluster.url + PAGE))
        assert len(rows(page)) == 21
        page.get_by_label("Filter queues").fill("q4")
        page.locator(".vt-row", has_text="q48").first.wait_for()
        assert page.locator(".vt-body .vt-row").count() < 80
        page.locator(".tree .vt").focus()
        page.keyboard.press("End")
        page.wait_for_url("**queue=root.team19.q48**")


def test_before_anything_was_submitted_the_page_says_how(visit, tmp_path):
    with running(fair_configuration(tmp_path / "conf"), tmp_path / "state") as cluster:
        page = ready(visit(cluster.url))
        reported = page.get_by_label("First steps")
        assert "fairshare submit --queue" in reported.inner_text()
        cluster.submit("root.etl")
        reported.wait_for(state="detached")


def with_tokens(given: LiveSettings) -> LiveSettings:
    return msgspec.structs.replace(given, authentication=AuthenticationSettings(tokens=True))


def sign_in(page, token: str) -> None:
    page.get_by_label("Token").fill(token)
    page.get_by_role("button", name="Sign in").click()


def test_the_page_asks_for_a_token_and_changes_the_reader_only_when_asked(visit, tmp_path):
    visit.forgiven += ["401", "403"]
    conf = fair_configuration(tmp_path / "conf")
    with running(conf, tmp_path / "state", settings=with_tokens) as cluster:
        page = visit(cluster.url + PAGE)
        page.get_by_text("Who are you?").first.wait_for()
        loading = page.get_by_label("Loading").locator("visible=true")
        assert loading.count() == 0, "nothing is on its way"
        assert page.locator(".tree .vt-body .vt-row").count() == 0
        sign_in(page, "not-a-token")
        page.get_by_role("alert").get_by_text("this token is unknown").wait_for()
        sign_in(page, UserTokens(tmp_path / "state").create("ann", 0))
        ready(page)
        assert page.locator(".who").inner_text() == "ann"
        assert page.get_by_label("Token").count() == 0
        code = cluster.server.authentication.codes.issue(Identity("ben"))
        once = f"{cluster.url}{PAGE}#sign-in={code}"
        page = ready(visit(once))
        assert page.locator(".who").inner_text() == "ben"
        assert page.url == cluster.url + PAGE, "the code is gone from the address"
        questions: list[str] = []
        for answer, user in (("dismiss", "ben"), ("accept", "eve")):
            code = cluster.server.authentication.codes.issue(Identity("eve"))
            page.once(
                "dialog",
                lambda dialog, answer=answer: (
                    questions.append(dialog.message),
                    getattr(dialog, answer)(),
                ),
            )
            page.goto("about:blank")
            page.goto(f"{cluster.url}{PAGE}#sign-in={code}")
            assert ready(page).locator(".who").inner_text() == user
        assert all("change to eve?" in question for question in questions)
        assert len(questions) == 2
        again = page.context.browser.new_page()
        again.goto(once)
        again.get_by_role("alert").get_by_text("this address was used already").wait_for()
        again.close()


def test_what_is_anothers_is_shown_without_a_way_to_change_it(visit, tmp_path):
    visit.forgiven += ["401", "403"]
    conf = pools_configuration(tmp_path / "conf")
    slots = {"memory-mb": 8192, "vcores": 8, "map-slots": 2, "reduce-slots": 1}
    with running(conf, tmp_path / "state", offer=slots, settings=with_tokens) as cluster:
        tokens = UserTokens(tmp_path / "state")
        cluster.http.headers["Authorization"] = f"Bearer {tokens.create('ann', 0)}"
        cluster.submit("ads", 4, name="mine", resources={"memory-mb": 256, "map-slots": 1})
        for user, may in (("ann", 1), ("ben", 0)):
            page = visit(f"{cluster.url}{PAGE}?queue=root.ads")
            sign_in(page, tokens.create(user, 0))
            page.locator("table.jobs tbody tr", has_text="mine").first.wait_for()
            assert page.get_by_label("Priority of mine").count() == may


def test_the_owed_resources_are_shown_with_causes_and_waiting_applications(visit, tmp_path):
    visit.forgiven += ["ERR_"]
    conf = fair_configuration(tmp_path / "conf")
    with running(conf, tmp_path / "state") as cluster:
        cluster.submit("root.ml.training", 40, name="greedy")
        cluster.until(lambda: len(cluster.engine.live) == 32)
        cluster.submit("root.prod.serving", 9, name="late")
        page = ready(visit(f"{cluster.url}{PAGE}?queue=root.prod.serving"))
        part = page.locator(".owed-parts li", has_text="held by others")
        part.wait_for()
        reported = cluster.http.get("/queues/root.prod.serving/owed").json()["parts"]
        assert reported[0]["sentence"] in part.inner_text()
        assert page.locator(".owed-bar .cause.lender").count() == 1
        part.get_by_role("button").click()
        page.get_by_role("dialog", name="Owed: held by others").wait_for()
        page.keyboard.press("Escape")
        assert serious_problems(page) == []
        part.get_by_role("link").click()
        page.get_by_role("heading", name="late").wait_for()


def test_a_queue_shows_what_it_used_in_the_past_and_what_that_does_to_its_share(visit, tmp_path):
    conf = fair_configuration(tmp_path / "conf")
    (conf / "fairshare.toml").write_text("[fairness]\nhalf_life_s = 60\n")
    with running(conf, tmp_path / "state", nodes=1) as cluster:
        cluster.submit("root.etl", 2, user="ann")
        cluster.until(lambda: cluster.queue("root.etl")["past"]["factor"] < 0.95)
        page = ready(visit(f"{cluster.url}{PAGE}?queue=root.etl"))
        assert field(page, "Used in the past").startswith("Used in the past")
        assert re.fullmatch("Share by its past . 0[.][0-9]{2}", field(page, "Share by its past"))
