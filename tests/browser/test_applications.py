"""The pages of applications in a real browser: the list, one of them, and what is done to it."""

import msgspec
import pytest
from tests.browser.cluster import running
from tests.browser.conftest import capacity_configuration, fair_configuration
from tests.browser.test_scheduler import SIZES, serious_problems
from tests.hadoop.configuration import free_ports

from fairshare.core.model.identifiers import parse_container
from fairshare.core.model.inputs import SubmitApplication
from fairshare.core.model.work import Command, TaskGroup
from fairshare.server.access.tokens import UserTokens
from fairshare.settings.shell import AuthenticationSettings

LIST = "/cluster/apps"
FITTING = """[...document.querySelectorAll(".vt")]
    .every((table) => table.scrollWidth <= table.clientWidth)"""
"""Whether no table has to be moved sideways."""

CHECKED = ((SIZES[0], "light"), (SIZES[-1], "dark"))
"""Where axe-core looks: the two that differ most."""
HOSTILE = '<img src=x onerror="window.pwned=1"><script>window.pwned=1</script>'


def ids(cluster, **filters) -> dict[str, str]:
    """The ids of applications by their names."""
    rows = cluster.http.get("/applications", params=filters).json()["applications"]
    return {row["name"]: row["id"] for row in rows}


def names(page) -> list[str]:
    """The names in the list, from above to below."""
    return page.locator(".list-table .vt-body .vt-row .vt-cell:nth-child(2)").all_inner_texts()


def wait_for_names(page, *wanted) -> None:
    """Wait until the list shows these, from above to below: the server filters, so it takes a
    moment."""
    page.wait_for_function(
        "wanted => JSON.stringify([...document.querySelectorAll("
        "'.list-table .vt-body .vt-row .vt-cell:nth-child(2)')].map((cell) => cell.innerText))"
        " === JSON.stringify(wanted)",
        arg=list(wanted),
    )


def open_list(visit, cluster, query="", **more):
    page = visit(f"{cluster.url}{LIST}{query}", **more)
    page.wait_for_selector(".list-table .vt-body .vt-row")
    return page


def open_one(visit, cluster, name, query="", **more):
    page = visit(f"{cluster.url}/cluster/app/{ids(cluster)[name]}{query}", **more)
    page.wait_for_selector(".application-head h1")
    page.wait_for_selector(".life-plot")
    return page


def log_of(cluster, container: str):
    """The file that a container's standard output goes to."""
    path = cluster.server.container_files(parse_container(container)).stdout
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


def container_of(cluster, name: str) -> str:
    """One container of an application."""
    found = cluster.http.get(f"/applications/{ids(cluster)[name]}/containers").json()
    return str(found["containers"][0]["id"])


def check_whole(page, what: str, *, both: bool = False) -> None:
    """Nothing is cut in any size and scheme, and it is open to all: in the largest and light, or in
    `both` that differ most (looking takes its time)."""
    for width in SIZES:
        page.set_viewport_size({"width": width, "height": 900})
        for theme in ("light", "dark"):
            page.evaluate("(theme) => { document.documentElement.dataset.theme = theme; }", theme)
            found = page.evaluate("document.documentElement.scrollWidth")
            assert found <= width, f"{what} at {width} pixels is {found} wide"
            if width in (SIZES[0], SIZES[-1]):
                assert page.evaluate(FITTING), f"a table of {what} is wider than {width} pixels"
            if (width, theme) in CHECKED[: 1 + both]:
                assert serious_problems(page) == [], f"{what} at {width} pixels, {theme}"


def test_the_list_is_whole_and_open_to_all_in_every_size_and_scheme(visit, fair):
    check_whole(open_list(visit, fair), "the list", both=True)


@pytest.mark.parametrize("tab", ["why", "containers", "logs", "efficiency", "about"])
def test_each_part_of_one_is_whole_and_open_to_all_in_every_size_and_scheme(visit, fair, tab):
    page = open_one(visit, fair, "train", f"?tab={tab}")
    page.wait_for_selector(f".tab-{tab} > *")
    check_whole(page, tab, both=tab == "why")


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_scheme_of_the_reader_is_taken(visit, fair, theme):
    page = open_list(visit, fair, theme=theme, width=800)
    assert page.evaluate("document.documentElement.dataset.theme") == theme


