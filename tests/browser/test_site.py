"""The site of the pages has a version for each release, and its pages choose among them."""

import json
import os
import shutil
import subprocess
from pathlib import Path
from runpy import run_path

import pytest

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PYTHON = ROOT / "build" / "docs" / "bin" / "python"
VERSIONS = run_path(str(DOCS / "site" / "versions.py"))
MAKEFILE = "site:\n\tmkdir -p build/site && cp -r {} build/site/development\n"


def git(folder: Path, *words: str) -> None:
    who = ["-c", "user.name=A", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false"]
    subprocess.run(["git", "-C", folder, *who, *words], check=True, capture_output=True)


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A repository of version 1.1.0, without a tag; `make site` copies its folder `pages`."""
    folder = tmp_path / "checkout"
    (folder / "pages" / "how-to").mkdir(parents=True)
    (folder / "pages" / "index.html").write_text("of 1.0.0")
    (folder / "pyproject.toml").write_text('[project]\nversion = "1.1.0"\n')
    (folder / "Makefile").write_text(MAKEFILE.format("pages"))
    git(folder, "init", "--quiet")
    git(folder, "add", ".")
    git(folder, "commit", "-m", "first")
    return folder


def site_of(checkout: Path) -> Path:
    site = checkout / "build" / "site"
    shutil.rmtree(site, ignore_errors=True)
    shutil.copytree(checkout / "pages", site / "development")
    VERSIONS["main"](site, checkout)
    return site


def listed(site: Path) -> dict[str, list[str]]:
    first = (site / "versions.js").read_text().splitlines()[0]
    return json.loads(first.removeprefix("const VERSIONS = ").removesuffix(";"))


def test_before_the_first_release_its_version_has_the_pages_of_the_checkout(checkout):
    site = site_of(checkout)
    assert listed(site) == {"1.1": ["index.html"], "development": ["index.html"]}
    assert (site / "1.1" / "index.html").read_text() == "of 1.0.0"
    assert "url=1.1/index.html" in (site / "index.html").read_text()


def test_each_release_is_there_by_its_newest_tag_and_is_built_once(checkout, capsys):
    for tag in ("v1.0.9", "v1.0.10", "v1.1.0", "v1.2.0-rc1", "nightly"):
        (checkout / "pages" / "index.html").write_text(f"of {tag}")
        (checkout / "pages" / "how-to" / f"{tag}.html").touch()
        git(checkout, "add", ".")
        git(checkout, "commit", "-m", tag)
        git(checkout, "tag", tag)
    site = site_of(checkout)
    assert capsys.readouterr().out.splitlines() == [
        "Building the pages of v1.1.0",
        "Building the pages of v1.0.10",
    ]
    pages = listed(site)
    assert list(pages) == ["1.1", "1.0", "development"]
    assert pages["1.0"] == ["how-to/v1.0.10.html", "how-to/v1.0.9.html", "index.html"]
    texts = {name: (site / name / "index.html").read_text() for name in pages}
    assert texts == {"1.1": "of v1.1.0", "1.0": "of v1.0.10", "development": "of nightly"}
    assert "url=1.1/index.html" in (site / "index.html").read_text()
    site_of(checkout)
    assert capsys.readouterr().out == ""


def build(docs: Path, output: Path, *pages: str) -> None:
    """Real pages, with the configuration and the templates of ours."""
    (docs / "how-to").mkdir(parents=True)
    shutil.copy(DOCS / "conf.py", docs)
    shutil.copytree(DOCS / "site", docs / "site")
    links = "\n".join(f"* [{page}](how-to/{page}.md)" for page in pages)
    (docs / "index.md").write_text(f"# Index\n\n## How-to guides\n\n{links}\n")
    for page in pages:
        (docs / "how-to" / f"{page}.md").write_text(f"# {page}\n\nText.\n")
    command = [PYTHON, "-m", "sphinx", "--quiet", "--fail-on-warning", docs, output]
    subprocess.run(command, check=True, timeout=60, env={**os.environ, "LC_ALL": "C.UTF-8"})


@pytest.mark.slow
@pytest.mark.skipif(not PYTHON.exists(), reason="Sphinx is not installed: run `make docs`")
def test_a_page_leads_to_the_same_page_of_another_version_without_a_server(
    checkout, tmp_path, visit
):
    build(tmp_path / "old", tmp_path / "1.0", "gpus")
    build(tmp_path / "new", checkout / "pages", "gpus", "labels")
    (checkout / "Makefile").write_text(MAKEFILE.format(tmp_path / "1.0"))
    git(checkout, "add", "Makefile")
    git(checkout, "commit", "-m", "old")
    git(checkout, "tag", "v1.0.0")
    site = site_of(checkout)
    page = visit((site / "index.html").as_uri())
    page.wait_for_url("**/1.0/index.html")
    page.get_by_role("link", name="gpus").first.click()
    choice = page.get_by_label("Version")
    assert choice.locator("option").all_inner_texts() == ["1.0", "development"]
    assert choice.input_value() == "1.0"
    choice.select_option("development")
    page.wait_for_url("**/development/how-to/gpus.html")
    assert page.get_by_label("Version").input_value() == "development"
    page.go_back()
    page.wait_for_url("**/1.0/how-to/gpus.html")
    assert page.get_by_label("Version").input_value() == "1.0"
    page = visit((site / "development" / "how-to" / "labels.html").as_uri(), theme="dark")
    choice = page.get_by_label("Version")
    paint = "one => [getComputedStyle(one).backgroundColor, getComputedStyle(one).color]"
    body = page.locator("body").evaluate(paint)
    assert choice.evaluate(paint) == body
    choice.select_option("1.0")
    page.wait_for_url("**/1.0/index.html")
