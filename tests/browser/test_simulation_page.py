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
    assert page.locator("#queues canvas").count() == 2
    painted = """canvas => {
        const data = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data;
        return data.some((value) => value !== 0);
    }"""
    for canvas in page.locator("canvas").all():
        assert canvas.evaluate(painted)
    legend = page.locator("#queues .u-legend").first.inner_text()
    assert "research" in legend
    assert "research, share" in legend


def test_the_losers_are_above_the_plots(visit, page_file):
    page = visit(page_file.as_uri())
    titles = [one.inner_text() for one in page.locator("h2").all()]
    assert titles[:3] == ["Runs", "fifo beside fair", "Waits"]
    first = page.locator("h3:has-text('End later') + .wide tbody tr").first.inner_text()
    assert first.split()[:2] == ["question", "ada"]


def test_a_narrow_window_scrolls_tables_and_not_the_page(visit, page_file):
    page = visit(page_file.as_uri(), width=480)
    page.wait_for_function("document.documentElement.dataset.drawn === 'yes'")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
