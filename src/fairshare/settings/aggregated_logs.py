"""Where the nodes of this machine aggregate logs (Hadoop: LogAggregationFileController)."""

from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

import msgspec

from fairshare.documents.problems import Problems
from fairshare.settings.site import Site

ENABLED: Final = "yarn.log-aggregation-enable"
DIRECTORY: Final = "yarn.nodemanager.remote-app-log-dir"
FORMATS: Final = "yarn.log-aggregation.file-formats"
_TFILE: Final = "TFile"


class RemoteLogs(msgspec.Struct, frozen=True):
    """Where the nodes of this machine aggregate logs: below `directory`, in `suffix` of each user.
    `problem` says why they cannot."""

    directory: Path
    suffix: str
    problem: str = ""


def read_remote_logs(site: Site, problems: Problems) -> RemoteLogs:
    """Read it, with Hadoop's defaults."""
    written = urlsplit(site.string(DIRECTORY, "/tmp/logs", problems))  # noqa: S108
    scheme = written.scheme
    if not scheme:
        scheme = urlsplit(site.string("fs.defaultFS", "file:///", problems)).scheme
    suffix = site.string(f"{DIRECTORY}-suffix", "logs", problems)
    problem = ""
    if scheme != "file":
        problem = f"{DIRECTORY} is in {scheme}:, and the nodes of this machine write to file: only"
    elif _TFILE not in (site.strings(FORMATS, problems) or (_TFILE,)):
        problem = f"{FORMATS} has no {_TFILE}, which is what the nodes of this machine write"
    return RemoteLogs(Path(written.path), f"{suffix}-{_TFILE.lower()}", problem)
