"""The simulated cluster with which users test their configurations."""

from pathlib import Path

import pytest

from fairshare.errors import ConfigurationError, InputError
from fairshare.lab.testing.cluster import FairshareCluster

SITE = """<configuration><property><name>yarn.resourcemanager.scheduler.class</name>
<value>org.apache.hadoop.yarn.server.resourcemanager.scheduler.{0}</value></property>
<property><name>yarn.scheduler.fair.preemption</name><value>true</value></property>
</configuration>"""
FAIR = """<allocations>
  <queue name="ml"><weight>3.0</weight></queue>
  <queue name="web"><maxRunningApps>1</maxRunningApps>
    <fairSharePreemptionTimeout>10</fairSharePreemptionTimeout>
    <fairSharePreemptionThreshold>1.0</fairSharePreemptionThreshold></queue>
  <queuePlacementPolicy>
    <rule name="specified" create="false"/><rule name="reject"/>
  </queuePlacementPolicy>
</allocations>"""
CAPACITY = """<configuration>
  <property><name>yarn.scheduler.capacity.root.queues</name><value>a,b</value></property>
  <property><name>yarn.scheduler.capacity.root.a.capacity</name><value>25</value></property>
  <property><name>yarn.scheduler.capacity.root.b.capacity</name><value>75</value></property>
</configuration>"""
NODE = {"memory_mb": 8192, "vcores": 8}


@pytest.fixture
def conf(tmp_path: Path) -> Path:
    (tmp_path / "yarn-site.xml").write_text(SITE.format("fair.FairScheduler"))
    (tmp_path / "fair-scheduler.xml").write_text(FAIR)
    return tmp_path


@pytest.fixture
def cluster(conf):
    return FairshareCluster(conf, nodes={"n1": NODE})


def test_shares_follow_the_weights_of_the_queues_with_demand(cluster):
    cluster.submit("root.ml", tasks=20)
    cluster.submit("root.web", tasks=20)
    cluster.assert_share("root.ml", memory_mb=6144)
    cluster.assert_share("web", memory_mb=2048)


def test_a_share_that_is_another_one_shows_all_queues(cluster):
    cluster.submit("root.ml", tasks=2)
    with pytest.raises(AssertionError) as caught:
        cluster.assert_share("root.ml", memory_mb=4096)
    first, second, titles, *rows = str(caught.value).splitlines()
    assert first == "the share of root.ml at 0 s is not as expected:"
    assert second == "  memory-mb: expected 4096, found 8192 (4096 more)"
    assert titles.split() == ["queue", "share", "used", "demand", "running", "held", "back"]
    assert [row.split()[0] for row in rows] == ["root", "root.ml", "root.web"]
    cluster.assert_share("root.ml", memory_mb=8000, within=0.05)


def test_time_lets_tasks_end_and_others_begin(cluster):
    first = cluster.submit("root.ml", tasks=8, duration_s=60)
    second = cluster.submit("root.ml", tasks=1, duration_s=60)
    cluster.advance(1)
    cluster.assert_running(first, 8)
    with pytest.raises(AssertionError, match="has 0 containers, not 1\n  it waits: "):
        cluster.assert_running(second, 1)
    cluster.advance(60)
    cluster.assert_running(second, 1)
    assert cluster.application(first).state == "FINISHED"
    assert cluster.now_s == 61


def test_a_queue_below_its_share_preempts_others_after_the_timeout(cluster):
    greedy = cluster.submit("root.ml", tasks=8)
    cluster.advance(1)
    starved = cluster.submit("root.web", tasks=8)
    cluster.advance(5)
    cluster.assert_running(starved, 0)
    cluster.advance(60)
    cluster.assert_running(starved, 2)
    cluster.assert_running(greedy, 6)
    cluster.assert_used("root.web", memory_mb=2048, vcores=2)


def test_placement_and_limits_are_those_of_the_configuration(cluster):
    lost = cluster.submit("root.elsewhere")
    cluster.assert_refused(lost, "reject")
    with pytest.raises(AssertionError, match=r"REJECTED, not in root\.ml"):
        cluster.assert_placed(lost, "root.ml")
    first, second = cluster.submit("web", tasks=1), cluster.submit("web", tasks=1)
    cluster.advance(1)
    cluster.assert_placed(first, "web")
    cluster.assert_running(second, 0)
    assert "1" in cluster.why(second)[0]
    with pytest.raises(AssertionError, match="not refused"):
        cluster.assert_refused(second)


