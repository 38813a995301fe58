"""Answers show themselves in a notebook, as the command line shows them, and become frames."""

import pickle
import sys
from html.parser import HTMLParser
from types import SimpleNamespace

import httpx
import pytest

from fairshare.api.accounting import PastApplication, PastApplications, Report, ReportRow
from fairshare.api.applications import Application, Container, GroupProgress, Progress, Reason, Task
from fairshare.api.ledger import Ledger, LedgerLine
from fairshare.api.nodes import Node
from fairshare.api.queues import Holder, Owed, OwedPart, Queue
from fairshare.api.showing import Rows
from fairshare.client import Client

ATTACK = "<script src='//evil.example'>alert(1)</script>\x1b[2J"


class Elements(HTMLParser):
    """The elements and the text of a page."""

    def __init__(self, text):
        super().__init__()
        self.elements, self.attributes, self.open, self.text = set(), set(), [], ""
        self.feed(text)
        assert not self.open, "every element is closed"

    def handle_starttag(self, tag, attrs):
        self.elements.add(tag)
        self.attributes |= {name for name, _ in attrs}
        self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += f"{data}\n"


def queues():
    total = {"memory-mb": 8192, "vcores": 8}
    half = {"memory-mb": 4096, "vcores": 4}
    return Rows(
        [
            Queue(name="root", leaf=False, children=("root.a",), fair_share=total, used=total),
            Queue(name="root.a", parent="root", fair_share=half, used=total),
        ],
        Queue,
        total,
    )


def application(**changes):
    fields = {
        "id": "application_1700000000000_0001",
        "name": ATTACK,
        "user": ATTACK,
        "queue": f"root.{ATTACK}",
        "state": "FINISHED",
        "submitted_ms": 1_700_000_000_000,
        "began_ms": 1_700_000_030_000,
        "finished_ms": 1_700_000_120_000,
        "diagnostics": ATTACK,
        "command": ATTACK,
        "progress": Progress(total=2, succeeded=1),
        "groups": (GroupProgress(name=ATTACK, count=2),),
        "containers": (Container(id="c1", node=ATTACK, state="RUNNING"),),
    }
    return Application(**{**fields, **changes})


REASON = Reason(cause="queue-maximum", group=ATTACK, sentence=ATTACK, remedy=ATTACK)
ANSWERS = [
    queues(),
    queues()[1],
    application(),
    application(finished_ms=None, state="RUNNING", began_ms=0),
    Rows([application()], Application),
    Rows([REASON], Reason),
    REASON,
    Rows([Task(group=ATTACK, index=0, state=ATTACK, diagnostics=ATTACK)], Task),
    Rows([Node(name=ATTACK, state="UNHEALTHY", health_report=ATTACK)], Node),
    Rows([Container(id="c1", node=ATTACK, outcome=ATTACK, state="COMPLETE")], Container),
    PastApplications((PastApplication(id="1", name=ATTACK, user=ATTACK),), more=True),
    Report(by=("user",), rows=(ReportRow(group=(ATTACK,)),)),
    Ledger(
        by=("queue", "user"),
        since_ms=0,
        until_ms=9,
        begin_ms=0,
        complete_ms=9,
        causes={ATTACK: ATTACK},
        lines=(LedgerLine(resource="vcores", queue="root.a", user=ATTACK, owed={ATTACK: 3}),),
    ),
    Owed(
        queue="root.a",
        type="vcores",
        owed=3,
        unasked=0,
        waiting=1,
        looked=1,
        parts=(OwedPart("limit", ATTACK, 3, 1, ATTACK, ATTACK, ATTACK),),
        sentence=ATTACK,
        since_ms=None,
        holders=(Holder(ATTACK, 3),),
    ),
]


@pytest.mark.parametrize("answer", ANSWERS, ids=lambda answer: type(answer).__name__)
def test_no_text_of_users_is_markup_in_a_notebook(answer):
    shown = Elements(answer._repr_html_())
    assert shown.elements <= {"div", "table", "thead", "tbody", "tr", "th", "td"}
    assert shown.attributes <= {"class", "style"}
    assert "\x1b" not in shown.text
    assert "evil" not in shown.text or "<script" in shown.text


