"""On one machine room is kept for a large task that waits, as far as its queue is entitled to it,
and nothing else stops for that."""

import random

import pytest

from fairshare.core.model.inputs import Changes, UpdateApplication
from fairshare.errors import ConfigurationError, InputError
from fairshare.lab.testing.cluster import FairshareCluster
from fairshare.settings.linting import lint

pytestmark = pytest.mark.slow

SITE = """<configuration>
<property><name>yarn.resourcemanager.scheduler.class</name>
<value>org.apache.hadoop.yarn.server.resourcemanager.scheduler.{0}</value></property>
<property><name>yarn.resource-types</name><value>yarn.io/gpu</value></property>
<property><name>yarn.scheduler.minimum-allocation-mb</name><value>128</value></property>
<property><name>yarn.scheduler.maximum-allocation-vcores</name><value>64</value></property>
<property><name>yarn.scheduler.fair.assignmultiple</name><value>true</value></property>
<property><name>yarn.scheduler.fair.dynamic.max.assign</name><value>false</value></property>
</configuration>"""
QUEUES = '<queue name="ann"/><queue name="bob"/><queue name="carol"/>'
DOMINANT = "<defaultQueueSchedulingPolicy>drf</defaultQueueSchedulingPolicy>"
MACHINE = {"memory_mb": 65536, "vcores": 16, "yarn.io/gpu": 8}


def machine(directory, toml="", policy=DOMINANT, nodes=1, scheduler="fair.FairScheduler"):
    """A cluster of such machines, nearly always of one."""
    (directory / "yarn-site.xml").write_text(SITE.format(scheduler))
    (directory / "fair-scheduler.xml").write_text(f"<allocations>{QUEUES}{policy}</allocations>")
    (directory / "fairshare.toml").write_text(toml)
    return FairshareCluster(directory, nodes={f"n{n + 1}": MACHINE for n in range(nodes)})


def sweep(cluster, queue="bob", gpus=0):
    """Many small tasks of five to fifteen minutes, no two of which end together."""
    chance = random.Random(7)
    resources = {"yarn.io/gpu": gpus} if gpus else {}
    for _ in range(250):
        duration_s = 300 + round(chance.random() * 600, 3)
        cluster.submit(queue, resources=resources, duration_s=duration_s)


def test_a_task_of_half_the_machine_starts_though_small_tasks_never_end(tmp_path):
    cluster = machine(tmp_path)
    sweep(cluster)
    cluster.advance(5)
    half = cluster.submit("ann", vcores=8, memory_mb=8192)
    cluster.advance(900)
    cluster.assert_running(half, 1)


def test_without_reservations_it_waits_until_all_small_tasks_are_over(tmp_path):
    cluster = machine(tmp_path, '[engine]\nreservations = "off"\n')
    sweep(cluster)
    cluster.advance(5)
    half = cluster.submit("ann", vcores=8, memory_mb=8192)
    cluster.advance(3_600)
    cluster.assert_running(half, 0)


def until(cluster, fact, most_s=900):
    """Let the time pass until something is so."""
    for _ in range(most_s):
        if fact():
            return
        cluster.advance(1)
    raise AssertionError(f"not in {most_s} s")


def gpus_of_bob(cluster) -> int:
    return cluster.used("bob")["yarn.io/gpu"]


@pytest.mark.parametrize("policy", [DOMINANT, ""])
def test_gpus_are_kept_and_work_without_gpus_goes_on(tmp_path, policy):
    cluster = machine(tmp_path, policy=policy)
    sweep(cluster, gpus=1)
    cluster.advance(5)
    training = cluster.submit("ann", resources={"yarn.io/gpu": 4})
    until(cluster, lambda: gpus_of_bob(cluster) == 6)
    assert "n1 keeps 4 yarn.io/gpu free for it (for " in cluster.why(training)[0]
    late = cluster.submit("bob", tasks=4)
    cluster.advance(1)
    cluster.assert_running(late, 4)
    until(cluster, lambda: cluster.application(training).containers == 1)
    assert gpus_of_bob(cluster) == 4


