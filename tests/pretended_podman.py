#!/usr/bin/env python3
"""A pretended podman: understands the options that fairshare gives, and runs the command without an
image, with only the variables that were handed on. The image `missing` does not exist.

It writes what it was called with to the file `calls` beside it.
"""

import argparse
import json
import os
import sys
from pathlib import Path

parser = argparse.ArgumentParser()
verbs = parser.add_subparsers(dest="verb", required=True)
run = verbs.add_parser("run")
for flag in ("--rm", "--interactive", "--init"):
    run.add_argument(flag, action="store_true")
for repeated in ("--volume", "--env", "--device"):
    run.add_argument(repeated, action="append", default=[])
for name in ("memory", "memory-swap", "pids-limit", "cpu-shares", "pid", "userns"):
    run.add_argument(f"--{name}")
for name in ("workdir", "name", "network"):
    run.add_argument(f"--{name}", required=True)
run.add_argument("image")
run.add_argument("command", nargs=argparse.REMAINDER)
remove = verbs.add_parser("rm")
remove.add_argument("--force", action="store_true")
remove.add_argument("--ignore", action="store_true")
remove.add_argument("name")

given = parser.parse_args()
with Path(__file__).with_name("calls").open("a") as calls:
    calls.write(json.dumps(vars(given)) + "\n")
if given.verb == "rm":
    sys.exit()
if given.image == "missing":
    print("Error: missing: image not known", file=sys.stderr)
    sys.exit(125)
os.chdir(given.workdir)
variables = {name: os.environ[name] for name in given.env}
os.execve("/usr/bin/env", ["env", *given.command], {"PATH": "/usr/bin:/bin", **variables})
