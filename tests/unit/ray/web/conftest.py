"""Ray's job interface of a server whose engine only records; what Ray's client sends is written out
as it was recorded (Ray 2.60)."""

import io
import zipfile

import pytest
from tests.unit.server.web.conftest import engine as engine
from tests.unit.server.web.conftest import page as page
from tests.unit.server.web.conftest import server_settings as server_settings

ROOT = "http://127.0.0.1:1/api"
PACKAGE = "_ray_pkg_7f3151316bced3a9.zip"
URI = f"gcs://{PACKAGE}"


def zipped(**files):
    """A zip file; `_` in a name is a dot."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in files.items():
            archive.writestr(name.replace("_", "."), text)
    return content.getvalue()


class Ray:
    """What Ray's client asks of one server."""

    def __init__(self, page, http=None, root=ROOT):
        self.page = page
        self.root = root
        self.http = http or page.http

    async def call(self, method, path, status=200, **more):
        answer = await self.http.request(method, f"{self.root}/{path}", **more)
        assert answer.status_code == status, answer.text
        return answer.json() if answer.content else None

    async def submit(self, entrypoint="python train.py", status=200, **body):
        """Submit a job as the client does; its answer."""
        body = {"runtime_env": {}, "metadata": {}, **body, "entrypoint": entrypoint}
        return await self.call("POST", "jobs/", status, json=body)

    async def upload(self, content=None, name=PACKAGE, status=200):
        content = zipped(train_py="print(1)") if content is None else content
        return await self.call("PUT", f"packages/gcs/{name}", status, content=content)

    async def show(self, job, status=200):
        return await self.call("GET", f"jobs/{job}", status)

    async def driver(self):
        """The order of the first container, once it is there, and the headers of its program."""
        await self.page.launched(1)
        order = list(self.page.engine.orders.values())[-1]
        token = order.environment["FAIRSHARE_TOKEN"]
        return order, {"Authorization": f"Bearer {token}"}

    async def run(self, workers=1):
        """Do what the program does until its entrypoint runs; its order and headers."""
        order, headers = await self.driver()
        own = f"/applications/{order.application_name}"
        before = len(self.page.engine.orders)
        await self.page.post(f"{own}/register", headers=headers)
        group = {"name": "workers", "command": "work", "count": workers, "gang": True}
        group["resources"] = {"memory-mb": 128, "vcores": 1}
        body = {"tasks": [group]}
        assert (await self.page.post(f"{own}/tasks", headers=headers, json=body)).is_success
        await self.page.until(lambda: len(self.page.engine.orders) == before + workers)
        return order, headers

    async def finish(self, order, headers, code=0):
        """Let the entrypoint end as the program reports it."""
        words = f"the program ended with exit code {code}" if code else ""
        body = {"succeeded": code == 0, "diagnostics": words}
        own = f"/applications/{order.application_name}"
        assert (await self.page.post(f"{own}/finish", headers=headers, json=body)).is_success


@pytest.fixture
def ray(page):
    return Ray(page)
