"""Owns the verbs below `admin labels`: partitions of the cluster, and the nodes in them."""

import re

import click
import msgspec

from fairshare.cli.cells import plain
from fairshare.cli.json_output import print_json
from fairshare.cli.options import json_option, with_client
from fairshare.client import Client
from fairshare.client.answers import Label

_LABEL = re.compile(
    r"\s*([^()\s]+)\s*(?:\(\s*exclusive\s*=\s*(true|false)\s*\)\s*)?", re.IGNORECASE
)


@click.group()
def labels() -> None:
    """Node labels: partitions of the cluster, used only by applications that request them.

    Only with the Capacity Scheduler and yarn.node-labels.enabled.
    """


@labels.command("list")
@with_client
@json_option
def list_labels(client: Client, as_json: bool) -> None:
    """Show all labels, and the nodes of each."""
    _show(client.labels(), as_json)


@labels.command("add")
@click.argument("named", metavar="LABEL...", nargs=-1, required=True)
@with_client
@json_option
def add(client: Client, named: tuple[str, ...], as_json: bool) -> None:
    """Add labels: gpu, or "spot(exclusive=false)", which lends idle resources to others.

    Names can also be separated by commas, as for `yarn rmadmin -addToClusterNodeLabels`. Existing
    labels do not change.
    """
    wanted = {}
    for word in ",".join(named).split(","):
        found = _LABEL.fullmatch(word)
        if found is None:
            raise click.UsageError(f"{word!r} is not a label: write NAME or NAME(exclusive=false)")
        wanted[found.group(1)] = (found.group(2) or "true").lower() == "true"
    _show(client.add_labels(wanted), as_json)


@labels.command("remove")
@click.argument("named", metavar="LABEL...", nargs=-1, required=True)
@with_client
@json_option
def remove(client: Client, named: tuple[str, ...], as_json: bool) -> None:
    """Remove labels that no queue names; their nodes return to the default partition."""
    _show(client.remove_labels(",".join(named).split(",")), as_json)


@labels.command("assign")
@click.option("--known", is_flag=True, help="Refuse absent nodes.")
@click.argument("pairs", metavar="NODE=LABEL...", nargs=-1, required=True)
@with_client
@json_option
def assign(client: Client, known: bool, pairs: tuple[str, ...], as_json: bool) -> None:
    """Assign nodes to labels; NODE= assigns one to the default partition.

    The label of an absent node takes effect when it joins.
    """
    nodes = {}
    for pair in pairs:
        node, equals, label = pair.partition("=")
        if not equals or not node:
            raise click.UsageError(f"{pair!r}: write NODE=LABEL, or NODE= for none")
        nodes[node] = label
    found = client.label_nodes(nodes, known=known)
    there = {node.name.partition(":")[0] for node in client.nodes()}
    for name in [one for one in nodes if one.partition(":")[0] not in there]:
        click.echo(
            f"{plain(name)} is absent (see `fairshare nodes`): it keeps the label for"
            " when it joins",
            err=True,
        )
    _show(found, as_json)


def _show(found: list[Label], as_json: bool) -> None:
    if as_json:
        print_json({"labels": msgspec.to_builtins(found)})
    elif not found:
        click.echo("There are no labels.")
    for label in () if as_json else found:
        kind = "exclusive" if label.exclusive else "shared"
        click.echo(f"{label.name}  {kind}  {' '.join(label.nodes) or '-'}")
