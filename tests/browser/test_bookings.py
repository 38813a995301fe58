"""The page of bookings: a calendar of weeks, a list, and the button that cancels one."""

from datetime import UTC, datetime, timedelta

from tests.browser.cluster import running
from tests.browser.conftest import fair_configuration
from tests.browser.test_applications import check_whole

FEW = """<allocations><queue name="ann"/><queue name="teaching"/></allocations>"""


def next_tuesday() -> datetime:
    midnight = (
        datetime.now(UTC)
        .astimezone()
        .replace(hour=0, minute=0, second=0, microsecond=0, tzinfo=None)
    )
    return midnight + timedelta(days=7 + (1 - midnight.weekday()) % 7)


def test_a_course_is_in_the_calendar_of_each_week_until_it_is_cancelled(visit, tmp_path):
    visit.forgiven += ["ERR_"]
    conf = fair_configuration(tmp_path / "conf")
    (conf / "fair-scheduler.xml").write_text(FEW)
    tuesday = next_tuesday()
    spans = [
        {
            "from_ms": round((tuesday + timedelta(days=7 * week, hours=10)).timestamp() * 1_000),
            "until_ms": round((tuesday + timedelta(days=7 * week, hours=12)).timestamp() * 1_000),
        }
        for week in range(3)
    ]
    course = {"name": "course", "queue": "teaching", "resources": {"vcores": 8}, "spans": spans}
    with running(conf, tmp_path / "state") as cluster:
        page = visit(f"{cluster.url}/cluster/bookings")
        page.get_by_text("Nothing is booked").wait_for()
        answer = cluster.http.post("/bookings", json=course)
        assert answer.status_code == 201, answer.text
        page.get_by_text("1 booking.").wait_for()
        assert page.locator(".calendar-block").count() == 0
        page.locator(".vt-row", has_text="course").click()
        block = page.locator(".calendar-block")
        block.wait_for()
        assert "10:00\u201312:00 teaching: 8 vcores" in block.inner_text()
        day = page.locator(".calendar-day", has=block)
        assert day.get_attribute("aria-label") == f"{tuesday:%Y-%m-%d}"
        box, column = block.bounding_box(), day.locator("ol").bounding_box()
        assert abs((box["y"] - column["y"]) / column["height"] - 10 / 24) < 0.01
        assert abs(box["height"] / column["height"] - 2 / 24) < 0.01
        check_whole(page, "the bookings", both=True)
        page.set_viewport_size({"width": 1400, "height": 900})
        for there in (1, 1, 0):
            page.get_by_role("button", name="The week after").click()
            page.wait_for_function(
                "(n) => document.querySelectorAll('.calendar-block').length === n", arg=there
            )
        page.go_back()
        block.wait_for()
        first = page.locator(".calendar-day").first
        phone = visit(f"{cluster.url}/cluster/bookings", width=400)
        today = phone.locator(".calendar-day.today")
        today.wait_for()
        assert today.bounding_box()["x"] < 60
        day = today.get_attribute("aria-label")
        phone.get_by_role("button", name="The week after").click()
        later = datetime.fromisoformat(day) + timedelta(days=7)
        phone.locator(f".calendar-day[aria-label='{later:%Y-%m-%d}']").wait_for()
        assert datetime.fromisoformat(first.get_attribute("aria-label")).weekday() == 0
        page.get_by_role("button", name="Cancel…").click()
        page.get_by_role("button", name="Cancel it").click()
        page.get_by_text("Nothing is booked").wait_for()
        assert cluster.http.get("/bookings").json()["bookings"] == []
