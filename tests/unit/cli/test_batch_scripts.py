"""`submit SCRIPT` reads the #SBATCH lines of a script, as sbatch does."""

from pathlib import Path

import pytest

from fairshare.cli.batch_scripts import read_script
from fairshare.documents.bounds import NOTICE_EVENTS


@pytest.fixture
def read(tmp_path):
    def call(*lines: str, first: str = "#!/bin/bash -e", executable: bool = False):
        path = tmp_path / "train.sh"
        path.write_text("\n".join((first, *lines, "srun hostname", "#SBATCH --mem=9g")))
        path.chmod(0o755 if executable else 0o644)
        return read_script((str(path), "a"))

    return call


@pytest.mark.parametrize(
    ("line", "options"),
    [
        ("--mem=2G -c 4 -J night", {"memory": 2048, "vcores": 4, "name": "night"}),
        ("-pml --time=30   # half an hour", {"queue": "ml", "time_limit_ms": 1_800_000}),
        ("-t 1:30", {"time_limit_ms": 90_000}),
        ("-t 2-12", {"time_limit_ms": 216_000_000}),
        ("-t UNLIMITED", {}),
        ("--gres=gpu:2", {"gpus": 2}),
        ("--gres=gpu", {"gpus": 1}),
        ("--gres=gpu:0 -G 0", {}),
        ("-G 3", {"gpus": 3}),
        ("--mem-per-cpu=500 --cpus-per-task=4", {"memory": 2000, "vcores": 4}),
        ("-d afterok:7:8,afterany:9", {"after": ["7:ok", "8:ok", "9:any"]}),
        ("-H --no-requeue -N 1 --parsable", {"held": True, "max_attempts": 1}),
        ("--export=ALL,SEED=1", {"export": "all", "environment": (("SEED", "1"),)}),
        ("--export=NONE", {"export": "none"}),
        ("--mail-type=ALL --mail-user=ann@example.org", {
            "notify": ("mailto:ann@example.org",), "notify_on": tuple(NOTICE_EVENTS),
        }),
        ("-o log/%x-%A_%a.out", {"output": "log/%n-%j_%t.out"}),
        ("-w gpu1,gpu2 --exclusive", {"nodelist": ("gpu1", "gpu2"), "exclusive": True}),
        ("--signal=B:USR1@60 -C a100", {"label": "a100"}),
    ],
)  # fmt: skip
def test_what_has_an_equivalent_is_read(read, line, options):
    script = read(f"#SBATCH {line}")
    said = dict(script.options)
    if "end_signal" in said:
        assert said.pop("end_signal").before_ms == 60_000
    if "after" in said:
        said["after"] = [f"{one.application}:{one.outcome}" for one in said["after"]]
    assert (said, script.left_out) == (options, [])


@pytest.mark.parametrize(
    ("line", "named"),
    [
        ("-A lab", "-A lab"),
        ("--qos=high", "--qos=high"),
        ("-Alab", "-Alab"),
        ("-x node1 node2", "-x node1 node2"),
        ("-N 2", "--nodes=2 (a script runs in one container"),
        ("--gres=gpu:a100:2", "their kind cannot be chosen"),
        ("--gres=tape:1", "--resource NAME=N"),
        ("--mem=0", "0 is all memory of a node: give --exclusive"),
        ("--mem-per-cpu=lots", "--mem-per-cpu=lots ('lots'"),
        ("-d singleton", "afterok, afterany and afternotok"),
        ("-o %N.out", "%N in names of files"),
        ("-n 8 -c 2", "runs once, with 16 vcores"),
        ("--mail-type=END", "without --mail-user"),
    ],
)
def test_what_has_no_equivalent_is_named(read, line, named):
    (left_out,) = read(f"#SBATCH {line}").left_out
    assert named in left_out


@pytest.mark.parametrize(
    "line",
    [
        *("-A lab -p gpu -c 2", "-p gpu -A lab -c 2", "--qos=high -p gpu -Alab -c 2 --nice"),
        "-c 2 -p gpu -QA",
    ],
)
def test_what_is_known_of_a_line_counts_beside_what_is_not(read, line):
    script = read(f"#SBATCH {line}")
    assert script.options == {"queue": "gpu", "vcores": 2}
    assert all("gpu" not in words and "-c" not in words for words in script.left_out)


def test_the_lines_end_with_the_first_command_and_a_script_runs_as_sbatch_runs_it(read):
    script = read("", "  # a remark", "#SBATCH -c 2")
    assert script.options == {"vcores": 2}
    assert script.words == ("/bin/bash", "-e", str(script.path), "a")
    executable = read("#SBATCH -c 2", executable=True)
    assert executable.words == (str(script.path), "a")


def test_a_script_without_lines_for_slurm_and_what_is_not_a_script_are_left_alone(read, tmp_path):
    assert read("#SBATCHES -c 4", "# SBATCH -c 4") is None
    assert read_script((str(tmp_path),)) is None
    assert read_script(("no-such-file",)) is None
    binary = tmp_path / "binary"
    binary.write_bytes(bytes(range(256)))
    assert read_script((str(binary),)) is None


def test_a_wrong_value_is_refused_with_its_place(run, tmp_path):
    path = tmp_path / "train.sh"
    path.write_text("#!/bin/sh\n#SBATCH -c 2\n#SBATCH --mem=lots\n")
    result = run("submit", str(path))
    assert result.exit_code == 2
    assert f"{path}:3: --mem=lots: " in result.stderr


def test_options_of_the_command_line_win(run, cluster, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    cluster.answers["POST /applications"] = {"id": "application_1700000000000_0001"}
    Path("train.sh").write_text(
        "#!/bin/sh\n#SBATCH --mem=2G --array=1-9%3\n#SBATCH -t 30 -A lab -J x\n"
    )
    result = run("submit", "--memory", "1g", "--time-limit", "2h", "--at-once", "5", "train.sh")
    assert result.exit_code == 0, result.stderr
    assert "train.sh: of its #SBATCH lines this is left out: -A lab" in result.stderr
    ((_, body),) = cluster.posted()
    (group,) = body["tasks"]
    assert body["name"] == "x"
    assert group["resources"]["memory-mb"] == 1024
    assert (group["time_limit_ms"], group["at_once"], group["count"]) == (7_200_000, 5, 9)
    assert group["arguments"] == ["/bin/sh", "./train.sh"]
