"""`fairshare node`: the words and the command lines that it passes on."""

import click
import pytest
from click.testing import CliRunner

from fairshare.cli.verbs import fairshare
from fairshare.ray.keeper import Offer, ray_variables
from fairshare.ray.node import UNIT_TEXT, amount, named

OFFER = Offer(
    head="gpu1:900",
    address="10.0.0.2",
    cpus=8,
    memory_mb=2048,
    gpus=2,
    resources={"licence": 3},
    labels={"model": "A100"},
)


def option(line, name):
    return line[line.index(name) + 1]


def test_a_node_offers_what_its_options_say_at_ports_that_are_known():
    line = OFFER.line()
    assert option(line, "--address") == "gpu1:900"
    assert option(line, "--node-ip-address") == "10.0.0.2"
    assert option(line, "--num-cpus") == "8"
    assert option(line, "--memory") == str(2 << 30)
    assert option(line, "--num-gpus") == "2"
    assert option(line, "--resources") == '{"licence": 3}'
    assert option(line, "--labels") == "model=A100"
    assert option(line, "--node-manager-port") == "901"
    assert option(line, "--temp-dir") == "/var/lib/fairshare-node/ray"


def test_what_the_service_runs_means_the_same():
    words = OFFER.words()
    assert words[:2] == ["join", "gpu1:900"]
    assert option(words, "--memory") == "2048m"
    assert option(words, "--resource") == "licence=3"
    assert "ExecStart=a b\n" in UNIT_TEXT.format(line="a b")


def test_a_token_of_the_callers_shell_is_none_of_the_clusters():
    variables = ray_variables({"RAY_AUTH_TOKEN": "mine", "RAY_AUTH_MODE": "disabled", "TZ": "UTC"})
    assert variables["RAY_AUTH_MODE"] == "token"
    assert variables["RAY_AUTH_TOKEN_PATH"] == "/etc/fairshare/ray-token"
    assert "RAY_AUTH_TOKEN" not in variables
    assert variables["TZ"] == "UTC"


@pytest.mark.parametrize("text", ["model", "=A100", "model=", "model=A,B"])
def test_an_attribute_has_a_name_and_a_text(text):
    with pytest.raises(click.BadParameter, match="is not NAME=VALUE"):
        named(text)


def test_an_amount_is_a_whole_number():
    assert amount("licence=3") == ("licence", 3)
    for text in ("licence=many", "licence=²", "licence=-1"):
        with pytest.raises(click.BadParameter, match="is not NAME=N"):
            amount(text)


@pytest.mark.parametrize(
    "head", ["", ":900", "gpu1:", "gpu1:0", "gpu1:65536", "gpu1:²", "fd00::1", "a..b", "x" * 64]
)
def test_a_head_is_a_host_and_may_have_a_port(head):
    result = CliRunner().invoke(fairshare, ["node", "join", "--service", "--", head])
    assert result.exit_code == 2
    assert "is not HOST or HOST:PORT" in result.stderr
