"""The same workload and configuration give the same bytes, whatever the hash seed."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SEEDS = ("0", "1", "12345")


@pytest.mark.parametrize("scheduler", ["fair", "fifo"])
def test_report_and_records_do_not_depend_on_the_hash_seed(tmp_path, scheduler):
    outputs = set()
    for seed in SEEDS:
        events = tmp_path / f"events-{seed}.jsonl"
        command = [sys.executable, "-m", "fairshare", "simulate", "--json"]
        command += ["--conf", "examples/three-teams", "--scheduler", scheduler]
        command += ["--workload", "examples/workloads/three-teams.yaml", "--events", str(events)]
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, check=True)
        outputs.add((done.stdout, events.read_bytes()))
    assert len(outputs) == 1
    ((report, records),) = outputs
    assert len(report) > 10_000
    assert records.count(b"\n") > 1_000
