"""`at` and `branch` on the state directory of a small history."""

import contextlib
import json
from datetime import UTC, datetime

import pytest
from click.testing import CliRunner
from tests.unit.lab.plan.test_plan import SITE, recorded

import fairshare as library
from fairshare.cli import options
from fairshare.cli.verbs import fairshare
from fairshare.core.manager.resource_manager import ResourceManager
from fairshare.core.model.resources import ResourceTypes
from fairshare.lab.branch.history import Cut, History
from fairshare.runtime.journal.protocol import Snapshot
from fairshare.runtime.journal.sqlite import SqliteJournal
from fairshare.runtime.projections.projections import MANAGER, Projections
from fairshare.runtime.recovery import recover
from fairshare.runtime.snapshot import freeze
from fairshare.settings.registry import family_of


@pytest.fixture
def history(tmp_path):
    """Queues a and b have 12 tasks of 10 s each; four run at once, of which three are of a."""
    return recorded(tmp_path, 12)


def asked(*words):
    return CliRunner().invoke(fairshare, [str(word) for word in words])


def at(history, moment, *words):
    return asked("at", moment, "--against", history, *words)


def instant(seconds):
    """So many seconds after the beginning of the history, as a user writes it."""
    return datetime.fromtimestamp(seconds, UTC).isoformat()


def applications(output):
    rows = json.loads(output.stdout)["applications"]
    return {row["user"]: (row["state"], row["progress"]["succeeded"]) for row in rows}


def test_the_applications_are_as_they_were_at_an_instant(history):
    then = at(history, instant(25), "apps", "--json")
    assert then.exit_code == 0, then.output
    assert applications(then) == {"ann": ("RUNNING", 6), "bob": ("RUNNING", 2)}
    assert applications(at(history, "now", "apps", "--all", "--json")) == {
        "ann": ("FINISHED", 12),
        "bob": ("FINISHED", 12),
    }


def test_the_queues_of_a_record_are_those_behind_it(history):
    early = json.loads(at(history, "record:3", "queues", "--json").stdout)["queues"]
    assert {row["name"]: row["used"]["memory-mb"] for row in early}["root.a"] == 0
    late = json.loads(at(history, instant(5), "queues", "--json").stdout)["queues"]
    assert {row["name"]: row["used"]["memory-mb"] for row in late}["root.a"] == 3072


def test_a_reason_is_that_of_the_moment(history):
    assert "No node has 1,024 MB, 1 vcore free" in at(history, instant(15), "why", "1").stdout
    assert "It is not waiting: it is FINISHED." in at(history, "now", "why", "1").stdout


@pytest.mark.parametrize(
    ("moment", "words", "message"),
    [
        ("record:5000", ("queues",), "the journal ends with record"),
        ("soon", ("queues",), "'soon' is not a moment"),
        ("record:x", ("queues",), "write record:1234"),
        ("now", ("queues", "--against", "elsewhere"), "--against comes before 'queues'"),
        ("now", ("eta", "1", "--against", "elsewhere"), "--against comes before 'eta'"),
        ("now", ("logs", "1"), "'logs' shows no moment: name one of queues"),
        ("now", ("queues", "--url", "http://127.0.0.1:1"), "--url names a live server"),
        ("now", ("why", "9"), "there is no application '9'"),
    ],
)
def test_what_is_wrong_is_said(history, moment, words, message):
    reported = at(history, moment, *words)
    assert reported.exit_code != 0
    assert message in " ".join(reported.stderr.split())


def test_an_estimate_of_a_moment_needs_applications_that_had_ended_by_then(history):
    said = asked("eta", "1", "--against", history, "--at", instant(15))
    assert said.exit_code == 0, said.output
    assert (
        "fewer than 20 applications of this cluster have ended by themselves (0 so far)"
        in said.stdout
    )
    assert at(history, instant(15), "eta", "1").stdout == said.stdout
    ended = asked("eta", "1", "--against", history)
    assert "application 1 has ended: it is FINISHED" in ended.stderr


