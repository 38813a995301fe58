"""The command line, with one module for each verb.

Importing it is cheap: a verb is loaded when it is called.
"""

import gc
import sys
from io import TextIOWrapper


def main() -> None:
    """The program `fairshare`; exits the interpreter."""
    gc.disable()  # imports make no garbage; the verb collects again
    from fairshare.cli.verbs import fairshare

    if isinstance(sys.stdout, TextIOWrapper):
        # Characters that the terminal's encoding does not support must not cause a failure.
        sys.stdout.reconfigure(errors="replace")
    fairshare(prog_name="fairshare")
