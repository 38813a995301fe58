"""The pages of nodes in a real browser."""

from tests.browser.cluster import running
from tests.browser.conftest import fair_configuration
from tests.browser.test_applications import check_whole

from fairshare.engines.protocol import GpuUse

PAGE = "/cluster/nodes"


def test_table_heat_map_and_one_node_are_whole_and_open_to_all(visit, fair):
    page = visit(fair.url + PAGE)
    for path, there in (
        (PAGE, ".list-table .vt-body .vt-row"),
        (f"{PAGE}?show=map", ".node-map canvas"),
        ("/cluster/node/node-0000", ".node-meters .meter"),
    ):
        page.goto(fair.url + path)
        page.wait_for_selector(there)
        check_whole(page, path, both=path == PAGE)


def test_a_node_says_how_full_it_is_and_what_runs_there(visit, fair):
    visit.forgiven += ["404"]
    page = visit(fair.url + PAGE)
    page.locator(".vt-row", has_text="node-0001").get_by_role("link").click()
    page.get_by_role("heading", name="node-0001").wait_for()
    page.locator(".verdict", has_text="100% of its memory is used by 8 containers").wait_for()
    assert page.locator(".vt-body .vt-row").count() == 8
    page.goto(f"{fair.url}/cluster/node/nowhere")
    page.get_by_text("Not found: ").wait_for()


def test_a_node_shows_the_use_and_the_application_of_each_gpu(visit, tmp_path):
    visit.forgiven += ["ERR_"]
    uses = (
        GpuUse("node-0000", "0", "NVIDIA A100-SXM4-80GB", 81920, 61440, 97),
        GpuUse("node-0000", "1", "NVIDIA A100-SXM4-80GB", 81920, 0, 0),
        GpuUse("node-0000", "2"),
    )
    conf = fair_configuration(tmp_path / "conf")
    (conf / "fairshare.toml").write_text('[engine]\ngpus = "auto"\n')
    offer = {"memory-mb": 8192, "vcores": 8, "yarn.io/gpu": 3}
    with running(conf, tmp_path / "state", nodes=1, offer=offer, uses=uses) as cluster:
        size = {"memory-mb": 1024, "vcores": 1, "yarn.io/gpu": 1}
        cluster.submit("root.ml.training", 1, resources=size, name="train")
        cluster.until(lambda: len(cluster.engine.live) == 1)
        page = visit(f"{cluster.url}/cluster/node/node-0000")
        gpus = page.get_by_role("region", name="GPUs")
        gpus.get_by_text("97% busy · 60 GiB of 80 GiB").wait_for()
        gpus.get_by_role("link", name="train").wait_for()
        assert "train root" in gpus.inner_text()
        assert gpus.locator(".meter").count() == 2
        assert gpus.get_by_text("free").count() == 2
        page.locator(".vt-body .vt-row", has_text="GPU 0").wait_for()
        check_whole(page, "a node with GPUs")
        page.set_viewport_size({"width": 1400, "height": 900})
        page.goto(f"{cluster.url}/cluster/users")
        page.locator(".vt-row", has_text="root").get_by_text("1 GiB, 1 vcore, 1 gpu").wait_for()
        page.get_by_role("columnheader", name="GPU hours").wait_for()


def test_a_node_is_drained_and_taken_back_after_a_question(visit, tmp_path):
    visit.forgiven += ["ERR_"]
    with running(fair_configuration(tmp_path / "conf"), tmp_path / "state") as cluster:
        page = visit(f"{cluster.url}/cluster/node/node-0002")
        page.get_by_role("button", name="Drain…").click()
        page.locator("dialog", has_text="No new container is placed there").wait_for()
        page.get_by_role("button", name="Drain it").click()
        page.get_by_role("button", name="Take back into service…").wait_for()
        page.goto(f"{cluster.url}{PAGE}?only=draining")
        page.locator(".vt-row", has_text="node-0002").wait_for()
        assert page.locator(".vt-body .vt-row").count() == 1
        page.goto(f"{cluster.url}/cluster/node/node-0002")
        page.get_by_role("button", name="Take back into service…").click()
        page.get_by_role("button", name="Take it back").click()
        page.get_by_role("button", name="Drain…").wait_for()
        states = {one["state"] for one in cluster.http.get("/nodes").json()["nodes"]}
        assert states == {"RUNNING"}


def test_five_thousand_nodes_are_one_map_and_a_few_rows(visit, tmp_path):
    visit.forgiven += ["ERR_"]
    conf = fair_configuration(tmp_path / "conf")
    with running(conf, tmp_path / "state", nodes=5_000, racks=50) as cluster:
        cluster.submit("root.ml.training", 300)
        cluster.until(lambda: len(cluster.engine.live) >= 300)
        page = visit(cluster.url + PAGE)
        page.locator(".told", has_text="5,000 nodes").wait_for()
        assert page.locator(".vt-body .vt-row").count() < 80
        page.get_by_label("Name, rack or attribute").fill("node-4321")
        page.locator(".vt-row", has_text="node-4321").wait_for()
        page.goto(f"{cluster.url}{PAGE}?show=map")
        canvas = page.locator(".node-map canvas")
        canvas.wait_for()
        page.wait_for_function(
            "document.querySelector('canvas').getAttribute('aria-label').includes('5,000 nodes')"
        )
        canvas.focus()
        page.keyboard.press("End")
        page.locator(".map-told", has_text="node-4999").wait_for()
        page.keyboard.press("Enter")
        page.get_by_role("heading", name="node-4999").wait_for()
