"""Which documents are mined, and how they are divided."""

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from fairshare.demonstration import corpus
from fairshare.demonstration.corpus import Document

DOCUMENTS = st.lists(st.integers(1, 1_000), min_size=1, max_size=40).map(
    lambda sizes: [Document(str(number), size) for number, size in enumerate(sizes)]
)


@given(DOCUMENTS, st.integers(1, 50))
def test_each_document_is_in_one_split_and_no_split_is_empty(
    documents: list[Document], parts: int
) -> None:
    splits = corpus.splits(documents, parts)
    assert [path for split in splits for path in split] == [d.path for d in documents]
    assert len(splits) == min(parts, len(documents))
    assert all(splits)


def test_splits_are_about_equally_large() -> None:
    documents = [Document(str(number), 100 + number % 7) for number in range(1_000)]
    sizes = [len(split) for split in corpus.splits(documents, 8)]
    assert max(sizes) - min(sizes) <= 2


@given(DOCUMENTS, st.integers(0, 50_000))
def test_no_more_documents_are_taken_than_are_needed(
    documents: list[Document], wanted: int
) -> None:
    taken = corpus.first_bytes(documents, wanted)
    assert taken == documents[: len(taken)]
    assert corpus.size_of(taken) >= min(wanted, corpus.size_of(documents))
    assert corpus.size_of(taken[:-1]) < wanted or not taken


def test_documents_are_readable_files_of_a_fair_size_in_the_order_of_their_paths(
    tmp_path: Path,
) -> None:
    for name in ("b/z.py", "a/read.rst", "a/__pycache__/x.py", ".git/x.py", "site-packages/y.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("text")
    (tmp_path / "a" / "empty.py").touch()
    (tmp_path / "a" / "large.txt").write_bytes(b"x" * (corpus.LARGEST_BYTES + 1))
    (tmp_path / "a" / "link.py").symlink_to(tmp_path / "b" / "z.py")
    (tmp_path / "a" / "program.so").write_text("text")
    found = [Path(d.path).relative_to(tmp_path) for d in corpus.documents([tmp_path])]
    assert found == [Path("a/read.rst"), Path("b/z.py")]


def test_this_python_has_documents() -> None:
    first = corpus.first_bytes(corpus.documents(corpus.roots()), 1_000_000)
    assert corpus.size_of(first) >= 1_000_000
