"""Any request that the description of the REST interface allows, and many that it does not: the
server always answers as the description says, and never with a defect of its own.

What runs is the server on loopback with an engine that starts nothing: the requests are arbitrary,
and so are the commands in them. Repeat one with the `curl` line that the failure shows, or all with
the command that stands at the end of its output.
"""

import re
import shlex
import subprocess
import sys
from pathlib import Path

from tests.browser.cluster import running
from tests.browser.conftest import fair_configuration

EXAMPLES = 3
NOT_ASKED = "events|changes|shutdown"
"""Two answer without end or wait for a change, and one ends the server."""

NOT_CHECKED = "positive_data_acceptance"
"""Whether what has the right form is also accepted: which names, versions and columns there are
only the server knows."""


def test_schemathesis_finds_nothing(tmp_path: Path) -> None:
    configuration = fair_configuration(tmp_path / "conf")
    with running(configuration, tmp_path / "state") as cluster:
        cluster.submit("root.ml.training", 2)
        command = [
            *(sys.executable, "-W", "ignore", "-m", "schemathesis.cli", "run"),
            f"{cluster.url}/api/v1/openapi.json",
            *("--phases", "fuzzing", "--max-examples", str(EXAMPLES)),
            *("--generation-deterministic", "--no-shrink", "--no-color"),
            *("--exclude-path-regex", NOT_ASKED, "--exclude-checks", NOT_CHECKED),
            *("--continue-on-failure", "--request-timeout", "20", "--suppress-health-check", "all"),
        ]
        found = subprocess.run(
            command, capture_output=True, text=True, cwd=tmp_path, timeout=120, check=False
        )
        assert cluster.http.get("/cluster").status_code == 200
    reported = f"{found.stdout}\n{found.stderr}\n{shlex.join(command)}"
    assert found.returncode == 0, reported
    selected, tested = (
        int(re.search(rf"{word}: (\d+)", found.stdout)[1]) for word in ("Selected", "Tested")
    )
    assert selected == tested > 50, reported
