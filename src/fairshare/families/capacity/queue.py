"""Owns how the settings of one queue, or of a template for queues, are read: by their tables.

Knows no setting but the list of children and what creates queues, nothing of the tree of queues and
of what is inherited (Hadoop: CapacitySchedulerConfiguration).
"""

from typing import Any

from fairshare.families.capacity.names import LABELS, USERS, Scope
from fairshare.families.capacity.queue_settings import CHILDREN, LABEL, SETTINGS, USER_WEIGHT
from fairshare.families.capacity.queue_values import Kind, QueueValues
from fairshare.families.setting import by_name
from fairshare.schedulers.capacity.settings import LabelCapacity, QueueSettings

_BY_NAME = by_name(SETTINGS)


class QueueReader:
    """Reads scopes. What is wrong in a value is reported at its place, and read as absent."""

    def __init__(self, values: QueueValues) -> None:
        self._values = values

    def forgiving(self) -> "QueueReader":
        """A reader of what Hadoop does not look at when it starts: a wrong value is reported."""
        return QueueReader(self._values.forgiving())

    def value(self, scope: Scope, name: str) -> Any:
        """One setting by its name; None if it is not written."""
        return _BY_NAME[name].read(self._values.at(scope), scope.prefix + name)

    def children(self, scope: Scope) -> tuple[str, ...] | None:
        """The short names of the queues right below; None if the file has no list."""
        return self.value(scope, CHILDREN.name)  # type: ignore[no-any-return]

    def makes_queues(self, scope: Scope) -> bool:
        """Whether queues may be made below this one on demand, so that it is a parent."""
        makers = ("auto-queue-creation-v2.enabled", "auto-create-child-queue.enabled")
        return any(self.value(scope, name) for name in makers)

    def read(
        self, scope: Scope, kind: Kind, children: tuple[str, ...] | None = None
    ) -> QueueSettings:
        """Everything that is written of a queue or in a template."""
        values = self._values.at(scope, kind)
        users = {
            user: USER_WEIGHT.read(values, f"{scope.prefix}{USERS}{user}.{USER_WEIGHT.name}")
            for user in scope.users
        }
        labels = {
            label: {
                one.field: one.read(values, f"{scope.prefix}{LABELS}{label}.{one.name}")
                for one in LABEL
            }
            for label in scope.labels
        }
        return QueueSettings(
            children=children,
            user_weights={user: found for user, found in users.items() if found is not None},
            label_capacities={label: LabelCapacity(**found) for label, found in labels.items()},
            **{
                one.field: one.read(values, scope.prefix + one.name)
                for one in SETTINGS
                if one is not CHILDREN
            },
        )
