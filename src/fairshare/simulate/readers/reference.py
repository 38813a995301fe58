"""Owns the reference page of workloads and their JSON Schema, made from `form.py`.

`python -m fairshare.simulate.readers.reference docs/reference` writes both; a test compares them.
"""

import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from fairshare.config.yaml_form import schema_text
from fairshare.simulate.readers.form import FORMS, schema

_INTRODUCTION: Final = """\
# Workloads

What arrives when, for `fairshare simulate --workload FILE` and `fairshare convert --compare FILE`.
This page and [workload.schema.json](workload.schema.json) are made from the tables in the code; do
not edit them.

An editor with support for YAML checks and completes a workload that begins with this line, with
the path or the address where your schema is:

```yaml
# yaml-language-server: $schema=workload.schema.json
nodes:
  - {name: worker, count: 4, resources: {memory-mb: 8192, vcores: 8}, rack: /rack1}
applications:
  - at: 0s
    user: alice
    queue: root.research
    name: nightly
    repeat: 3
    every: 10m
    groups:
      - {name: map, count: 20, resources: {memory-mb: 1024, vcores: 1}, duration: 30s}
      - name: reduce
        resources: {memory-mb: 2g, vcores: 1}
        duration: [1m, 2m]
        after: map
        slow_start: 0.5
  - at: 0s
    user: bob
    name: question
    repeat: 20
    think: 10s
    groups:
      - {count: 4, resources: {memory-mb: 1g, vcores: 1}, duration: 5s}
```

Alice submits every ten minutes, whatever happens. Bob is a user in a closed loop: he asks his next
question 10 s after the answer to the last one, so that he asks fewer in a cluster that is busy.

[Values](../values.md) are written as everywhere: durations as `30s` or `1h30m`, memory as `512`
(MB) or `2g`. The resource types are those of the configuration. A key that is not listed here is
refused, with the nearest one that is.

The same in JSON is a `.json` file. In a `.jsonl` file each line is `{"node": {...}}` or
`{"application": {...}}` with the keys below, so that a recorded workload of millions of tasks can
be written and read by line. A log in the Standard Workload Format is an `.swf` file. Each also
with `.gz`."""


def page() -> str:
    """The text of the page."""
    return "\n\n".join((_INTRODUCTION, *(form.table for form in FORMS))) + "\n"


def _schema() -> str:
    return schema_text(schema())


FILES: Final[Mapping[str, Callable[[], str]]] = {
    "workload-format.md": page,
    "workload.schema.json": _schema,
}


def main(directory: Path) -> None:
    """Write the page and the schema."""
    for name, text in FILES.items():
        (directory / name).write_text(text())


if __name__ == "__main__":
    main(Path(sys.argv[1]))
