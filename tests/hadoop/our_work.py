"""A program that uses fairshare's own client on a cluster: Python calls, a driver, a MapReduce job.

`python our_work.py FOLDER`; the driver is the same file with `driver` as its argument. Prints a
line for each part that did what it must.
"""

import os
import sys
import time
from collections import Counter
from pathlib import Path

import fairshare
from fairshare.client import (
    Client,
    ContainerRequest,
    Driver,
    DriverCommand,
    Master,
    Refused,
    ServerUnreachable,
    Submission,
    TaskGroup,
)
from fairshare.mapreduce import MapReduce

SMALL = {"memory-mb": 256, "vcores": 1}
TEXT = "the queue and the node\n" * 50
PATIENCE_S = 120


def calls() -> None:
    """Calls whose values and exceptions come home."""

    def place(number: int) -> tuple[int, str]:
        return number * number, os.environ["FAIRSHARE_NODE"]

    def fails() -> None:
        raise LookupError("as it must be")

    with fairshare.Executor(queue="root.default", resources=SMALL, max_attempts=1) as pool:
        results = pool.map(place, range(3))
        large = pool.submit(bytes, 1_000_000)
        failed = pool.submit(fails)
        assert [value for value, _ in results] == [0, 1, 4]
        assert large.result() == bytes(1_000_000)
        assert isinstance(failed.exception(), LookupError)
    print("calls: ok")


def drive() -> None:
    """What the driver does: a group of tasks, and a container that it launches by itself."""
    with Driver() as driver:
        driver.register()
        driver.add_tasks(TaskGroup(name="map", count=2, command="echo a task", resources=SMALL))
        driver.request(ContainerRequest(priority=5, count=1, resources=SMALL))
        launched = ""
        end = time.monotonic() + PATIENCE_S
        while time.monotonic() < end:
            try:
                containers = driver.containers()
            except ServerUnreachable:  # none leads at this moment
                time.sleep(0.2)
                continue
            for one in containers:
                free = one.group is None and not one.master
                if not launched and one.state == "ALLOCATED" and free:
                    driver.launch(one.id, "echo", "launched by the driver")
                    launched = one.id
            ended = [one for one in containers if one.exit_code == 0]
            if launched and len(ended) == 3:
                driver.finish()
                return
            time.sleep(0.2)
        driver.finish(succeeded=False, diagnostics=f"{launched or 'nothing'} was launched")


def submitted(client: Client, submission: Submission) -> str:
    """The application; a server that stops refuses it, and another one takes it."""
    end = time.monotonic() + PATIENCE_S
    while True:
        try:
            return client.submit(submission)
        except Refused as error:
            if error.code != "stopping" or time.monotonic() > end:
                raise
            time.sleep(0.2)


def driver() -> None:
    """An application with a driver, and what its containers printed."""
    submission = Submission(
        queue="root.default",
        driver=DriverCommand(arguments=(sys.executable, __file__, "driver")),
        master=Master(resources=SMALL),
    )
    with Client() as client:
        application = client.wait(submitted(client, submission), timeout_s=PATIENCE_S)
        assert application.state == "FINISHED", application.diagnostics
    print("driver: ok")


def words(line: str):
    for word in line.split():
        yield word, 1


def add(word: str, counts):
    yield word, sum(counts)


def count(folder: Path) -> None:
    """A MapReduce job whose counts must be right."""
    source, target = folder / "texts", folder / f"counts-{time.time_ns()}"
    source.mkdir(parents=True, exist_ok=True)
    for number in range(2):
        (source / f"{number}.txt").write_text(TEXT)
    result = MapReduce(
        inputs=[str(source)],
        output=str(target),
        mapper=words,
        combiner=add,
        reducer=add,
        reduces=2,
        queue="root.default",
        memory_mb=256,
    ).run()
    lines = "".join(part.read_text() for part in result.parts).splitlines()
    found = {word: int(number) for word, _, number in (line.partition("\t") for line in lines)}
    assert found == Counter((2 * TEXT).split()), found
    print("mapreduce: ok")


if __name__ == "__main__":
    if sys.argv[1] == "driver":
        drive()
    else:
        calls()
        driver()
        count(Path(sys.argv[1]))
