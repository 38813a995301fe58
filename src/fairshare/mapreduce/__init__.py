"""MapReduce jobs in the manner of Hadoop Streaming; does not schedule containers.

    from fairshare.mapreduce import MapReduce

    def words(line):
        for word in line.split():
            yield word, 1

    def add(word, counts):
        yield word, sum(counts)

    result = MapReduce(inputs=["texts"], output="counts", mapper=words, reducer=add,
                       combiner=add, reduces=2).run()
    print(result.counters.get("Map input records"))

The modules that submit a job (`jobs`, `inputs`, `submission`) use the client of a server. The code
inside a container (`task` and its imports) uses only the standard library and this package: so the
names below are imported lazily.
"""

from typing import TYPE_CHECKING, Any

from fairshare.mapreduce.counters import count, status

if TYPE_CHECKING:
    from fairshare.mapreduce.jobs import MapReduce, Result

__all__ = ["MapReduce", "Result", "count", "status"]


def __getattr__(name: str) -> Any:
    if name in ("MapReduce", "Result"):
        from fairshare.mapreduce import jobs

        return getattr(jobs, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
