"""The pages of users and of cron jobs, the board, and the users below few queues."""

from tests.browser.cluster import running
from tests.browser.conftest import fair_configuration
from tests.browser.test_applications import check_whole

FEW = """<allocations><queue name="ann"/><queue name="bob"/></allocations>"""


def test_what_users_have_and_their_cron_jobs_are_whole_pages(visit, tmp_path):
    visit.forgiven += ["ERR_"]
    conf = fair_configuration(tmp_path / "conf")
    (conf / "fair-scheduler.xml").write_text(FEW)
    with running(conf, tmp_path / "state") as cluster:
        for user, count in (("ann", 3), ("bob", 40)):
            body = {"user": user, "queue": f"root.{user}"}
            body["tasks"] = [{"command": "x", "count": count}]
            cluster.http.post("/applications", json=body)
        job = {"queue": "root.ann", "tasks": [{"command": "./nightly.sh"}]}
        cron = {"user": "ann", "name": "nightly", "schedule": "0 2 * * *", "submission": job}
        assert cluster.http.post("/cron", json=cron).status_code == 201
        cluster.until(lambda: len(cluster.engine.live) == 32)
        page = visit(f"{cluster.url}/cluster/scheduler")
        now = page.get_by_role("region", name="Now by user")
        now.get_by_role("row", name="bob").get_by_text("29 GiB, 29 vcores").wait_for()
        for path, there in (
            ("users", "bob"),
            ("cron", "nightly"),
            ("board", "29 GiB, 29 vcores"),
        ):
            page.goto(f"{cluster.url}/cluster/{path}")
            page.get_by_text(there).first.wait_for()
            check_whole(page, path, both=path == "users")
        page.set_viewport_size({"width": 1400, "height": 800})
        page.goto(f"{cluster.url}/cluster/users")
        page.locator(".vt-row", has_text="bob").get_by_role("link").click()
        page.get_by_role("heading", name="Applications").wait_for()
        page.goto(f"{cluster.url}/cluster/cron")
        page.get_by_role("button", name="Pause").click()
        page.get_by_role("button", name="Pause it").click()
        page.get_by_role("button", name="Resume").wait_for()
        page.get_by_role("button", name="Delete…").click()
        page.get_by_role("button", name="Delete it").click()
        page.get_by_text("No cron job yet").wait_for()
