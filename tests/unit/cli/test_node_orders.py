"""The verbs below `admin` that drain nodes, take them out, and switch the safe mode."""

NODE = {
    "name": "n1",
    "state": "DRAINING",
    "total": {"memory-mb": 1024, "vcores": 1},
    "used": {"memory-mb": 1024, "vcores": 1},
    "containers": 1,
    "attributes": {"memory-limit": "cgroup-v2"},
}
EMPTY = {**NODE, "state": "DRAINED", "containers": 0, "used": {}}


def test_drain_sends_the_nodes_and_shows_their_states(run, cluster):
    cluster.answers["/admin/nodes/drain"] = {"nodes": [NODE]}
    result = run("admin", "drain", "n1", "n2")
    assert result.exit_code == 0, result.stderr
    assert "draining" in result.stdout
    assert "cgroup-v2" not in result.stdout, "the order does not concern attributes"
    assert cluster.posted() == [("/admin/nodes/drain", {"nodes": ["n1", "n2"], "user": "ann"})]


def test_decommission_has_an_hour_unless_a_timeout_is_given(run, cluster):
    cluster.answers["/admin/nodes/decommission"] = {"nodes": []}
    assert run("admin", "decommission", "n1").stdout == "No node is left.\n"
    assert run("admin", "decommission", "n1", "--timeout", "90s").exit_code == 0
    assert [body["timeout_ms"] for _, body in cluster.posted()] == [3_600_000, 90_000]


def test_wait_returns_when_nothing_runs_there(run, cluster, monkeypatch):
    monkeypatch.setattr("fairshare.cli.admin.PACE_S", 0.0)
    cluster.answers["/admin/nodes/drain"] = {"nodes": [NODE]}
    cluster.answers["/nodes"] = {"nodes": [EMPTY]}
    result = run("admin", "drain", "n1", "--wait")
    assert result.exit_code == 0
    assert "drained" in result.stdout


def test_wait_gives_up_when_the_node_is_undrained(run, cluster, monkeypatch):
    monkeypatch.setattr("fairshare.cli.admin.PACE_S", 0.0)
    cluster.answers["/admin/nodes/drain"] = {"nodes": [NODE]}
    cluster.answers["/nodes"] = {"nodes": [{**NODE, "state": "RUNNING"}]}
    result = run("admin", "drain", "n1", "--wait")
    assert result.exit_code == 1
    assert "it was undrained meanwhile" in result.stderr


def test_undrain_brings_them_back(run, cluster):
    cluster.answers["/admin/nodes/undrain"] = {"nodes": [{**EMPTY, "state": "RUNNING"}]}
    assert "running" in run("admin", "undrain", "n1").stdout


def test_safe_mode_is_switched_and_shown(run, cluster):
    cluster.answers["/admin/safe-mode"] = {"safe_mode": True}
    assert run("admin", "safe-mode", "on").stdout == "safe mode is on\n"
    assert run("admin", "safe-mode", "get", "--json").exit_code == 0
    assert cluster.posted() == [("/admin/safe-mode", {"on": True, "user": "ann"})]
    assert run("admin", "safe-mode", "maybe").exit_code == 2
