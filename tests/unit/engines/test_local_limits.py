"""Which limits are set where, and what is told of them."""

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from fairshare.engines.local import groups, hierarchies
from fairshare.engines.local.enforcement import MEBIBYTE, GroupV2Memory, WatchedMemory
from fairshare.engines.local.hierarchies import (
    Hierarchies,
    Hierarchy,
    Mounts,
    choose,
    hand_down,
    memory_limit_bytes,
    own_mounts,
    read_mounts,
)
from fairshare.engines.local.launch import GroupPlan
from fairshare.engines.local.limits import Limits, niceness

V1 = """\
31 23 0:28 / /sys/fs/cgroup ro,nosuid - tmpfs tmpfs ro,mode=755
32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw,relatime shared:9 - cgroup cgroup rw,cpu,cpuacct
33 31 0:30 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory
34 31 0:31 / /sys/fs/cgroup/systemd rw,relatime - cgroup cgroup rw,xattr,name=systemd
"""
V1_OWN = "3:cpu,cpuacct:/\n2:memory:/user.slice/mine\n1:name=systemd:/user.slice\n"

V2 = "29 22 0:26 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n"
V2_OWN = "0::/system.slice/fairshare.service\n"


def test_our_own_groups_are_found_and_those_above_them():
    mounts = read_mounts(V1, V1_OWN)
    top = Path("/sys/fs/cgroup")
    assert mounts.v2 == ()
    assert mounts.v1["cpu"] == (top / "cpu,cpuacct",)
    memory = top / "memory"
    assert mounts.v1["memory"] == (memory / "user.slice/mine", memory / "user.slice", memory)
    own = top / "system.slice/fairshare.service"
    assert read_mounts(V2, V2_OWN) == Mounts((own, own.parent, top), {})


def test_a_mount_that_shows_a_part_of_the_hierarchy_is_understood():
    shown = "29 22 0:26 /docker/abc /sys/fs/my\\040groups rw - cgroup2 cgroup2 rw\n"
    top = Path("/sys/fs/my groups")
    assert read_mounts(shown, "0::/docker/abc/inner\n").v2 == (top / "inner", top)
    assert read_mounts(shown, "0::/docker/abc\n").v2 == (top,)
    assert read_mounts(shown, "0::/docker/abcdef\n").v2 == (top,)


def test_the_smallest_limit_above_us_is_ours(tmp_path):
    own = tmp_path / "a" / "b"
    own.mkdir(parents=True)
    (own / "memory.max").write_text("max\n")
    (tmp_path / "a" / "memory.max").write_text("5000\n")
    (tmp_path / "memory.max").write_text("9000\n")
    assert memory_limit_bytes(Mounts((own, own.parent, tmp_path), {})) == 5000
    assert memory_limit_bytes(Mounts((own,), {})) is None


def test_where_nothing_is_mounted_nothing_is_used_and_that_is_said():
    found = choose("fairshare-x", Mounts((), {}))
    assert (found.memory, found.cpu, found.kill) == (None, None, None)
    assert found.notes == (
        "memory: no cgroup hierarchy is mounted",
        "cpu: no cgroup hierarchy is mounted",
    )
    attributes = limits(found).attributes
    assert attributes["memory-limit"] == "watch"
    assert attributes["cpu-limit"] == "nice"
    assert attributes["tree-kill"] == "subreaper"
    assert attributes["limits-note"] == "memory: no cgroup hierarchy is mounted, and 1 more"


def test_a_hierarchy_that_does_not_obey_is_not_used_and_left_as_it_was(tmp_path):
    """Plain directories: a group can be made there, but nothing can be set."""
    found = choose("fairshare-x", Mounts((tmp_path,), {"memory": (tmp_path,), "cpu": (tmp_path,)}))
    assert (found.memory, found.cpu, found.kill) == (None, None, None)
    assert any(f"cannot use {tmp_path} (memory)" in note for note in found.notes)
    assert list(tmp_path.iterdir()) == []


def limits(found: Hierarchies, **settings: object) -> Limits:
    wanted = {"vcores": 8, "cpus": 2, "memory_check": True, "strict_cpu": False, **settings}
    return Limits("fairshare-x", found, **wanted)  # type: ignore[arg-type]