def test_filters_are_kept_in_the_address(visit, fair):
    page = open_list(visit, fair)
    assert set(names(page)) == {"serve", "load", "load again", "train"}
    page.get_by_role("button", name="waiting 1").click()
    page.wait_for_url("**state=waiting**")
    wait_for_names(page, "load again")
    page.get_by_role("button", name="all 4").click()
    page.get_by_label("Any user").select_option("cho")
    page.get_by_label("Name, id, user or queue").fill("again")
    wait_for_names(page, "load again")
    address = page.url
    assert "user=cho" in address
    again = visit(address)
    again.wait_for_selector(".list-table .vt-body .vt-row")
    assert names(again) == ["load again"]
    again.get_by_role("button", name="Clear").click()
    again.wait_for_function("!location.search")
    narrowed = open_list(visit, fair, "?queue=root.ml")
    assert names(narrowed) == ["train"]


def test_what_waits_or_runs_comes_first_and_ones_own_by_one_click(visit, fair):
    page = open_list(visit, fair)
    states = page.locator(".list-table .vt-row .state").all_inner_texts()
    over = [state not in ("runs", "waits", "held back") for state in states]
    assert over == sorted(over)
    reader = {"user": "cho", "proven": True, "administrator": False, "administers": []}
    page.route("**/api/v1/session", lambda route: route.fulfill(json=reader))
    page.reload()
    page.get_by_role("button", name="mine").click()
    page.wait_for_url("**user=cho**")
    page.get_by_role("button", name="mine", exact=True, pressed=True).click()
    page.wait_for_function("!location.search")


def test_a_row_opens_its_application_by_the_mouse_and_by_keys(visit, fair):
    page = open_list(visit, fair)
    page.locator(".list-table .vt-row", has_text="serve").locator(".vt-cell").nth(2).click()
    page.get_by_role("heading", name="serve").wait_for()
    page.go_back()
    page.locator(".list-table .vt").focus()
    page.keyboard.press("Home")
    page.keyboard.press("Enter")
    page.get_by_role("heading", name="load again").wait_for()


def test_the_page_of_a_held_application_has_the_reason_and_a_remedy(visit, fair):
    page = open_one(visit, fair, "load again")
    page.locator(".verdict", has_text="Held back for").wait_for()
    first = page.locator(".reasons > .first")
    reported = fair.http.get(f"/applications/{ids(fair)['load again']}/reasons").json()["reasons"][
        0
    ]
    assert reported["sentence"] in first.inner_text()
    assert reported["remedy"] in first.inner_text()
    page.locator(".phase.held").wait_for()


def test_the_page_of_a_waiting_application_has_the_sizes_with_which_it_would_start(visit, fair):
    """With an estimate, and where there is none."""
    page = open_one(visit, fair, "load again")
    sizes = [{"words": words, "resources": {}} for words in ("4 vcores", "2,048 MB")]
    eta = {"at_ms": 0, "start": None, "end": None, "draws": 0, "of": 0, "smaller": sizes}
    start = {"p50_ms": 60_000, "p90_ms": None, "outcomes": 60, "calibrated": True}
    page.route("**/eta", lambda route: route.fulfill(json=eta))
    for more, words in (({}, ""), ({"draws": 50, "start": start}, "It starts in about 1 min. ")):
        eta.update(more)
        page.reload()
        said = page.locator(".application-head .soft")
        said.wait_for()
        assert said.inner_text() == (
            f"{words}It would start at once with 4 vcores for each task, or with 2,048 MB."
        )


def test_the_page_of_a_running_application_has_the_reason_for_its_waiting_tasks(visit, fair):
    page = open_one(visit, fair, "train")
    page.locator(".verdict", has_text="Runs in 24 containers").wait_for()
    page.locator(".verdict", has_text="16 more wait:").wait_for()
    assert page.locator(".span.running").count() >= 2