def test_a_moment_comes_before_the_verb_and_before_or_behind_the_options(history):
    for words in (("--against", history, "queues"), ("--against", history, "now")):
        reported = asked("at", *words)
        assert reported.exit_code == 2
        assert "Name a moment, and what to show of it" in reported.stderr
    said = asked("at", "--against", history, instant(15), "why", "1")
    assert said.exit_code == 0, said.output
    assert said.stdout == at(history, instant(15), "why", "1").stdout


def test_a_wrong_option_behind_the_verb_gets_the_usage_of_that_verb(history):
    reported = at(history, "now", "queues", "--sort", "user")
    assert reported.exit_code == 2
    assert "fairshare queues [OPTIONS]" in reported.stderr


def test_an_option_behind_the_verb_is_refused_before_any_directory_is_looked_at(
    history, monkeypatch, tmp_path
):
    monkeypatch.setenv("FAIRSHARE_STATE", str(tmp_path / "nothing"))
    for words in (("at", "now"), ("branch", "--for", "1m")):
        reported = asked(*words, "why", "1", "--against", history)
        assert reported.exit_code == 2
        assert "--against comes before 'why'" in reported.stderr


def test_without_a_directory_it_is_that_of_a_server_without_options(history, monkeypatch, tmp_path):
    monkeypatch.delenv("FAIRSHARE_STATE", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    conf = tmp_path / "etc"
    conf.mkdir()
    monkeypatch.setattr(options, "default_directory", lambda: conf)
    missing = asked("at", "now", "queues")
    assert missing.exit_code == 1
    assert f"{tmp_path}/home/.local/state/fairshare has no journal.sqlite3" in missing.stderr
    (conf / "yarn-site.xml").write_text(SITE)
    (conf / "fair-scheduler.xml").write_text("<allocations/>")
    (conf / "fairshare.toml").write_text(f'[server]\nstate_directory = "{history}"\n')
    assert "root.a" in asked("at", "now", "queues", "--format", "csv").stdout
    assert "24 of 24 decisions" in asked("plan", "--nodes", "2x").stdout


def test_remedies_of_a_moment_are_proved(history):
    shown = at(history, instant(15), "why", "1", "--prove")
    assert shown.exit_code == 0, shown.output
    assert "one more node joins (4,096 MB, 4 vcores): it starts within a second." in shown.stdout
    assert "If nothing is done, it starts in about 5s, if what runs takes" in shown.stdout
    found = json.loads(at(history, instant(15), "why", "1", "--prove", "--json").stdout)
    assert found["starts_after_ms"] == 5_000


def test_a_proof_is_about_an_application(history):
    reported = at(history, "now", "why", "a", "--prove")
    assert reported.exit_code == 2
    assert "--prove is about an application" in reported.stderr


def trimmed(history, end):
    """The journal without its records up to one, after which it has a state."""
    state = ResourceManager(family_of("fair").create(ResourceTypes()))
    with contextlib.closing(SqliteJournal(history)) as journal:
        records = [one for one in journal.records() if one.sequence <= end]
        position = recover(records, state.state)
        parts = {MANAGER: state, **Projections(ResourceTypes()).parts()}
        journal.save(freeze(position.sequence, position.now_ms, parts))
        journal.delete_up_to(end)


def test_a_moment_of_a_shortened_journal_is_the_same(history):
    before = at(history, instant(25), "apps", "--json").stdout
    trimmed(history, 20)
    assert applications(at(history, instant(25), "apps", "--json")) == {
        row["user"]: (row["state"], row["progress"]["succeeded"])
        for row in json.loads(before)["applications"]
    }


def test_a_moment_before_the_first_state_is_refused_with_the_one_that_is_kept(history):
    trimmed(history, 20)
    for moment in ("record:19", instant(0)):
        reported = at(history, moment, "queues")
        assert reported.exit_code == 1
        assert "its first state is that of record 20" in " ".join(reported.stderr.split())


def test_a_damaged_state_is_left_out_while_the_records_before_it_are_kept(history):
    before = at(history, instant(25), "apps", "--json").stdout
    with contextlib.closing(SqliteJournal(history)) as journal:
        journal.save(Snapshot(20, 0, 1, b"damaged"))
    assert applications(at(history, instant(25), "apps", "--json")) == {
        row["user"]: (row["state"], row["progress"]["succeeded"])
        for row in json.loads(before)["applications"]
    }


def test_a_client_of_the_past_only_answers(history):
    with library.at(history, instant(25)) as past:
        assert {one.user for one in past.applications(state="RUNNING")} == {"ann", "bob"}
        with pytest.raises(library.client.Refused, match="only answers"):
            past.kill(1)


def branch(history, *words):
    return asked("branch", "--against", history, *words)


def test_an_unchanged_branch_becomes_what_the_history_became(history):
    for seconds in (8, 25, 45):
        span = ("--at", instant(2), "--for", f"{seconds - 2}s")
        gone_on = branch(history, *span, "apps", "--all", "--json")
        recorded_then = at(history, instant(seconds), "apps", "--all", "--json")
        assert applications(gone_on) == applications(recorded_then)


def test_a_branch_goes_on_for_a_month_at_most(history):
    refused = branch(history, "--for", "99999d", "apps")
    assert (refused.exit_code, "--for is at most 31d" in refused.stderr) == (2, True)


def test_a_branch_with_an_order_goes_on_otherwise(history):
    changed = branch(
        history, "--at", instant(2), "--for", "23s", "--with", "kill 1", "apps", "--all", "--json"
    )
    assert applications(changed) == {"ann": ("KILLED", 0), "bob": ("RUNNING", 8)}


def test_what_still_runs_at_the_end_of_the_history_runs_as_long_as_its_like(tmp_path):
    history = recorded(tmp_path, 12, until_ms=25_000)
    later = branch(history, "--for", "10s", "apps", "--all", "--json")
    assert applications(later) == {"ann": ("RUNNING", 9), "bob": ("RUNNING", 3)}


def test_what_had_no_like_runs_on(tmp_path):
    history = recorded(tmp_path, 12, until_ms=5_000)
    later = branch(history, "--for", "1h", "apps", "--all", "--json")
    assert applications(later) == {"ann": ("RUNNING", 0), "bob": ("RUNNING", 0)}


@pytest.mark.parametrize(
    ("order", "message"),
    [
        ("undrain n9", "undrain n9 is refused: there is no node 'n9'"),
        ("lift 3", "is not an order: it begins with one of undrain"),
        ("kill x", "'x' is not an application"),
        ("move 1", "write move APP QUEUE"),
        ("safe-mode maybe", "write on or off"),
    ],
)
def test_an_order_that_cannot_be_is_refused(history, order, message):
    reported = branch(history, "--at", instant(2), "--for", "1s", "--with", order, "apps")
    assert reported.exit_code == 1
    assert message in " ".join(reported.stderr.split())


def test_a_moment_that_is_asked_for_while_the_journal_is_shortened_is_found(history):
    with History.open(history) as opened:
        before = opened.moment(Cut(record=30)).position
        trimmed(history, 20)
        assert opened.moment(Cut(record=30)).position == before


JOINING = """
applications:
  - at: 5s
    user: eve
    queue: root.a
    groups: [{name: g, count: 4, resources: {memory-mb: 1024, vcores: 1}, duration: 10s}]
"""


@pytest.fixture
def joining(tmp_path):
    """A workload with 4 tasks of 10 s in queue a, which come after 5 s."""
    (tmp_path / "more.yaml").write_text(JOINING)
    return tmp_path / "more.yaml"


def directory(tmp_path, queues):
    """A configuration whose queues have these weights."""
    conf = tmp_path / "conf"
    conf.mkdir()
    (conf / "yarn-site.xml").write_text(SITE)
    named = "".join(f"<queue name='{n}'><weight>{w}</weight></queue>" for n, w in queues.items())
    (conf / "fair-scheduler.xml").write_text(f"<allocations>{named}</allocations>")
    return conf


def test_a_branch_with_twice_the_load_has_each_application_twice(history):
    words = ("--at", "record:2", "--for", "65s")
    more = branch(history, *words, "--load", "2", "apps", "--all", "--json")
    assert "change: 2 more applications, drawn by seed 1" in more.stderr
    users = sorted(row["user"] for row in json.loads(more.stdout)["applications"])
    assert users == ["ann", "ann", "bob", "bob"]
    of_b = branch(
        history, *words, "--load", "2", "--queue", "b", "--seed", "3", "apps", "--all", "--json"
    )
    users = sorted(row["user"] for row in json.loads(of_b.stdout)["applications"])
    assert users == ["ann", "bob", "bob"]


def test_work_joins_a_branch_after_the_end_of_the_history(history, joining):
    """All that was recorded has ended after 60 s."""
    words = ("--at", "now", "--join", joining)
    begun = branch(history, "--for", "8s", *words, "apps", "--json")
    assert applications(begun) == {"eve": ("RUNNING", 0)}
    ended = branch(history, "--for", "16s", *words, "apps", "--all", "--json")
    assert applications(ended)["eve"] == ("FINISHED", 4)


def test_work_that_comes_after_the_end_of_a_branch_is_refused(history, joining):
    reported = branch(history, "--at", instant(2), "--for", "4s", "--join", joining, "apps")
    assert reported.exit_code == 1
    assert "no application arrives in the time that is simulated, which is 4 s" in reported.stderr


def test_changes_of_a_branch_come_together_with_a_configuration_and_orders(
    tmp_path, history, joining
):
    """On 8 instead of 4 places, of which bob has all that ann no longer uses."""
    conf = directory(tmp_path, {"a": 1, "b": 1, "c": 9})
    found = branch(
        history,
        *("--at", "record:2", "--for", "12s", "--conf", conf, "--nodes", "+n2"),
        *("--load", "2", "--queue", "b", "--join", joining),
        *("--with", "drain n1", "--with", "undrain n1"),
        *("apps", "--all", "--json"),
    )
    assert found.exit_code == 0, found.output
    assert [line for line in found.stderr.splitlines() if line.startswith("change: ")] == [
        f"change: the settings of {conf}",
        "change: 1 more node, n2",
        "change: 1 more application of b, drawn by seed 1",
        "change: 1 application of a workload",
        "change: drain n1",
        "change: undrain n1",
    ]
    rows = json.loads(found.stdout)["applications"]
    assert sorted(row["user"] for row in rows) == ["ann", "bob", "bob", "eve"]
    assert sum(row["progress"]["succeeded"] for row in rows) == 8


def test_an_order_of_a_branch_comes_after_its_other_changes(tmp_path, history):
    """It may name a node that joins, and a queue of the new settings."""
    conf = directory(tmp_path, {"a": 3, "b": 1, "c": 1})
    words = ("--at", instant(2), "--for", "20s", "--nodes", "+n2", "--conf", conf)
    orders = ("--with", "drain n2", "--with", "move 1 root.c")
    found = branch(history, *words, *orders, "apps", "--all", "--json")
    assert found.exit_code == 0, found.output
    queues = {row["user"]: row["queue"] for row in json.loads(found.stdout)["applications"]}
    assert queues == {"ann": "root.c", "bob": "root.b"}
    nodes = json.loads(branch(history, *words, *orders, "nodes", "--json").stdout)["nodes"]
    assert {row["name"]: row["used"]["memory-mb"] for row in nodes} == {"n1": 4096, "n2": 0}


def test_orders_of_a_branch_are_done_in_the_order_in_which_they_are_written(history):
    words = ("--at", "record:3", "--for", "1s", "--with", "hold 1", "--with", "release 1")
    found = branch(history, *words, "apps", "--all", "--json")
    assert applications(found)["ann"][0] == "RUNNING"
    reported = branch(history, "--at", "record:3", "--for", "1s", "--with", "release 1", "apps")
    assert "release 1 is refused" in reported.stderr


def test_the_load_after_the_last_submission_cannot_change(history):
    reported = branch(history, "--at", instant(2), "--for", "1h", "--load", "2", "apps")
    assert reported.exit_code == 1
    assert "no application was submitted in the time that is simulated" in reported.stderr
    reported = branch(history, "--at", "record:2", "--for", "1h", "--queue", "a", "apps")
    assert reported.exit_code == 2
    assert "--queue says whose load changes: name --load, too" in reported.stderr
