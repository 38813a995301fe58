"""Owns the calls about cron jobs, as `calls` has the others."""

from fairshare.api.cron import CronBody, CronJob, CronJobs, CronOrderBody, Overlap
from fairshare.api.work import Submission
from fairshare.client.answers import Decoded, whole
from fairshare.client.discovery import Server
from fairshare.client.exchange import segment
from fairshare.client.methods import Call, method


class CronCalls:
    """Calls about cron jobs. Without `user` they are about those of the calling user."""

    _server: Server

    @method
    def cron_jobs(self) -> Call[tuple[CronJob, ...]]:
        """The caller's cron jobs; of administrators, and without authentication, all."""
        return Call("/cron", Decoded(CronJobs, lambda answer: answer.jobs))

    @method
    def add_cron_job(
        self,
        name: str,
        schedule: str,
        submission: Submission,
        *,
        time_zone: str = "",
        overlap: Overlap = "skip",
        replace: bool = False,
    ) -> Call[CronJob]:
        """Submit an application at the times of a cron line, such as `30 2 * * mon-fri`, in the
        server's time zone or another one."""
        body = CronBody(
            user=submission.user or self._server.user(),
            name=name,
            schedule=schedule,
            time_zone=time_zone,
            overlap=overlap,
            submission=submission,
            replace=replace,
        )
        return Call("/cron", whole(CronJob), body)

    @method
    def cron_job(self, name: str, *, user: str | None = None) -> Call[CronJob]:
        """A cron job with its last runs."""
        return Call(self._path(name, user), whole(CronJob))

    @method
    def pause_cron_job(self, name: str, *, user: str | None = None) -> Call[CronJob]:
        """Let a cron job not be submitted until it is resumed."""
        return self._ordered(name, user, "pause")

    @method
    def resume_cron_job(self, name: str, *, user: str | None = None) -> Call[CronJob]:
        """Let a cron job be submitted again, from its next time on."""
        return self._ordered(name, user, "resume")

    @method
    def delete_cron_job(self, name: str, *, user: str | None = None) -> Call[CronJob]:
        """Forget a cron job with its history; its applications go on."""
        return self._ordered(name, user, "delete")

    def _path(self, name: str, user: str | None) -> str:
        owner = user or self._server.user() or "~"
        return f"/cron/{segment(owner)}/{segment(name)}"

    def _ordered(self, name: str, user: str | None, verb: str) -> Call[CronJob]:
        body = CronOrderBody(user=self._server.user())
        return Call(f"{self._path(name, user)}/{verb}", whole(CronJob), body)
