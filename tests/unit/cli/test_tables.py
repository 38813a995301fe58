import re
from importlib import import_module
from io import BytesIO, TextIOWrapper
from pathlib import Path

import httpx
import pytest
from rich.console import Console

import fairshare
from fairshare.cli.cells import amounts_text, bar, duration_text, memory_text
from fairshare.cli.queues import queue_table
from fairshare.cli.tables import Column, Listing, open_console, print_all
from fairshare.cli.top import draw, look
from fairshare.client import Client, Queue

APPLICATION = "application_1700000000000_0007"

ROOM = Path(fairshare.__path__[0])
TABLES = (
    "fairshare.cli.cron.JOB_COLUMNS",
    "fairshare.cli.cron.RUN_COLUMNS",
    "fairshare.cli.history.APPLICATION_COLUMNS",
    "fairshare.cli.history.CONTAINER_COLUMNS",
    "fairshare.cli.nodes.GPU_COLUMNS",
    "fairshare.cli.queues.COLUMNS",
    "fairshare.cli.reserve.COLUMNS",
    "fairshare.cli.status.ENDED_COLUMNS",
    "fairshare.cli.tokens.COLUMNS",
    "fairshare.lab.verbs.convert.COMPARISON_COLUMNS",
    "fairshare.lab.verbs.plan.COLUMNS",
    "fairshare.lab.verbs.simulation_report.APPLICATION_COLUMNS",
    "fairshare.lab.verbs.simulation_report.CHANGE_COLUMNS",
    "fairshare.lab.verbs.simulation_report.QUEUE_COLUMNS",
    "fairshare.lab.verbs.simulation_report.RUN_COLUMNS",
)

VIEWS = {
    "queues": ["queues"],
    "nodes": ["nodes"],
    "apps": ["apps"],
    "status": ["status"],
    "status-application": ["status", APPLICATION],
    "top": ["top"],
}


@pytest.mark.parametrize("width", [80, 120])
@pytest.mark.parametrize("view", VIEWS)
def test_a_view_looks_as_it_was_drawn(run, same_as_drawn, view, width):
    result = run(*VIEWS[view], width=width)
    assert result.exit_code == 0
    same_as_drawn(f"{view}-{width}", result.stdout)


@pytest.mark.parametrize("width", [40, 60, 80, 100, 120, 200])
@pytest.mark.parametrize("view", VIEWS)
def test_no_line_is_wider_than_the_terminal(run, cluster, view, width):
    cluster.answers["/queues"]["queues"][3]["name"] += "-" + "x" * 100
    cluster.answers["/nodes"]["nodes"][0]["name"] = "n" * 100
    result = run(*VIEWS[view], width=width)
    assert max(map(len, result.stdout.splitlines())) <= width


@pytest.mark.parametrize("width", [80, 200])
@pytest.mark.parametrize("columns", TABLES, ids=lambda name: name.replace("fairshare.", ""))
def test_no_table_of_a_verb_breaks(monkeypatch, capsys, columns, width):
    """Whatever its cells have: long names in all of them."""
    monkeypatch.setenv("COLUMNS", str(width))
    module, _, name = columns.rpartition(".")
    shown = getattr(import_module(module), name)
    for text in ("short", "name-" + "x" * 60):
        print_all(open_console(), Listing(shown, [[text] * len(shown)] * 2))
        lines = capsys.readouterr().out.splitlines()
        assert max(map(len, lines)) <= width
        beginnings = [line.lstrip()[:5] for line in lines]
        assert beginnings.count(text[:5]) == 2, "a row has one line"


def test_every_table_with_columns_of_its_own_is_tried():
    modules = (*ROOM.glob("cli/*.py"), *ROOM.glob("lab/verbs/*.py"))
    named = {
        f"fairshare.{'.'.join(path.relative_to(ROOM).with_suffix('').parts)}.{name}"
        for path in modules
        for name in re.findall(r"^([A-Z]\w*)\b[^=]*= \($", path.read_text(), re.M)
        if name.endswith("COLUMNS")
    }
    assert named == set(TABLES)


@pytest.mark.parametrize("width", [40, 60, 80])
@pytest.mark.parametrize("view", VIEWS)
def test_no_number_is_cut(run, cluster, view, width):
    for queue in cluster.answers["/queues"]["queues"]:
        queue["used"] = {"memory-mb": 123_456, "vcores": 1_200}
    output = run(*VIEWS[view], width=width).stdout
    assert not re.search(r"[0-9.]…", output)


def test_columns_without_room_are_named_below_the_table(run):
    lines = run("queues", width=40).stdout.splitlines()
    assert lines[0].split() == ["Queue", "Use", "Used", "Fair"]
    reported = " ".join(" ".join(lines[-2:]).split())
    assert reported == "No room for: Steady, Min, Max, Run, Pend"


def test_titles_are_broken_before_a_column_is_left_out(monkeypatch):
    monkeypatch.setenv("COLUMNS", "24")
    columns = (Column("Name"), Column("Turnaround p50", right=True), Column("p95", right=True))
    console = Console(file=TextIOWrapper(BytesIO(), encoding="utf-8"))
    with console.capture() as captured:
        console.print(Listing(columns, [["a name", "1m", "2m"]]))
    lines = [line.split() for line in captured.get().splitlines()]
    assert lines == [["Turnaround"], ["Name", "p50", "p95"], ["a", "name", "1m", "2m"]]


@pytest.mark.parametrize("view", ["apps", "status-application", "top"])
def test_an_application_is_never_cut(run, view):
    assert APPLICATION in run(*VIEWS[view], width=80).stdout


