"""Runs the load on AccaSim, in an environment that has it, and prints processor time and memory.

AccaSim 1.1.3 imports names that Python 3.10 has moved, and writes beside the first path of imports.
"""

import collections
import collections.abc
import contextlib
import io
import json
import os
import resource
import sys
import tempfile
import time
from pathlib import Path


def main() -> None:
    """`accasim_run.py TASKS NODES`."""
    count, nodes = map(int, sys.argv[1:])
    from load import CORES_PER_NODE, tasks  # beside this file

    for name in ("Mapping", "MutableMapping", "Sequence", "Iterable"):
        setattr(collections, name, getattr(collections.abc, name))
    from accasim.base.allocator_class import FirstFit
    from accasim.base.scheduler_class import FirstInFirstOut
    from accasim.base.simulator_class import Simulator

    with tempfile.TemporaryDirectory() as folder:
        sys.path[0] = folder
        os.chdir(folder)
        lines = (
            f"{number} {at_s} 0 {run_s} 1 -1 -1 1 {run_s} -1 1 1 1 1 1 1 -1 -1\n"
            for number, (at_s, run_s) in enumerate(tasks(count, nodes), 1)
        )
        Path("load.swf").write_text("".join(lines))
        system = {
            "system_name": "benchmark",
            "start_time": 0,
            "equivalence": {"processor": {"core": 1}},
            "groups": {"node": {"core": CORES_PER_NODE, "mem": 1_000_000}},
            "resources": {"node": nodes},
        }
        Path("system.json").write_text(json.dumps(system))
        began_s = time.process_time()
        with contextlib.redirect_stdout(io.StringIO()):
            Simulator(
                "load.swf",
                "system.json",
                FirstInFirstOut(FirstFit()),
                scheduling_output=False,
                statistics_output=False,
            ).start_simulation()
        cpu_s = time.process_time() - began_s
        os.chdir("/")
    memory_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    print(json.dumps({"cpu_s": cpu_s, "memory_mb": memory_mb}))


main()
