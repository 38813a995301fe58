"""The page of simulations in a real browser: its plots are drawn from the file alone."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from fairshare.cli.verbs import fairshare

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture(scope="module")
def page_file(tmp_path_factory):
    folder = tmp_path_factory.mktemp("page")
    runs = []
    for scheduler in ("fair", "fifo"):
        path = folder / f"{scheduler}.json"
        workload = str(EXAMPLES / "workloads" / "three-teams.yaml")
        conf = ["--conf", str(EXAMPLES / "three-teams"), "--scheduler", scheduler]
        done = CliRunner().invoke(fairshare, ["simulate", workload, *conf, "--json"])
        path.write_text(done.stdout)
        runs.append(str(path))
    page = folder / "page.html"
    assert CliRunner().invoke(fairshare, ["compare", *runs, "--html", str(page)]).exit_code == 0
    return page


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_plots_are_drawn_from_the_file_alone(visit, page_file, theme):
    page = visit(page_file.as_uri(), theme=theme)
    page.wait_for_function("document.documentElement.dataset.drawn === 'yes'")
    assert page.locator("#waits canvas").count() == 1
    assert page.locator("#slowdowns canvas").count() == 1
    titles = page.locator("#queues .u-title").all_inner_texts()
    assert titles == ["adhoc", "default", "production", "research"]
    painted = """canvas => {
        const data = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data;
        return data.some((value) => value !== 0);
    }"""
    for canvas in page.locator("canvas").all():
        assert canvas.evaluate(painted)


def test_a_kind_of_line_is_shown_in_all_plots_of_queues(visit, page_file):
    page = visit(page_file.as_uri())
    page.wait_for_function("document.documentElement.dataset.drawn === 'yes'")
    shown = page.locator("#queues .u-legend tr:not(.u-off)")
    before = shown.all_inner_texts()
    assert not any("guaranteed" in text for text in before)
    page.get_by_label("guaranteed").check()
    added = [text for text in shown.all_inner_texts() if "guaranteed" in text]
    assert len(added) == 8  # of both runs in four plots


def test_a_plot_is_saved_as_a_picture(visit, page_file, tmp_path):
    page = visit(page_file.as_uri())
    page.wait_for_function("document.documentElement.dataset.drawn === 'yes'")
    with page.expect_download() as saved:
        page.locator("#queues .save").first.click()
    assert saved.value.suggested_filename == "adhoc.png"
    saved.value.save_as(tmp_path / "adhoc.png")
    assert (tmp_path / "adhoc.png").read_bytes().startswith(b"\x89PNG")


def test_the_losers_are_above_the_plots(visit, page_file):
    page = visit(page_file.as_uri())
    titles = [one.inner_text() for one in page.locator("h2").all()]
    assert titles[:3] == ["Runs", "fifo beside fair", "Waits and slowdowns"]
    rows = page.locator("section:has(h2:text-is('fifo beside fair')) tbody tr")
    assert rows.first.inner_text().split()[:2] == ["question", "ada"]
    assert rows.first.locator("td.worse").inner_text() == "+24 min 5 s"
    assert rows.last.locator("td.better").count() == 1


def test_the_page_has_the_numbers_of_the_terminal(visit, page_file):
    page = visit(page_file.as_uri())
    rows = page.locator("section:has(h2:text-is('Runs')) tbody tr").all()
    found = {row.locator("th").inner_text(): row.locator("td").all_inner_texts() for row in rows}
    assert found["Slowdown p95"] == ["2.00", "138.50"]
    assert found["Starved"][0] == "2 min 40 s (adhoc)"
    assert found["GB hours lost"] == ["0.00625", "0.00625"]
    colours = {
        one.evaluate("one => getComputedStyle(one).backgroundColor")
        for one in page.locator("i.run1").all()
    }
    assert len(colours) == 1


def test_a_narrow_window_scrolls_tables_and_not_the_page(visit, page_file):
    page = visit(page_file.as_uri(), width=480)
    page.wait_for_function("document.documentElement.dataset.drawn === 'yes'")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
