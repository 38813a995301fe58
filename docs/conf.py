"""How Sphinx builds the site of these pages: `make docs`.

index.md lists the pages; the navigation is made from its headings and lists. A page that it does
not list, a link to nothing, an unknown anchor, and a load from another host fail the build. The
pages in `generated` are there for the build only (`tests/references.py`).
"""

import os
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

project = "fairshare"
extensions = ["myst_parser"]
exclude_patterns = ["requirements.in"]
templates_path = ["site"]  # sidebar/variant-selector.html, the choice of a version
nitpicky = True
myst_heading_anchors = 6  # the anchors of GitHub, for headings of every level
html_theme = "furo"
html_title = "fairshare"
html_copy_source = False
html_show_sourcelink = False
html_show_copyright = False

LISTED = re.compile(r"^\* \[[^\]]*\]\(([^)#]+)\.md\)", re.M)
ELSEWHERE = re.compile(r"(?<=\]\()((?:\.\./)+[^)#]+\.md)(?=\))")


def with_generated(text: str, docs: Path) -> str:
    """The text of index.md whose last section of references also lists the generated pages."""
    pages = sorted(docs.glob("generated/*.md"))
    titles = {page.name: page.read_text(encoding="utf-8").splitlines()[0][2:] for page in pages}
    links = [f"* [{title}](generated/{name})\n" for name, title in titles.items()]
    return text.replace("\n## Explanation\n", "".join(links) + "\n## Explanation\n")


def with_options(text: str, docs: Path) -> str:
    """The text of cli.md in which the section of a verb leads to its generated options."""
    page = docs / "generated" / "command-line.md"
    verbs = (
        re.findall(r"^### (.*)$", page.read_text(encoding="utf-8"), re.M) if page.exists() else []
    )

    def heading(found: re.Match[str]) -> str:
        anchor = found[1].replace(" ", "-")
        link = f"\n\n[All options](generated/command-line.md#{anchor})"
        return found[0] + link if found[1] in verbs else found[0]

    return re.sub(r"^## (.*)$", heading, text, flags=re.M)


def navigation(text: str) -> str:
    """The text of index.md with its lists also as tables of contents, for the sidebar alone."""
    sections = re.split(r"^(?=## )", text, flags=re.M)
    return "\n".join(section + tree(section) for section in sections)


def tree(section: str) -> str:
    pages = LISTED.findall(section)
    if not pages:
        return ""
    caption = section.splitlines()[0].removeprefix("## ")
    lines = ["```{toctree}", ":hidden:", f":caption: {caption}", "", *pages, "```"]
    return "\n".join(["", *lines, ""])


def with_files_of_the_checkout(text: str, folder: Path, docs: Path) -> str:
    """Links to Markdown outside of docs lead to a copy, as Sphinx does it for all other files.

    One with an anchor is left as it is, and fails: a copy has no anchors.
    """

    def link(found: re.Match[str]) -> str:
        target = Path(os.path.normpath(folder / found[1]))
        copied = target.is_file() and not target.is_relative_to(docs)
        return f"path:{found[0]}" if copied else found[0]

    return ELSEWHERE.sub(link, text)


class _Loads(HTMLParser):
    """What a browser loads from other hosts when it shows a page; links do not count."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        named = [value for name, value in attrs if name in ("src", "srcset", "data", "poster")]
        named += [value for name, value in attrs if name == "href" and tag not in ("a", "area")]
        self.found += [value for value in named if re.search(r"(^|[\s,])(https?:)?//", value or "")]


def loads_from_other_hosts(name: str, text: str) -> list[str]:
    """The addresses of other hosts that a page or a style sheet loads."""
    if name.endswith(".css"):
        return re.findall(r"""(?:url\(|@import)\s*["']?((?:https?:)?//[^"')\s;]+)""", text)
    parser = _Loads()
    parser.feed(text)
    return parser.found


def read(app: Any, name: str, source: list[str]) -> None:
    if name == "index":
        source[0] = navigation(with_generated(source[0], Path(app.srcdir)))
    elif name == "cli":
        source[0] = with_options(source[0], Path(app.srcdir))
    elif name == "decisions/README":
        source[0] += "\n```{toctree}\n:glob:\n\n0*\n```\n"
    source[0] = with_files_of_the_checkout(
        source[0], Path(app.env.doc2path(name)).parent, Path(app.srcdir)
    )


def check_loads(app: Any, error: Exception | None) -> None:
    from sphinx.util import logging  # tests read this file where Sphinx is not installed

    for file in sorted(Path(app.outdir).rglob("*")):
        if file.suffix in (".html", ".css"):
            for address in loads_from_other_hosts(file.name, file.read_text(encoding="utf-8")):
                place = file.relative_to(app.outdir)
                logging.getLogger(__name__).warning("%s loads %s", place, address)


def setup(app: Any) -> None:
    app.connect("source-read", read)
    app.connect("build-finished", check_loads)
