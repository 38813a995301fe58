"""Owns MapReduce jobs in the manner of Hadoop Streaming; decides nothing about who gets containers.

    from fairshare.mapreduce import MapReduce

    def words(line):
        for word in line.split():
            yield word, 1

    def add(word, counts):
        yield word, sum(counts)

    result = MapReduce(inputs=["texts"], output="counts", mapper=words, reducer=add,
                       combiner=add, reduces=2).run()
    print(result.counters.get("Map input records"))

What submits a job (`jobs`, `inputs`, `submission`) uses the client of a server. What runs inside a
container (`task` and all that it imports) is the standard library and this room: so the names below
are only looked up when somebody wants them.
"""

from typing import TYPE_CHECKING, Any

from fairshare.mapreduce.reporter import count, status

if TYPE_CHECKING:
    from fairshare.mapreduce.jobs import MapReduce, Result

__all__ = ["MapReduce", "Result", "count", "status"]


def __getattr__(name: str) -> Any:
    if name in ("MapReduce", "Result"):
        from fairshare.mapreduce import jobs

        return getattr(jobs, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
