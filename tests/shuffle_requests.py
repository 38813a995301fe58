"""Requests to a shuffle service, good and bad, and the map outputs for which they ask.

`python -m tests.hadoop.shuffle` sends them to Hadoop's ShuffleHandler and records its answers;
`tests/unit/yarn/rpc/own/test_shuffle.py` sends them to ours.
"""

import base64
import hashlib
import hmac
import re
import socket
import struct
import zlib
from pathlib import Path

import msgspec

ANSWERS = Path(__file__).parent / "unit/yarn/rpc/own/shuffle_answers.json"
SECRET, OTHER_SECRET = b"secret-of-the-job", b"secret-of-another"
MAPS = tuple(f"attempt_1700000000000_0001_m_{number:06}_0" for number in range(3))
PATIENCE_S = 10.0
SILENCE_S = 1.0
"""A connection that stays open for so long behind an answer is kept."""


class Answer(msgspec.Struct, frozen=True):
    """What came back: the last answer of a connection that was asked once or more often."""

    status: int
    headers: dict[str, str]
    body: str
    closed: bool
    """Whether the service closed the connection."""


class Request(msgspec.Struct, frozen=True):
    """One request. `secret` None: it is not signed. `times`: on the same connection."""

    query: str
    secret: bytes | None = SECRET
    headers: tuple[str, ...] = ("name: mapreduce", "version: 1.0.0")
    method: str = "GET"
    path: str = "/mapOutput"
    times: int = 1
    protocol: str = "HTTP/1.1"


def _of(maps: str = MAPS[0], reduce: str = "0", job: str = "{job}", more: str = "") -> str:
    return f"job={job}&reduce={reduce}&map={maps}{more}"


REQUESTS = {
    "one map": Request(_of()),
    "several maps": Request(_of(",".join(MAPS), "2")),
    "maps in two parameters": Request(_of(MAPS[0], more=f"&map={MAPS[1]}")),
    "an empty part": Request(_of(reduce="1")),
    "the same map twice": Request(_of(f"{MAPS[0]},{MAPS[0]}")),
    "two requests on a connection that stays": Request(_of(more="&keepAlive=true"), times=2),
    "keepAlive false": Request(_of(more="&keepAlive=false")),
    "keepAlive twice": Request(_of(more="&keepAlive=true&keepAlive=true")),
    "another path": Request(_of(), path="/other"),
    "an unknown parameter": Request(_of(more="&x=1")),
    "encoded characters": Request(_of(MAPS[0].replace("_", "%5F"))),
    "an older protocol": Request(_of(), protocol="HTTP/1.0"),
    "the secret of another job": Request(_of(), secret=OTHER_SECRET),
    "unsigned": Request(_of(), secret=None),
    "an unknown job": Request(_of(job="job_1700000000000_0009")),
    "a job that has no such name": Request(_of(job="job_x")),
    "a job that is empty": Request(_of(job="")),
    "no name": Request(_of(), headers=("version: 1.0.0",)),
    "another name": Request(_of(), headers=("name: other", "version: 1.0.0")),
    "another version": Request(_of(), headers=("name: mapreduce", "version: 2.0.0")),
    "no map": Request("job={job}&reduce=0"),
    "no reduce": Request(f"job={{job}}&map={MAPS[0]}"),
    "no job": Request(f"reduce=0&map={MAPS[0]}"),
    "no query": Request(""),
    "two reduces": Request(_of(more="&reduce=1")),
    "two jobs": Request(_of(more="&job={job}")),
    "a reduce that is no number": Request(_of(reduce="x")),
    "a range of reduces": Request(_of(reduce="0-1")),
    "a reduce with a sign": Request(_of(reduce="%2B1")),
    "a reduce beyond the last": Request(_of(reduce="3")),
    "a reduce below the first": Request(_of(reduce="-1")),
    "a reduce beyond 32 bits": Request(_of(reduce="4294967296")),
    "POST": Request(_of(), method="POST"),
    "HEAD": Request(_of(), method="HEAD"),
    "an empty map": Request(_of("")),
    "maps with an empty one": Request(_of(f"{MAPS[0]},,{MAPS[1]}")),
    "a map that is not there": Request(_of("attempt_1700000000000_0001_m_000009_0")),
    "a map behind one that is there": Request(_of(f"{MAPS[0]},absent")),
    "a map without its file": Request(_of("without-data")),
    "a map without its index": Request(_of("without-index")),
    "a map whose file is cut": Request(_of("cut-data", "2")),
    "a map whose index is cut": Request(_of("cut-index")),
    "a map whose index has no checksum": Request(_of("no-checksum")),
    "a map whose index has a wrong checksum": Request(_of("wrong-checksum")),
    "a map whose index is empty": Request(_of("empty-index")),
    "a map whose index points beyond its file": Request(_of("beyond", "0")),
    "a map whose index has a negative length": Request(_of("negative", "0")),
}


