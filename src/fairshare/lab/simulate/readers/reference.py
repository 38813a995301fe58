"""The reference page and the JSON Schema of fairshare's own workloads, which are made from the
structs in `own.py`.

`python -m fairshare.lab.simulate.readers.reference docs/reference` writes them; a test compares
them.
"""

import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from fairshare.documents.structs import document_schema, schema_text, structs_in, table_of
from fairshare.documents.values import Schema
from fairshare.lab.simulate.readers.own import File


def schema() -> Schema:
    """The JSON Schema of a workload in YAML or JSON."""
    return document_schema("A workload of fairshare", File)


_INTRODUCTION: Final = """\
# Workloads

A workload lists applications with their arrival times, for `fairshare simulate --workload FILE` and
`fairshare convert --compare FILE`. This page and [workload.schema.json](workload.schema.json) are
generated from the structs in the code; do not edit them.

Editors with YAML support check and complete a workload that begins with the following line. Replace
`workload.schema.json` by the path or the URL of your copy of the schema:

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

alice submits every ten minutes, regardless of the state of the cluster. bob is a user in a closed
loop: the next application is submitted 10 s after the previous one has ended, so that a busy
cluster gets fewer of them.

[Values](../values.md) have the usual syntax: durations as `30s` or `1h30m`, memory as `512` (MB) or
`2g`. The resource types are those of the configuration. A key that is not listed here is an error,
which suggests the nearest valid key.

| file | contents |
| --- | --- |
| `.yaml` | the form above |
| `.json` | the same in JSON |
| `.jsonl` | a line for each node and application: `{"node": {...}}`, `{"application": {...}}` |
| `.swf` | a log in the Standard Workload Format |

Workloads of millions of tasks can be written and read as `.jsonl`, line by line. All files may be
compressed (`.gz`)."""


def page() -> str:
    """The text of the page."""
    return "\n\n".join((_INTRODUCTION, *map(table_of, structs_in(File)))) + "\n"


FILES: Final[Mapping[str, Callable[[], str]]] = {
    "workload-format.md": page,
    "workload.schema.json": lambda: schema_text(schema()),
}


def main(directory: Path) -> None:
    """Write the page and the schema."""
    for name, text in FILES.items():
        (directory / name).write_text(text())


if __name__ == "__main__":
    main(Path(sys.argv[1]))
