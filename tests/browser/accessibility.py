"""What everybody has to be able to use: axe-core's judgement of a page, and sizes to try it in."""

from pathlib import Path

AXE = (Path(__file__).parent / "vendor" / "axe.min.js").read_text()
SIZES = (1440, 1024, 800, 400)


def serious_problems(page) -> list[str]:
    """What axe-core finds that is serious or worse, with the place of each."""
    if page.evaluate("typeof axe === 'undefined'"):  # it stays while the page does
        page.evaluate(AXE)
    # What it finds in order is ten times as much, and takes a second to be passed on.
    options = "{resultTypes: ['violations']}"
    found = page.evaluate(f"axe.run(document, {options}).then(found => found.violations)")
    return [
        f"{one['id']}: {node['html'][:160]}"
        for one in found
        if one["impact"] in ("serious", "critical")
        for node in one["nodes"]
    ]
