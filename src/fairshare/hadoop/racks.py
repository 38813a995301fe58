"""The rack of a host, as Hadoop's `net.topology` properties say: by a table or a script.

Without either all hosts are in the default rack (Hadoop: ScriptBasedMapping, TableMapping).
"""

import logging
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path

from fairshare.config.problems import Problems
from fairshare.config.site import Site
from fairshare.manager.requests import DEFAULT_RACK
from fairshare.wording import cause

MAPPING = "net.topology.node.switch.mapping.impl"
SCRIPT = "net.topology.script.file.name"
TABLE = "net.topology.table.file.name"

SCRIPT_TIMEOUT_S = 10.0
_SCRIPT_CLASS = "ScriptBasedMapping"
_TABLE_CLASS = "TableMapping"

_log = logging.getLogger("fairshare.hadoop")


class Racks:
    """Finds the rack of a host; each host is looked up once."""

    def __init__(self, find: Callable[[str], str] = lambda host: DEFAULT_RACK) -> None:
        self._find = find
        self._found: dict[str, str] = {}

    @classmethod
    def of(cls, site: Site, problems: Problems) -> "Racks":
        """The racks that the properties describe; reports what cannot be used."""
        mapping = site.string(MAPPING, _SCRIPT_CLASS, problems).rpartition(".")[2]
        if mapping == _TABLE_CLASS:
            file = site.string(TABLE, "", problems)
            table = _read_table(file)
            if isinstance(table, str):
                problems.error(site.place(TABLE, MAPPING), "racks", table, "uses default racks")
                return cls()
            return cls(lambda host: table.get(host, DEFAULT_RACK))
        if mapping != _SCRIPT_CLASS:
            message = f"{MAPPING}: there are {_SCRIPT_CLASS} and {_TABLE_CLASS}, no {mapping!r}"
            problems.error(site.place(MAPPING), "racks", message, "loads the class")
            return cls()
        script = site.string(SCRIPT, "", problems)
        if not script:
            return cls()
        if not Path(script).is_file():
            message = f"{SCRIPT}: there is no file {script}"
            problems.error(site.place(SCRIPT), "racks", message, "uses default racks")
        return cls(lambda host: _ask(script, host))

    def rack_of(self, host: str) -> str:
        """`/rack`, or the default rack if the script fails."""
        rack = self._found.get(host)
        if rack is None:
            rack = self._found[host] = self._find(host)
        return rack


def _read_table(file: str) -> Mapping[str, str] | str:
    """The racks by host (two columns, `#` begins a comment), or what is wrong with the file."""
    try:
        lines = Path(file).read_text().splitlines()
    except (OSError, UnicodeDecodeError) as error:
        return f"{TABLE}: {file or 'no file'} cannot be read: {cause(error)}"
    table = {}
    for number, line in enumerate(lines, 1):
        columns = line.partition("#")[0].split()
        if columns and len(columns) != 2:
            return f"{file}:{number}: a line must have a host and a rack, not {line.strip()!r}"
        if columns:
            table[columns[0]] = columns[1]
    return table


def _ask(script: str, host: str) -> str:
    try:
        done = subprocess.run(
            [script, host],
            capture_output=True,
            text=True,
            check=True,
            stdin=subprocess.DEVNULL,
            timeout=SCRIPT_TIMEOUT_S,
        )
    except (OSError, subprocess.SubprocessError, UnicodeDecodeError) as error:
        _log.warning("the rack of %s is not known, %s: %s", host, SCRIPT, error)
        return DEFAULT_RACK
    words = done.stdout.split()
    if len(words) == 1 and words[0].startswith("/"):
        return words[0]
    _log.warning("%s said %r of %s, which is not a rack: write /NAME", script, done.stdout, host)
    return DEFAULT_RACK
