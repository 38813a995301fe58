"""Record the files that Hadoop's writer of aggregated logs makes of `tests/aggregated_logs.py`.

python -m tests.hadoop.logs
"""

import getpass
import json
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.aggregated_logs import CASES, CONTAINER, RECORDED, digest
from tests.hadoop.installation import Installation

PROGRAM = Path(__file__).with_name("Logs.java")


def main() -> None:
    """Write a file for each case, and keep its digest."""
    installation = Installation()
    installation.fetch()
    user, found = getpass.getuser(), {}
    for name, case in CASES.items():
        with tempfile.TemporaryDirectory() as place:
            folder = Path(place)
            for number, logs in enumerate(case.containers, 1):
                container = folder / "application_1700000000000_0001" / CONTAINER.format(number)
                container.mkdir(parents=True)
                for log, content in logs.items():
                    (container / log).write_bytes(content)
            target = folder / "file"
            java = ("java", "-cp", f"{installation.jars}/*", str(PROGRAM), str(target), place)
            count = str(len(case.containers))
            subprocess.run([*java, user, count, case.view_acl], check=True, capture_output=True)
            found[name] = digest(target.read_bytes())
    RECORDED.write_text(json.dumps({"user": user, "files": found}, indent=1) + "\n")


if __name__ == "__main__":
    sys.exit(main())
