"""Which ports a server opens."""

import msgspec
import pytest

from fairshare.server.settings import LiveSettings, Overrides, read_settings
from fairshare.settings.shell import AuthenticationSettings, HadoopSettings
from fairshare.yarn.rpc.setup import wanted_ports

pytest.importorskip("google.protobuf", reason="Hadoop's ports need the extra fairshare[hadoop]")


@pytest.fixture
def settings(tmp_path) -> LiveSettings:
    found = read_settings(tmp_path, Overrides(state_directory=tmp_path / "state"))
    return msgspec.structs.replace(found, port=8088, hadoop=HadoopSettings(enabled="auto"))


def test_hadoops_ports_open_by_themselves_only_where_callers_need_no_proof(settings):
    assert wanted_ports(settings) is not None
    tokens = msgspec.structs.replace(settings, authentication=AuthenticationSettings(tokens=True))
    assert wanted_ports(tokens) is None
    named = msgspec.structs.replace(tokens, hadoop=HadoopSettings(enabled="yes"))
    assert wanted_ports(named) is not None
