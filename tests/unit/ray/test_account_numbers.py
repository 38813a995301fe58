"""The number of an account that an order for a Ray node names, by which the node knows it."""

import pwd

import pytest

from fairshare.core.model.identifiers import container_id
from fairshare.core.model.inputs import ContainerExited
from fairshare.core.model.work import Command
from fairshare.engines.local.grants import Grants
from fairshare.engines.protocol import LaunchOrder
from fairshare.errors import AccountsUnavailable
from fairshare.ray import engine as engines
from fairshare.ray.messages import DriverOptions, Launch
from fairshare.settings.shell import ContainerSettings

NAME = pwd.getpwuid(1).pw_name


class Engine(engines.RayEngine):
    """One whose driver takes what it is sent, and has one node."""

    def __init__(self, directory, run_as):
        grants = Grants(ContainerSettings(run_as=run_as))
        super().__init__(directory, DriverOptions("auto", ("memory-mb", "vcores"), 30.0, grants))
        self._up["n1"] = "node-of-ray"
        self.sent = []
        self.reports = []
        self._send = self.sent.append
        self._report = self.reports.append

    def started_by(self, user):
        order = LaunchOrder(
            container_id(1, 1, 1), "c", "a", "n1", user, 1024, 1, Command(("true",))
        )
        self.launch(order)
        return [one.order.uid for one in self.sent if isinstance(one, Launch)]


@pytest.mark.parametrize(
    ("run_as", "user", "uid"),
    [("user", NAME, 1), ("user", "no-such-account", None), ("server", NAME, None)],
)
def test_an_order_names_the_account_of_a_user_of_an_earlier_server(tmp_path, run_as, user, uid):
    assert Engine(tmp_path, run_as).started_by(user) == [uid]


def test_nothing_starts_while_accounts_cannot_be_looked_up(tmp_path, monkeypatch):
    def unavailable(user):
        raise AccountsUnavailable(user, "too many files are open")

    monkeypatch.setattr(engines, "account_named", unavailable)
    engine = Engine(tmp_path, "user")
    assert engine.started_by(NAME) == []
    (ended,) = engine.reports
    assert isinstance(ended, ContainerExited)
    assert "too many files are open" in ended.diagnostics