def test_the_first_version_has_a_group_for_each_controller():
    memory, cpu = Hierarchy(1, Path("/m")), Hierarchy(1, Path("/c"))
    kill = Hierarchy(2, Path("/u"))
    mine = limits(Hierarchies(memory, cpu, kill)).container("c1", 256, 3)
    assert mine.memory_limit == "cgroup-v1"
    assert mine.kill_group == "/u/fairshare-x/c1"
    assert mine.niceness == 0
    assert mine.groups == (
        GroupPlan(
            "/m/fairshare-x/c1",
            (
                ("memory.limit_in_bytes", "268435456", True),
                ("memory.memsw.limit_in_bytes", "268435456", False),
            ),
        ),
        GroupPlan("/c/fairshare-x/c1", (("cpu.shares", "3072", True),)),
        GroupPlan("/u/fairshare-x/c1"),
    )


def test_the_second_version_has_one_group_for_all():
    all_in_one = Hierarchy(2, Path("/u"))
    found = Hierarchies(all_in_one, all_in_one, all_in_one)
    mine = limits(found, strict_cpu=True).container("c1", 256, 4)
    assert mine.groups == (
        GroupPlan(
            "/u/fairshare-x/c1",
            (
                ("memory.max", "268435456", True),
                ("memory.oom.group", "1", True),
                ("memory.swap.max", "0", False),
                ("cpu.weight", "400", True),
                ("cpu.max", "100000 100000", True),  # 4 of 8 vcores: 1 of 2 processors
            ),
        ),
    )
    assert limits(found, strict_cpu=True).attributes["cpu-limit"] == "cgroup-v2 strict"


def test_weights_stay_within_what_the_kernel_takes():
    first, second = Hierarchy(1, Path("/c")), Hierarchy(2, Path("/u"))
    assert first.weight(0) == [("cpu.shares", "2", True)]
    assert first.weight(1000) == [("cpu.shares", "262144", True)]
    assert second.weight(0) == [("cpu.weight", "1", True)]
    assert second.weight(1000) == [("cpu.weight", "10000", True)]


def test_memory_that_is_not_checked_is_still_measured():
    memory = Hierarchy(1, Path("/m"))
    mine = limits(Hierarchies(memory=memory), memory_check=False).container("c1", 256, 1)
    assert mine.groups == (GroupPlan("/m/fairshare-x/c1"),)
    assert (mine.memory_limit, mine.memory_checked) == ("cgroup-v1", False)


def test_niceness_halves_the_processor_by_about_three_steps():
    assert [niceness(vcores, 8) for vcores in (16, 8, 4, 2, 1)] == [0, 0, 3, 6, 9]
    assert niceness(1, 10_000) == 19
    assert niceness(0, 8) == 9


def test_the_second_version_distinguishes_its_own_limit_from_one_above(tmp_path):
    memory = GroupV2Memory(str(tmp_path))
    assert not memory.exceeded(())
    events = tmp_path / "memory.events"
    events.write_text("low 0\nhigh 0\nmax 3\noom 0\noom_kill 1\noom_group_kill 0\n")
    assert not memory.exceeded(())  # ended for want of memory above
    events.write_text("low 0\nhigh 0\nmax 3\noom 1\noom_kill 2\noom_group_kill 1\n")
    assert memory.exceeded(())
    assert memory.peak_bytes() == 0
    (tmp_path / "memory.peak").write_text("1048577\n")
    assert memory.peak_bytes() == 1048577


def test_watched_memory_keeps_the_peak():
    pids = [os.getpid()]
    memory = WatchedMemory(1 * MEBIBYTE, 100)
    assert memory.exceeded(pids)
    peak = memory.peak_bytes()
    assert peak > 1 * MEBIBYTE
    assert not memory.exceeded([])
    assert memory.peak_bytes() == peak
    assert not WatchedMemory(0, 100).exceeded(pids)


def test_memory_is_watched_less_often_where_much_is_free():
    def interval_ms(limit_mb: int) -> int:
        memory = WatchedMemory(limit_mb * MEBIBYTE, 100)
        memory.exceeded([])
        return memory.interval_ms

    assert [interval_ms(mb) for mb in (0, 100, 800, 2000, 64_000)] == [100, 100, 200, 500, 1000]


