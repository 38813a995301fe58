"""What a pipe gets without rich is what rich would print, byte by byte."""

import sys
from io import BytesIO, TextIOWrapper

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from rich.console import Console

from fairshare.cli import tables
from fairshare.cli.tables import (
    LONGEST_LINE,
    PIPE_WIDTH,
    Column,
    Facts,
    Indented,
    Listing,
    Pipe,
    Styled,
    open_console,
    open_output,
    print_all,
    state_text,
)

TEXTS = st.one_of(
    st.text(st.characters(codec="ascii"), max_size=12),
    st.text(st.one_of(st.sampled_from("ab  \t\nß界\u0301\x1b…"), st.characters()), max_size=12),
)
PRINTABLE = TEXTS.filter(str.isprintable)
CELLS = st.one_of(TEXTS, PRINTABLE.map(lambda text: Styled(text, "green")))
COLUMNS = st.lists(
    st.builds(Column, st.sampled_from(["Name", "Mem. eff.", "N"]), right=st.booleans()),
    min_size=1,
    max_size=4,
)
LISTINGS = COLUMNS.flatmap(
    lambda columns: st.builds(
        Listing,
        st.just(columns),
        st.lists(st.lists(CELLS, min_size=len(columns), max_size=len(columns)), max_size=4),
    )
)
FACTS = st.lists(st.tuples(st.sampled_from(["Name", "Asked for"]), CELLS), min_size=1, max_size=4)
PARTS = st.one_of(
    st.none(),
    PRINTABLE,
    PRINTABLE.map(Styled),
    st.builds(Indented, PRINTABLE.map(Styled), st.integers(0, 3)),
    LISTINGS,
    FACTS.map(Facts),
)


def printed(output_of, parts):
    """What is written to standard output."""
    written, before = BytesIO(), sys.stdout
    sys.stdout = stream = TextIOWrapper(written, encoding="utf-8", errors="replace")
    try:
        print_all(output_of(), *parts)
        stream.flush()
    finally:
        sys.stdout = before
    return written.getvalue().decode()


@pytest.fixture(scope="module", autouse=True)
def _no_terminal():
    with pytest.MonkeyPatch.context() as patch:
        for name in ("COLUMNS", "FORCE_COLOR", "TTY_COMPATIBLE"):
            patch.delenv(name, raising=False)
        yield


@given(st.lists(PARTS, max_size=3))
@example([Indented(Styled("\U0001f3fb"), 0)])
@example([Listing([Column("Name")], [["x" * (LONGEST_LINE + 1)]])])
@example([Facts([("Diagnostics", "a long sentence " * 2_000)])])
@example(["a long sentence " * 2_000, "", None, Styled("a\x1b[2J\nb", "red")])
@example([Listing([Column("N", right=True)], [["1 "], [" 22"], [Styled("")]])])
def test_a_pipe_gets_what_rich_would_print(parts):
    assert printed(open_output, parts) == printed(open_console, parts)


def test_styles_are_for_terminals_only():
    console = Console(force_terminal=True, color_system="truecolor", file=TextIOWrapper(BytesIO()))
    text = state_text("PENDING", " (held back)")
    with console.capture() as captured:
        print_all(console, text)
    assert captured.get() == "\x1b[33mPENDING (held back)\x1b[0m\n"
    assert printed(open_output, [text]) == "PENDING (held back)\n"


def test_only_a_pipe_goes_without_rich(monkeypatch):
    assert isinstance(open_output(), Pipe)
    assert open_output().width == PIPE_WIDTH
    for name in ("COLUMNS", "FORCE_COLOR", "TTY_COMPATIBLE"):
        monkeypatch.setenv(name, "1")
        assert isinstance(open_output(), Console)
        monkeypatch.delenv(name)
    monkeypatch.setattr(tables.sys, "stdout", None)
    assert isinstance(open_output(), Console)
