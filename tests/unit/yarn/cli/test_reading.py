"""`fairshare yarn` reads a cluster: recorded answers of a real ResourceManager, exactly printed."""

import pytest
from tests.unit.yarn.cli.conftest import EPOCH_MS

APP = f"application_{EPOCH_MS}_0001"
ATTEMPT = f"appattempt_{EPOCH_MS}_0001_000001"
CONTAINER = f"container_{EPOCH_MS}_0001_01_000001"
PROXY = f"http://rm.example:8088/proxy/{APP}/"


@pytest.fixture
def yarn(recorded):
    return recorded("capacity/running")[0]


def test_a_list_of_applications_has_hadoops_title_columns_and_tabs(yarn):
    title, header, first, *rest = yarn.lines("application", "-list")
    assert title == (
        "Total number of applications (application-types: [], states: [SUBMITTED, ACCEPTED,"
        " RUNNING] and tags: []):6"
    )
    assert header == (
        "                Application-Id\t    Application-Name\t    Application-Type\t      User\t"
        "     Queue\t             State\t       Final-State\t       Progress\t"
        "                       Tracking-URL"
    )
    assert first == (
        f"application_{EPOCH_MS}_0001\t        nightly load\t           MAPREDUCE\t     alice\t"
        f"root.prod.etl\t           RUNNING\t         UNDEFINED\t            50%\t{PROXY}"
    )
    assert len(rest) == 5


def test_a_list_is_limited_by_states_types_and_tags_in_any_case(yarn):
    words = [
        "application",
        "-list",
        "-appStates",
        "finished,KILLED",
        "-appTypes",
        "spark",
        "-appTags",
        "ETL",
    ]
    title, _, *rows = yarn.lines(*words)
    assert title.startswith(
        "Total number of applications (application-types: [SPARK], states: [FINISHED, KILLED] and"
        " tags: [ETL]):"
    )
    assert {row.split("\t")[5].strip() for row in rows} == {"FINISHED", "KILLED"}


def test_all_states_are_named_in_the_order_of_an_applications_life(yarn):
    title, _, *rows = yarn.lines("app", "--list", "-appStates=ALL")
    assert "[NEW, NEW_SAVING, SUBMITTED, ACCEPTED, RUNNING, FINISHED, FAILED, KILLED]" in title
    assert len(rows) == 11
    refused = next(row for row in rows if "_0009\t" in row)
    assert refused.split("\t")[-1].strip() == "N/A"


def test_an_unknown_state_is_refused_with_the_valid_ones(yarn):
    result = yarn("application", "-list", "-appStates", "DOING")
    assert result.exit_code == 255
    assert result.stdout.splitlines() == [
        "The application state DOING is invalid.",
        "The valid application state can be one of the following: ALL,NEW,NEW_SAVING,SUBMITTED,"
        "ACCEPTED,RUNNING,FINISHED,FAILED,KILLED",
    ]


def test_a_report_of_an_application_is_hadoops_line_by_line(yarn):
    assert yarn.lines("application", "-status", APP) == [
        "Application Report : ",
        f"\tApplication-Id : {APP}",
        "\tApplication-Name : nightly load",
        "\tApplication-Type : MAPREDUCE",
        "\tUser : alice",
        "\tQueue : root.prod.etl",
        "\tApplication Priority : 5",
        f"\tStart-Time : {EPOCH_MS}",
        "\tFinish-Time : 0",
        "\tProgress : 50%",
        "\tState : RUNNING",
        "\tFinal-State : UNDEFINED",
        "\tTracking-URL : http://n1:4040/",
        "\tRPC Port : 5000",
        "\tAM Host : n1",
        "\tAggregate Resource Allocation : 7 MB-seconds, 7 vcore-seconds, 7 yarn.io/gpu-seconds",
        "\tAggregate Resource Preempted : 0 MB-seconds, 0 vcore-seconds",
        "\tLog Aggregation Status : DISABLED",
        "\tDiagnostics : ",
        "\tUnmanaged Application : false",
        "\tApplication Node Label Expression : <Not set>",
        "\tAM container Node Label Expression : <DEFAULT_PARTITION>",
        "\tTimeoutType : LIFETIME\tExpiryTime : 2031-02-03T04:05:06.789+0000"
        "\tRemainingTime : 7seconds",
        "",
    ]


def test_an_application_that_is_not_there_ends_with_255(yarn):
    result = yarn("application", "-status", f"application_{EPOCH_MS}_0099")
    assert result.exit_code == 255
    assert "_0099' doesn't exist in RM or Timeline Server." in result.stdout


def test_a_name_instead_of_an_id_is_refused_with_a_reason(yarn):
    result = yarn("application", "-status", "sleeper")
    assert result.exit_code == 1
    assert "not an application's id" in result.stderr


