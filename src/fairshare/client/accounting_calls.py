"""Owns the calls about what has ended: history and reports, as `calls` has the others."""

from collections.abc import Sequence

from fairshare.api.accounting import PastApplications, PastContainers, Report
from fairshare.client.answers import whole
from fairshare.client.methods import Call, Parameters, method


class AccountingCalls:
    """Calls that read the accounts. Instants are in milliseconds since 1970; `since_ms` is
    included, `until_ms` is not. A queue includes all below it."""

    @method
    def history(
        self,
        *,
        user: str | None = None,
        queue: str | None = None,
        tag: str | None = None,
        name: str | None = None,
        state: str | None = None,
        application: str | int | None = None,
        since_ms: int | None = None,
        until_ms: int | None = None,
        limit: int | None = None,
    ) -> Call[PastApplications]:
        """Applications that ended, the last one first; also those that the server has
        forgotten."""
        parameters = _parameters(user, queue, tag, name, state, application, since_ms, until_ms)
        return Call(
            "/accounting/applications",
            whole(PastApplications),
            parameters={**parameters, "limit": limit},
        )

    @method
    def past_containers(
        self,
        *,
        user: str | None = None,
        queue: str | None = None,
        tag: str | None = None,
        name: str | None = None,
        state: str | None = None,
        application: str | int | None = None,
        since_ms: int | None = None,
        until_ms: int | None = None,
        limit: int | None = None,
    ) -> Call[PastContainers]:
        """Containers that ended, the last one first."""
        parameters = _parameters(user, queue, tag, name, state, application, since_ms, until_ms)
        return Call(
            "/accounting/containers",
            whole(PastContainers),
            parameters={**parameters, "limit": limit},
        )

    @method
    def report(
        self,
        *,
        by: Sequence[str] = ("user",),
        user: str | None = None,
        queue: str | None = None,
        tag: str | None = None,
        name: str | None = None,
        state: str | None = None,
        application: str | int | None = None,
        since_ms: int | None = None,
        until_ms: int | None = None,
    ) -> Call[Report]:
        """What ended containers used, summed by user, queue, tag, name, state, node, month or
        day."""
        parameters = _parameters(user, queue, tag, name, state, application, since_ms, until_ms)
        return Call(
            "/accounting/report",
            whole(Report),
            parameters={**parameters, "by": ",".join(by)},
        )


def _parameters(
    user: str | None,
    queue: str | None,
    tag: str | None,
    name: str | None,
    state: str | None,
    application: str | int | None,
    since_ms: int | None,
    until_ms: int | None,
) -> Parameters:
    return {
        "user": user,
        "queue": queue,
        "tag": tag,
        "name": name,
        "state": state,
        "application": application,
        "since": since_ms,
        "until": until_ms,
    }
