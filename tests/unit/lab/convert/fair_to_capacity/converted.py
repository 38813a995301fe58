"""Short ways to convert a text and to look at what came out."""

import tempfile
from pathlib import Path

from fairshare.documents.problems import Problems
from fairshare.lab.convert.fair_to_capacity.converting import Conversion, convert
from fairshare.lab.convert.fair_to_capacity.draft import Finding, Mode, Options
from fairshare.lab.convert.fair_to_capacity.source import Source, read_source
from fairshare.settings.site_files import read_site

CLUSTER = (102_400, 100)
"""100 GB and 100 vcores."""


def options(mode: Mode = "weights", *, known: bool = True) -> Options:
    return Options(mode=mode, cluster=CLUSTER if known else None, nodes=10 if known else None)


def read_fair_text(document: bytes) -> Source:
    """What an allocation file alone, with this content, gives to convert."""
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "fair-scheduler.xml"
        path.write_bytes(document)
        return read_source(path)


def converted(
    queues: str, mode: Mode = "weights", *, known: bool = True, given: Options | None = None
) -> Conversion:
    """What becomes of the inside of an allocation file."""
    source = read_fair_text(f"<allocations>{queues}</allocations>".encode())
    return convert(source, given or options(mode, known=known))


def converted_directory(
    directory: Path, queues: str, properties: dict[str, str], mode: Mode = "weights"
) -> Conversion:
    """The same with properties, through files."""
    (directory / "fair-scheduler.xml").write_text(f"<allocations>{queues}</allocations>")
    inside = "".join(
        f"<property><name>{name}</name><value>{value}</value></property>"
        for name, value in properties.items()
    )
    (directory / "yarn-site.xml").write_text(f"<configuration>{inside}</configuration>")
    return convert(read_source(directory), options(mode))


def written(conversion: Conversion, file: str = "capacity-scheduler.xml") -> dict[str, str]:
    """The properties of a file, without the prefix of the Capacity Scheduler."""
    site = read_site([(file, conversion.files[file])], Problems())
    return {found.name.removeprefix("yarn.scheduler.capacity."): found.value for found in site}


def finding(conversion: Conversion, rule: str, queue: str = "") -> Finding:
    """The one finding of a rule about a queue."""
    found = [one for one in conversion.findings if (one.rule, one.queue) == (rule, queue)]
    assert len(found) == 1, found
    return found[0]
