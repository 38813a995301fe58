"""Whether containers are kept from the GPUs of others, and the reason why not."""

from pathlib import Path

from fairshare.engines.local.gpus.chosen import ChosenGpus
from fairshare.engines.local.gpus.fence import GpuFence, fence
from fairshare.engines.local.gpus.found import Gpu
from fairshare.engines.local.hierarchies import Hierarchies, Hierarchy, Mounts
from fairshare.engines.local.limits import Limits

FIRST, SECOND = Gpu("0", files=("/dev/null",)), Gpu("1", files=("/dev/zero",))
CHOSEN = ChosenGpus({"yarn.io/gpu": (FIRST,)}, (SECOND,))


def fence_of(mounts: Mounts, chosen: ChosenGpus = CHOSEN, *in_use: Hierarchy) -> GpuFence:
    return fence(chosen, "fairshare-test", mounts, Hierarchies(*in_use))


def test_it_says_why_there_is_no_fence(tmp_path):
    off = fence(CHOSEN, "fairshare-test", Mounts((), {}), None)
    assert (off.hierarchy, off.reason) == (None, "cgroups are switched off")
    assert "no cgroup hierarchy for devices" in fence_of(Mounts((), {})).reason
    names = ChosenGpus({"yarn.io/gpu": (FIRST, Gpu("MIG-1"))})
    assert "device files of MIG-1 are not known" in fence_of(Mounts((), {}), names).reason
    gone = ChosenGpus({"yarn.io/gpu": (Gpu("0", files=(str(tmp_path / "gone"),)),)})
    assert "No such file" in fence_of(Mounts((), {"devices": (tmp_path,)}), gone).reason


def test_a_hierarchy_that_cannot_be_used_is_named(tmp_path):
    first = fence_of(Mounts((), {"devices": (tmp_path / "gone",)}))
    assert first.hierarchy is None
    assert str(tmp_path / "gone") in first.reason


def test_where_the_kernel_takes_no_program_there_is_no_fence_and_nothing_is_left(tmp_path):
    second = fence_of(Mounts((tmp_path,), {}), CHOSEN, Hierarchy(2, tmp_path))
    assert second.hierarchy is None
    assert f"the kernel takes no BPF program for {tmp_path}: " in second.reason
    assert list(tmp_path.iterdir()) == []


def test_a_container_is_forbidden_all_gpus_but_its_own():
    guard = GpuFence(
        Hierarchy(1, Path("/groups")),
        "",
        {"0": ((195, 0),), "1": ((195, 1),), "other 2": ((226, 128), (226, 0))},
    )
    others = [("devices.deny", f"c {name} rwm", True) for name in ("226:128", "226:0")]
    assert guard.settings(("0",)) == [("devices.deny", "c 195:1 rwm", True), *others]
    assert len(guard.settings(())) == 4
    assert guard.settings(("0", "1")) == others
    limits = Limits(
        "name", Hierarchies(), vcores=1, cpus=1, memory_check=False, strict_cpu=False, fence=guard
    )
    (group,) = limits.container("c1", 0, 1, ("0", "1")).groups
    assert group.path == "/groups/name/c1"
    assert list(group.settings) == others
