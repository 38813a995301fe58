"""Owns the command line, one file for each verb; knows nothing of scheduling itself.

Importing it costs nothing: a verb is only loaded when it is called.
"""

import sys
from io import TextIOWrapper


def main() -> None:
    """The program `fairshare`; exits the interpreter."""
    from fairshare.cli.verbs import fairshare

    if isinstance(sys.stdout, TextIOWrapper):
        # A name or a bar that the terminal's encoding does not know is no reason to fail.
        sys.stdout.reconfigure(errors="replace")
    fairshare(prog_name="fairshare")
