"""The resource type of GPUs that a server assigns is declared, whoever the scheduler is."""

import pytest

from fairshare.documents.problems import Problems
from fairshare.errors import ConfigurationError
from fairshare.server.settings import Overrides, read_settings
from fairshare.server.state_directory import open_state_directory
from fairshare.settings.directory import collect_directory, read_directory, refresh
from fairshare.settings.linting import lint

GPU = "yarn.io/gpu"


@pytest.fixture
def conf(tmp_path):
    (tmp_path / "conf").mkdir()
    return tmp_path / "conf"


def toml(conf, text: str) -> None:
    (conf / "fairshare.toml").write_text(f"[engine]\n{text}\n")


def site(conf, name: str, **properties: str) -> None:
    lines = (
        f"<property><name>{key}</name><value>{value}</value></property>"
        for key, value in properties.items()
    )
    (conf / name).write_text(f"<configuration>{''.join(lines)}</configuration>")


@pytest.mark.parametrize("scheduler", ["fair", "capacity", "fifo", "pools"])
def test_without_resource_types_the_type_is_there_and_nothing_is_reported(conf, scheduler):
    before = read_directory(conf, scheduler=scheduler)
    toml(conf, 'gpus = "auto"')
    found = read_directory(conf, scheduler=scheduler)
    assert found.types.names[:3] == ("memory-mb", "vcores", GPU)
    reported = {problem.rule for problem in found.problems}
    assert reported == {problem.rule for problem in before.problems} - {"no-configuration"}


def test_a_type_that_is_declared_keeps_its_place_among_the_others(conf):
    site(conf, "resource-types.xml", **{"yarn.resource-types": f"disks, {GPU}, {GPU}-a100"})
    toml(conf, "gpus = 2")
    found = read_directory(conf, scheduler="fair")
    assert found.types.names[2:] == ("disks", GPU, f"{GPU}-a100")
    site(conf, "resource-types.xml", **{"yarn.resource-types": "disks"})
    found = read_directory(conf, scheduler="fair")
    assert found.types.names[2:] == ("disks", GPU)


def test_an_option_assigns_gpus_whatever_the_file_says_and_a_refresh_remembers_it(conf):
    found = read_directory(conf, scheduler="fair", gpus=("0", "1"))
    assert found.types.names[2:] == (GPU,)
    assert found.shell.engine.gpus == ("0", "1")
    assert refresh(found, found.settings).needs_restart == ()
    toml(conf, 'gpus = "auto"')
    assert read_directory(conf, gpus="none").types.names[2:] == ()


def test_a_calculator_that_looks_at_memory_alone_is_refused_as_in_hadoop(conf):
    name = "yarn.scheduler.capacity.resource-calculator"
    package = "org.apache.hadoop.yarn.util.resource."
    site(conf, "capacity-scheduler.xml", **{name: package + "DefaultResourceCalculator"})
    toml(conf, 'gpus = "auto"')
    with pytest.raises(ConfigurationError, match="looks at memory alone"):
        read_directory(conf, scheduler="capacity")


def test_amounts_of_gpus_beside_their_assignment_are_refused_at_their_line(conf):
    toml(conf, f'gpus = "auto"\n[engine.resources]\n"{GPU}" = 2')
    problems = Problems()
    collect_directory(conf, problems)
    (problem,) = problems.errors
    assert (problem.line, problem.rule) == (4, "gpus")
    assert "follows from gpus" in problem.message


@pytest.mark.parametrize("value", ["0.5", "[0]", '"some"', "0", "true"])
def test_a_wrong_value_is_refused_at_its_line(conf, value):
    toml(conf, f"gpus = {value}")
    with pytest.raises(ConfigurationError, match=r"fairshare.toml:2.*gpus"):
        read_directory(conf)


@pytest.mark.parametrize("engine", ["ray", "nodemanagers"])
def test_other_engines_have_gpus_elsewhere_and_say_so(conf, engine):
    with pytest.raises(ConfigurationError, match=r"--gpus is about this machine"):
        read_settings(conf, Overrides(engine=engine, gpus="auto"))
    toml(conf, f'kind = "{engine}"\ngpus = "auto"')
    with pytest.raises(ConfigurationError, match=r"fairshare.toml: gpus in \[engine\] is about"):
        read_settings(conf, Overrides())


@pytest.mark.parametrize("scheduler", ["fair", "capacity", "fifo", "pools"])
def test_a_type_that_a_state_counts_stays_when_the_configuration_has_it_no_longer(
    conf, tmp_path, scheduler
):
    site(conf, "resource-types.xml", **{"yarn.resource-types": "net, disks"})
    site(conf, "yarn-site.xml", **{"yarn.resource-types.net.units": "G"})
    toml(conf, f'gpus = "auto"\n[server]\nstate_directory = "{tmp_path}/state"')
    options = Overrides(scheduler=scheduler)
    before = read_settings(conf, options)
    open_state_directory(tmp_path / "state").claim(scheduler, before.types, 1)
    assert before.types.names[2:5] == ("net", "disks", GPU)
    toml(conf, f'[server]\nstate_directory = "{tmp_path}/state"')
    for declared in ("disks, net", "disks", ""):
        site(conf, "resource-types.xml", **{"yarn.resource-types": declared})
        if not declared:
            (conf / "yarn-site.xml").unlink()
        found = read_settings(conf, options)
        assert found.types == before.types
        assert (found.gpus, found.resources) == ("none", before.resources)
        assert refresh(found.configuration, found.configuration.settings).needs_restart == ()
    other = read_settings(conf, Overrides(scheduler="fifo" if scheduler == "fair" else "fair"))
    assert GPU not in other.types.names, "the state is another scheduler's"


def test_a_damaged_state_is_not_a_fault_of_the_configuration(conf, tmp_path):
    (tmp_path / "cluster.json").write_text("{")
    assert read_settings(conf, Overrides(state_directory=tmp_path)).types.names[2:] == ()


@pytest.mark.parametrize("maximum", ["yarn.io/gpu=2", "4096 mb, 4 vcores"])
def test_what_a_broken_fairshare_toml_may_assign_is_not_a_mistake_elsewhere(tmp_path, maximum):
    (tmp_path / "fair-scheduler.xml").write_text(
        f'<allocations><queue name="a"><maxResources>{maximum}</maxResources></queue></allocations>'
    )
    (tmp_path / "fairshare.toml").write_text('[engine]\ngpus = "auto"\n[engine]\nvcores = 2\n')
    (problem,) = [one for one in lint(tmp_path) if "gpu" in str(one) or one.severity == "error"]
    assert "two [engine] tables" in str(problem)