def test_queues_have_bars_with_marks_of_their_shares():
    shown = queues()._repr_html_()
    assert "██████████" in shown
    assert "┃" in shown
    assert "Fair" in shown


def test_an_application_shows_how_long_it_waited_and_ran():
    shown = Elements(application()._repr_html_()).text
    assert "waited 30s" in shown
    assert "ran 1m 30s" in shown
    drawn = next(line for line in shown.splitlines() if "waited 30s" in line)
    assert drawn.count("░") == 10, "it waited for a quarter of the time"
    assert drawn.index("░") < drawn.index("█"), "it waits first"


def test_a_reason_has_its_cause_its_sentence_and_its_remedy():
    reason = Reason(cause="queue-maximum", sentence="root.a is full.", remedy="Wait.")
    shown = Elements(Rows([reason], Reason)._repr_html_()).text
    assert shown.split("\n")[:3] == ["queue-maximum", "root.a is full.", "Wait."]


def test_a_long_table_says_how_many_rows_it_leaves_out():
    shown = Rows([Node(name=f"n{number}") for number in range(503)], Node)._repr_html_()
    assert shown.count("<tr>") == 501
    assert "3 rows more are not shown" in shown


def test_rows_are_a_tuple_for_all_other_code():
    rows = queues()
    assert rows == tuple(rows)
    assert hash(rows.__class__([1])) == hash((1,))
    copied = pickle.loads(pickle.dumps(rows))
    assert copied == rows
    assert copied._repr_html_() == rows._repr_html_()


def test_the_client_returns_rows_also_where_nothing_is(cluster):
    cluster.answers["/queues"] = {"queues": [], "total": {"vcores": 2}}
    with Client("http://127.0.0.1:8188", transport=httpx.MockTransport(cluster)) as client:
        found = client.queues()
    assert found == ()
    assert found.total == {"vcores": 2}
    assert "Nothing" in found._repr_html_()


@pytest.fixture
def pandas(monkeypatch):
    """What is given to pandas."""
    stub = SimpleNamespace(DataFrame=lambda rows, columns: (rows, columns))
    monkeypatch.setitem(sys.modules, "pandas", stub)


@pytest.mark.usefixtures("pandas")
def test_a_frame_has_a_column_for_each_field_and_each_resource():
    rows, columns = queues().to_frame()
    assert [row["used.memory-mb"] for row in rows] == [8192, 8192]
    assert columns[:2] == ["name", "leaf"]
    assert {"fair_share.vcores", "running_applications"} <= {*columns}


@pytest.mark.usefixtures("pandas")
def test_a_frame_of_a_report_has_what_it_is_grouped_by():
    report = Report(by=("user", "day"), rows=(ReportRow(group=("ann", "2026-11-27"), failed=2),))
    rows, columns = report.to_frame()
    assert columns[:2] == ["user", "day"]
    assert (rows[0]["user"], rows[0]["day"], rows[0]["failed"]) == ("ann", "2026-11-27", 2)


@pytest.mark.usefixtures("pandas")
def test_a_frame_of_the_ledger_has_a_row_for_each_line_and_a_column_for_each_cause():
    lines = (
        LedgerLine(resource="vcores", queue="root.a", entitled=5, owed={"lender": 3}),
        LedgerLine(resource="vcores", queue="root.b", entitled=2),
    )
    rows, columns = Ledger(("queue",), 0, 9, 0, 9, {}, lines).to_frame()
    assert [(row["queue"], row["entitled"]) for row in rows] == [("root.a", 5), ("root.b", 2)]
    assert rows[0]["owed.lender"] == 3
    assert "owed.lender" in columns


@pytest.mark.usefixtures("pandas")
def test_an_empty_frame_has_the_columns_of_its_records():
    assert PastApplications().to_frame()[1][:2] == ["containers", "failed"]


def test_without_pandas_a_frame_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match="pip install pandas"):
        queues().to_frame()
