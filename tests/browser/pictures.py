"""The pictures of the pages, and whether each is of the pages as they are now:
`python -m tests.browser.pictures FOLDER` names those that are older than what they show.

A picture is older if a file of the pages that it shows has changed: its view and what that imports,
the frame around views, or the styles.
"""

import hashlib
import json
import re
import sys
from pathlib import Path
from typing import Final, NamedTuple

STATIC: Final = Path(__file__).parents[2] / "src/fairshare/server/web/pages/static"
MARKS: Final = "shown.json"
IMPORT: Final = re.compile(r"""^import\b[^;]*?["'](\.[^"']+)["'];""", re.M)


class Picture(NamedTuple):
    """One picture; `path` is the address, in which {application} is one that waits, and `view` the
    file in static/views that draws it."""

    name: str
    scheduler: str
    path: str
    view: str
    theme: str = "light"
    width: int = 1440


PICTURES = (
    Picture("scheduler", "fair", "/cluster/scheduler?queue=root.ml.training", "scheduler"),
    Picture(
        "scheduler-dark",
        "fair",
        "/cluster/scheduler?queue=root.etl.clickstream",
        "scheduler",
        "dark",
    ),
    Picture(
        "scheduler-800", "fair", "/cluster/scheduler?queue=root.ml.training", "scheduler", width=800
    ),
    Picture(
        "scheduler-capacity", "capacity", "/cluster/scheduler?queue=root.ml&tab=users", "scheduler"
    ),
    Picture("scheduler-pools", "pools", "/cluster/scheduler?queue=root.ads", "scheduler"),
    Picture("applications", "fair", "/cluster/apps", "applications"),
    Picture("applications-dark", "fair", "/cluster/apps", "applications", "dark"),
    Picture("application", "fair", "/cluster/app/{application}", "application"),
    Picture("nodes", "fair", "/cluster/nodes", "nodes"),
    Picture(
        "configuration", "fair", "/cluster/configuration?queue=root.ml.training", "configuration"
    ),
    Picture("first-run", "empty", "/", "scheduler"),
)


def shown(view: str) -> list[Path]:
    """The files that a page with a view is made of."""
    files = [*STATIC.glob("*.css"), STATIC / "index.html", STATIC / "theme.js"]
    left = [STATIC / "main.js", STATIC / "views" / f"{view}.js"]
    while left:
        file = left.pop()
        if file not in files:
            files.append(file)
            left += [(file.parent / name).resolve() for name in IMPORT.findall(file.read_text())]
    return sorted(files)


def digest(picture: Picture) -> str:
    """The digest of the files that a picture shows."""
    total = hashlib.sha256(repr(picture).encode())
    for file in shown(picture.view):
        total.update(file.read_bytes())
    return total.hexdigest()[:16]


def marks(folder: Path) -> dict[str, str]:
    """The digests of the pictures of a folder, of the time when they were made."""
    file = folder / MARKS
    return dict(json.loads(file.read_text())) if file.exists() else {}


def mark(picture: Picture, folder: Path) -> None:
    """Write down what a picture shows, which has just been made."""
    known = marks(folder) | {picture.name: digest(picture)}
    (folder / MARKS).write_text(json.dumps(known, indent=1, sort_keys=True) + "\n")


def older(folder: Path) -> list[str]:
    """The pictures that do not show the pages as they are."""
    known = marks(folder)
    return [picture.name for picture in PICTURES if known.get(picture.name) != digest(picture)]


if __name__ == "__main__":
    if names := older(Path(sys.argv[1])):
        sys.exit(f"older than what they show: {', '.join(names)}; run `make screenshots`")
