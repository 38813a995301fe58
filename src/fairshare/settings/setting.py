"""`Setting`: all that is known of one setting of a scheduler's file, written once.

Parsing, the form of the configuration page, unknown names and the reference page come from tables
of these.
"""

from collections.abc import Callable, Iterable
from typing import Any, Literal

import msgspec

from fairshare.documents.problems import Problems
from fairshare.settings.draft import Field
from fairshare.settings.site import Site

Scope = Literal["cluster", "queue", "leaf", "parent"]
"""What a setting applies to: everything, any queue, or only leaf or parent queues."""


class Setting(msgspec.Struct, frozen=True):
    """One setting.

    `name` is how the file names it, `field` the attribute of the settings that it becomes. `read`
    turns what the file says into a value; its arguments are those of the file's reader. `unwritten`
    says in words what applies without it. `title` is that of the form's input; a setting without a
    title is not in the form. `example` is a value as the file has it, and `choices` are all values,
    if there are few. `aliases` are other names with the same meaning. `since` is the first release
    of Hadoop that has it, where releases differ.
    """

    name: str
    field: str
    read: Callable[..., Any]
    unwritten: str
    meaning: str
    example: str = ""
    title: str = ""
    scope: Scope = "queue"
    choices: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()
    since: str = ""

    @property
    def form_field(self) -> Field:
        """The input of the configuration page."""
        where = self.scope if self.scope in ("leaf", "parent") else "any"
        return Field(self.name, self.title, self.unwritten, self.example, self.choices, where=where)


def by_name(settings: Iterable[Setting]) -> dict[str, Setting]:
    """The settings by all of their names."""
    return {name: one for one in settings for name in (one.name, *one.aliases)}


def of_cluster(
    name: str, field: str, read: Callable[..., object], unwritten: str, meaning: str
) -> Setting:
    """A property of the whole scheduler, read with `read_fields`."""
    return Setting(name, field, read, unwritten, meaning, scope="cluster")


def read_fields(
    settings: Iterable[Setting], site: Site, unwritten: msgspec.Struct, problems: Problems
) -> dict[str, Any]:
    """The values of properties by their field; `unwritten` has what applies without them.

    Each row's `read` is called with site, name, default and problems, as the getters of `Site`.
    """
    return {
        one.field: one.read(site, one.name, getattr(unwritten, one.field), problems)
        for one in settings
    }


def form_fields(settings: Iterable[Setting]) -> tuple[Field, ...]:
    """The inputs of the form, in the order of the table."""
    return tuple(one.form_field for one in settings if one.title)


def reference(settings: Iterable[Setting]) -> str:
    """The rows of a reference page, as a Markdown table.

    >>> weight = Setting("weight", "weight", float, "1", "Share of this queue.", "2.5")
    >>> print(reference([weight]))
    | setting | applies to | meaning | default | example |
    | --- | --- | --- | --- | --- |
    | `weight` | queue | Share of this queue. | 1 | `2.5` |
    """
    listed = list(settings)
    since = [" | since"] if any(setting.since for setting in listed) else []
    heads = "setting | applies to | meaning | default | example" + "".join(since)
    rows = [heads, " | ".join(["---"] * (5 + len(since)))]
    for setting in listed:
        names = ", ".join(f"`{name}`" for name in (setting.name, *setting.aliases))
        examples = setting.choices or ((setting.example,) if setting.example else ())
        shown = ", ".join(f"`{example}`" for example in examples)
        rows.append(
            f"{names} | {setting.scope} | {setting.meaning} | {setting.unwritten} | {shown}"
        )
        rows[-1] += f" | {setting.since}" if since else ""
    return "\n".join(f"| {row} |" for row in rows)
