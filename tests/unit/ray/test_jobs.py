"""What a Ray job's entrypoint finds in its container."""

import json
import sys
from pathlib import Path

import httpx
import pytest

from fairshare.api.ray_programs import Job
from fairshare.ray import job as ray_job
from fairshare.ray.job import JOB_CONFIG, PackageGone, environment_of, fetch

ENVIRONMENT = {
    "FAIRSHARE_URL": "http://127.0.0.1:1",
    "FAIRSHARE_TOKEN": "fsd_1_x",
    "FAIRSHARE_APPLICATION_ID": "application_1_0001",
    "FAIRSHARE_STATE": "/nowhere",
}


@pytest.fixture
def unpacked(tmp_path):
    (tmp_path / "0").mkdir()
    for name in ("tools", "more"):
        (tmp_path / "1" / name).mkdir(parents=True)
    (tmp_path / "1" / "single.py").touch()
    (tmp_path / "1" / "README").touch()
    return {"gcs://dir.zip": tmp_path / "0", "gcs://mod.zip": tmp_path / "1"}


def test_ray_gets_the_files_variables_and_metadata_of_the_job(unpacked, tmp_path):
    job = Job(
        "train-1",
        "python train.py",
        metadata={"owner": "ann", "job_name": "training"},
        runtime_env={"working_dir": "gcs://dir.zip", "py_modules": ["gcs://mod.zip"]},
        variables=("SIZE",),
    )
    found = environment_of(job, unpacked, {"SIZE": "9", "PATH": "/bin", "PYTHONPATH": "/mine"})
    files, modules = str(tmp_path / "0"), str(tmp_path / "1")
    assert found["PYTHONPATH"] == f"{files}:{modules}:/mine"
    assert json.loads(found[JOB_CONFIG]) == {
        "runtime_env": {
            "working_dir": files,
            "py_modules": [f"{modules}/more", f"{modules}/single.py", f"{modules}/tools"],
            "env_vars": {"SIZE": "9"},
        },
        "metadata": {
            "job_submission_id": "train-1",
            "job_name": "training",
            "owner": "ann",
        },
    }


def test_a_job_without_files_keeps_the_environment_of_its_container():
    found = environment_of(Job("j", "true"), {}, {"PATH": "/bin"})
    config = json.loads(found.pop(JOB_CONFIG))
    assert config["runtime_env"] == {}
    python = Path(sys.executable).parent  # `python` has Ray
    assert found == {"PATH": f"{python}:/bin", "PYTHONUNBUFFERED": "1"}
    own = environment_of(Job("j", "true", variables=("PATH",)), {}, {"PATH": "/own"})
    assert own["PATH"] == "/own"


@pytest.fixture
def answers(monkeypatch):
    """Answers of a server, one for each request; the requests."""
    asked, coming = [], []

    def answer(request):
        asked.append(request)
        found = coming.pop(0)
        if isinstance(found, Exception):
            raise found
        return found

    monkeypatch.setattr(ray_job, "PAUSE_S", 0)
    monkeypatch.setattr(
        ray_job,
        "manners",
        lambda url, token: {
            "base_url": f"{url}/api/v1",
            "headers": {"Authorization": f"Bearer {token}"},
            "transport": httpx.MockTransport(answer),
        },
    )
    return coming, asked


def test_a_package_is_asked_for_again_while_the_server_starts(answers, tmp_path):
    coming, asked = answers
    coming += [
        httpx.ConnectError("refused"),
        httpx.Response(503),
        httpx.Response(200, content=b"z"),
    ]
    fetch("00ff", tmp_path / "new" / "x.zip", ENVIRONMENT)
    assert (tmp_path / "new" / "x.zip").read_bytes() == b"z"
    assert asked[0].url.path == "/api/v1/applications/application_1_0001/packages/00ff"
    assert asked[0].headers["authorization"] == "Bearer fsd_1_x"


def test_a_package_that_was_deleted_is_not_asked_for_again(answers, tmp_path):
    coming, _ = answers
    coming += [httpx.Response(404, text="it was deleted")]
    with pytest.raises(PackageGone, match="it was deleted"):
        fetch("00ff", tmp_path / "x.zip", ENVIRONMENT)
