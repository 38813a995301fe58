"""Published files of the Capacity Scheduler are read, or refused with a place; none crashes."""

from pathlib import Path

import msgspec
import pytest

from fairshare.core.schedulers.capacity.settings import CapacitySettings
from fairshare.documents.problems import Problems
from fairshare.settings.capacity.reading import collect_capacity
from fairshare.settings.site_files import read_site

CONFIGURATIONS = Path(__file__).parents[2].parent / "shared" / "data" / "configs"
FILES = sorted((CONFIGURATIONS / "capacity").glob("*.xml"))

if not FILES:
    pytest.skip(f"there are no files in {CONFIGURATIONS / 'capacity'}", allow_module_level=True)

MALFORMED = {
    "016-anmolnehru-Hybrid-Yarn-Scheduler-for-BigData-systems.xml",
    "045-muntasirraihan-hadoop-common.xml",
    "057-sunileman-MapReduce-Performance_Testing.xml",
    "075-anisf-yarn-capacity-scheduler.xml",
    "076-bloomberg-chef-bach.xml",
    "077-datasophon-datasophon.xml",
    "078-hortonworks-structor.xml",
}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_a_published_file_is_read_or_refused_with_a_place(path: Path) -> None:
    problems = Problems()
    site = read_site([(path.name, path.read_bytes())], problems)
    malformed = [problem for problem in problems.all if problem.rule == "xml"]
    assert bool(malformed) == (path.name in MALFORMED)
    settings = collect_capacity(site, problems, path.name)
    assert msgspec.json.decode(msgspec.json.encode(settings), type=CapacitySettings) == settings
    assert all(problem.message for problem in problems.all)
    placed = [problem for problem in problems.all if problem.line and problem.column]
    assert problems.all == tuple(placed)


@pytest.mark.parametrize(
    ("name", "line", "reported"),
    [
        (
            "006-zhengxle-hadoop-scheduler-config.xml",
            58,
            "root.ordering-policy: Unable to construct the ordering policy 'fair'",
        ),
        ("080-ValeriiKretinin-ansible.xml", 18, "is not a whole number"),
        ("036-khaphan-github-data-engineering-bigdata-analysis.xml", 1, "missing child queue"),
    ],
)
def test_some_are_refused_for_known_reasons(name: str, line: int, reported: str) -> None:
    problems = Problems()
    path = CONFIGURATIONS / "capacity" / name
    site = read_site([(name, path.read_bytes())], problems)
    collect_capacity(site, problems, name)
    assert any(p.line == line and reported in p.message for p in problems.errors)


def test_a_file_with_three_levels_has_all_its_queues() -> None:
    problems = Problems()
    name = "023-dask-dask-gateway.xml"
    path = CONFIGURATIONS / "capacity" / name
    site = read_site([(name, path.read_bytes())], problems)
    settings = collect_capacity(site, problems, name)
    assert problems.errors == ()
    assert list(settings.queues) == [
        "root", "root.default", "root.fruit", "root.fruit.apples", "root.fruit.bananas",
        "root.fruit.oranges",
    ]  # fmt: skip
