"""Owns the place of the examples, and the commands for a reader: `make demo` in a checkout of the
project, `fairshare demo` with an installed wheel."""

from pathlib import Path

EXAMPLES = Path(__file__).with_name("examples")
"""A link to the folder of the same name in a checkout; a wheel has the files here."""


def in_checkout(examples: Path = EXAMPLES) -> bool:
    """Whether the project's own Makefile is at hand."""
    return (examples.resolve().parent / "Makefile").is_file()


PROGRAM = ".venv/bin/fairshare" if in_checkout() else "fairshare"


def example(name: str) -> str:
    """The folder of an example, as an argument of a command."""
    return f"examples/{name}" if in_checkout() else str(EXAMPLES / name)


def demonstration_of(scheduler: str = "") -> str:
    """The command that shows a scheduler; by default the Fair Scheduler."""
    if in_checkout():
        return f"make demo SCHEDULER={scheduler}" if scheduler else "make demo"
    return f"fairshare demo --scheduler {scheduler}" if scheduler else "fairshare demo"
