"""Make the site of the pages one of several versions: `python docs/site/versions.py build/site`.

The folder `development` of the site has the pages of this checkout. Each release gets a folder of
its own from its newest tag (1.0 from v1.0.2), built by the tools that the tag has. Before the first
release, its folder has the pages of the checkout. `versions.js` lists the versions for all pages,
and `index.html` leads to the newest release.
"""

import json
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path
from typing import Final

HERE: Final = Path(__file__).parent
INDEX: Final = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="color-scheme" content="light dark">
<meta http-equiv="refresh" content="0; url={newest}/index.html">
<title>fairshare</title>
<p>The documentation of fairshare: {links}.</p>
</html>
"""


def releases(checkout: Path) -> dict[str, str]:
    """The newest tag of each release, the newest release first."""
    listing = ["git", "-C", str(checkout), "tag", "--list", "--sort=-version:refname"]
    done = subprocess.run(listing, check=False, capture_output=True, text=True)
    found: dict[str, str] = {}
    for tag in done.stdout.split():  # none where there is no repository
        if named := re.fullmatch(r"v(\d+\.\d+)\.\d+", tag):
            found.setdefault(named[1], tag)
    return found


def pages_of_tag(checkout: Path, tag: str) -> Path:
    """The site of a tag. It is built once: a tag does not change."""
    kept = checkout / "build" / "versions" / tag
    if not kept.exists():
        print(f"Building the pages of {tag}", flush=True)
        with tempfile.TemporaryDirectory() as folder:
            clone = ["git", "-c", "advice.detachedHead=false", "clone", "--quiet", "--depth", "1"]
            source = ["--branch", tag, checkout.absolute().as_uri(), folder]
            subprocess.run([*clone, *source], check=True)
            subprocess.run(["make", "--silent", "-C", folder, "site"], check=True)
            shutil.copytree(Path(folder, "build", "site", "development"), kept)
    return kept


def main(site: Path, checkout: Path) -> None:
    """Add to a site that has the folder `development` what makes it one of several versions.

    Raises:
        subprocess.CalledProcessError: the pages of a tag cannot be built.
    """
    sources = {name: pages_of_tag(checkout, tag) for name, tag in releases(checkout).items()}
    if not sources:
        project = tomllib.loads((checkout / "pyproject.toml").read_text())["project"]
        sources[".".join(project["version"].split(".")[:2])] = site / "development"
    for name, source in sources.items():
        shutil.copytree(source, site / name)
    names = [*sources, "development"]
    pages = {
        name: sorted(str(page.relative_to(site / name)) for page in site.glob(f"{name}/**/*.html"))
        for name in names
    }
    switcher = (HERE / "switcher.js").read_text()
    (site / "versions.js").write_text(f"const VERSIONS = {json.dumps(pages)};\n{switcher}")
    links = ", ".join(f'<a href="{name}/index.html">{name}</a>' for name in names)
    (site / "index.html").write_text(INDEX.format(newest=names[0], links=links))


if __name__ == "__main__":
    main(Path(sys.argv[1]), HERE.parents[1])
