"""Owns how a running container is named on the command line: APP, APP/TASK or the container."""

from fairshare.cli.cells import task_text
from fairshare.cli.verbs import Failure
from fairshare.client import Client, Container
from fairshare.wording import counted


def running_container(client: Client, target: str) -> str:
    """The id of the running container that `APP`, `APP/INDEX`, `APP/GROUP/INDEX` or an id names;
    raises Failure if there is none, or more than one. Of a driver's application it is the driver's.
    """
    if target.startswith("container_"):
        return target
    application, _, task = target.partition("/")
    running = [one for one in client.containers(application) if one.state == "RUNNING"]
    masters = [one for one in running if one.master]
    found = [one for one in running if _is(one, task)] if task else masters or running
    if not found:
        waits = f"; it has {len(running)} others" if running else f": fairshare why {application}"
        raise Failure(f"nothing runs in {target}{waits}")
    if len(found) > 1:
        names = ", ".join(f"{application}/{task_text(one)}" for one in found[:3])
        many = counted(len(found), "running container")
        raise Failure(f"{target} has {many}: name one, such as {names}")
    return found[0].id


def _is(container: Container, task: str) -> bool:
    group, _, index = task.rpartition("/")
    return str(container.task) == index and group in ("", container.group or "")