def test_a_pipe_gets_every_value_whole(run, cluster, monkeypatch):
    name = "a-very-long-name" * 12
    cluster.answers["/applications"]["applications"][0]["name"] = name
    monkeypatch.delenv("COLUMNS", raising=False)
    assert open_console().width == 400
    assert name not in run("apps", width=80).stdout
    assert name in run("apps", width=400).stdout


@pytest.mark.parametrize(
    "arguments", [["apps"], ["queues"], ["nodes"], ["top"], ["status"], ["why", "7"]], ids="-".join
)
def test_a_pipe_gets_plain_characters_and_no_blanks_at_the_ends_of_lines(run, cluster, arguments):
    long = "a very long sentence " * 40
    reason = {"cause": "x", "sentence": long, "remedy": "", "group": "map", "containers": 2}
    cluster.answers["/applications/7/reasons"] = {"reasons": [reason]}
    cluster.answers["/applications"]["applications"][0]["name"] = long
    result = run(*arguments, width=None)
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert [line.rstrip() for line in lines] == lines
    assert result.stdout.isascii()
    if arguments[0] in ("apps", "why"):
        assert long.strip() in result.stdout


def test_no_table_has_colours_where_there_is_no_terminal(run):
    assert "\x1b" not in run("queues").output


def test_colours_are_off_when_the_user_says_so(monkeypatch):
    def drawn() -> str:
        console = Console(force_terminal=True, file=TextIOWrapper(BytesIO(), encoding="utf-8"))
        with console.capture() as captured:
            console.print(queue_table(console, [Queue("root")], {"vcores": 1}))
        return captured.get()

    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert "\x1b[32m" in drawn()
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b[32m" not in drawn()


def test_extra_columns_give_way_before_a_value_is_cut(run):
    lines = run("apps", width=100).stdout.splitlines()
    assert lines[0].split()[-4:] == ["Done", "Progress", "Used", "Time"]
    assert "research.search" in lines[2]


def test_names_of_tenants_cannot_steer_the_terminal(run, cluster):
    first = cluster.answers["/applications"]["applications"][0]
    first["name"] = "\x1b[2J\x9b31m[red]evil[/red]\r\nx"
    output = run("apps", width=200).stdout
    assert "?[2J?31m[red]evil[/red]  x" in output


def test_bars_are_plain_where_the_terminal_knows_no_others():
    console = Console(width=80, file=TextIOWrapper(BytesIO(), encoding="ascii"))
    shares = {"used": {"vcores": 1}, "fair_share": {"vcores": 2}}
    queues = [Queue("root", **shares), Queue("root.a", parent="root", **shares)]
    with console.capture() as captured:
        console.print(queue_table(console, queues, {"vcores": 4}))
    root, leaf = captured.get().splitlines()[1:]
    assert "##..|....." in leaf
    assert "##........" in root, "the share of root is everything"
    assert captured.get().isascii()


def test_queues_are_listed_below_their_parents(run):
    names = [line.split()[0] for line in run("queues").stdout.splitlines()]
    assert names == ["Queue", "root", "research", "ads", "search", "default"]


def test_an_empty_cluster_says_so(run, cluster):
    cluster.answers["/nodes"] = {"nodes": []}
    cluster.answers["/applications"] = {"applications": []}
    assert run("nodes").stdout.strip() == "No node has joined yet."
    assert run("apps").stdout.strip() == "Nothing runs or waits."
    assert run("apps", "--all").stdout.strip() == "No such application."
    assert run("apps", "--queue", "nowhere").stdout.strip() == "No such application."
    top = run("top").stdout
    assert "No node has joined." in top
    assert "Nothing runs or waits." in top


def test_a_scheduler_without_shares_shows_none(run, cluster):
    for queue in cluster.answers["/queues"]["queues"]:
        for name in ("fair_share", "steady_fair_share", "min_share", "max_share", "weight"):
            queue[name] = None
    root = run("queues").stdout.splitlines()[1]
    assert root.split()[2:8] == ["12G", "12c", "-", "-", "-", "-"]


def test_what_does_not_fit_on_the_screen_is_counted(cluster, run):

    applications = cluster.answers["/applications"]["applications"]
    applications += [applications[1]] * 50
    console = Console(width=100, height=24, file=TextIOWrapper(BytesIO(), encoding="utf-8"))
    client = Client("http://127.0.0.1:1", transport=httpx.MockTransport(cluster))
    with console.capture() as captured:
        console.print(draw(console, look(client), console.height))
    lines = captured.get().splitlines()
    assert len(lines) <= 24
    assert "and 45 more applications" in captured.get()


@pytest.mark.parametrize(
    ("mb", "text"),
    [(0, "0M"), (1023, "1023M"), (1100, "1.07G"), (20 * 1024 + 100, "20.1G"), (123_456, "121G")],
)
def test_memory_is_shown_with_three_digits(mb, text):
    assert memory_text(mb) == text


def test_an_amount_below_zero_is_shown_as_such():
    assert amounts_text({"memory-mb": -2048, "vcores": -1}) == "-2G -1c"


@pytest.mark.parametrize(
    ("ms", "text"), [(-5, "0s"), (59_999, "59s"), (60_000, "1m 00s"), (90_000_000, "1d 01h")]
)
def test_a_span_of_time_is_shown_with_two_units(ms, text):
    assert duration_text(ms) == text


def test_a_bar_never_leaves_its_cells():
    assert bar(7.0, 4, 9.0, ascii_only=True) == "###|"
    assert bar(-1.0, 4, ascii_only=True) == "...."
    assert bar(0.001, 4, ascii_only=True) == "#..."
