"""Settings that a Ray cluster cannot honour are refused by name."""

import pytest

from fairshare.errors import ConfigurationError
from fairshare.ray import setup
from fairshare.server.settings import Overrides, read_settings


@pytest.fixture
def settings_of(tmp_path, monkeypatch):
    monkeypatch.setattr(setup, "find_spec", lambda name: object())

    def read(toml: str):
        (tmp_path / "fairshare.toml").write_text('[engine]\nkind = "ray"\n' + toml)
        return read_settings(tmp_path, Overrides(scheduler="fifo"))

    return read


def test_the_address_is_read(settings_of):
    settings = settings_of('[ray]\naddress = "head:6379"\nfence_s = 30\n')
    setup.check(settings)
    assert (settings.ray.address, settings.ray.fence_s) == ("head:6379", 30)


@pytest.mark.parametrize(
    ("toml", "words"),
    [
        ('run_as = "user"\n', "without a token every user who reaches the Ray cluster"),
        (
            'run_as = "user"\n[ray]\ntoken_file = "/etc/hostname"\n',
            "which cluster is meant must not be read from /tmp",
        ),
        (
            '[ray]\ntoken_file = "/etc/hostname"\n',
            "must be a file of .* that others cannot read",
        ),
        ('[ray]\ntoken_file = "/no/such"\n', "/no/such cannot be used"),
        ("memory_mb = 1024\n", "Ray says what its nodes have"),
        ("nodes = 2\n", "Ray says what its nodes have"),
        ('[hadoop]\nenabled = "yes"\n', "Hadoop's ports need the engine local or nodemanagers"),
    ],
)
def test_what_only_other_engines_do_is_refused(settings_of, toml, words):
    with pytest.raises(ConfigurationError, match=words):
        setup.check(settings_of(toml))


def test_without_ray_the_extra_is_named(settings_of, monkeypatch):
    monkeypatch.setattr(setup, "find_spec", lambda name: None)
    with pytest.raises(ConfigurationError, match=r"pip install 'fairshare\[ray\]'"):
        setup.check(settings_of(""))
