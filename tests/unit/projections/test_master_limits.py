"""The limits for masters as of their last test."""

from fairshare.families.yarn.context import MasterLimit
from fairshare.projections.master_limits import MasterLimits
from fairshare.runtime.graph import Reader, Writer
from fairshare.runtime.stored import STORED


def test_limits_of_the_fair_scheduler_in_snapshots_of_earlier_releases_are_kept():
    earlier = MasterLimits()
    earlier.tested["root.a"] = (2048, 2)
    data = Writer(STORED).write({"limits": earlier})
    found = Reader(STORED, data).read()["limits"]
    assert found.of_leaf("root.a") == MasterLimit((2048, 2), (2048, 2), {})
    assert not found.tested
