"""The form of a folder of samples: states, and in each of them requests with their answers."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml


class _Loader(yaml.SafeLoader):
    """YAML 1.2: only `true` and `false` are truth values."""


_Loader.yaml_implicit_resolvers = {
    letter: [(tag, rule) for tag, rule in rules if tag != "tag:yaml.org,2002:bool"]
    for letter, rules in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:bool", __import__("re").compile(r"^(?:true|false)$"), list("tf")
)


class Sample:
    """One request and the answer that was recorded."""

    def __init__(self, path: Path, name: str) -> None:
        content = json.loads(path.read_text())
        self.name = name
        self.before: list[dict[str, Any]] = content.get("before", [])
        self.request: dict[str, Any] = content["request"]
        self.response: dict[str, Any] = content["response"]


class SampleState:
    """One state: how it is made, and what was asked of it, in order."""

    def __init__(self, directory: Path, name: str) -> None:
        self.name = name
        text = (directory / "scenario.yaml").read_text()
        self.scenario: dict[str, Any] = yaml.load(text, _Loader)
        self.samples = [
            Sample(path, f"{name}/{path.stem}") for path in sorted(directory.glob("*.json"))
        ]


def find_states(folder: Path) -> Iterator[SampleState]:
    """All states below a folder, by name."""
    for file in sorted(folder.rglob("scenario.yaml")):
        yield SampleState(file.parent, str(file.parent.relative_to(folder)))