def test_attempts_are_listed_and_reported(yarn):
    assert yarn.lines("applicationattempt", "-list", APP) == [
        "Total number of application attempts :1",
        "         ApplicationAttempt-Id\t               State\t"
        "                    AM-Container-Id\t                       Tracking-URL",
        f"{ATTEMPT}\t             RUNNING\t{CONTAINER}\t{PROXY}",
    ]
    assert yarn.lines("applicationattempt", "-status", ATTEMPT) == [
        "Application Attempt Report : ",
        f"\tApplicationAttempt-Id : {ATTEMPT}",
        "\tState : RUNNING",
        f"\tAMContainer : {CONTAINER}",
        f"\tTracking-URL : {PROXY}",
        "\tRPC Port : 5000",
        "\tAM Host : n1",
        "\tDiagnostics : ",
    ]


def test_containers_are_listed_and_reported(yarn):
    title, header, first, *rest = yarn.lines("container", "-list", ATTEMPT)
    assert title == "Total number of containers :5"
    assert header.split("\t")[1:3] == ["          Start Time", "         Finish Time"]
    assert first.split("\t") == [
        CONTAINER,
        "Tue Nov 14 22:13:20 +0000 2023",
        "                 N/A",
        "             RUNNING",
        "            n1:45454",
        "      http://n1:8042",
        f"http://n1:8042/node/containerlogs/{CONTAINER}/alice",
    ]
    assert len(rest) == 4
    report = yarn.lines("container", "-status", CONTAINER)
    assert report[1] == f"\tContainer-Id : {CONTAINER}"
    assert "\tHost : n1:45454" in report


def test_a_queue_of_the_capacity_scheduler_is_reported_with_hadoops_numbers(yarn):
    assert yarn.lines("queue", "-status", "etl") == [
        "Queue Information : ",
        "Scheduler Name : CapacityScheduler",
        "Queue Name : etl",
        "Queue Path : root.prod.etl",
        "\tState : RUNNING",
        "\tCapacity : 60.00%",
        "\tCurrent Capacity : 108.33%",
        "\tMaximum Capacity : 100.00%",
        "\tWeight : -1.00",
        "\tMaximum Parallel Apps : 2147483647",
        "\tDefault Node Label expression : <DEFAULT_PARTITION>",
        "\tAccessible Node Labels : *",
        "\tPreemption : disabled",
        "\tIntra-queue Preemption : disabled",
    ]


def test_children_of_a_queue_are_listed_in_a_table_with_lines(yarn):
    assert yarn.lines("queue", "-list", "root.prod")[1:6] == [
        "|                                                  2 queues were found"
        "                                                   |",
        "+------------+---------------+---------+----------+------------------+------------------+"
        "--------+-----------------------+",
        "| Queue Name |  Queue Path   |  State  | Capacity | Current Capacity | Maximum Capacity |"
        " Weight | Maximum Parallel Apps |",
        "+------------+---------------+---------+----------+------------------+------------------+"
        "--------+-----------------------+",
        "|    etl     | root.prod.etl | RUNNING |  60.00%  |     108.33%      |     100.00%      |"
        " -1.00  |      2147483647       |",
    ]
    assert "5 queues were found" in yarn("queue", "-list", "all").stdout
    unknown = yarn("queue", "-status", "nowhere")
    assert (unknown.exit_code, unknown.stdout) == (
        255,
        "Cannot get queue from RM by queueName = nowhere, please check.\n",
    )


def test_a_queue_of_the_fair_scheduler_is_reported_with_its_shares(recorded):
    yarn, _ = recorded("fair/running")
    assert yarn.lines("queue", "-status", "root") == [
        "Queue Information : ",
        "Scheduler Name : FairScheduler",
        "Queue Name : root",
        "\tWeight : N/A",
        "\tState : RUNNING",
        "\tMinResource : <memory : 0, vCores:0>",
        "\tMaxResource : <memory : 40960, vCores:40>",
        "\tReservedResource : <memory : 2048, vCores:1>",
        "\tSteadyFairShare : <memory : 40960, vCores:40>",
        "\tQueue Preemption : enabled",
    ]


def test_the_fifo_scheduler_has_one_queue(recorded):
    yarn, _ = recorded("fifo/running")
    report = yarn.lines("queue", "-status", "default")
    assert report[1:3] == ["Scheduler Name : FifoScheduler", "Queue Name : default"]
    assert "\tCurrent Capacity : 100.00%" in report


