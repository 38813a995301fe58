"""Owns the accounts of Slurm: what `sacct --parsable2` prints, with a header.

Names of columns are read in any case: those of sacct (JobID, Submit, ReqCPUS) and those of XDMoD's
logs. Steps of a job (`17.batch`) are left out: they are parts of it. Times without a zone are taken
as they are.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

from fairshare.model.resources import MEMORY, VCORES
from fairshare.simulate.traces.records import GPU, Trace, TraceGroup, TraceJob, TraceNodes
from fairshare.simulate.traces.rows import (
    files_in,
    header_of,
    in_order,
    left_out,
    parsed,
    rows_of,
    seconds_of,
)
from fairshare.wording import counted

TITLE = "Slurm's accounts"
NEEDED = frozenset({"jobid", "submit", "start", "end", "user"})
_UNKNOWN = ("", "Unknown", "None", "None assigned", "N/A")
_PER_CPU = 0x80000000
"""Slurm's mark of an amount for each processor, where it was printed without its letter."""
_SIZES_MB = {"K": 1 / 1024, "M": 1, "G": 1024, "T": 1024 * 1024}
_MEMORY = re.compile(r"([0-9.]+)([KMGT]?)([nc]?)")
_GPUS = re.compile(r"gres/gpu(?::[^=,]+)?=(\d+)")
_RANGE = re.compile(r"\[([^\]]*)\]")


def matches(path: Path) -> bool:
    """Whether a file has the columns of sacct."""
    return any(_is_accounts(one) for one in files_in(path))


def _is_accounts(path: Path) -> bool:
    names = {name.lower() for name in header_of(path, "|")}
    return names >= NEEDED and bool(names & {"ncpus", "reqcpus", "alloccpus"})


def read(path: Path) -> Trace:
    """Read accounts; the cluster is that of the nodes that jobs ran on."""
    file = next(one for one in files_in(path) if _is_accounts(one))
    notes: list[str] = []
    nodes = _nodes(file)
    if nodes:
        notes.append(
            f"The cluster has {counted(len(nodes), 'node')}, those that jobs ran on, each as large"
            " as the largest share of it that a job had."
        )
    return Trace(f"{TITLE}: {file.name}", nodes, in_order(_jobs(file, notes)), notes)


def _lower(row: Mapping[str, str]) -> dict[str, str]:
    return {name.lower(): value for name, value in row.items()}


def _rows(file: Path) -> Iterator[tuple[int, dict[str, str]]]:
    for number, row in rows_of(file, "|"):
        found = _lower(row)
        if "." not in found["jobid"]:
            yield number, found