def test_what_is_found_on_this_machine_can_be_set_and_removed(tmp_path):
    found = choose(f"fairshare-test-{os.getpid()}", own_mounts())
    if found.memory is None:
        pytest.skip(f"no cgroups here: {found.notes}")
    name = f"fairshare-test-{os.getpid()}"
    mine = Limits(name, found, vcores=2, cpus=2, memory_check=True, strict_cpu=False)
    assert not any(Path(base).exists() for base in mine.bases)
    mine.prepare()
    try:
        plans = mine.container("c1", 64, 1).groups
        for plan in plans:
            groups.create(plan)
        file = "memory.limit_in_bytes" if found.memory.version == 1 else "memory.max"
        assert groups.read_number(f"{plans[0].path}/{file}") == 64 * MEBIBYTE
        for plan in plans:
            assert groups.remove(plan.path)
    finally:
        mine.dispose()
    assert not any(Path(base).exists() for base in mine.bases)


def test_a_server_alone_in_its_group_moves_below_so_that_the_group_can_hand_down():
    """The rule is the kernel's, and is the same for every controller of the second version."""
    tops = own_mounts().v2
    controllers = (tops[-1] / "cgroup.controllers").read_text().split() if tops else []
    handed = (tops[-1] / "cgroup.subtree_control").read_text().split() if tops else []
    # Threaded controllers are handed down to children beside processes, too: nothing would move.
    domain = [name for name in controllers if name not in ("cpu", "cpuset", "perf_event", "pids")]
    free = [name for name in domain if name in handed or tops[0] == tops[-1]]
    group = tops[-1] / f"fairshare-test-down-{os.getpid()}" if tops else Path("/none")
    try:
        group.mkdir()
    except OSError:
        pytest.skip("no group of the second version can be made here")
    added = [name for name in free[:1] if name not in handed]
    try:
        for name in added:
            groups.write(f"{tops[-1]}/cgroup.subtree_control", f"+{name}")
        if not free:
            pytest.skip("no controller of the second version is to be had here")
        program = textwrap.dedent(f"""
            from pathlib import Path
            from fairshare.engines.local import groups, hierarchies
            own = Path({str(group)!r})
            groups.enter(str(own))
            notes = []
            hierarchies.hand_down(own, notes, ({free[0]!r},))
            print(notes, (own / "cgroup.subtree_control").read_text().split())
            print(Path("/proc/self/cgroup").read_text().splitlines()[-1].rsplit("/", 1)[1])
        """)
        source = str(Path(hierarchies.__file__).parents[3])
        done = subprocess.run(
            [sys.executable, "-c", program],
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, "PYTHONPATH": source},
        )
        assert done.stdout.splitlines() == [f"[] ['{free[0]}']", "fairshare-server"], done.stderr
        # Two in it: nobody else's process is moved, and it is said what would help.
        groups.remove(str(group / "fairshare-server"))
        groups.write(f"{group}/cgroup.subtree_control", f"-{free[0]}")
        with subprocess.Popen(["sleep", "1000"]) as other:
            groups.write(f"{group}/cgroup.procs", str(other.pid))
            notes: list[str] = []
            hand_down(group, notes, (free[0],))
            other.kill()
        assert len(notes) == 1
        assert "Delegate=yes" in notes[0]
    finally:
        groups.remove(str(group / "fairshare-server"))
        groups.remove(str(group))
        for name in added:
            groups.write(f"{tops[-1]}/cgroup.subtree_control", f"-{name}")


def test_processes_are_limited_in_a_group_of_the_first_version():
    pids = Hierarchy(1, Path("/p"))
    mine = limits(Hierarchies(processes=pids), process_limit=30)
    assert mine.attributes["process-limit"] == "cgroup-v1"
    one = mine.container("c1", 256, 1)
    assert one.groups == (GroupPlan("/p/fairshare-x/c1", (("pids.max", "30", True),)),)
    assert (one.process_group, one.process_limit) == ("/p/fairshare-x/c1", 30)
    assert limits(Hierarchies(processes=pids)).container("c1", 256, 1).groups == ()