def test_applications_are_killed_moved_and_nodes_come_and_go(cluster):
    first = cluster.submit("ml", tasks=16)
    cluster.advance(1)
    cluster.add_node("n2", memory_mb=4096, vcores=4)
    cluster.advance(1)
    cluster.assert_running(first, 12)
    cluster.lose_node("n1")
    cluster.advance(1)
    cluster.assert_running(first, 4)
    cluster.move(first, "web")
    cluster.assert_placed(first, "root.web")
    with pytest.raises(InputError):
        cluster.move(first, "nowhere")
    cluster.kill(first)
    cluster.advance(1)
    cluster.assert_used("root", memory_mb=0)
    with pytest.raises(KeyError, match="no node 'n3'"):
        cluster.lose_node("n3")


def test_a_share_of_the_capacity_scheduler_is_what_is_guaranteed(tmp_path):
    (tmp_path / "yarn-site.xml").write_text(SITE.format("capacity.CapacityScheduler"))
    (tmp_path / "capacity-scheduler.xml").write_text(CAPACITY)
    cluster = FairshareCluster(tmp_path, nodes=2)
    cluster.assert_share("root.a", memory_mb=4096, vcores=4)
    app = cluster.submit("root.a", tasks=16)
    cluster.advance(1)
    with pytest.raises(AssertionError, match="above the limit of 4,096 MB"):
        cluster.assert_running(app, 16)
    cluster.assert_running(app, 5)


def test_mistakes_of_the_test_itself_say_what_there_is(cluster, tmp_path):
    with pytest.raises(KeyError, match=r"did you mean 'root\.ml'"):
        cluster.assert_share("root.mll", memory_mb=1)
    with pytest.raises(KeyError, match="no resource type 'gpus'"):
        cluster.assert_share("root.ml", gpus=1)
    with pytest.raises(TypeError, match="at least one amount"):
        cluster.assert_share("root.ml")
    with pytest.raises(ConfigurationError, match="no such directory"):
        FairshareCluster(tmp_path / "nothing")


def test_the_same_test_sees_the_same_twice(conf):
    def seen():
        cluster = FairshareCluster(conf, nodes=3)
        for number in range(9):
            cluster.submit(("ml", "web")[number % 2], tasks=number, duration_s=number)
            cluster.advance(0.7)
        return cluster.queues()

    assert seen() == seen()


def test_what_would_start_a_task_is_proved(tmp_path):
    (tmp_path / "fair-scheduler.xml").write_text(
        "<allocations><queue name='a'><maxResources>2048 mb, 2 vcores</maxResources></queue>"
        "</allocations>"
    )
    cluster = FairshareCluster(tmp_path)
    one = cluster.submit("a", tasks=3, duration_s=600)
    cluster.advance(60)
    found = cluster.prove(one)
    (remedy,) = found.remedies
    assert [action.value for action in remedy.actions] == ["3072 mb, 3 vcores"]
    assert found.starts_after_ms == 540_000
    cluster.assert_running(one, 2)


POOLS = """<configuration><property><name>mapred.jobtracker.taskScheduler</name>
<value>org.apache.hadoop.mapred.FairScheduler</value></property></configuration>"""


def test_a_job_that_a_limit_held_back_starts_when_the_one_before_it_has_ended(tmp_path):
    (tmp_path / "mapred-site.xml").write_text(POOLS)
    (tmp_path / "fair-scheduler.xml").write_text(
        "<allocations><pool name='a'><maxRunningJobs>1</maxRunningJobs></pool></allocations>"
    )
    cluster = FairshareCluster(tmp_path, nodes={"n1": {"map-slots": 2, "reduce-slots": 2}})

    def job():
        slots = {"map-slots": 1}
        return cluster.submit("a", memory_mb=0, vcores=0, resources=slots, duration_s=30)

    first, second = job(), job()
    cluster.advance(5)
    cluster.assert_running(first, 1)
    cluster.assert_running(second, 0)
    cluster.advance(30)  # nothing else happens then
    cluster.assert_running(second, 1)
