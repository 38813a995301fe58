"""The verbs below `admin labels`, and `submit --label`."""

LABELS = {
    "labels": [
        {"name": "gpu", "exclusive": True, "nodes": ["n1", "n2"]},
        {"name": "spot", "exclusive": False, "nodes": []},
    ]
}


def test_list_shows_each_label_with_its_nodes(run, cluster):
    cluster.answers["/labels"] = LABELS
    assert run("admin", "labels", "list").stdout == "gpu  exclusive  n1 n2\nspot  shared  -\n"


def test_add_takes_labels_as_rmadmin_does(run, cluster):
    cluster.answers["/admin/labels/add"] = LABELS
    result = run("admin", "labels", "add", "gpu,spot(exclusive=false)", "big(exclusive=true)")
    assert result.exit_code == 0, result.stderr
    wanted = {"gpu": True, "spot": False, "big": True}
    assert cluster.posted() == [("/admin/labels/add", {"labels": wanted, "user": "ann"})]


def test_assign_puts_nodes_into_labels_or_into_none(run, cluster):
    cluster.answers["/admin/labels/assign"] = LABELS
    assert run("admin", "labels", "assign", "n1=gpu", "n2=").exit_code == 0
    [(_, body)] = cluster.posted()
    assert body["nodes"] == {"n1": "gpu", "n2": ""}


def test_assign_says_which_nodes_are_not_there(run, cluster):
    cluster.answers["/admin/labels/assign"] = LABELS
    there = cluster.answers["/nodes"]["nodes"][0]["name"]
    reported = run("admin", "labels", "assign", f"{there}=gpu", "local-9=gpu").stderr
    assert reported.startswith("local-9 is absent")
    assert reported.count("is absent") == 1


def test_remove_names_labels(run, cluster):
    cluster.answers["/admin/labels/remove"] = {"labels": []}
    result = run("admin", "labels", "remove", "gpu")
    assert result.stdout == "There are no labels.\n"
    assert cluster.posted()[0][1]["labels"] == ["gpu"]


def test_words_that_are_not_labels_are_refused_before_anything_is_sent(run, cluster):
    assert run("admin", "labels", "add", "gpu(shared)").exit_code == 2
    assert run("admin", "labels", "assign", "n1").exit_code == 2
    assert cluster.posted() == []
