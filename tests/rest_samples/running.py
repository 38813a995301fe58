"""The run of samples: each state is built in our server, and all of it is asked in order."""

import asyncio
import dataclasses
import tempfile
from pathlib import Path

from tests.rest_samples.comparison import Comparison
from tests.rest_samples.samples import Sample, SampleState, find_states
from tests.rest_samples.server import ADDRESS, SampleServer, start_server
from tests.rest_samples.steps import Driver


@dataclasses.dataclass(frozen=True)
class Outcome:
    """How one sample went; no difference: the answers agree."""

    name: str
    differences: tuple[str, ...]


def run(folder: Path) -> list[Outcome]:
    """All samples of a folder, by name."""
    found: list[Outcome] = []
    for state in find_states(folder):
        found += asyncio.run(run_state(state))
    return found


async def run_state(state: SampleState) -> list[Outcome]:
    """The samples of one state."""
    with tempfile.TemporaryDirectory() as directory:
        server = await start_server(state.scenario, Path(directory))
        try:
            driver = Driver(server, state.scenario)
            await driver.begin()
            epoch_ms = server.live.scheduler.state.epoch_ms
            comparison = Comparison(epoch_ms, ADDRESS)
            return [await _ask(server, driver, comparison, one) for one in state.samples]
        finally:
            await server.close()


async def _ask(
    server: SampleServer, driver: Driver, comparison: Comparison, sample: Sample
) -> Outcome:
    for step in sample.before:
        await driver.run(step)
    request = sample.request
    headers = {name: comparison.filled(value) for name, value in request.get("headers", {}).items()}
    body = request.get("body")
    server.http.cookies.clear()
    built = server.http.build_request(
        request["method"],
        f"http://{ADDRESS}" + comparison.filled(request["path"]),
        headers=headers,
        content=None if body is None else comparison.filled(body).encode(),
    )
    for name in ("Accept", "Accept-Encoding", "User-Agent"):
        if name.lower() not in {given.lower() for given in headers}:
            del built.headers[name]
    answer = await server.http.send(built, follow_redirects=False)
    if request["method"] not in ("GET", "HEAD", "OPTIONS"):
        await driver.settle()
    return Outcome(sample.name, tuple(comparison.differences(sample.response, answer)))
