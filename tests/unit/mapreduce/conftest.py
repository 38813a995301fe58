"""Runs the tasks of a job here, without a cluster: the same code as in containers."""

import itertools
from collections.abc import Callable
from pathlib import Path

import pytest

from fairshare.mapreduce.commit import commit
from fairshare.mapreduce.functions import Functions
from fairshare.mapreduce.inputs import splits_of
from fairshare.mapreduce.job import MAP, REDUCE, Job, Layout
from fairshare.mapreduce.task import attempt


def prepared(folder: Path, *, text: bytes, split_bytes: int = 1 << 20, **fields) -> Layout:
    """The directory of a job as its submission leaves it; `functions` may be given."""
    functions = fields.pop("functions", None)
    fields.setdefault("mapper", "cat")
    fields.setdefault("directory", str(folder))
    folder.mkdir()
    (folder / "in").write_bytes(text)
    splits = splits_of([(str(folder / "in"), len(text))], split_bytes=split_bytes)
    layout = Layout(folder / "out")
    for place in (layout.output, layout.temporary, layout.attempts, layout.committed):
        place.mkdir()
    job = Job(name="test", maps=len(splits), functions=functions is not None, **fields)
    job.write(layout, splits)
    if functions is not None:
        Functions(**functions).write(layout.functions)
    return layout


def finished(layout: Layout) -> Layout:
    """The job, once all its tasks have run one after the other."""
    job = Job.read(layout)
    for kind, count in ((MAP, job.maps), (REDUCE, job.reduces)):
        for index in range(count):
            attempt(layout, kind, index)
    commit(layout)
    return layout


def parts_of(layout: Layout) -> list[bytes]:
    """What each part holds."""
    return [path.read_bytes() for path in sorted(layout.output.glob("part-*"))]


@pytest.fixture
def run(tmp_path) -> Callable[..., Layout]:
    """Runs a whole job in a folder of its own."""
    numbers = itertools.count()

    def run_job(text: bytes, **fields) -> Layout:
        return finished(prepared(tmp_path / str(next(numbers)), text=text, **fields))

    return run_job


@pytest.fixture
def prepare(tmp_path) -> Callable[..., Layout]:
    """Prepares a job that the test runs by itself."""
    return lambda text, **fields: prepared(tmp_path / "job", text=text, **fields)


@pytest.fixture
def parts() -> Callable[[Layout], list[bytes]]:
    return parts_of
