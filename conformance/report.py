"""Owns how runs and scenarios are written for people."""

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

    `1000 scenarios, 998 identical in decisions (99.80 %), 998 in decisions and state (99.80 %)`,
    then what differs knowingly in them, and how many the oracle could not run.
    """
    count = len(runs)
    decisions = sum(one.verdict.decision is None for one in runs)
    whole = sum(one.verdict.identical for one in runs)
    line = (
        f"{count} scenarios, {decisions} identical in decisions ({_percent(decisions, count)}),"
        f" {whole} in decisions and state ({_percent(whole, count)})"
    )
    known = Counter(bool(one.known) for one in runs)[True]
    if known:
        line += f"; {known} hold a difference that is there knowingly"
    if count < wanted:
        line += f"; {wanted - count} the oracle could not run"
    return line


def _percent(part: int, whole: int) -> str:
    return f"{100 * part / whole:.2f} %" if whole else "none"
