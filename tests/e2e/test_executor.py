"""`fairshare.Executor` on a real server with real containers."""

import asyncio
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent import futures
from pathlib import Path

import pytest
from click.testing import CliRunner
from tests.hadoop.configuration import free_ports
from tests.served import FAIR_SITE, PATIENCE_S, SMALL_MACHINE, Served, until

import fairshare
from fairshare.cli.verbs import fairshare as command_line
from fairshare.client import Client, executor
from fairshare.client.errors import ApplicationFailed, CallFailed, NotPicklable
from fairshare.client.executor import links, workers

SMALL = {"memory-mb": 128, "vcores": 1}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server that starts again at its address."""
    files = {
        "yarn-site.xml": FAIR_SITE,
        "fair-scheduler.xml": '<allocations><queue name="a"/></allocations>',
    }
    (port,) = free_ports(1)
    conf = tmp_path_factory.mktemp("executor") / "conf"
    found = Served(conf, "--port", str(port), *SMALL_MACHINE, files=files)
    yield found
    found.end()


@pytest.fixture
def pool(server: Served) -> Iterator[fairshare.Executor]:
    with fairshare.Executor("root.a", url=server.url, resources=SMALL) as pool:
        yield pool


def test_calls_return_in_order_and_share_containers_by_chunks(pool):
    assert list(pool.map(lambda a, b: a * b, range(7), range(1, 8), chunksize=3)) == [
        0, 2, 6, 12, 20, 30, 42,
    ]  # fmt: skip
    progress = pool.progress()
    assert (progress.calls, progress.done, progress.running) == (3, 3, 0)


def test_calls_of_one_moment_are_one_application(pool, server):
    with Client(server.url) as client:
        before = len(client.applications())
        given = [pool.submit(pow, 2, number) for number in range(8)]
        assert [future.result(PATIENCE_S) for future in given] == [2**n for n in range(8)]
        assert len(client.applications()) - before <= 2


def test_an_exception_comes_home_with_its_traceback_and_no_second_try(pool, tmp_path):
    tries = tmp_path / "tries"

    def fail(path, number):
        with Path(path).open("a") as file:
            file.write("x")
        return 1 // number

    future = pool.submit(fail, str(tries), 0)
    with pytest.raises(ZeroDivisionError) as caught:
        future.result(PATIENCE_S)
    assert "in fail" in str(caught.value.__cause__)
    assert "return 1 // number" in str(caught.value.__cause__)
    assert tries.read_text() == "x"


def test_calls_and_results_that_cannot_be_pickled_raise_errors(pool):
    import threading

    with pytest.raises(NotPicklable, match="the function acquire cannot be sent"):
        pool.submit(threading.Lock().acquire)
    with pytest.raises(NotPicklable, match="argument 2 of pow, a lock, cannot be sent"):
        pool.submit(pow, 2, threading.Lock())
    with pytest.raises(NotPicklable, match="the argument mod of pow, a lock, cannot be sent"):
        pool.submit(pow, 2, 3, mod=threading.Lock())

    def make_lock():
        import threading

        return threading.Lock()

    with pytest.raises(TypeError, match=r"what the call returned cannot be sent back .*lock"):
        pool.submit(make_lock).result(PATIENCE_S)

    def raise_odd():
        class Odd(Exception):
            def __init__(self, one, two):
                super().__init__("odd")

        raise Odd(1, 2)

    with pytest.raises(CallFailed, match="odd"):
        pool.submit(raise_odd).result(PATIENCE_S)


def test_a_call_whose_process_dies_fails_alone(server):
    options = {"url": server.url, "resources": SMALL, "max_attempts": 1}
    with fairshare.Executor("root.a", **options) as pool:
        bad = pool.submit(os._exit, 3)
        good = [pool.submit(pow, 3, number) for number in range(3)]
        with pytest.raises(CallFailed, match="process failed"):
            bad.result(PATIENCE_S)
        assert [future.result(PATIENCE_S) for future in good] == [1, 3, 9]


def test_a_running_call_is_cancelled_and_its_container_ends(pool, server):
    slow = pool.submit(time.sleep, 600)
    other = pool.submit(abs, -1)
    until(slow.running)
    assert slow.cancel()
    assert slow.cancelled()
    with pytest.raises(futures.CancelledError):
        slow.result()
    assert other.result(PATIENCE_S) == 1
    with Client(server.url) as client:
        until(lambda: all(one.over for one in client.applications()))
    assert pool.progress().cancelled == 1


def test_what_waits_is_cancelled_by_shutdown_and_never_runs(server, tmp_path):
    mark = tmp_path / "ran"
    options = {"url": server.url, "resources": {"memory-mb": 1024, "vcores": 4}}
    pool = fairshare.Executor("root.a", **options)
    first = pool.submit(time.sleep, 2)
    until(first.running)
    second = pool.submit(mark.touch)
    pool.shutdown(cancel_futures=True)
    assert first.result() is None
    assert second.cancelled()
    assert not mark.exists()
    with pytest.raises(RuntimeError, match="after shutdown"):
        pool.submit(pow, 1, 1)


def test_leaving_by_an_exception_cancels_everything(server):
    given = []

    def leave() -> None:
        with fairshare.Executor("root.a", url=server.url, resources=SMALL) as pool:
            given.append(pool.submit(time.sleep, 600))
            until(given[0].running)
            raise KeyError

    with pytest.raises(KeyError):
        leave()
    assert given[0].cancelled()


def test_no_more_calls_run_at_once_than_there_are_workers(server, tmp_path):
    def overlap(number: int) -> int:
        mark = tmp_path / str(number)
        mark.touch()
        time.sleep(0.2)
        beside = len(list(tmp_path.iterdir()))
        mark.unlink()
        return beside

    with fairshare.Executor("root.a", url=server.url, resources=SMALL, max_workers=2) as pool:
        assert set(pool.map(overlap, range(7), chunksize=1)) <= {1, 2}
        late = [pool.submit(overlap, number) for number in (10, 11)]
        assert all(one.result(PATIENCE_S) <= 2 for one in late)
    with pytest.raises(ValueError, match="at least 1"):
        fairshare.Executor("root.a", url=server.url, max_workers=0)


def test_progress_is_reported_until_all_is_done(server):
    seen = []
    options = {"url": server.url, "resources": SMALL, "progress": seen.append}
    with fairshare.Executor("root.a", **options) as pool:
        futures.wait([pool.submit(pow, 2, 2), pool.submit(divmod, 1, 0)], PATIENCE_S)
    assert (seen[-1].done, seen[-1].failed, seen[-1].waiting + seen[-1].running) == (1, 1, 0)


def test_calls_outlive_a_restart_of_the_server(pool, server):
    def sleep_and_return(seconds, value):
        time.sleep(seconds)
        return value

    slow = [pool.submit(sleep_and_return, 1.5, number) for number in range(2)]
    until(lambda: any(future.running() for future in slow))
    server.end()
    late = pool.submit(pow, 5, 2)
    server.start()
    assert [future.result(PATIENCE_S) for future in slow] == [0, 1]
    assert late.result(PATIENCE_S) == 25


def test_killing_the_application_fails_its_calls(pool, server):
    future = pool.submit(time.sleep, 600)
    until(future.running)
    with Client(server.url) as client:
        [running] = [one for one in client.applications() if not one.over]
        client.kill(running.id, "enough")
    with pytest.raises(ApplicationFailed, match="enough"):
        future.result(PATIENCE_S)


def test_what_a_call_has_printed_is_read_with_yarns_command(server, tmp_path):
    with fairshare.Executor("root.a", url=server.url, resources=SMALL, name="talker") as pool:
        pool.submit(print, "hello from a call").result(PATIENCE_S)
    with Client(server.url) as client:
        [name] = [one.id for one in client.applications() if one.name.startswith("talker-")]

    def logs(*words: str) -> str:
        given = ["yarn", "--url", server.url, "logs", "-applicationId", name, *words]
        result = CliRunner().invoke(command_line, given)
        assert result.exit_code == 0, result.output
        return result.stdout

    printed = logs("-log_files", "stdout")
    assert "LogContents:\nhello from a call\n\nEnd of LogType:stdout\n" in printed
    assert "LogType:stderr" not in printed
    assert logs("-show_application_log_info").startswith("Container: container_")
    assert logs("-out", str(tmp_path)) == ""
    assert any(b"hello from a call" in path.read_bytes() for path in tmp_path.glob("*/*"))


def test_a_loop_awaits_calls(pool):
    async def both():
        return await asyncio.gather(
            *(asyncio.wrap_future(pool.submit(pow, 2, number)) for number in (3, 4))
        )

    assert asyncio.run(both()) == [8, 16]


@pytest.mark.parametrize("piece", ["executor", "client"])
def test_the_examples_of_the_page_run(server, piece):
    page = (Path(__file__).parents[2] / "docs" / "python.md").read_text()
    program = page.partition(f"```python {piece}\n")[2].partition("```")[0]
    environment = {**os.environ, "FAIRSHARE_URL": server.url}
    subprocess.run([sys.executable, "-c", program], env=environment, check=True, timeout=PATIENCE_S)


def test_calls_leave_little_on_the_disk_and_what_they_share_is_there_once(server):
    shared = os.urandom(300_000)
    state = server.state
    containers = state / "containers"
    before = set(containers.glob("*/*"))
    journal = sum(path.stat().st_size for path in state.glob("journal.sqlite3*"))
    with fairshare.Executor("root.a", url=server.url, resources=SMALL, isolated=True) as pool:
        assert set(pool.map(lambda number: len(shared), range(20))) == {len(shared)}
    with Client(server.url) as client:
        until(lambda: all(one.over for one in client.applications()))
    left = set(containers.glob("*/*")) - before
    assert len(left) == 20
    until(lambda: not any((folder / "call.pickle").exists() for folder in left))
    blocks = sum(path.lstat().st_blocks for folder in left for path in folder.rglob("*"))
    assert blocks * 512 < 20 * 32_000
    assert not [path for path in (state / "payloads").rglob("*") if path.is_file()]
    grown = sum(path.stat().st_size for path in state.glob("journal.sqlite3*")) - journal
    assert grown < len(shared)


def test_a_call_whose_file_is_gone_fails_with_the_reason(server, tmp_path):
    gate = tmp_path / "gate"

    def wait(path):
        import time
        from pathlib import Path

        while not Path(path).exists():
            time.sleep(0.01)

    options = {"resources": {"memory-mb": 1024, "vcores": 4}, "max_attempts": 1, "isolated": True}
    with fairshare.Executor("root.a", url=server.url, **options) as pool:
        first = pool.submit(wait, str(gate))
        until(first.running)
        second = pool.submit(abs, -2)
        payloads = server.state / "payloads"
        until(lambda: len([path for path in payloads.iterdir() if "." not in path.name]) == 2)
        for path in payloads.iterdir():
            path.unlink()
        gate.touch()
        assert first.result(PATIENCE_S) is None
        with pytest.raises(CallFailed, match="the Python call is gone"):
            second.result(PATIENCE_S)


def test_a_map_of_many_calls_chooses_how_many_share_a_container(server, monkeypatch):
    monkeypatch.setattr("fairshare.client.executor.MOST_CONTAINERS", 4)
    with fairshare.Executor("root.a", url=server.url, resources=SMALL) as pool:
        assert list(pool.map(abs, range(10))) == list(range(10))
        assert pool.progress().calls == 4
        assert list(pool.map(abs, [])) == []


def test_large_arguments_and_results_go_by_file_and_what_calls_share_goes_once(server, monkeypatch):
    monkeypatch.setattr(executor, "LINGER_S", 2.0)  # longer than it takes to pickle them
    shared = os.urandom(12 << 20)  # of a closure: more than the body of a request may have
    large = {"memory-mb": 320, "vcores": 1}
    with fairshare.Executor("root.a", url=server.url, resources=large, isolated=True) as pool:
        given = [pool.submit(lambda n: (n, len(shared), bytes(9 << 20)), n) for n in range(3)]
        for n, future in enumerate(given):
            assert future.result(PATIENCE_S) == (n, 12 << 20, bytes(9 << 20))
        monkeypatch.undo()
        assert len(pool.submit(bytes.upper, shared).result(PATIENCE_S)) == 12 << 20
        with Client(server.url) as client:
            names = [one.name for one in client.applications(state="FINISHED")]
        assert sum(name.startswith(pool.prefix) for name in names) == 2  # the three calls in one


def test_a_call_waits_for_the_futures_among_its_arguments(pool):
    first = pool.submit(pow, 2, 5)
    second = pool.submit(pow, 3, 2)
    both = pool.submit(lambda a, b: a + b, first, b=second)
    assert both.result(PATIENCE_S) == 41
    broken = pool.submit(int, "x")
    with pytest.raises(ValueError, match="invalid literal"):
        pool.submit(str, broken).result(PATIENCE_S)
    own: futures.Future[int] = futures.Future()
    late = pool.submit(abs, own)
    assert pool.progress().waiting >= 1
    own.set_result(-7)
    assert late.result(PATIENCE_S) == 7


def test_a_call_whose_argument_is_cancelled_is_cancelled_too(pool):
    own: futures.Future[int] = futures.Future()
    late = pool.submit(abs, own)
    own.cancel()
    with pytest.raises(futures.CancelledError):
        late.result(PATIENCE_S)


def test_large_arguments_and_results_reach_workers_too(pool):
    shared = os.urandom(12 << 20)
    given = [pool.submit(lambda n: (n, len(shared), bytes(9 << 20)), n) for n in range(3)]
    for n, future in enumerate(given):
        assert future.result(PATIENCE_S) == (n, 12 << 20, bytes(9 << 20))


def test_short_calls_share_containers_unless_they_are_isolated(server):
    def processes(**options) -> int:
        with fairshare.Executor("root.a", url=server.url, resources=SMALL, **options) as pool:
            one_by_one = [pool.submit(os.getpid).result(PATIENCE_S) for _ in range(3)]
            together = [pool.submit(os.getpid) for _ in range(30)]
            return len({*one_by_one, *(future.result(PATIENCE_S) for future in together)})

    assert processes() <= 12
    assert processes(isolated=True) == 33
    assert processes(time_limit_ms=60_000) == 33


def test_calls_that_wait_for_each_other_get_containers_of_their_own(pool, monkeypatch, tmp_path):
    monkeypatch.setattr(workers, "PROBES", 1)

    def meet(name: str) -> int:
        import time
        from pathlib import Path

        Path(name).touch()
        while len(list(Path(name).parent.iterdir())) < 4:
            time.sleep(0.01)
        return os.getpid()

    given = [pool.submit(meet, str(tmp_path / str(n))) for n in range(4)]
    assert len({future.result(PATIENCE_S) for future in given}) == 4


def test_a_call_that_kills_its_worker_is_tried_again_and_others_go_on(server, tmp_path):
    def die_twice(path: str) -> int:
        with Path(path).open("a") as file:
            file.write("x")
        if len(Path(path).read_text()) <= 2:
            os._exit(9)
        return len(Path(path).read_text())

    with fairshare.Executor("root.a", url=server.url, resources=SMALL) as pool:
        hard = pool.submit(die_twice, str(tmp_path / "tries"))
        others = [pool.submit(pow, 2, n) for n in range(40)]
        assert [future.result(PATIENCE_S) for future in others] == [2**n for n in range(40)]
        assert hard.result(PATIENCE_S) == 3
        always = pool.submit(os._exit, 7)
        with pytest.raises(CallFailed, match="process failed"):
            always.result(PATIENCE_S)
        assert pool.submit(abs, -3).result(PATIENCE_S) == 3


def test_workers_end_when_no_call_comes_and_come_back(pool, server):
    first = pool.submit(os.getpid).result(PATIENCE_S)
    with Client(server.url) as client:
        until(lambda: all(one.over for one in client.applications()))
    assert pool.submit(os.getpid).result(PATIENCE_S) != first


def test_containers_that_find_no_socket_run_a_call_each(server, monkeypatch):
    monkeypatch.setattr(links.WorkerSocket, "path", "/nowhere/socket", raising=False)
    with fairshare.Executor("root.a", url=server.url, resources=SMALL) as pool:
        assert [pool.submit(abs, -n).result(PATIENCE_S) for n in range(2)] == [0, 1]


def test_containers_under_another_account_get_a_socket_that_they_can_reach(
    server, monkeypatch, tmp_path
):
    """They cannot enter a directory of this account's alone."""
    met, serve = [], workers.Workers._serve
    monkeypatch.setattr(
        workers.Workers, "_serve", lambda *given: met.append(given) or serve(*given)
    )
    shared_path = links.WorkerSocket.path.fget
    closed = lambda door: shared_path(door) if door.is_shared else str(tmp_path / "no" / "socket")  # noqa: E731
    monkeypatch.setattr(links.WorkerSocket, "path", property(closed))
    monkeypatch.setattr(links, "_private_directory", lambda: "/tmp")
    with fairshare.Executor("root.a", url=server.url, resources=SMALL) as pool:
        futures_of = [pool.submit(pow, 2, number) for number in range(5)]
        assert [future.result(PATIENCE_S) for future in futures_of] == [2**n for n in range(5)]
    assert met


