"""All published allocation files: each becomes something that loads, or says why it does not.

These files are other people's; they lie beside the checkout, and the tests are skipped without.
"""

from pathlib import Path

import msgspec
import pytest

from fairshare.core.manager.resource_manager import ResourceManager
from fairshare.core.model.inputs import LoadConfiguration
from fairshare.core.schedulers.capacity.scheduler import CapacityScheduler
from fairshare.core.schedulers.capacity.settings import CapacitySettings
from fairshare.errors import ConfigurationError
from fairshare.lab.convert.fair_to_capacity.converting import convert
from fairshare.lab.convert.fair_to_capacity.draft import Mode, Options
from fairshare.lab.convert.fair_to_capacity.source import read_source

FILES = sorted(
    (Path(__file__).parents[6] / "shared" / "data" / "configs" / "fair").glob("*.xml"),
    key=lambda path: path.name,
)
MODES: tuple[Mode, ...] = ("weights", "percentage", "absolute", "vectors")

pytestmark = pytest.mark.skipif(not FILES, reason="the published files are not beside the checkout")


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_published_file_converts_in_every_mode_or_says_why_not(path: Path) -> None:
    try:
        source = read_source(path)
    except ConfigurationError as error:
        problems = [one for one in error.problems if getattr(one, "severity", "") == "error"]
        assert problems
        assert all(getattr(one, "line", 0) > 0 for one in problems)
        return
    further = tuple(4 for _ in source.settings.types.names[2:])
    names = set(source.settings.allocations.queues)
    for mode in MODES:
        for known in (True, False):
            if mode == "absolute" and not known:
                continue
            cluster = (819_200, 400, *further) if known else None
            conversion = convert(source, Options(mode, cluster, 10 if known else None))
            assert [one for one in conversion.problems if one.rule == "unlisted-queue"] == []
            assert names <= set(conversion.names)
            assert set(conversion.names.values()) <= set(conversion.settings.queues)
            assert loads(conversion.settings)


def loads(settings: CapacitySettings) -> bool:
    """Whether the scheduler itself takes the settings."""
    manager = ResourceManager(CapacityScheduler(settings.types))
    events = manager.handle(0, LoadConfiguration(msgspec.json.encode(settings), 1))
    return bool(events)


def test_of_the_published_files_as_many_convert_as_can_be_read() -> None:
    refused = 0
    for path in FILES:
        try:
            read_source(path)
        except ConfigurationError:
            refused += 1
    assert len(FILES) - refused >= 44