def test_nodes_are_listed_by_state(recorded):
    yarn, _ = recorded("capacity/reserved")
    running = yarn.lines("node", "-list")
    assert running[1] == (
        "         Node-Id\t     Node-State\tNode-Http-Address\tNumber-of-Running-Containers"
    )
    assert {row.split("\t")[1].strip() for row in running[2:]} == {"RUNNING"}
    every = yarn.lines("node", "-list", "-ALL")
    assert {"LOST", "SHUTDOWN"} <= {row.split("\t")[1].strip() for row in every[2:]}
    assert yarn.lines("node", "-list", "-states", "lost,SHUTDOWN")[0] == "Total Nodes:2"
    wrong = yarn("node", "-list", "-states", "ASLEEP")
    assert (wrong.exit_code, wrong.stdout.splitlines()[0]) == (
        255,
        "The node state ASLEEP is invalid.",
    )


def test_the_details_and_the_report_of_a_node_are_hadoops(yarn):
    details = yarn.lines("node", "-list", "-showDetails")
    assert details[3:9] == [
        "Detailed Node Information :",
        "\tConfigured Resources : <memory:16384, vCores:16, yarn.io/gpu: 4>",
        "\tAllocated Resources : <memory:8192, vCores:7, yarn.io/gpu: 2>",
        "\tResource Utilization by Node : PMem:0 MB, VMem:0 MB, VCores:0.0",
        "\tResource Utilization by Containers : PMem:0 MB, VMem:0 MB, VCores:0.0",
        "\tNode-Labels : ",
    ]
    report = yarn.lines("node", "-status", "n1:45454")
    assert report[:6] == [
        "Node Report : ",
        "\tNode-Id : n1:45454",
        "\tRack : /r1",
        "\tNode-State : RUNNING",
        "\tNode-Http-Address : n1:8042",
        "\tLast-Health-Update : Tue 14/Nov/23 10:13:20:00UTC",
    ]
    assert report[8:12] == [
        "\tMemory-Used : 7168MB",
        "\tMemory-Capacity : 8192MB",
        "\tCPU-Used : 6 vcores",
        "\tCPU-Capacity : 8 vcores",
    ]
    gone = yarn("node", "-status", "n9:1")
    assert (gone.exit_code, gone.stdout) == (
        0,
        "Could not find the node report for node id : n9:1\n",
    )


def test_labels_of_the_cluster_are_listed(recorded):
    yarn, answers = recorded("capacity/labels")
    key = ("GET", "/ws/v1/cluster/get-node-labels")
    answers.answers[key] = answers.answers[key][1:]  # the first one was asked before there were any
    [line] = yarn.lines("cluster", "-lnl")
    assert line.startswith("Node Labels: <")
    assert ":exclusivity=" in line


def test_top_prints_once_without_a_terminal(yarn):
    lines = yarn.lines("top", "-users", "bob", "-rows", "1")
    assert lines[1].startswith("NodeManager(s): 4 total, 4 active")
    assert [line.split()[0] for line in lines[8:]] == [f"application_{EPOCH_MS}_0002"]


def test_the_version_is_that_of_the_resource_manager(yarn):
    assert yarn.lines("version")[0] == "Hadoop 3.4.1"


@pytest.mark.parametrize(
    "words",
    [
        ("application", "-frobnicate"),
        ("application", "-status"),
        ("application", "-movetoqueue", APP),
        ("application", "-updatePriority", "3"),
        ("queue",),
        ("node", "-status", "n1:1", "-list"),
        ("schedulerconf",),
        ("logs",),
        ("rmadmin", "-frobnicate"),
    ],
)
def test_a_wrong_call_says_how_it_is_called_and_ends_with_255(yarn, words):
    result = yarn(*words)
    assert result.exit_code == 255, result.output
    assert "usage: " in result.stdout


@pytest.mark.parametrize(
    "words", [(c, "-help") for c in ("application", "container", "node", "queue", "rmadmin")]
)
def test_help_needs_no_server(words):
    from click.testing import CliRunner

    from fairshare.cli.verbs import fairshare

    result = CliRunner().invoke(fairshare, ["yarn", *words])
    assert (result.exit_code, result.stdout[:7]) == (0, "usage: ")


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (("application", "-launch", "x", "y.json"), "YARN services"),
        (("applicationattempt", "-fail", ATTEMPT), "FORCEFUL_SHUTDOWN"),
        (("cluster", "-lnl", "-dnl"), "directly-access"),
        (("rmadmin", "-refreshAdminAcls"), "no such call"),
        (("rmadmin", "-refreshQueues"), "no such call"),
        (("rmadmin", "-getGroups", "bob"), "no such call"),
    ],
)
def test_what_rest_cannot_do_is_refused_with_a_reason(yarn, words, reason):
    result = yarn(*words)
    assert result.exit_code == 1
    assert reason in result.stderr
