"""The backend `fairshare` of joblib, by which scikit-learn and others compute in parallel.

    import fairshare.client.joblib
    from joblib import parallel_config

    with parallel_config(backend="fairshare", n_jobs=-1, queue="ml", resources={"memory-mb": 4096}):
        search.fit(features, labels)

Importing this module makes it known. Its options are those of `Executor`, which runs the calls.
"""

from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

from joblib import parallel
from joblib._parallel_backends import SequentialBackend

from fairshare.api.work import DEFAULT_RESOURCES
from fairshare.client.client import Client
from fairshare.client.executor import Executor

NAME = "fairshare"


class FairshareBackend(parallel.AutoBatchingMixin, parallel.ParallelBackendBase):  # type: ignore[misc]
    """Runs the batches of a `Parallel` as calls of an executor; what they compute in parallel
    themselves runs one after the other."""

    supports_retrieve_callback = True
    default_n_jobs = -1
    MIN_IDEAL_BATCH_DURATION = 0.2
    MAX_IDEAL_BATCH_DURATION = 2.0

    def __init__(
        self,
        nesting_level: int | None = None,
        inner_max_num_threads: int | None = None,
        **options: Any,
    ) -> None:
        super().__init__(nesting_level=nesting_level, inner_max_num_threads=inner_max_num_threads)
        self._options = options
        self._executor: Executor | None = None
        self._n_jobs = -1

    def effective_n_jobs(self, n_jobs: int | None) -> int:
        """How many calls run at once at the most: -1 are as many as fit into the empty cluster, -2
        one less. Raises ValueError for 0, and as `Client` does."""
        if n_jobs == 0:
            raise ValueError("n_jobs == 0 in Parallel has no meaning")
        if n_jobs is None:
            return 1
        if n_jobs > 0:
            return n_jobs
        with Client(self._options.get("url")) as client:
            total = client.cluster().total
        wanted = DEFAULT_RESOURCES | dict(self._options.get("resources") or {})
        fitting = [total.get(name, 0) // amount for name, amount in wanted.items() if amount]
        return max(1, min(fitting, default=1) + 1 + n_jobs)

    def configure(
        self, n_jobs: int = 1, parallel: object = None, **options: object
    ) -> int:  # the options of `Parallel` itself (prefer, require, its files) mean nothing here
        """Open an executor for a `Parallel`; how many calls run at once."""
        self.parallel = parallel
        self._n_jobs = n_jobs
        count = self.effective_n_jobs(n_jobs)
        given: dict[str, Any] = {"max_workers": count, "name": "joblib"}
        self._executor = Executor(**given | self._options)
        return count

    def submit(
        self, func: Callable[[], Any], callback: Callable[[Future[Any]], None] | None = None
    ) -> Future[Any]:
        """Have a batch computed."""
        assert self._executor is not None
        future = self._executor.submit(func)
        if callback is not None:
            future.add_done_callback(callback)
        return future

    def retrieve_result_callback(self, out: Future[object]) -> Any:
        """The results of a batch; raises what it raised."""
        return out.result()

    def terminate(self) -> None:
        """Close the executor."""
        executor, self._executor = self._executor, None
        if executor is not None:
            executor.shutdown()

    def abort_everything(self, ensure_ready: bool = True) -> None:
        """Cancel what runs or waits, after an error."""
        executor, self._executor = self._executor, None
        if executor is not None:
            executor.shutdown(wait=False, cancel_futures=True)
        if ensure_ready:
            self.configure(self._n_jobs, self.parallel)

    def get_nested_backend(self) -> tuple[Any, int | None]:
        """What a batch uses for a `Parallel` of its own."""
        return SequentialBackend(nesting_level=(self.nesting_level or 0) + 1), None


parallel.register_parallel_backend(NAME, FairshareBackend)
