"""Makes the package `conformance` of the repository's root importable, whoever starts the tests."""

import sys
from pathlib import Path

ROOT = str(Path(__file__).parents[2])
if ROOT not in sys.path:
    sys.path.insert(0, ROOT)