def _jobs(file: Path, notes: list[str]) -> Iterator[tuple[float, TraceJob]]:
    why: Counter[str] = Counter()
    for number, job in parsed(file, _rows(file), _job):
        if isinstance(job, str):
            why[job] += 1
            continue
        submit_s, started_s, ended_s, row = job
        count = nodes_of(row)
        cpus = cpus_of(row)
        amounts = {VCORES: max(1, -(-cpus // count)), MEMORY: memory_mb(row, cpus, count)}
        gpus = gpus_of(row)
        if gpus:
            amounts[GPU] = -(-gpus // count)
        run_ms = round((ended_s - started_s) * 1000)
        group = TraceGroup("tasks", count, run_ms, amounts, gang=count > 1)
        yield (
            submit_s,
            TraceJob(
                number,
                f"job{row['jobid']}",
                0,
                row["user"] or "unknown",
                (group,),
                row.get("partition") or None,
                round(max(0.0, started_s - submit_s) * 1000),
            ),
        )
    notes += left_out(why)


def _job(row: Mapping[str, str]) -> str | tuple[float, float, float, Mapping[str, str]]:
    """When it was submitted, started and ended; or why it is left out."""
    if row["start"] in _UNKNOWN:
        return "never started"
    if row["end"] in _UNKNOWN:
        return "have not ended"
    submit_s, started_s, ended_s = (seconds_of(row[name]) for name in ("submit", "start", "end"))
    if ended_s < started_s:
        return "ended before they started"
    return submit_s, started_s, ended_s, row


def _whole(row: Mapping[str, str], *names: str) -> int:
    for name in names:
        text = row.get(name, "")
        if text.isdigit() and int(text):
            return int(text)
    return 0


def nodes_of(row: Mapping[str, str]) -> int:
    """The number of nodes of a job."""
    return max(1, _whole(row, "nnodes", "allocnodes", "reqnodes"))


def cpus_of(row: Mapping[str, str]) -> int:
    """The number of processors of a job."""
    return max(1, _whole(row, "reqcpus", "ncpus", "alloccpus"))


def gpus_of(row: Mapping[str, str]) -> int:
    """The number of GPUs of a job."""
    for name in ("alloctres", "reqtres", "allocgres", "reqgres"):
        found = _GPUS.search(row.get(name, ""))
        if found:
            return int(found[1])
    return 0


def memory_mb(row: Mapping[str, str], cpus: int, nodes: int) -> int:
    """The memory of a job on one node: `4Gn` is for each node, `4Gc` for each processor.

    >>> memory_mb({"reqmem": "2Gc"}, 8, 2), memory_mb({"reqmem": "31000Mn"}, 8, 2)
    (8192, 31000)
    >>> memory_mb({"reqmem": "16G"}, 8, 2), memory_mb({"reqmem": ""}, 8, 2)
    (8192, 4096)
    >>> memory_mb({"reqmem": "2147486648Mn"}, 8, 2)  # 3000 MB a processor
    12000
    """
    found = _MEMORY.fullmatch(row.get("reqmem", "").strip())
    each = -(-cpus // nodes)
    if found is None or not float(found[1]):
        return 1024 * each
    amount = float(found[1]) * _SIZES_MB[found[2] or "M"]
    scope = found[3]
    if amount >= _PER_CPU:
        amount, scope = amount - _PER_CPU, "c"
    match scope:
        case "n":
            return max(1, round(amount))
        case "c":
            return max(1, round(amount * each))
        case _:
            return max(1, round(amount / nodes))


def node_names(text: str) -> list[str]:
    """The names in a list of nodes.

    >>> node_names("cpn-f[1-3,07],big")
    ['cpn-f1', 'cpn-f2', 'cpn-f3', 'cpn-f07', 'big']
    """
    found = []
    for part in re.findall(r"[^,\[]+(?:\[[^\]]*\])?[^,]*", text):
        inner = _RANGE.search(part)
        if inner is None:
            found.append(part)
            continue
        before, after = part[: inner.start()], part[inner.end() :]
        for span in inner[1].split(","):
            first, _, last = span.partition("-")
            if not (first.isdigit() and (last or first).isdigit()):
                continue
            width = len(first)
            numbers = range(int(first), min(int(last or first), int(first) + 99_999) + 1)
            found += [f"{before}{one:0{width}}{after}" for one in numbers]
    return found


def _nodes(file: Path) -> tuple[TraceNodes, ...]:
    largest: dict[str, dict[str, int]] = {}
    for _, row in _rows(file):
        names = [] if row.get("nodelist", "") in _UNKNOWN else node_names(row["nodelist"])
        if not names:
            continue
        count, cpus = len(names), cpus_of(row)
        had = {
            VCORES: -(-cpus // count),
            MEMORY: memory_mb(row, cpus, count),
            GPU: -(-gpus_of(row) // count),
        }
        for name in names:
            known = largest.setdefault(name, {VCORES: 1, MEMORY: 1, GPU: 0})
            for kind, amount in had.items():
                known[kind] = max(known[kind], amount)
    return tuple(
        TraceNodes(1, {kind: amount for kind, amount in one.items() if amount}, name)
        for name, one in sorted(largest.items())
    )