def test_a_flow_from_the_submission_to_the_end(visit, tmp_path):
    visit.forgiven += ["409", "404", "400", "ERR_"]
    conf = capacity_configuration(tmp_path / "conf")
    with running(conf, tmp_path / "state") as cluster:
        page = visit(cluster.url + LIST)
        page.get_by_text("No application yet").wait_for()
        cluster.submit("root.ml", 60, name="large", user="ben")
        page.locator(".list-table .vt-row", has_text="large").wait_for()
        cluster.until(lambda: len(cluster.engine.live) >= 20)
        cluster.submit("root.ml", 2, name="mine", user="ben")
        page = open_one(visit, cluster, "mine")
        page.locator(".reasons > .first").wait_for()

        page.get_by_role("button", name="Priority…").click()
        page.get_by_label("Priority (a greater number goes first)").fill("0")
        page.get_by_role("button", name="Set it").click()
        page.locator("dialog").wait_for(state="detached")

        page.get_by_role("button", name="Change…").click()
        page.get_by_label("Name", exact=True).fill("later")
        page.get_by_label("Memory of the tasks that wait, in MB").fill("99999999")
        page.get_by_role("button", name="Change it").click()
        page.locator("dialog .fault", has_text="Invalid resource request").wait_for()
        page.get_by_label("Memory of the tasks that wait, in MB").fill("")
        page.get_by_label("Tasks at the same time; 0 removes the limit").fill("1")
        page.get_by_role("button", name="Change it").click()
        page.locator("dialog").wait_for(state="detached")
        page.get_by_role("heading", name="later").wait_for()
        assert "mine" not in ids(cluster)

        page.get_by_role("button", name="Move…").click()
        page.locator("dialog", has_text="What runs goes on").wait_for()
        page.get_by_label("To the queue").fill("root.nowhere")
        page.get_by_role("button", name="Move it").click()
        page.locator("dialog .fault", has_text="nowhere").wait_for()
        page.get_by_label("To the queue").fill("root.prod.serving")
        page.get_by_role("button", name="Move it").click()
        page.locator("dialog").wait_for(state="detached")
        page.locator(".path", has_text="serving").wait_for()
        page.locator(".life-mark").first.wait_for(state="attached")

        page.get_by_role("button", name="Kill…").click()
        assert page.evaluate("document.activeElement.textContent") == "Cancel"
        page.get_by_role("button", name="Cancel").click()
        assert (
            cluster.http.get(f"/applications/{ids(cluster)['later']}").json()["state"] == "RUNNING"
        )
        page.get_by_role("button", name="Kill…").click()
        page.locator("dialog", has_text="will never run").wait_for()
        page.get_by_role("button", name="Kill it").click()
        page.locator(".verdict", has_text="Killed").wait_for()
        assert page.get_by_role("button", name="Kill…").count() == 0


def test_retries_and_failures_are_in_the_picture_and_in_the_table(visit, tmp_path):
    visit.forgiven += ["ERR_"]
    conf = fair_configuration(tmp_path / "conf")
    with running(conf, tmp_path / "state") as cluster:
        cluster.submit("root.ml.training", 2, name="tried")
        cluster.until(lambda: len(cluster.engine.live) == 2)
        cluster.end_some(1, 9)
        cluster.until(lambda: len(cluster.engine.live) == 2)
        page = open_one(visit, cluster, "tried", "?tab=containers")
        page.locator(".span.failed").wait_for()
        page.locator(".span .retry").wait_for(state="attached")
        page.locator(".vt-row", has_text="failed").get_by_text("9", exact=True).wait_for()
        page.locator(".vt-row", has_text="try 2").wait_for()


def test_a_log_follows_what_is_written_and_is_text(visit, fair):
    container = container_of(fair, "serve")
    path = log_of(fair, container)
    path.write_text(f"first {HOSTILE}\n")
    page = open_one(visit, fair, "serve", f"?tab=logs&container={container}")
    text = page.locator(".log-text", has_text="<script>window.pwned=1</script>")
    text.wait_for()
    with path.open("a") as log:
        log.write("\x1b[31msecond\n")
    page.locator(".log-text", has_text="second").wait_for()
    page.get_by_role("button", name="stderr").click()
    page.wait_for_function("document.querySelector('.log-text').textContent === ''")
    assert page.evaluate("window.pwned") is None
    assert page.locator("main img").count() == 0


def test_hostile_names_users_and_diagnostics_are_text_everywhere(visit, tmp_path):
    visit.forgiven += ["ERR_"]
    conf = fair_configuration(tmp_path / "conf")
    with running(conf, tmp_path / "state") as cluster:
        name = cluster.submit("root.etl", 1, name=HOSTILE, user="<b>ann</b>")
        cluster.http.post(
            f"/applications/{name}/kill", json={"diagnostics": HOSTILE, "user": "<b>ann</b>"}
        )
        page = open_list(visit, cluster)
        assert names(page) == [HOSTILE]
        page = visit(f"{cluster.url}/cluster/app/{name}?tab=about")
        page.locator("h1", has_text="onerror").wait_for()
        page.locator(".said", has_text="<script>").wait_for()
        assert page.evaluate("window.pwned") is None
        assert page.locator("main img, main b > b, main script").count() == 0


