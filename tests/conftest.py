"""Lets the tests import what lies beside them in this checkout, such as `tests.facts`."""

import sys
from pathlib import Path

ROOT = str(Path(__file__).parents[1])

if ROOT not in sys.path:
    sys.path.insert(0, ROOT)
