"""The launcher of a container prepares its directory and runs the context's commands."""

import base64
import io
import json
import os
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path
from typing import Any

import pytest

from fairshare.yarn.rpc.own import launcher
from fairshare.yarn.rpc.own.launcher import ordered, references, replaced, script

JAVA = "JAVA_HOME"


class Container:
    """A container's directory, as the engine makes it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.work = path / "work"
        self.work.mkdir()
        self.resources: list[dict[str, Any]] = []
        self.inherited = {"PATH": os.environ["PATH"]}

    def resource(self, name: str, file: Path, kind: int = 2, **other: Any) -> None:
        found = file.stat()
        self.resources.append(
            {
                "name": name,
                "path": str(file),
                "size": found.st_size,
                "timestamp_ms": found.st_mtime_ns // 1_000_000,
                "type": kind,
                "pattern": "",
                "public": False,
                **other,
            }
        )

    def run(self, *commands: str, **environment: str) -> int:
        call = self.path / "call"
        call.write_text(
            json.dumps(
                {
                    "commands": commands,
                    "environment": environment,
                    "inherited": self.inherited,
                    "fixed": {"CONTAINER_ID": "container_1_0001_01_000001", "USER": "ann"},
                    "resources": self.resources,
                    "tokens": base64.b64encode(b"HDTS\0\0\0").decode(),
                }
            )
        )
        with (self.path / "stdout").open("wb") as out, (self.path / "stderr").open("wb") as err:
            program = (sys.executable, "-P", launcher.__file__, str(call))
            return subprocess.run(
                program, cwd=self.work, stdout=out, stderr=err, check=False, timeout=60
            ).returncode

    @property
    def stdout(self) -> str:
        return (self.path / "stdout").read_text()

    @property
    def stderr(self) -> str:
        return (self.path / "stderr").read_text()


@pytest.fixture
def container(tmp_path: Path) -> Container:
    return Container(tmp_path)


def test_commands_run_with_their_logs_where_the_engine_keeps_them(container: Container) -> None:
    code = container.run(
        "echo hello {{NAME}}", "1><LOG_DIR>/stdout", "2><LOG_DIR>/stderr", NAME="$USER"
    )
    assert (code, container.stdout) == (0, "hello ann\n")


def test_a_command_has_the_variables_of_a_node(container: Container) -> None:
    names = ("CONTAINER_ID", "LOG_DIRS", "PWD", "HADOOP_TOKEN_FILE_LOCATION")
    container.run("; ".join(f"echo \\${name}" for name in names) + "; cat container_tokens")
    work = container.work
    assert container.stdout.splitlines() == [
        "container_1_0001_01_000001",
        f"{work}/.logs",
        f"{work}",
        f"{work}/container_tokens",
        "HDTS\0\0\0",
    ]


def test_a_container_has_a_directory_for_temporary_files(container: Container) -> None:
    assert container.run("touch \\$PWD/tmp/file") == 0
    assert (container.work / "tmp/file").exists()


def test_only_the_account_of_the_container_can_read_its_tokens(container: Container) -> None:
    container.run("true")
    assert (container.work / "container_tokens").stat().st_mode & 0o077 == 0
    assert not (container.path / "call").exists()


def test_the_exit_code_is_that_of_the_command(container: Container) -> None:
    assert container.run("exit 7") == 7


def test_files_lie_under_their_names(container: Container, tmp_path: Path) -> None:
    (tmp_path / "source").write_text("content")
    container.resource("name.txt", tmp_path / "source")
    container.resource("folder/name.txt", tmp_path / "source")
    assert container.run("cat name.txt folder/name.txt") == 0
    assert container.stdout == "contentcontent"


def zipped(path: Path) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        program = zipfile.ZipInfo("bin/run")
        program.external_attr = 0o755 << 16
        archive.writestr(program, "#!/bin/sh\necho ran\n")
        archive.writestr("lib/a.jar", "a")
    return path


def tarred(path: Path) -> Path:
    with tarfile.open(path, "w:gz") as archive:
        for name, mode, content in (
            ("bin/run", 0o755, b"#!/bin/sh\necho ran\n"),
            ("lib/a.jar", 0o644, b"a"),
        ):
            member = tarfile.TarInfo(name)
            member.mode, member.size = mode, len(content)
            archive.addfile(member, io.BytesIO(content))
    return path


@pytest.mark.parametrize("name", ["a.zip", "a.jar", "a.tar.gz", "a.tgz"])
def test_archives_are_unpacked_with_the_rights_of_programs(
    container: Container, tmp_path: Path, name: str
) -> None:
    make = tarred if ".t" in name else zipped
    container.resource("archive", make(tmp_path / name), kind=1)
    assert container.run("archive/bin/run; cat archive/lib/a.jar") == 0
    assert container.stdout == "ran\na"


def test_of_a_pattern_only_what_matches_is_unpacked(container: Container, tmp_path: Path) -> None:
    container.resource("job", zipped(tmp_path / "job.jar"), kind=3, pattern="(?:lib/).*")
    assert container.run("find job -type f | sort") == 0
    assert container.stdout.split() == ["job/job.jar", "job/lib/a.jar"]


@pytest.mark.parametrize("name", ["a.zip", "a.tgz"])
def test_archives_of_a_pattern_that_are_not_jars_are_unpacked_as_a_whole(
    container: Container, tmp_path: Path, name: str
) -> None:
    make = tarred if ".t" in name else zipped
    container.resource("job", make(tmp_path / name), kind=3, pattern="lib/.*")
    assert container.run("find job -type f | sort") == 0
    assert container.stdout.split() == ["job/bin/run", "job/lib/a.jar"]


@pytest.mark.parametrize("kind", [1, 3])
def test_a_file_that_is_not_an_archive_is_copied_as_it_is(
    container: Container, tmp_path: Path, kind: int
) -> None:
    (tmp_path / "a.tar.xz").write_text("content")
    container.resource("name", tmp_path / "a.tar.xz", kind=kind, pattern=".*")
    assert container.run("cat name") == 0
    assert container.stdout == "content"


@pytest.mark.parametrize(("public", "rights"), [(False, "500 700 500"), (True, "555 755 555")])
def test_files_can_be_run_and_not_be_written(
    container: Container, public: bool, rights: str
) -> None:
    container.path.chmod(0o755)
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        (Path(folder) / "inner").mkdir(0o755)
        for file in (Path(folder, "run.sh"), Path(folder, "inner/run.sh")):
            file.write_text("echo ran\n")
            file.chmod(0o644)
        container.resource("run.sh", Path(folder, "run.sh"), public=public)
        container.resource("inner", Path(folder, "inner"), public=public)
        code = container.run("./run.sh; stat -c %a run.sh inner inner/run.sh")
    assert code == 0
    assert container.stdout.split() == ["ran", *rights.split()]


@pytest.mark.parametrize("name", ["../out", "/tmp/out", ""])
def test_a_file_cannot_lie_outside_of_the_container(
    container: Container, tmp_path: Path, name: str
) -> None:
    (tmp_path / "source").write_text("content")
    container.resource(name, tmp_path / "source")
    assert container.run("true") == launcher.NOT_LOCALIZED
    assert "outside of the container" in container.stderr


def member(name: str, kind: bytes = tarfile.REGTYPE, leads_to: str = "") -> tarfile.TarInfo:
    made = tarfile.TarInfo(name)
    made.type, made.linkname = kind, leads_to
    return made


@pytest.mark.parametrize(
    "members",
    [
        [member("../../out")],
        [member("out", tarfile.SYMTYPE, "../..")],
        [member("out", tarfile.SYMTYPE, "/etc")],
        [member("out", tarfile.LNKTYPE, "../../../call")],
        [member("a", tarfile.SYMTYPE, "b/../../out"), member("b", tarfile.SYMTYPE, "c/d")],
        [
            member("a", tarfile.SYMTYPE, "b/../out"),
            member("b", tarfile.SYMTYPE, "."),
            member("a/out"),
        ],
        [member("out", tarfile.FIFOTYPE)],
        [member("out", tarfile.CHRTYPE)],
    ],
    ids=lambda members: " ".join(one.name for one in members),
)
def test_an_archive_cannot_write_or_lead_outside_of_its_folder(
    container: Container, tmp_path: Path, members: list[tarfile.TarInfo]
) -> None:
    with tarfile.open(tmp_path / "a.tar", "w") as archive:
        for one in members:
            archive.addfile(one)
    container.resource("archive", tmp_path / "a.tar", kind=1)
    assert container.run("true") == launcher.NOT_LOCALIZED
    assert "would lie outside of it" in container.stderr or "is neither a file" in container.stderr
    assert not [*tmp_path.glob("out"), *tmp_path.glob("work/out")]


def test_links_within_an_archive_are_kept(container: Container, tmp_path: Path) -> None:
    with tarfile.open(tmp_path / "a.tar", "w") as archive:
        for one in (
            member("/lib/a"),
            member("lib/b", tarfile.SYMTYPE, "a"),
            member("c", tarfile.LNKTYPE, "lib/a"),
            member("d", tarfile.SYMTYPE, "lib/../lib"),
        ):
            archive.addfile(one)
    container.resource("archive", tmp_path / "a.tar", kind=1)
    assert container.run("readlink archive/lib/b archive/d; ls archive/d; cat archive/c") == 0
    assert container.stdout.split() == ["a", "lib/../lib", "a", "b"]


@pytest.mark.parametrize(
    ("other", "reason"),
    [
        ({"timestamp_ms": 5}, "changed on src filesystem - expected: 5, was: "),
        ({"size": 3}, "has 7 bytes, not 3"),
        ({"public": True}, "not publicly accessible"),
        ({"path": "/nowhere/file"}, "No such file or directory"),
        ({"type": 1, "name": "folder"}, "File is not a zip file"),
    ],
)
def test_a_file_that_is_not_as_it_was_submitted_ends_the_container(
    container: Container, tmp_path: Path, other: dict[str, Any], reason: str
) -> None:
    source = tmp_path / "source.zip"
    source.write_text("content")
    source.chmod(0o600)
    container.resource("name", source)
    container.resources[0].update(other)
    assert container.run("true") == launcher.NOT_LOCALIZED
    assert reason in container.stderr


def test_java_17_gets_the_options_that_hadoop_gives_it(
    container: Container, tmp_path: Path
) -> None:
    for version, opens in (("17.0.9", True), ("11.0.2", False)):
        home = tmp_path / version
        home.mkdir()
        (home / "release").write_text(f'IMPLEMENTOR="x"\nJAVA_VERSION="{version}"\n')
        container.inherited[JAVA] = str(home)
        container.run("echo java <ADD_OPENS>")
        assert ("--add-opens=java.base/java.lang=ALL-UNNAMED" in container.stdout) is opens


def test_variables_come_behind_those_that_they_refer_to() -> None:
    assert ordered({"PATH": "$HOME/bin:$PATH", "HOME": "${BASE}", "BASE": "/x"}) == [
        "BASE",
        "HOME",
        "PATH",
    ]
    assert ordered({"A": "$B", "B": "$A"}) == ["B", "A"]
    assert references(r"\$A \\$B ${C:-$D}") == ["B", "C", "D"]


def test_a_name_that_no_shell_takes_is_left_out() -> None:
    text = script(["true"], {"A;rm": "1", "B": "2"}, {"C": "it's"}, "/logs", "")
    assert text == (
        "#!/bin/bash\nset -o pipefail\nexport C='it'\\''s'\nexport B=\"2\"\n"
        'exec /bin/bash -c "true"\n'
    )


def test_class_paths_are_joined_as_on_this_system() -> None:
    assert replaced("$PWD<CPS>{{CONF}}/x", "/logs", "") == "$PWD:$CONF/x"
