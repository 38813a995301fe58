"""The hosts that may have nodes, and those that must not: Hadoop's include and exclude files.

A file has names of hosts, divided by blanks and lines; `#` begins a comment. The exclude file may
be XML, with a timeout for each host (Hadoop: HostsFileReader).
"""

from pathlib import Path

import msgspec

from fairshare.config import xml
from fairshare.config.problems import Problems

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
