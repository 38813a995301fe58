"""Writing: all files or none, and never over what is there."""

from pathlib import Path

import pytest

from fairshare.settings.output import OutputExists, write_directory

FILES = {"one.xml": b"1", "two.xml": b"2"}


def contents(directory: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in directory.iterdir() if path.is_file()}


def test_a_directory_is_made_with_all_files_and_nothing_else(tmp_path: Path) -> None:
    place = tmp_path / "a" / "b"
    assert write_directory(FILES, place, force=False) == (
        [place / "one.xml", place / "two.xml"],
        [],
    )
    assert contents(place) == {"one.xml": "1", "two.xml": "2"}
    assert len(list(place.iterdir())) == 2


def test_an_existing_file_stays_and_the_error_names_it(tmp_path: Path) -> None:
    (tmp_path / "two.xml").write_text("mine")
    with pytest.raises(OutputExists, match=r"two\.xml"):
        write_directory(FILES, tmp_path, force=False)
    assert contents(tmp_path) == {"two.xml": "mine"}


def test_force_replaces_a_file_with_a_copy_and_leaves_other_files_alone(tmp_path: Path) -> None:
    for text in ("mine", "mine again", "2"):
        (tmp_path / "two.xml").write_text(text)
        (tmp_path / "three.xml").write_text("other")
        write_directory(FILES, tmp_path, force=True)
    assert contents(tmp_path) == {
        "one.xml": "1",
        "two.xml": "2",
        "two.xml~": "mine",
        "two.xml~2": "mine again",
        "three.xml": "other",
    }


def test_what_is_not_accepted_changes_nothing(tmp_path: Path) -> None:
    (tmp_path / "one.xml").write_text("mine")

    def refuse(staging: Path) -> None:
        assert contents(staging) == {"one.xml": "1", "two.xml": "2"}
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        write_directory(FILES, tmp_path, force=True, examine=refuse)
    assert [path.name for path in tmp_path.iterdir()] == ["one.xml"]
    assert contents(tmp_path) == {"one.xml": "mine"}


def test_a_failure_in_the_middle_leaves_everything_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "one.xml").write_text("mine")
    replace, calls = Path.replace, []

    def failing(self: Path, target: Path) -> Path:
        calls.append(self.name)
        if self.name == "two.xml":
            raise OSError(28, "No space left on device")
        return replace(self, target)

    monkeypatch.setattr(Path, "replace", failing)
    with pytest.raises(OSError, match="No space"):
        write_directory(FILES, tmp_path, force=True)
    assert "two.xml" in calls
    assert contents(tmp_path) == {"one.xml": "mine"}
    assert len(list(tmp_path.iterdir())) == 1


def test_a_directory_in_the_place_of_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "one.xml").mkdir()
    with pytest.raises(IsADirectoryError):
        write_directory(FILES, tmp_path, force=True)
    assert [path.name for path in tmp_path.iterdir()] == ["one.xml"]
