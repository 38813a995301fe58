"""What a lab found wrong, tried again as its users did: see `findings.py`."""

import pytest
from tests.docs.sandbox import NEEDS, POSSIBLE
from tests.lab.__main__ import tried
from tests.lab.findings import FINDINGS

pytestmark = [pytest.mark.skipif(not POSSIBLE, reason=NEEDS), pytest.mark.slow]


@pytest.fixture(scope="module")
def faults():
    """What is wrong with each finding, by its name."""
    return {name: fault for name, _, fault in tried([])}


@pytest.mark.parametrize("name", [finding.name for finding in FINDINGS])
def test_a_finding_is_mended(faults, name):
    assert faults[name] == ""