def test_an_application_behind_kept_room_learns_for_which_one_it_is_kept(tmp_path):
    cluster = machine(tmp_path)
    sweep(cluster, gpus=1)
    cluster.advance(5)
    cluster.submit("ann", resources={"yarn.io/gpu": 4})
    until(cluster, lambda: gpus_of_bob(cluster) == 7)
    waits = cluster.submit("bob", resources={"yarn.io/gpu": 1})
    cluster.advance(1)
    assert cluster.why(waits)[0].startswith(
        "n1 has room, and keeps 4 yarn.io/gpu free for application_1000000000000_0251 (for 10 s),"
        " whose queue is entitled to that."
    )


def test_nothing_is_kept_beyond_the_fair_share(tmp_path):
    cluster = machine(tmp_path)
    sweep(cluster, gpus=1)
    cluster.advance(5)
    cluster.submit("ann", resources={"yarn.io/gpu": 5})
    cluster.advance(3_600)
    assert gpus_of_bob(cluster) == 8


def test_a_second_task_beyond_the_share_keeps_nothing(tmp_path):
    cluster = machine(tmp_path)
    sweep(cluster, gpus=1)
    cluster.advance(5)
    both = cluster.submit("ann", tasks=2, resources={"yarn.io/gpu": 4})
    cluster.advance(3_000)
    cluster.assert_running(both, 1)
    assert gpus_of_bob(cluster) == 4


def test_a_lone_user_keeps_nothing_from_himself(tmp_path):
    cluster = machine(tmp_path)
    sweep(cluster, "ann", gpus=1)
    large = cluster.submit("ann", resources={"yarn.io/gpu": 4})
    cluster.advance(1_000)
    cluster.assert_running(large, 0)
    assert cluster.used("ann")["yarn.io/gpu"] == 8


def test_room_is_kept_only_after_the_wait(tmp_path):
    cluster = machine(tmp_path, "[engine]\nreserve_after_s = 400\n")
    sweep(cluster, gpus=1)
    cluster.advance(5)
    training = cluster.submit("ann", resources={"yarn.io/gpu": 4})
    cluster.advance(380)
    assert gpus_of_bob(cluster) == 8  # what has ended was replaced
    cluster.advance(900)
    cluster.assert_running(training, 1)


def test_kept_room_is_given_back_when_the_one_that_waited_is_killed(tmp_path):
    cluster = machine(tmp_path)
    sweep(cluster, gpus=1)
    cluster.advance(5)
    training = cluster.submit("ann", resources={"yarn.io/gpu": 4})
    until(cluster, lambda: gpus_of_bob(cluster) == 6)
    cluster.kill(training)
    cluster.advance(1)
    assert gpus_of_bob(cluster) == 8


def test_on_a_cluster_room_is_kept_on_one_node_if_that_is_switched_on(tmp_path):
    cluster = machine(tmp_path, '[engine]\nreservations = "entitled"\n', nodes=2)
    sweep(cluster, gpus=1)
    cluster.advance(5)
    training = cluster.submit("ann", resources={"yarn.io/gpu": 6})
    until(cluster, lambda: cluster.application(training).containers == 1, most_s=3_600)
    assert gpus_of_bob(cluster) >= 9  # the other node has served bob meanwhile


def test_a_scheduler_that_keeps_no_parts_refuses_the_setting(tmp_path):
    toml = '[engine]\nreservations = "entitled"\n'
    with pytest.raises(ConfigurationError, match=r'"entitled" needs the Fair Scheduler'):
        machine(tmp_path, toml, scheduler="fifo.FifoScheduler")


@pytest.mark.parametrize("gpus", [0, 1], ids=["vcores", "gpus"])
def test_users_that_come_and_go_do_not_end_what_is_kept(tmp_path, gpus):
    cluster = machine(tmp_path)
    sweep(cluster, gpus=gpus)
    cluster.advance(5)
    wanted = {"resources": {"yarn.io/gpu": 4}} if gpus else {"vcores": 8}
    large = cluster.submit("ann", **wanted)
    for _ in range(10):
        cluster.submit("carol", duration_s=20)
        cluster.advance(120)
    cluster.assert_running(large, 1)


def test_a_queue_that_wants_no_gpus_takes_no_part_of_their_shares(tmp_path):
    cluster = machine(tmp_path)
    sweep(cluster, gpus=1)
    cluster.submit("carol", tasks=4)
    cluster.advance(5)
    training = cluster.submit("ann", resources={"yarn.io/gpu": 4})
    until(cluster, lambda: cluster.application(training).containers == 1, most_s=1_800)


