"""A server with a certificate speaks TLS, and its client knows whom it talks to."""

import contextlib
import http.client
import shutil
import stat
import subprocess
from urllib.parse import urlsplit

import pytest

from fairshare.client import Client, ServerUnreachable
from fairshare.client.discovery import find_token

from .test_access import conf, fairshare  # noqa: F401 - conf is a fixture
from .test_server import Server

pytestmark = pytest.mark.skipif(
    shutil.which("openssl") is None, reason="there is no openssl to make a certificate with"
)


@pytest.fixture(scope="module")
def certificates(tmp_path_factory):
    """Two certificates for 127.0.0.1, each signed by itself, with their keys."""
    folder = tmp_path_factory.mktemp("certificates")
    for name in ("server", "other"):
        subprocess.run(
            [
                *(
                    "openssl",
                    "req",
                    "-x509",
                    "-newkey",
                    "ec",
                    "-pkeyopt",
                    "ec_paramgen_curve:P-256",
                ),
                *("-nodes", "-days", "2", "-subj", f"/CN={name}"),
                *("-addext", "subjectAltName=IP:127.0.0.1"),
                *("-keyout", folder / f"{name}.key", "-out", folder / f"{name}.pem"),
            ],
            check=True,
            capture_output=True,
        )
        (folder / f"{name}.key").chmod(0o600)
    return folder


def with_tls(conf, certificates, key="server.key", certificate="server.pem", more=""):  # noqa: F811
    for name in (certificate, key):
        if name is not None and (certificates / name).exists():
            shutil.copy(certificates / name, conf / name)
    lines = [f'certificate = "{certificate}"'] * (certificate is not None)
    lines += [f'key = "{key}"'] * (key is not None)
    text = "[authentication]\ntokens = true\n\n[server]\n" + "\n".join(lines) + f"\n{more}"
    (conf / "fairshare.toml").write_text(text)


def test_a_server_speaks_tls_and_its_client_verifies_it(conf, certificates, tmp_path, monkeypatch):  # noqa: F811
    with_tls(conf, certificates)
    state = tmp_path / "state"
    token = fairshare("admin", "token", "create", "ann", "--state", state).stdout.strip()
    folder = tmp_path / "config" / "fairshare"
    folder.mkdir(parents=True)
    (folder / "token").write_text(token + "\n")
    (folder / "token").chmod(0o600)
    trusted = {
        "SSL_CERT_FILE": str(certificates / "server.pem"),
        "XDG_CONFIG_HOME": str(tmp_path / "config"),
    }
    server = Server(conf, state, "--port", "0")
    try:
        assert server.url.startswith("https://127.0.0.1:")
        known = {**trusted, "FAIRSHARE_URL": server.url}
        done = fairshare("nodes", **known)
        assert done.returncode == 0, done.stderr
        # Without the certificate, or with that of another, nothing is sent.
        for wrong in ({"SSL_CERT_FILE": ""}, {"SSL_CERT_FILE": str(certificates / "other.pem")}):
            done = fairshare("nodes", **{**known, **wrong})
            assert done.returncode == 3
            assert "cannot be verified" in done.stderr
            assert "SSL_CERT_FILE" in done.stderr
        monkeypatch.setenv("SSL_CERT_FILE", trusted["SSL_CERT_FILE"])
        with Client(server.url, token=find_token(trusted)) as client:
            assert client.cluster().nodes == 1
        plain_text_ends_in_order(server.url)
        with Client(server.url, token=token) as client:  # it has harmed nobody
            assert client.cluster().nodes == 1
        with pytest.raises(ServerUnreachable):
            Client(server.url.replace("https", "http"), token=token).cluster()
    finally:
        server.end()
    assert "Traceback" not in (state / "server.log").read_text()


def plain_text_ends_in_order(url):
    """HTTP without TLS gets no answer, and the connection is closed rather than left open."""
    place = urlsplit(url)
    connection = http.client.HTTPConnection(place.hostname, place.port, timeout=10)
    with contextlib.suppress(ConnectionError):
        connection.request("GET", "/api/v1/cluster")
    with pytest.raises((http.client.HTTPException, ConnectionError)):
        connection.getresponse()
    connection.close()


@pytest.mark.parametrize(
    ("files", "line", "reported"),
    [
        ({"key": None}, 5, "certificate without key"),
        ({"certificate": None}, 5, "key without certificate"),
        ({"certificate": "missing.pem"}, 5, "cannot read"),
        ({"key": "missing.key"}, 6, "cannot read"),
        ({"key": "other.key"}, 5, "the key is not that of the certificate"),
        ({"certificate": "server.key"}, 5, "not a certificate and its key"),
    ],
)
def test_a_certificate_without_its_key_is_reported_with_its_place(
    conf,  # noqa: F811
    certificates,
    tmp_path,
    files,
    line,
    reported,
):
    with_tls(conf, certificates, **files)
    done = fairshare("serve", "--conf", conf, "--state", tmp_path / "state", "--port", "0")
    assert done.returncode == 2
    assert f"{conf / 'fairshare.toml'}:{line}" in done.stderr
    assert reported in done.stderr
    assert not (tmp_path / "state").exists()


def test_a_key_with_a_password_is_refused_without_a_prompt(conf, certificates, tmp_path):  # noqa: F811
    locked = tmp_path / "locked"
    locked.mkdir()
    shutil.copy(certificates / "server.pem", locked)
    subprocess.run(
        [
            *("openssl", "ec", "-aes256", "-passout", "pass:word"),
            *("-in", certificates / "server.key", "-out", locked / "server.key"),
        ],
        check=True,
        capture_output=True,
    )
    with_tls(conf, locked)
    done = fairshare("serve", "--conf", conf, "--state", tmp_path / "state", "--port", "0")
    assert done.returncode == 2
    assert "password" in done.stderr


def test_a_key_that_others_can_read_is_warned_of(conf, certificates, tmp_path):  # noqa: F811
    with_tls(conf, certificates)
    (conf / "server.key").chmod(0o644)
    done = fairshare("lint", conf)
    assert "chmod 600" in done.stdout + done.stderr
    assert stat.S_IMODE((conf / "server.key").stat().st_mode) == 0o644