def write_outputs(folder: Path, first: bytes = b"first") -> None:
    """Write the outputs of maps into `output` of an application's folder, whole and broken ones.
    `first` is what maps have for the first reduce, behind their number."""
    for number, name in enumerate(MAPS):
        _write(folder / name, [b"%d %s" % (number, first), b"", b"%d the third part" % number])
    parts = [b"1", b"22", b"333"]
    for name in ("without-data", "without-index", "cut-data", "cut-index", "no-checksum"):
        _write(folder / name, parts)
    (folder / "without-data/file.out").unlink()
    (folder / "without-index/file.out.index").unlink()
    _cut(folder / "cut-data/file.out", 4)
    _cut(folder / "cut-index/file.out.index", 30)
    _cut(folder / "no-checksum/file.out.index", 72)
    _write(folder / "wrong-checksum", parts, checksum=7)
    _write(folder / "empty-index", parts)
    _cut(folder / "empty-index/file.out.index", 0)
    _write(folder / "beyond", parts, [(100, 1, 1), (0, 1, 1), (0, 1, 1)])
    _write(folder / "negative", parts, [(0, -5, -5), (0, 1, 1), (0, 1, 1)])


def _cut(path: Path, size: int) -> None:
    path.write_bytes(path.read_bytes()[:size])


def _write(
    folder: Path,
    parts: list[bytes],
    records: list[tuple[int, int, int]] | None = None,
    checksum: int | None = None,
) -> None:
    """A map's output: parts one behind the other, and their places (Hadoop: SpillRecord)."""
    folder.mkdir(parents=True)
    (folder / "file.out").write_bytes(b"".join(parts))
    places, begin = [], 0
    for part in parts:
        places.append((begin, len(part) + 2, len(part)))
        begin += len(part)
    content = b"".join(struct.pack(">qqq", *place) for place in records or places)
    number = zlib.crc32(content) if checksum is None else checksum
    (folder / "file.out.index").write_bytes(content + struct.pack(">q", number))


def signature(message: bytes, secret: bytes) -> str:
    """As SecureShuffleUtils.generateHash."""
    return base64.b64encode(hmac.new(secret, message, hashlib.sha1).digest()).decode()


def ask(port: int, request: Request, job: str, folder: Path | None = None) -> Answer:
    """Send a request, and read what comes; names of the job and its user are replaced by words, and
    the folder is left out."""
    target = request.path + (f"?{request.query}" if request.query else "")
    target = target.replace("{job}", job)
    lines = [f"{request.method} {target} {request.protocol}", f"Host: 127.0.0.1:{port}"]
    lines += request.headers
    hash_of_url = ""
    if request.secret is not None:
        path, _, query = target.partition("?")
        message = f"{port}{path}?{query if '?' in target else 'null'}"
        hash_of_url = signature(message.encode(), request.secret)
        lines.append(f"UrlHash: {hash_of_url}")
    content = b"\r\n".join(line.encode() for line in [*lines, "", ""])
    with socket.create_connection(("127.0.0.1", port)) as connection:
        for _ in range(request.times):
            connection.sendall(content)
            received, closed = _received(connection)
    answered = _parsed(received, closed)
    expected = signature(hash_of_url.encode(), request.secret or SECRET)
    if answered.headers.get("replyhash") == expected:
        answered.headers["replyhash"] = "right"
    body = answered.body.replace(f"{folder}/", "").replace(job, "JOB")
    body = body.replace(job.replace("job", "application"), "APPLICATION")
    body = re.sub("usercache/[^/]+", "usercache/USER", body)
    return msgspec.structs.replace(answered, body=body)


def _received(connection: socket.socket) -> tuple[bytes, bool]:
    """One answer, and whether the connection was closed behind it."""
    content = b""
    connection.settimeout(PATIENCE_S)
    while True:
        if _is_complete(content):
            connection.settimeout(SILENCE_S)
        try:
            part = connection.recv(65_536)
        except TimeoutError:
            return content, False
        except ConnectionResetError:
            return content, True
        if not part:
            return content, True
        content += part


def _is_complete(content: bytes) -> bool:
    head, separator, body = content.partition(b"\r\n\r\n")
    length = re.search(rb"(?i)\r\ncontent-length: *(\d+)", head)
    return bool(separator) and (length is None or len(body) >= int(length[1]))


def _parsed(received: bytes, closed: bool) -> Answer:
    head, _, body = received.partition(b"\r\n\r\n")
    lines = head.decode("latin-1").split("\r\n")
    if not received:
        return Answer(0, {}, "", closed)
    headers = {}
    for line in lines[1:]:
        name, _, value = line.partition(":")
        headers[name.strip().lower()] = value.strip()
    status = int(lines[0].split()[1])
    return Answer(status, headers, body.decode("latin-1"), closed)