def test_a_full_machine_counts_as_waiting(tmp_path):
    """Nothing is offered while all is in use; then all ends within less than the wait."""
    cluster = machine(tmp_path)
    for number in range(64):
        cluster.submit("bob", duration_s=3_600 + number * 3 % 48)
    cluster.advance(5)
    half = cluster.submit("ann", vcores=8)
    cluster.advance(3_700)
    cluster.assert_running(half, 1)


def test_lint_finds_a_setting_with_which_no_server_starts(tmp_path):
    machine(tmp_path, scheduler="fifo.FifoScheduler")
    (tmp_path / "fairshare.toml").write_text('[engine]\nreservations = "entitled"\n')
    (error,) = [one for one in lint(tmp_path) if one.severity == "error"]
    assert '"entitled" needs the Fair Scheduler' in str(error)


def limited_sweep(cluster, limit_s=1_000):
    """Eight tasks of a GPU each, which end one after the other, and long before their limit."""
    for number in range(8):
        cluster.submit(
            "bob",
            resources={"yarn.io/gpu": 1},
            duration_s=100 + 40 * number,
            time_limit_s=limit_s,
        )


def small(cluster, limit_s):
    """A task of a GPU and ten seconds of the same user."""
    return cluster.submit("bob", resources={"yarn.io/gpu": 1}, duration_s=10, time_limit_s=limit_s)


def kept_machine(tmp_path, sweep=limited_sweep):
    """A machine that keeps four GPUs, one of which is free by now."""
    cluster = machine(tmp_path)
    sweep(cluster)
    cluster.advance(5)
    training = cluster.submit("ann", resources={"yarn.io/gpu": 4})
    until(cluster, lambda: gpus_of_bob(cluster) == 7)
    return cluster, training


def test_tasks_whose_limit_ends_before_kept_gpus_can_be_of_use_have_them_until_then(tmp_path):
    cluster, training = kept_machine(tmp_path)
    first = small(cluster, 60)
    cluster.advance(2)
    cluster.assert_running(first, 1)
    until(cluster, lambda: cluster.application(training).containers == 1)
    assert cluster.now_s == 100 + 40 * 3  # as without the small one


@pytest.mark.parametrize("limit_s", [None, 990], ids=["unlimited", "too-long"])
def test_tasks_that_may_run_for_longer_wait_behind_what_is_kept(tmp_path, limit_s):
    cluster, training = kept_machine(tmp_path)
    waits = small(cluster, limit_s)
    cluster.advance(1)
    assert "Tasks with a time limit of less than 899 s run there" in cluster.why(waits)[0]
    until(cluster, lambda: cluster.application(training).containers == 1)
    cluster.assert_running(waits, 0)


def test_no_task_has_kept_gpus_while_it_is_open_when_they_are_needed(tmp_path):
    cluster, training = kept_machine(tmp_path, lambda cluster: limited_sweep(cluster, None))
    waits = small(cluster, 1)
    until(cluster, lambda: cluster.application(training).containers == 1)
    cluster.assert_running(waits, 0)


def test_what_is_lent_until_then_gets_no_later_end_from_its_user(tmp_path):
    lists = (
        "<property><name>yarn.acl.enable</name><value>true</value></property>"
        "<property><name>yarn.admin.acl</name><value>root</value></property>"
    )
    site = SITE.format("fair.FairScheduler").replace("</configuration>", f"{lists}</configuration>")
    no_users = "<aclAdministerApps> </aclAdministerApps>"
    (tmp_path / "yarn-site.xml").write_text(site)
    (tmp_path / "fair-scheduler.xml").write_text(
        f'<allocations><queue name="root">{no_users}{QUEUES}</queue>{DOMINANT}</allocations>'
    )
    cluster = FairshareCluster(tmp_path, nodes={"n1": MACHINE})
    limited_sweep(cluster)
    cluster.advance(5)
    cluster.submit("ann", resources={"yarn.io/gpu": 4})
    until(cluster, lambda: gpus_of_bob(cluster) == 7)
    lent = small(cluster, 60)
    cluster.advance(2)
    cluster.assert_running(lent, 1)

    def limit(seconds, user):
        cluster._handle(UpdateApplication(lent, Changes(time_limit_ms=seconds * 1_000), user))

    limit(800, "user")
    with pytest.raises(InputError, match=r"n1 keeps room for application 9, .* 89\d s at most"):
        limit(2_000, "user")
    with pytest.raises(InputError, match="at most"):
        limit(0, "user")
    limit(2_000, "root")
