"""The hosts that may have nodes, those that must not (Hadoop's include and exclude files), and the
rack of each, as Hadoop's `net.topology` properties say: by a table or a script.

A file of hosts has names, divided by blanks and lines; `#` begins a comment. The exclude file may
be XML, with a timeout for each host (Hadoop: HostsFileReader). Without a table or a script all
hosts are in the default rack (Hadoop: ScriptBasedMapping, TableMapping).
"""

import logging
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path

import msgspec

from fairshare.core.manager.requests import DEFAULT_RACK
from fairshare.documents import xml
from fairshare.documents.problems import Problems
from fairshare.settings.site import Site
from fairshare.wording import cause

MOST_BYTES = xml.MAX_BYTES


class Hosts(msgspec.Struct, frozen=True):
    """The contents of both files. An empty `included` admits all; a timeout of None is the
    default."""

    included: frozenset[str] = frozenset()
    excluded: dict[str, int | None] = {}


class HostLists:
    """Both files, read by `refresh`; an empty path means an empty file."""

    def __init__(self, include: str = "", exclude: str = "") -> None:
        self._include = include
        self._exclude = exclude
        self.hosts = Hosts()

    def refresh(self) -> list[str]:
        """Read the files again; the problems, because of which nothing has changed, or none."""
        problems: list[str] = []
        included = self._read(self._include, problems)
        excluded = self._read(self._exclude, problems)
        if not problems:
            self.hosts = Hosts(frozenset(included), excluded)
        return problems

    def allows(self, host: str) -> bool:
        """Whether a host may have nodes."""
        hosts = self.hosts
        return (not hosts.included or host in hosts.included) and host not in hosts.excluded

    def _read(self, file: str, problems: list[str]) -> dict[str, int | None]:
        if not file:
            return {}
        try:
            content = Path(file).read_bytes()
            if len(content) > MOST_BYTES:
                problems.append(f"{file} has more than {MOST_BYTES} bytes")
                return {}
            text = content.decode()
        except OSError as error:
            problems.append(f"{file} cannot be read: {error.strerror}")
            return {}
        except UnicodeDecodeError:
            problems.append(f"{file} is not UTF-8")
            return {}
        if file.lower().endswith(".xml"):
            return _read_xml(file, content, problems)
        lines = (line.partition("#")[0] for line in text.splitlines())
        return dict.fromkeys(name for line in lines for name in line.split())


def _read_xml(file: str, content: bytes, problems: list[str]) -> dict[str, int | None]:
    """`<hosts><host><name>a,b</name><timeout>600</timeout></host></hosts>`; timeouts in seconds."""
    found: dict[str, int | None] = {}
    parsing = Problems()
    document = xml.parse(content, file, parsing)
    problems += [str(problem) for problem in parsing.all]
    for host in document.children if document is not None else ():
        fields = {field.name: field.trimmed for field in host.children}
        timeout = fields.get("timeout", "")
        if timeout and not timeout.isdigit():
            problems.append(f"{host.place}: the timeout {timeout!r} is not a number of seconds")
            continue
        for name in fields.get("name", "").replace(",", " ").split():
            found[name] = int(timeout) if timeout else None
    return found


MAPPING = "net.topology.node.switch.mapping.impl"
SCRIPT = "net.topology.script.file.name"
TABLE = "net.topology.table.file.name"

SCRIPT_TIMEOUT_S = 10.0
_SCRIPT_CLASS = "ScriptBasedMapping"
_TABLE_CLASS = "TableMapping"

_log = logging.getLogger("fairshare.yarn.rpc")


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
