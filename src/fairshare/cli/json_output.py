"""Owns the output of answers as JSON, for scripts. Must not load what draws tables: it takes longer
than all else that most verbs do.
"""

import json
from typing import Any

import click


def print_json(answer: Any) -> None:
    """Print a server's answer as JSON, for scripts. JSON escapes texts from users."""
    click.echo(json.dumps(answer, indent=2))
