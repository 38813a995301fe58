"""Scenarios that name configuration files instead of having their texts in them."""

import os
from pathlib import Path

import pytest

from fairshare.errors import ConfigurationError
from fairshare.lab.scenarios import files
from fairshare.lab.scenarios.document import read_scenario
from fairshare.lab.scenarios.report import check_file

ROOT = Path(__file__).parents[4]
FAIR = "<allocations><queue name='a'/></allocations>"
OTHER = "<allocations><queue name='b'/></allocations>"


@pytest.fixture
def conf(tmp_path):
    directory = tmp_path / "conf"
    directory.mkdir()
    (directory / "fair-scheduler.xml").write_text(FAIR)
    (directory / "yarn-site.xml").write_text("<configuration/>")
    (directory / "core-site.xml").write_text("<configuration/>")
    (directory / "other.xml").write_text(OTHER)
    (tmp_path / "tests").mkdir()
    return directory


def read(conf, config, steps=""):
    text = f"scenario: 1\nscheduler: fair\nconfig: {config}\nsteps: [{steps}]\n"
    return read_scenario(text, "s.yaml", conf.parent / "tests")


def refused(conf, config, steps=""):
    with pytest.raises(ConfigurationError) as caught:
        read(conf, config, steps)
    return str(caught.value)


def test_a_path_is_replaced_by_the_text_of_its_file(conf):
    scenario = read(conf, "{fair-scheduler.xml: ../conf/other.xml, yarn-site.xml: <x/>}")
    assert scenario.config == {"fair-scheduler.xml": OTHER, "yarn-site.xml": "<x/>"}


def test_an_absolute_path_is_taken_as_it_is(conf):
    path = conf / "other.xml"
    assert read(conf, f"{{fair-scheduler.xml: {path}}}").config["fair-scheduler.xml"] == OTHER


def test_a_directory_has_the_files_that_a_scenario_can_have(conf):
    assert read(conf, "../conf").config == {
        "fair-scheduler.xml": FAIR,
        "yarn-site.xml": "<configuration/>",
    }


def test_steps_name_files_too(conf):
    steps = (
        "{reload: {fair-scheduler.xml: ../conf/other.xml}},"
        " {write: {fair-scheduler.xml: ../conf/fair-scheduler.xml}}"
    )
    reload, write = read(conf, "../conf", steps).steps
    assert (reload.files, write.files) == (
        {"fair-scheduler.xml": OTHER},
        {"fair-scheduler.xml": FAIR},
    )


@pytest.mark.parametrize(
    ("config", "reason"),
    [
        (
            "../nowhere",
            "s.yaml:3:9: error: config: cannot read {}/tests/../nowhere: No such file or directory."
            " Write a directory, from the directory of this scenario, or a mapping of files by",
        ),
        ("../conf/other.xml", "config: cannot read {}/tests/../conf/other.xml: Not a directory."),
        (f"../{'a' * 300}", ": File name too long."),
        (".", "config: none of fair-scheduler.xml, "),
        (
            "{fair-scheduler.xml: missing.xml}",
            "s.yaml:3:30: error: cannot read {}/tests/missing.xml: No such file or directory. Write"
            " the path of a file, from the directory of this scenario, or XML",
        ),
        ("{fair-scheduler.xml: ../conf}", "../conf: Is a directory."),
        ("{fair-scheduler.xml: ../conf/binary}", "../conf/binary: this is not a text in UTF-8."),
        ("{fair-scheduler.xml: ../conf/pipe}", "../conf/pipe: it is not a regular file."),
        ('{fair-scheduler.xml: "a\\0b"}', ": embedded null "),
        (f"{{fair-scheduler.xml: {'a' * 300}}}", ": File name too long."),
        ("{fair-scheduler.xml: ~someone/x}", "/tests/~someone/x: No such file or directory."),
        ("{core-site.xml: ../conf/core-site.xml}", "unknown key 'core-site.xml' in config"),
    ],
)
def test_what_cannot_be_read_is_refused_with_its_line(conf, config, reason):
    (conf / "binary").write_bytes(b"\xff\xfe")
    os.mkfifo(conf / "pipe")
    assert reason.format(conf.parent) in refused(conf, config)


def test_a_file_has_a_limit(conf, monkeypatch):
    monkeypatch.setattr(files, "MOST_BYTES", 10)
    assert "it has more than 10 bytes" in refused(conf, "../conf")


def test_a_text_without_a_file_cannot_include_one():
    text = "scenario: 1\nscheduler: fair\nconfig: ../conf\n"
    with pytest.raises(ConfigurationError, match="a scenario that is not a file has none"):
        read_scenario(text, "s.yaml")


def test_the_example_tests_the_configuration_of_the_demonstration():
    (example,) = (ROOT / "examples" / "scenarios").glob("*.yaml")
    assert check_file(example).result == "passed"
