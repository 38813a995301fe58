"""What a conversion writes is nothing that lint has anything against, unless the source had it.

A trap of the source stays one: a queue whose maximum is nothing, a list that excludes nobody.
"""

from pathlib import Path

import pytest

from fairshare.errors import ConfigurationError
from fairshare.lab.convert.fair_to_capacity.converting import convert
from fairshare.lab.convert.fair_to_capacity.draft import Mode, Options
from fairshare.lab.convert.fair_to_capacity.source import read_source
from fairshare.settings.linting import lint
from fairshare.settings.output import write_directory

EXAMPLE = Path(__file__).parents[5] / "examples" / "three-teams"
PUBLISHED = sorted(
    (Path(__file__).parents[6] / "shared" / "data" / "configs" / "fair").glob("*.xml"),
    key=lambda path: path.name,
)
MODES: tuple[Mode, ...] = ("weights", "percentage", "absolute", "vectors")

INHERITED = {
    "queue-stopped": "maximum-zero",
    "mapping-to-stopped-queue": "maximum-zero",
    "restriction-void": "restriction-void",
}
"""What lint finds in the result, and what it has found in the source for it."""

BY_NATURE = {
    "maximum-of-one-container",  # a maximum of one vcore, where the other one counts memory alone
    "fraction-as-percentage",  # a maximum that is less than a hundredth of this cluster
    "all-administer",  # a file alone has lists and does not say who administers the cluster
    "maximum-below-capacity",  # bounded siblings, whose percentages must still sum to 100
}


@pytest.mark.parametrize("path", [EXAMPLE, *PUBLISHED], ids=lambda path: path.stem)
def test_lint_finds_nothing_of_the_conversions_own_making(path: Path, tmp_path: Path) -> None:
    try:
        source = read_source(path)
    except ConfigurationError:
        pytest.skip("it cannot be read")
    before = {problem.rule for problem in lint(path)}
    further = tuple(4 for _ in source.settings.types.names[2:])
    for mode in MODES:
        for known in (True, False):
            if mode == "absolute" and not known:
                continue
            size = source.cluster or (819_200, 400, *further)
            given = Options(mode, size if known else None, 10 if known else None)
            new = tmp_path / f"{mode}-{known}"
            write_directory(convert(source, given).files, new, force=False)
            made = [
                problem
                for problem in lint(new)
                if INHERITED.get(problem.rule) not in before and problem.rule not in BY_NATURE
            ]
            assert made == [], (mode, known)
