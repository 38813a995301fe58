"""How runs and scenarios are written for people."""

from collections import Counter
from collections.abc import Sequence

import yaml

from conformance.oracle import Document
from conformance.side_by_side import Run


class _Dumper(getattr(yaml, "CSafeDumper", yaml.SafeDumper)):  # type: ignore[misc]
    """Files as blocks of text."""


def _text(dumper: yaml.SafeDumper, value: str) -> yaml.ScalarNode:
    style = "|" if "\n" in value else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style=style)


_Dumper.add_representer(str, _text)


def scenario_text(document: Document) -> str:
    """A scenario as a file."""
    text = yaml.dump(document, Dumper=_Dumper, sort_keys=False, width=100, default_flow_style=None)
    return str(text)


def counting_line(runs: Sequence[Run], wanted: int) -> str:
    """How many runs there were, and how many are identical.

    `1000 scenarios, 996 identical in decisions (99.60 %), 995 in decisions and state (99.50 %)`,
    then those of the others that are left to chance in Hadoop itself, what differs knowingly, and
    how many the oracle could not run.
    """
    count = len(runs)
    certain = [one for one in runs if one.chance is None]
    decisions = sum(one.verdict.decision is None for one in certain)
    whole = sum(one.verdict.identical for one in certain)
    line = (
        f"{count} scenarios, {decisions} identical in decisions ({_percent(decisions, count)}),"
        f" {whole} in decisions and state ({_percent(whole, count)})"
    )
    if len(certain) < count:
        line += f"; {count - len(certain)} of the others part by chance, as Hadoop's own runs do"
    known = Counter(bool(one.known) for one in runs)[True]
    if known:
        line += f"; {known} hold a difference that is there knowingly"
    if count < wanted:
        line += f"; {wanted - count} the oracle could not run"
    return line


def _percent(part: int, whole: int) -> str:
    return f"{100 * part / whole:.2f} %" if whole else "none"
