"""Record what Hadoop's shuffle service answers to the requests of `tests/shuffle_requests.py`.

python -m tests.hadoop.shuffle
"""

import getpass
import subprocess
import sys
import tempfile
from pathlib import Path

import msgspec
from tests.hadoop.configuration import LOG4J
from tests.hadoop.installation import Installation
from tests.shuffle_requests import (
    ANSWERS,
    OTHER_SECRET,
    REQUESTS,
    SECRET,
    Answer,
    ask,
    write_outputs,
)

PROGRAM = Path(__file__).with_name("Shuffle.java")
APPLICATION, JOB = "application_1700000000000_0001", "job_1700000000000_0001"


class Recording(msgspec.Struct, frozen=True):
    """The service data of a job with SECRET, and the answers by request."""

    service_data: str
    answers: dict[str, Answer]


def main() -> None:
    """Start the service, ask it, and write the answers."""
    installation = Installation()
    installation.fetch()
    user = getpass.getuser()
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        write_outputs(folder / f"usercache/{user}/appcache/{APPLICATION}/output")
        secrets = (SECRET.decode(), OTHER_SECRET.decode())
        classpath = f"{installation.jars}/*"
        log = folder / "log4j.properties"
        log.write_text(LOG4J)  # to stderr
        service = subprocess.Popen(
            [
                *("java", f"-Dlog4j.configuration=file://{log}", "-cp", classpath),
                *(str(PROGRAM), str(folder), user, *secrets),
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        assert service.stdout is not None
        assert service.stdin is not None
        try:
            words = {}
            while "port" not in words:
                name, _, value = service.stdout.readline().partition(" ")
                words[name] = value.strip()
            port = int(words["port"], 16)
            answers = {name: ask(port, request, JOB, folder) for name, request in REQUESTS.items()}
        finally:
            service.stdin.close()
            service.wait(30)
    recording = Recording(words["data"], answers)
    ANSWERS.write_bytes(msgspec.json.format(msgspec.json.encode(recording), indent=1) + b"\n")


if __name__ == "__main__":
    sys.exit(main())
