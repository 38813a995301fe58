"""`admin user add` puts one queue into an allocation file, and changes nothing else."""

from pathlib import Path

import pytest

from fairshare.cli.users import with_user
from fairshare.errors import InputError
from fairshare.settings.registry import family_of

NESTED = """<?xml version="1.0"?>
<!-- <queue name="old"/> -->
<allocations>
  <queue name="root">
    <aclSubmitApps> </aclSubmitApps>
    <queue name="ann"><weight>2.0</weight></queue>
    <queue name="lab">
      <queue name="bob"/>
    </queue>
  </queue>
  <defaultQueueSchedulingPolicy>drf</defaultQueueSchedulingPolicy>
</allocations>
"""
FILE = Path("fair-scheduler.xml")
SITE = """<configuration><property><name>yarn.resourcemanager.scheduler.class</name>
<value>org.apache.hadoop.yarn.server.resourcemanager.scheduler.fair.FairScheduler</value>
</property><property><name>yarn.acl.enable</name><value>true</value></property>
<property><name>yarn.admin.acl</name><value>root</value></property></configuration>"""


@pytest.fixture
def conf(tmp_path):
    folder = tmp_path / "conf"
    folder.mkdir()
    (folder / "yarn-site.xml").write_text(SITE)
    (folder / FILE).write_text(NESTED)
    (folder / FILE).chmod(0o640)
    return folder


def added(text: str, parent: str = "root", name: str = "carol") -> str:
    form = family_of("fair").draft
    return with_user(form, text, parent, name, None, listed=False)


@pytest.mark.parametrize(
    ("parent", "behind", "indent"),
    [("root", "    </queue>\n", "    "), ("root.lab", '      <queue name="bob"/>\n', "      ")],
)
def test_a_queue_comes_last_in_its_parent_and_the_rest_stays(parent, behind, indent):
    line = f'{indent}<queue name="carol"/>\n'
    assert added(NESTED, parent) == NESTED.replace(behind, behind + line, 1)


def test_a_file_without_root_gets_a_queue_beside_the_others():
    assert added("<allocations>\n</allocations>\n") == (
        '<allocations>\n  <queue name="carol"/>\n</allocations>\n'
    )


def test_an_empty_queue_that_is_said_to_be_a_parent_gets_queues():
    marked = NESTED.replace('<queue name="ann">', '<queue name="ann" type="parent">')
    assert '<queue name="carol"/>' in added(marked, "root.ann")


@pytest.mark.parametrize(
    ("parent", "name", "words"),
    [
        ("root", "ann", "has a queue root.ann already"),
        ("root.lab", "bob", "has a queue root.lab.bob already"),
        ("root.other", "carol", "has no queue root.other: it has root, root.ann, root.lab"),
        ("root.lab.bob", "carol", "root.lab.bob takes applications"),
        ("root.ann", "carol", "root.ann takes applications, and would take none any more"),
    ],
)
def test_what_is_there_and_what_is_not_is_refused(parent, name, words):
    with pytest.raises(InputError, match=words):
        added(NESTED, parent, name)


def test_the_file_is_written_with_a_copy_and_the_server_reads_it(run, cluster, conf):
    cluster.answers["/admin/refresh-queues"] = {"problems": [], "needs_restart": []}
    result = run("admin", "user", "add", "c.lee", "--conf", str(conf), "--weight", "2")
    assert result.exit_code == 0, result.stderr
    assert "added root.c_dot_lee to" in result.stdout
    assert "the server has read it" in result.stdout
    text = (conf / FILE).read_text()
    queue = """    <queue name="c_dot_lee">
      <weight>2.0</weight>
      <aclSubmitApps>c.lee</aclSubmitApps>
    </queue>
"""
    assert text == NESTED.replace("  </queue>\n  <default", f"{queue}  </queue>\n  <default")
    assert (conf / FILE).stat().st_mode & 0o777 == 0o640
    assert (conf / "fair-scheduler.xml~").read_text() == NESTED
    assert len(list(conf.iterdir())) == 3


def test_a_file_of_another_scheduler_is_refused(run, conf):
    pools = SITE.replace("scheduler.fair.FairScheduler", "scheduler.fifo.FifoScheduler")
    (conf / "yarn-site.xml").write_text(pools)
    refused = run("admin", "user", "add", "carol", "--conf", str(conf))
    assert refused.exit_code == 1
    assert "no allocation file" in refused.stderr


def test_an_unusable_name_changes_nothing(run, cluster, conf):
    assert run("admin", "user", "add", "a b", "--conf", str(conf)).exit_code == 2
    again = run("admin", "user", "add", "ann", "--conf", str(conf))
    assert (again.exit_code, "already" in again.stderr) == (1, True)
    assert (conf / FILE).read_text() == NESTED
    assert cluster.posted() == []
