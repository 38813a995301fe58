"""Directories that Ray's client uploads: whole or not at all, within limits, each user's own."""

import hashlib
import stat
import zipfile

import msgspec
import pytest
from tests.unit.ray.web.conftest import PACKAGE, URI, zipped

pytestmark = pytest.mark.anyio

SECRET = "x" * 100


@pytest.fixture
def server_settings(server_settings):
    limits = msgspec.structs.replace(server_settings.limits, package_mb=1, packages_mb=2)
    return msgspec.structs.replace(server_settings, limits=limits)


def files_of(page):
    folder = page.server.directory.path / "packages"
    return sorted(path.name for path in folder.rglob("*") if path.is_file())


async def test_a_package_is_there_once_it_was_uploaded_and_a_job_fetches_it(ray):
    content = zipped(train_py="print(1)")
    refused = await ray.call("GET", f"packages/gcs/{PACKAGE}", 404)
    assert refused["message"] == f"Package {URI} does not exist"
    await ray.upload(content)
    await ray.call("GET", f"packages/gcs/{PACKAGE}")
    await ray.submit(runtime_env={"working_dir": URI, "py_modules": [URI]})
    order, headers = await ray.driver()
    digest = hashlib.sha256(content).hexdigest()
    own = f"/applications/{order.application_name}/packages"
    assert (await ray.page.get(f"{own}/{digest}", headers=headers)).content == content
    other = await ray.page.get(f"{own}/{'0' * 64}", headers=headers)
    assert (other.status_code, other.json()["code"]) == (404, "unknown-package")


@pytest.mark.parametrize("place", ["s3/x.zip", "gcs/x.tar.gz", "gcs/..zip", "gcs/a%2Fb.zip"])
async def test_only_zip_files_with_plain_names_are_taken(ray, place):
    answer = await ray.http.put(f"http://127.0.0.1:1/api/packages/{place}", content=zipped())
    assert answer.status_code in (400, 404)
    assert files_of(ray.page) == []


def linked(content):
    info = zipfile.ZipInfo("link")
    info.external_attr = (stat.S_IFLNK | 0o777) << 16
    return info, content


@pytest.mark.parametrize(
    ("entries", "words"),
    [
        ([("../up", "x")], "'../up' in the zip file leads out of its folder"),
        ([("/etc/cron.d/x", "x")], "leads out of its folder"),
        ([("a\\..\\b", "x")], "leads out of its folder"),
        ([linked("/etc/passwd")], "is neither a file nor a folder"),
        ([("zeros", b"\0" * 11 * 1024 * 1024)], "unpacked it has 11534336 bytes"),
    ],
)
async def test_zip_files_that_would_do_harm_are_refused(ray, tmp_path, entries, words):
    path = tmp_path / "x.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in entries:
            archive.writestr(name, content)
    refused = await ray.upload(path.read_bytes(), status=400)
    assert words in refused["message"]
    assert files_of(ray.page) == []


@pytest.mark.parametrize(
    "content", [b"", b"no zip", zipped(a="x")[:-30]], ids=["nothing", "text", "a part"]
)
async def test_a_file_that_is_not_a_zip_file_is_refused(ray, content):
    refused = await ray.upload(content, status=400)
    assert "zip file" in refused["message"]
    assert files_of(ray.page) == []


async def test_a_package_that_is_too_large_is_refused_and_not_kept(ray):
    content = bytes(range(256)) * 4 * 1024 + b"more"
    refused = await ray.upload(content, status=413)
    assert refused["code"] == "package-too-large"

    async def pieces():  # without a length before them
        for at in range(0, len(content), 65_536):
            yield content[at : at + 65_536]

    assert (await ray.upload(pieces(), status=413))["code"] == "package-too-large"
    assert files_of(ray.page) == []


def random_zip(seed):
    """About 900 kB that cannot be compressed."""
    blocks = (hashlib.sha256(f"{seed} {at}".encode()).digest() for at in range(28_000))
    return zipped(data=b"".join(blocks))


async def test_older_packages_give_way_to_new_ones_unless_a_job_needs_them(ray):
    names = [f"_ray_pkg_{number}.zip" for number in range(4)]
    await ray.upload(random_zip(0), names[0])
    await ray.submit(runtime_env={"working_dir": f"gcs://{names[0]}"})
    for number in (1, 2):
        await ray.upload(random_zip(number), names[number])
    there = [
        (await ray.http.get(f"http://127.0.0.1:1/api/packages/gcs/{name}")).status_code
        for name in names[:3]
    ]
    assert there == [200, 404, 200]
    await ray.submit(runtime_env={"working_dir": f"gcs://{names[2]}"})
    refused = await ray.upload(random_zip(3), names[3], status=429)
    assert refused["code"] == "too-much-handed-in"
    assert "that unfinished jobs need" in refused["message"]