def test_a_worker_that_cannot_start_fails_the_call_for_which_it_was_started(server):
    options = {"resources": SMALL, "max_attempts": 2, "environment": {"PYTHONHOME": "/nowhere"}}
    with fairshare.Executor("root.a", url=server.url, **options) as pool:
        future = pool.submit(abs, -1)
        with pytest.raises(CallFailed, match="process failed"):
            future.result(PATIENCE_S)


@pytest.fixture
def joblib_backend(server):
    """The backend, as an option of `parallel_config`."""
    pytest.importorskip("joblib")
    import fairshare.client.joblib

    return {
        "backend": fairshare.client.joblib.NAME,
        "queue": "root.a",
        "url": server.url,
        "resources": SMALL,
    }


def test_joblib_computes_here_and_gets_results_errors_and_nested_work(joblib_backend):
    from joblib import Parallel, delayed, parallel_config

    def nested(number):
        return sum(Parallel(n_jobs=2)(delayed(pow)(number, power) for power in range(3)))

    with parallel_config(**joblib_backend, n_jobs=2):
        assert Parallel()(delayed(lambda n: n * n)(number) for number in range(20)) == [
            number * number for number in range(20)
        ]
        assert Parallel(n_jobs=-1)(delayed(nested)(number) for number in (1, 2, 3)) == [3, 7, 13]
        with pytest.raises(ZeroDivisionError):
            Parallel()(delayed(lambda n: 1 // n)(number) for number in (1, 0, 2))
        found = Parallel(return_as="generator")(delayed(abs)(number) for number in (-1, -2))
        assert list(found) == [1, 2]


def test_joblib_counts_what_fits_into_the_cluster(joblib_backend):
    from fairshare.client.joblib import FairshareBackend

    options = {name: value for name, value in joblib_backend.items() if name != "backend"}
    backend = FairshareBackend(**options)
    most = backend.effective_n_jobs(-1)
    assert most >= 1
    assert backend.effective_n_jobs(-most - 5) == 1
    assert backend.effective_n_jobs(3) == 3
    with pytest.raises(ValueError, match="no meaning"):
        backend.effective_n_jobs(0)
