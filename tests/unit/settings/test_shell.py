"""fairshare.toml is small and strict."""

import pytest

from fairshare.documents.problems import Problems
from fairshare.settings.shell import EngineSettings, ServerSettings, ShellSettings, read_shell


def read(text: str | None, default_port: int | None = None) -> tuple[ShellSettings, list[str]]:
    problems = Problems()
    document = None if text is None else text.encode()
    settings = read_shell(document, "fairshare.toml", problems, default_port)
    return settings, [str(problem) for problem in problems.all]


def test_without_the_file_the_server_listens_on_loopback() -> None:
    settings, problems = read(None)
    assert settings == ShellSettings()
    assert (settings.server.host, settings.server.port) == ("127.0.0.1", 8088)
    assert problems == []


def test_all_keys_are_read() -> None:
    assert read(
        """
        [server]
        host = "0.0.0.0"
        port = 0
        state_directory = "state"
        [engine]
        kind = "local"
        nodes = 3
        memory_mb = 2048
        vcores = 2
        """
    ) == (
        ShellSettings(
            ServerSettings("0.0.0.0", 0, "state"),
            EngineSettings(kind="local", nodes=3, memory_mb=2048, vcores=2),
        ),
        [],
    )


def test_numbers_of_a_unit_may_be_written_with_another_one() -> None:
    settings, problems = read(
        """
        [engine]
        memory_mb = "8g"
        [configuration]
        settle_ms = "1m 30s"
        [limits]
        header_kb = "1MB"
        header_s = "1m"
        [retention]
        finished_hours = "7d"
        journal_mb = "1.5g"
        """
    )
    assert problems == []
    assert settings.engine.memory_mb == 8192
    assert settings.configuration.settle_ms == 90_000
    assert (settings.limits.header_kb, settings.limits.header_s) == (1024, 60)
    assert (settings.retention.finished_hours, settings.retention.journal_mb) == (168, 1536)


def test_the_given_port_counts_only_if_the_file_names_none() -> None:
    assert read("[server]\nhost = 'h'", 9000)[0].server.port == 9000
    assert read("[server]\nport = 1", 9000)[0].server.port == 1
    assert read(None, 9000)[0].server.port == 9000


@pytest.mark.parametrize(
    ("text", "place", "reason"),
    [
        ("[server]\nhots = 1", "2:1", "unknown key 'hots' in server: did you mean 'host'?"),
        ("\n[sever]\nport = 1", "2:2", "'sever' is unknown: there are [server], [engine]"),
        ("port = 1", "1:1", "'port' is unknown: there are [server], [engine]"),
        ("server = 1", "1:10", "server must be a mapping"),
        ("[server]\nlog_format = 'xml'", "2:14", "server.log_format must be 'json' or 'text'"),
        ("[engine]\n\n  nodes = 0", "3:11", "engine.nodes is 0: it must be at least 1"),
        ("[engine]\nnodes = true", "2:9", "engine.nodes must be a whole number, found 'true'"),
        ("[server]\nport = '1'", "2:8", "server.port must be a whole number, found '1'"),
        ("[server]\nport = 70000", "2:8", "server.port is 70000: it must be at most 65535"),
        ("[server]\nhost = ' '", "2:8", "host must not be empty"),
        (
            "[engine] # here\n\"kind\" = 'slurm'",
            "2:10",
            "engine.kind must be 'local' or 'nodemanagers' or 'ray', found 'slurm'",
        ),
        ("[retention]\nfinished_hours = '90m'", "2:18", "'90m' is not a whole number of hours"),
        (
            "[retention]\nfinished_hours = '0s'",
            "2:18",
            "is 0: it must be at least 1",
        ),
        (
            "[configuration]\nsettle_ms = 'soon'",
            "2:13",
            "'soon' is not a duration",
        ),
        (
            "[configuration]\nsettle_ms = '2d'",
            "2:13",
            "it must be at most 86400000",
        ),
        ("[engine]\nmemory_mb = 'lots'", "2:13", "memory_mb: 'lots' is not a size: write 512m, 1g"),
        (
            "[engine]\nmemory_ms = '8g'",
            "2:1",
            "unknown key 'memory_ms' in engine",
        ),
        ("server.port = 'x'", "1:15", "port must be a whole number"),
        ("server = {port = 'x'}", "1:10", "port must be a whole number"),
        ("[engine]\nport = 1\n[server]\n\nport = 'x'", "5:8", "port must be a whole number"),
    ],
)
def test_what_is_unknown_or_bad_is_an_error_with_its_place(
    text: str, place: str, reason: str
) -> None:
    settings, problems = read(text)
    assert settings == ShellSettings()
    assert problems[-1].startswith(f"fairshare.toml:{place}: error: ")
    assert reason in problems[-1]


@pytest.mark.parametrize(
    ("text", "place"),
    [("[server]\nport = x\n", "2:8"), ("[server]\nport = ", "2"), ("[server\n", "1:8")],
)
def test_bad_toml_is_an_error_with_its_place(text: str, place: str) -> None:
    settings, problems = read(text)
    assert settings == ShellSettings()
    assert len(problems) == 1
    assert problems[0].startswith(f"fairshare.toml:{place}: error: not well-formed TOML")


def test_a_file_that_is_not_utf_8_is_an_error() -> None:
    problems = Problems()
    assert read_shell(b"\xff", "f", problems) == ShellSettings()
    assert [problem.rule for problem in problems.errors] == ["toml"]


def test_the_watch_is_as_patient_as_hadoop_by_default() -> None:
    settings, problems = read(None)
    assert (settings.configuration.check_interval_ms, settings.configuration.settle_ms) == (
        10_000,
        5_000,
    )
    settings, problems = read("[configuration]\ncheck_interval_ms = 100\nsettle_ms = 0")
    assert (settings.configuration.check_interval_ms, settings.configuration.settle_ms) == (100, 0)
    assert problems == []


def test_groups_come_from_a_file_or_from_a_command() -> None:
    assert read('[users]\ngroups_file = "groups"')[0].users.groups_file == "groups"
    command = read('[users]\ngroups_command = ["id", "-Gn", "{user}"]')[0].users.groups_command
    assert command == ("id", "-Gn", "{user}")


@pytest.mark.parametrize(
    ("text", "place", "reason"),
    [
        ("[configuration]\n\ncheck_interval_ms = 1", "3:21", "must be at least 10"),
        ("[configuration]\nsettle_ms = -1", "2:13", "must be at least 0"),
        ('[users]\ngroups_command = "id"', "2:18", "must be a list"),
        ("[users]\ngroups_command = []", "2:18", "must not be empty"),
        ('[users]\ngroups_command = ["id", 3]', "2:18", "must be a text"),
        ('[users]\ngroups_command = ["id"]', "2:18", "must hold the word {user}"),
        (
            '[users]\ngroups_file = "f"\ngroups_command = ["id", "{user}"]',
            "1:2",
            "write one of both",
        ),
    ],
)
def test_mistakes_of_watch_and_users_are_reported_at_their_place(
    text: str, place: str, reason: str
):
    _, problems = read(text)
    (problem,) = problems
    assert problem.startswith(f"fairshare.toml:{place}: error: ")
    assert reason in problem
