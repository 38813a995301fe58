"""A process in the place of the follower: it answers a question when a file with the number of its
application exists in its directory, and ends when asked for application 666. With a file
`complains` there it first writes more to stderr than a pipe has room for."""

import os
import socket
import sys
import threading
import time
from pathlib import Path

import msgspec

from fairshare.server.follower import READY, Answered, Asked


def answer(asking: socket.socket, directory: Path) -> None:
    with asking:
        asked = msgspec.json.decode(asking.makefile("rb").readline(), type=Asked)
        number = asked.question.application
        if number == 666:
            os._exit(1)
        (directory / f"asked-{number}").touch()
        while not (directory / str(number)).exists():
            time.sleep(0.01)
        asking.sendall(msgspec.json.encode(Answered(msgspec.Raw(str(number).encode()))))


def main() -> None:
    directory = Path(sys.argv[1])
    with socket.socket(fileno=int(sys.argv[2])) as control:
        control.sendall(READY)
        if (directory / "complains").exists():
            print("x" * 200_000, file=sys.stderr)
        while True:
            asked, descriptors, _, _ = socket.recv_fds(control, 1, 1)
            if not asked:
                return
            for one in descriptors:
                asking = socket.socket(fileno=one)
                threading.Thread(target=answer, args=(asking, directory), daemon=True).start()


main()