def test_a_user_without_rights_neither_sees_nor_reaches_the_actions(visit, tmp_path):
    conf = fair_configuration(tmp_path / "conf")

    def with_tokens(settings):
        tokens = AuthenticationSettings(tokens=True)
        return msgspec.structs.replace(settings, authentication=tokens)

    with running(conf, tmp_path / "state", settings=with_tokens) as cluster:
        tokens = UserTokens(cluster.server.directory.path)
        owner, other = tokens.create("ann", 0), tokens.create("bob", 0)
        cluster.http.headers["Authorization"] = f"Bearer {owner}"
        mine = cluster.submit("root.etl", 1, name="mine")
        cluster.http.headers["Authorization"] = f"Bearer {other}"
        his = cluster.submit("root.etl", 1, name="his")
        visit.forgiven += ["401", "403", "ERR_"]
        page = visit(f"{cluster.url}/cluster/app/{his}")
        page.get_by_label("Token").fill(other)
        page.get_by_role("button", name="Sign in").click()
        page.get_by_role("button", name="Kill…").wait_for()
        page.goto(f"{cluster.url}/cluster/app/{mine}")
        page.get_by_text("You may not see").wait_for()
        assert page.locator(".actions button").count() == 0
        then = cluster.http.get("/cluster").json()["now_ms"]
        page.goto(f"{cluster.url}/cluster/app/{mine}?at={then}")
        page.get_by_text("You look at").wait_for()
        page.get_by_text("You may not see").wait_for()
        status = page.evaluate(
            "([path, token]) => fetch(path, {method: 'POST', body: '{}', headers:"
            " {Authorization: `Bearer ${token}`}}).then((answer) => answer.status)",
            [f"/api/v1/applications/{mine}/kill", other],
        )
        assert status == 403
        page.goto(f"{cluster.url}/cluster/configuration")
        page.locator("input[name=weight]").first.wait_for(state="detached")
        page.get_by_role("tab", name="Settings").wait_for()
        assert page.get_by_role("button", name="Apply…").count() == 0
        page.goto(f"{cluster.url}/cluster/node/node-0000")
        page.get_by_role("heading", name="node-0000").wait_for()
        assert page.locator(".actions button").count() == 0


def test_ten_thousand_applications_are_a_few_rows_and_the_last_is_reached(visit, tmp_path):
    visit.forgiven += ["ERR_"]
    queues = "".join(f'<queue name="q{n:02}"/>' for n in range(20))
    conf = fair_configuration(tmp_path / "conf", f"<allocations>{queues}</allocations>")
    with running(conf, tmp_path / "state") as cluster:
        group = TaskGroup(name="work", count=1, resource=(1024, 1), command=Command(("true",)))
        for n in range(10_000):
            queue = f"root.q{n % 20:02}"
            cluster.engine.report(
                SubmitApplication(user="ann", queue=queue, name=f"app {n:05}", tasks=(group,))
            )
        known = cluster.server.service.state.applications
        cluster.until(lambda: len(known) == 10_000, timeout_s=60)
        page = visit(cluster.url + LIST)
        page.get_by_role("button", name="all 10,000").wait_for(timeout=30_000)
        assert page.locator(".vt-body .vt-row").count() < 80
        page.locator(".list-table .vt").focus()
        page.keyboard.press("End")
        page.locator(".vt-row", has_text="app 00000").wait_for()
        page.evaluate("document.querySelector('.vt').scrollTop = 140000")
        page.locator(".vt-row", has_text="app 04997").wait_for()
        page.get_by_label("Name, id, user or queue").fill("app 07777")
        page.locator(".vt-row", has_text="app 07777").wait_for()
        page.wait_for_function("document.querySelectorAll('.vt-body .vt-row').length == 1")


def test_a_server_that_comes_back_is_found_again_by_an_open_application(visit, tmp_path):
    visit.forgiven += ["ERR_", "503"]
    conf, state = fair_configuration(tmp_path / "conf"), tmp_path / "state"
    (port,) = free_ports(1)
    with running(conf, state, port=port) as cluster:
        name = cluster.submit("root.ml.training", 3, name="stays")
        cluster.until(lambda: len(cluster.engine.live) == 3)
        page = open_one(visit, cluster, "stays")
        page.locator(".verdict", has_text="Runs in 3 containers").wait_for()
    page.get_by_text("Not connected", exact=True).wait_for()
    assert "stays" in page.locator("h1").inner_text()
    with running(conf, state, port=port) as cluster:
        page.get_by_text("Not connected", exact=True).wait_for(state="detached")
        cluster.http.post(f"/applications/{name}/kill", json={})
        page.locator(".verdict", has_text="Killed").wait_for()
        assert page.locator(".phase").count() >= 1
