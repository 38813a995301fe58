"""Records to write and to read again."""

import pytest

from fairshare.core.model.events import (
    ApplicationSubmitted,
    ContainerAllocated,
    ContainerLaunched,
    Locality,
    NodeAdded,
)
from fairshare.core.model.inputs import (
    ContainerExited,
    LoadConfiguration,
    NodeBeat,
    SubmitApplication,
)
from fairshare.core.model.work import Command, TaskGroup
from fairshare.core.record import Record


@pytest.fixture
def records() -> list[Record]:
    """Four records with all that is awkward to write: bytes, nested structures, large numbers."""
    submission = SubmitApplication(
        user="ädä",
        tasks=(TaskGroup("g", 2, (1024, 1), Command(callable=b"\x00\xff\n"), hosts=("n1",)),),
    )
    return [
        Record(
            1, 0, LoadConfiguration(b'{"a":1}', 7), (NodeAdded("n1", (1, 2), "/r", {"k": "v"}),)
        ),
        Record(2, 5, submission, (ApplicationSubmitted(1, submission, "root.a", 0, ("x",)),)),
        Record(
            3,
            5,
            NodeBeat("n1"),
            (
                ContainerAllocated(
                    1 << 40 | 1 << 32 | 1,
                    1,
                    "n1",
                    (2**62, 1),
                    1,
                    0,
                    Locality.RACK_LOCAL,
                    False,
                    True,
                    5,
                ),
                ContainerLaunched(1 << 40 | 1 << 32 | 1, Command(("a", "b"))),
            ),
        ),
        Record(4, 2**45, ContainerExited(1 << 40, -100, "why"), ()),
    ]
