"""The table that says how large and how finely divided the source tree is.

    python -m tests.tidy.measure                    this tree
    python -m tests.tidy.measure OTHER_CHECKOUT     that tree, then this one

A room is a package directly below `fairshare`. No test checks these numbers: they are read by a
person who asks whether a change made the house simpler.
"""

import ast
import re
import statistics
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]

FIELDS = {
    "a field of a task group (grace_ms)": "grace_ms",
    "a field of a task group (at_once)": "at_once",
    "a setting of a fair queue (max_am_share)": "max_am_share",
    "a REST field of a queue (steady_fair_share)": "steady_fair_share",
    "a REST field of an application (headroom)": "headroom",
    "a verb that is one call (requeue)": "requeue",
}
"""A name that stands for each kind of addition: what another of its kind has to be added to."""


class Tree:
    """The parsed modules of a checkout."""

    def __init__(self, root: Path) -> None:
        self.source = root / "src" / "fairshare"
        self.texts = {path: path.read_text() for path in sorted(self.source.rglob("*.py"))}
        self.modules = {self.name_of(path): ast.parse(text) for path, text in self.texts.items()}

    def name_of(self, path: Path) -> str:
        """`fairshare.core.model.work` for its path."""
        parts = path.relative_to(self.source.parent).with_suffix("").parts
        return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)

    def imports(self) -> Iterator[tuple[str, str]]:
        """Each module with each module of the tree that it imports, as often as it does so."""
        for importer, module in self.modules.items():
            for node in ast.walk(module):
                for name in _imported(node):
                    while name and name not in self.modules:
                        name = name.rpartition(".")[0]
                    if name and name not in ("fairshare", importer):
                        yield importer, name


def _imported(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom) and not node.level:
        return [f"{node.module}.{alias.name}" for alias in node.names]
    return []


def _room(module: str) -> str:
    return ".".join(module.split(".")[:2])


def once_used(tree: Tree) -> tuple[int, int]:
    """How many private functions and methods there are, and how many of them are named only once
    besides their definition."""
    private = used_once = 0
    for module in tree.modules.values():
        names = Counter(
            node.id if isinstance(node, ast.Name) else node.attr
            for node in ast.walk(module)
            if isinstance(node, ast.Name | ast.Attribute)
        )
        for node in ast.walk(module):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and re.match(
                r"_(?!_)", node.name
            ):
                private += 1
                used_once += names[node.name] == 1
    return private, used_once


def imports_in_functions(tree: Tree) -> int:
    """The number of import statements inside functions, of this tree's modules or others."""
    return sum(
        isinstance(node, ast.Import | ast.ImportFrom)
        for module in tree.modules.values()
        for function in ast.walk(module)
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef)
        for node in ast.walk(function)
    )


def any_parameters(tree: Tree) -> int:
    """The number of parameters whose annotation contains `Any`."""
    return sum(
        any(isinstance(part, ast.Name) and part.id == "Any" for part in ast.walk(node.annotation))
        for module in tree.modules.values()
        for node in ast.walk(module)
        if isinstance(node, ast.arg) and node.annotation is not None
    )


def files_that_name(tree: Tree, name: str) -> int:
    """The number of files that declare a name or pass it on: as a field, a keyword, a parameter,
    an option or a key, and not only by reading the attribute."""
    spelled = {name, name.replace("_", "-"), "--" + name.replace("_", "-")}
    return sum(
        any(
            (isinstance(node, ast.keyword | ast.arg) and node.arg == name)
            or (isinstance(node, ast.AnnAssign) and getattr(node.target, "id", "") == name)
            or (isinstance(node, ast.FunctionDef) and node.name == name)
            or (isinstance(node, ast.Constant) and node.value in spelled)
            for node in ast.walk(module)
        )
        for module in tree.modules.values()
    )


def measure(root: Path) -> dict[str, str]:
    """The table of one checkout."""
    tree = Tree(root)
    lines = [text.count("\n") for text in tree.texts.values()]
    private, used_once = once_used(tree)
    importers: dict[str, set[str]] = defaultdict(set)
    for importer, name in tree.imports():
        importers[name].add(importer)
    arrows = {
        (_room(importer), _room(name))
        for importer, name in tree.imports()
        if _room(importer) != _room(name) and "." in importer
    }
    packages = {
        (importer.rpartition(".")[0], name.rpartition(".")[0])
        for importer, name in tree.imports()
        if _room(importer) != _room(name)
    }
    files_of_rooms = {_room(name) for name in tree.modules if name.count(".") > 1}
    return {
        "lines": f"{sum(lines):,}",
        "files": f"{len(lines):,}",
        "lines of the median file": f"{statistics.median(lines):.0f}",
        "rooms": str(len(files_of_rooms)),
        "arrows between rooms": str(len(arrows)),
        "arrows between packages of different rooms": str(len(packages)),
        "private functions": f"{private:,}",
        "of these named once": f"{used_once:,} ({used_once / private:.0%})",
        "modules with one importer": str(sum(len(names) == 1 for names in importers.values())),
        "imports inside functions": str(imports_in_functions(tree)),
        "parameters with Any": str(any_parameters(tree)),
        **{f"files for {kind}": str(files_that_name(tree, name)) for kind, name in FIELDS.items()},
    }


def main() -> None:
    """Print the tables of the checkouts that the command line names, and of this one."""
    roots = [*map(Path, sys.argv[1:]), ROOT]
    for root in roots:
        if not (root / "src" / "fairshare").is_dir():
            sys.exit(f"{root} is not the root of a checkout of fairshare")
    tables = [measure(root) for root in roots]
    for row in tables[0]:
        print(f"{row:55}", *(f"{table[row]:>14}" for table in tables))


if __name__ == "__main__":
    main()
