"""Files on disk: discovery, identity, safe names, atomic writes."""

from __future__ import annotations

import hashlib
import os
import stat
from datetime import UTC, datetime
from pathlib import Path

import pytest

from localrag.errors import StorageFullError, UnreadableDocument
from localrag.library.files import (
    discover,
    document_id,
    file_uri,
    hash_file,
    printable,
    source_path,
    upload_uri,
    write_atomically,
)
from localrag.types import Document


def _make(folder: Path, *names: str) -> None:
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x")


def test_folders_are_walked_in_name_order_and_litter_is_passed_over(tmp_path: Path) -> None:
    _make(tmp_path, "b.txt", "a/z.md", "a/.hidden.md", "a/~$z.docx", ".git/config", "c/Thumbs.db", "c/d/e.pdf")
    found = [item.path.relative_to(tmp_path).as_posix() for item in discover([tmp_path])]
    assert found == ["a/z.md", "b.txt", "c/d/e.pdf"]


def test_the_librarys_own_files_are_no_documents(tmp_path: Path) -> None:
    _make(tmp_path, "a.txt", "data/samples/b.txt", "data/markdown/c.md", "data/localrag.db")
    own = {(tmp_path / "data" / name).resolve() for name in ("markdown", "localrag.db")}
    assert [item.path.name for item in discover([tmp_path], passed_over=own)] == ["a.txt", "b.txt"]
    assert [item.path.name for item in discover([tmp_path / "data" / "markdown"], passed_over=own)] == ["c.md"]


def test_a_hidden_file_that_is_named_itself_is_taken(tmp_path: Path) -> None:
    _make(tmp_path, ".notes.md")
    assert [item.path.name for item in discover([tmp_path / ".notes.md"])] == [".notes.md"]


def test_each_file_comes_once_however_it_is_named(tmp_path: Path) -> None:
    _make(tmp_path, "a.txt")
    (tmp_path / "link.txt").symlink_to(tmp_path / "a.txt")
    assert len(list(discover([tmp_path, tmp_path / "a.txt", tmp_path / "." / "a.txt"]))) == 1


def test_a_link_to_its_own_folder_does_not_trap_the_walk(tmp_path: Path) -> None:
    _make(tmp_path, "a/b.txt")
    (tmp_path / "a" / "loop").symlink_to(tmp_path, target_is_directory=True)
    assert [item.path.name for item in discover([tmp_path])] == ["b.txt"]


def test_a_path_that_is_not_there_is_an_error_in_its_place(tmp_path: Path) -> None:
    _make(tmp_path, "a.txt")
    found = list(discover([tmp_path / "none", tmp_path / "a.txt"]))
    assert [item.error and item.error.kind for item in found] == ["unreadable", None]


def test_a_folder_that_cannot_be_listed_stops_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _make(tmp_path, "closed/a.txt", "open/b.txt")
    real = os.scandir

    def scandir(path: str | Path) -> object:
        if Path(path).name == "closed":  # the tests may run as root, whom no permission bit stops
            raise PermissionError(13, "Permission denied")
        return real(path)

    monkeypatch.setattr(os, "scandir", scandir)
    found = list(discover([tmp_path]))
    assert found[0].error is not None
    assert "permission denied" in found[0].error.message
    assert [item.path.name for item in found[1:]] == ["b.txt"]


def test_the_id_is_of_the_source_not_of_its_bytes(tmp_path: Path) -> None:
    _make(tmp_path, "a.txt")
    before = document_id(file_uri(tmp_path / "a.txt"))
    (tmp_path / "a.txt").write_text("other")
    assert document_id(file_uri(tmp_path / "." / "a.txt")) == before
    assert document_id(file_uri(tmp_path / "a.txt")) != document_id(upload_uri("a.txt"))
    assert before == hashlib.sha256((tmp_path / "a.txt").resolve().as_uri().encode()).hexdigest()[:16]


@pytest.mark.parametrize("name", ["plain.txt", "with space.txt", "ü#?%.txt", "new\nline.txt", b"latin-\xfc.txt"])
def test_the_path_comes_back_from_the_uri(tmp_path: Path, name: str | bytes) -> None:
    path = tmp_path / os.fsdecode(name)
    path.write_text("x")
    document = _document(uri=file_uri(path), content_hash="h")
    assert source_path(document, tmp_path / "uploads").read_text() == "x"


def _document(*, uri: str, content_hash: str) -> Document:
    return Document(
        id="d",
        content_hash=content_hash,
        name="n",
        uri=uri,
        media_type="text/plain",
        size_bytes=1,
        page_count=1,
        indexed_at=datetime(2026, 1, 1, tzinfo=UTC),
    )


@pytest.mark.parametrize("name", ["../../x", "..\\x", "C:\\x", "/etc/passwd", "CON", "a\0b", "x" * 300])
def test_an_uploads_name_never_becomes_a_path(tmp_path: Path, name: str) -> None:
    path = source_path(_document(uri=upload_uri(name), content_hash="ab12"), tmp_path)
    assert path == tmp_path / "ab12"


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("a.pdf", "a.pdf"),
        ("new\nline\t.pdf", "new line .pdf"),
        ("evil\u202egpj.exe", "evil?gpj.exe"),
        ("a\x1b[31mb", "a?[31mb"),
        ("\ud800.txt", "\ufffd.txt"),
        ("می‌خواهم.txt", "می‌خواهم.txt"),
        (" \n ", "unnamed"),
    ],
)
def test_printable_names_stay_on_one_line(name: str, shown: str) -> None:
    assert printable(name) == shown


def test_hash_file_equals_hashlib(tmp_path: Path) -> None:
    data = os.urandom(3_000_000)
    (tmp_path / "a").write_bytes(data)
    assert hash_file(tmp_path / "a") == hashlib.sha256(data).hexdigest()
    with pytest.raises(UnreadableDocument, match="cannot be read"):
        hash_file(tmp_path)


def test_write_atomically_leaves_no_part_behind(tmp_path: Path) -> None:
    write_atomically(tmp_path / "new" / "a", b"one")
    write_atomically(tmp_path / "new" / "a", b"two")
    assert [(path.name, path.read_bytes()) for path in (tmp_path / "new").iterdir()] == [("a", b"two")]
    assert stat.S_ISREG((tmp_path / "new" / "a").stat().st_mode)


def test_write_atomically_says_when_it_cannot(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(StorageFullError, match="Cannot write"):
        write_atomically(tmp_path / "file" / "a", b"x")
