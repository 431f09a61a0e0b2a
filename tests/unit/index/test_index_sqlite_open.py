"""Opening: what is refused is left as it was, and every fault has its error."""

from __future__ import annotations

import ast
import os
import sqlite3
import subprocess
import sys
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest

import localrag
from localrag.errors import BackendTimeout, IndexCorruptError, IndexMismatchError, StorageFullError
from localrag.index.sqlite import SqliteIndex
from localrag.index.sqlite_database import Database
from localrag.types import Chunk, Document, EmbeddingModel, IndexHeader, Page

MODEL = EmbeddingModel(name="m", revision="r", dimension=2, max_tokens=512)
HEADER = IndexHeader(model=MODEL, chunk_tokens=256, chunk_overlap_tokens=32)


def put(index: SqliteIndex, text: str = "walrus", identifier: str = "a") -> None:
    document = Document(
        id=identifier,
        content_hash="h",
        name=f"{identifier}.txt",
        uri=identifier,
        media_type="text/plain",
        size_bytes=1,
        page_count=1,
        indexed_at=datetime.now(UTC),
    )
    chunk = Chunk(
        id=f"{identifier}_0",
        document_id=identifier,
        index=0,
        page_ordinal=1,
        text=text,
        start=0,
        end=len(text),
        token_count=1,
    )
    index.replace_document(document, [Page(ordinal=1, markdown=text)], [chunk])


def hits(index: SqliteIndex, text: str = "walrus") -> int:
    return len(index.search_legs(text, None, limit=50).lexical or ())


def test_opening_makes_the_folders_and_finds_the_content_again(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "er" / "library.db"
    assert SqliteIndex.read_header(path) is None
    index = SqliteIndex.open(path, HEADER)
    put(index)
    index.close()
    index.close()  # twice is once
    assert SqliteIndex.read_header(path) == HEADER
    again = SqliteIndex.open(path, HEADER)
    assert (hits(again), again.header, again.path) == (1, HEADER, path)
    again.close()
    with pytest.raises(ValueError, match="closed"):
        again.documents()


def test_an_empty_file_becomes_an_index(tmp_path: Path) -> None:
    path = tmp_path / "library.db"
    path.touch()
    assert SqliteIndex.read_header(path) is None
    SqliteIndex.open(path, HEADER).close()
    assert SqliteIndex.read_header(path) == HEADER


@pytest.mark.parametrize(
    ("wanted", "expected", "found"),
    [
        (replace(HEADER, model=replace(MODEL, name="other")), "embedding model other", "embedding model m"),
        (replace(HEADER, model=replace(MODEL, revision="r2")), "model revision r2", "model revision r"),
        (replace(HEADER, model=replace(MODEL, dimension=3)), "vector dimension 3", "vector dimension 2"),
        (replace(HEADER, chunk_tokens=512), "LOCALRAG_CHUNK_TOKENS 512", "LOCALRAG_CHUNK_TOKENS 256"),
        (
            replace(HEADER, chunk_overlap_tokens=0),
            "LOCALRAG_CHUNK_OVERLAP_TOKENS 0",
            "LOCALRAG_CHUNK_OVERLAP_TOKENS 32",
        ),
    ],
)
def test_other_settings_are_refused_and_the_old_ones_still_answer(
    tmp_path: Path, wanted: IndexHeader, expected: str, found: str
) -> None:
    path = tmp_path / "library.db"
    index = SqliteIndex.open(path, HEADER)
    put(index)
    index.close()
    before = path.read_bytes()
    with pytest.raises(IndexMismatchError) as raised:
        SqliteIndex.open(path, wanted)
    assert (raised.value.expected, raised.value.found) == (expected, found)
    assert "localrag embed --rebuild" in raised.value.hint
    assert raised.value.can_rebuild
    assert path.read_bytes() == before
    again = SqliteIndex.open(path, HEADER)
    assert hits(again) == 1
    again.close()


def test_another_schema_version_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "library.db"
    SqliteIndex.open(path, HEADER).close()
    _run(path, "PRAGMA user_version = 99")
    before = path.read_bytes()
    for attempt in (lambda: SqliteIndex.open(path, HEADER), lambda: SqliteIndex.read_header(path)):
        with pytest.raises(IndexMismatchError, match="schema version 99"):
            attempt()
    assert path.read_bytes() == before


def test_another_programs_database_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "library.db"
    _run(path, "CREATE TABLE theirs (x)")
    before = path.read_bytes()
    with pytest.raises(IndexMismatchError, match="another program"):
        SqliteIndex.open(path, HEADER)
    assert path.read_bytes() == before


def test_terms_of_another_analyser_are_built_anew(tmp_path: Path) -> None:
    path = tmp_path / "library.db"
    index = SqliteIndex.open(path, HEADER)
    put(index)
    index.close()
    _run(path, "UPDATE meta SET value = 'older' WHERE key = 'analysis'", "DELETE FROM chunk_words")
    again = SqliteIndex.open(path, HEADER)
    assert hits(again) == 1
    assert all(check.ok for check in again.check(deep=True))
    again.close()


def test_what_is_no_database_is_said_to_be_damaged(tmp_path: Path) -> None:
    path = tmp_path / "library.db"
    path.write_bytes(b"this is no database " * 500)
    for attempt in (lambda: SqliteIndex.open(path, HEADER), lambda: SqliteIndex.read_header(path)):
        with pytest.raises(IndexCorruptError, match=r"library\.db"):
            attempt()


def test_damage_inside_is_found_by_check_and_told_by_search(tmp_path: Path) -> None:
    path = tmp_path / "library.db"
    index = SqliteIndex.open(path, HEADER)
    for number in range(40):
        put(index, f"walrus number {number} " * 40, f"d{number}")
    index.close()
    content = bytearray(path.read_bytes())
    page_size = 4096
    for page in range(len(content) // page_size // 4, len(content) // page_size):  # the schema stays readable
        content[page * page_size : page * page_size + 200] = b"\xff" * 200
    path.write_bytes(content)
    damaged = SqliteIndex(Database(path), HEADER, clock=lambda: 0.0)
    checks = damaged.check(deep=True)
    assert [check.ok for check in checks] == [False]
    assert "--reset --yes" in checks[0].hint
    with pytest.raises(IndexCorruptError):
        damaged.document_chunks("d7")
    again = SqliteIndex.reset(path, HEADER)
    put(again)
    assert hits(again) == 1
    again.close()
    assert path.with_name("library.db.old").read_bytes() == bytes(content)


class TestReset:
    def test_other_settings_start_empty_and_keep_conversations(self, tmp_path: Path) -> None:
        path = tmp_path / "library.db"
        index = SqliteIndex.open(path, HEADER)
        put(index)
        index.add_vectors({each.text_hash: np.array([1, 0], dtype=np.float32) for each in index.pending_texts(9)})
        index.save_conversation("c", "[]")
        wider = replace(HEADER, model=replace(MODEL, dimension=3))
        fresh = SqliteIndex.reset(path, wider)
        assert (fresh.stats().documents, fresh.pending_count(), fresh.load_conversation("c")) == (0, 0, "[]")
        put(fresh)
        fresh.add_vectors({each.text_hash: np.array([1, 0, 0], dtype=np.float32) for each in fresh.pending_texts(9)})

        # The one who still has it open with the old settings is told, and cannot mix his vectors in.
        for attempt in (
            lambda: index.search_legs("walrus", np.array([1, 0], dtype=np.float32), limit=1),
            lambda: put(index, "otter", "b"),
            lambda: index.add_vectors({"x": np.array([1, 0], dtype=np.float32)}),
            lambda: index.delete_document("a"),
        ):
            with pytest.raises(IndexMismatchError, match="vector dimension"):
                attempt()
        assert hits(fresh) == 1
        index.close()
        fresh.close()

    def test_the_same_settings_only_clear(self, tmp_path: Path) -> None:
        path = tmp_path / "library.db"
        index = SqliteIndex.open(path, HEADER)
        put(index)
        SqliteIndex.reset(path, HEADER).close()
        assert (hits(index), index.stats().documents) == (0, 0)
        put(index)
        assert hits(index) == 1
        index.close()

    def test_nothing_there_yet_is_made(self, tmp_path: Path) -> None:
        index = SqliteIndex.reset(tmp_path / "library.db", HEADER)
        assert index.documents() == []
        index.close()

    def test_another_programs_database_stays(self, tmp_path: Path) -> None:
        path = tmp_path / "library.db"
        _run(path, "CREATE TABLE theirs (x)")
        before = path.read_bytes()
        with pytest.raises(IndexMismatchError, match="another program"):
            SqliteIndex.reset(path, HEADER)
        assert path.read_bytes() == before


def test_a_lock_held_too_long_is_a_timeout_and_nothing_changes(tmp_path: Path) -> None:
    path = tmp_path / "library.db"
    index = SqliteIndex.open(path, HEADER, busy_timeout_s=0.05)
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(BackendTimeout, match="locked by another process"):
        put(index)
    assert hits(index) == 0  # readers do not wait
    other.execute("COMMIT")
    other.close()
    put(index)
    assert hits(index) == 1
    index.close()


def test_a_place_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(StorageFullError, match="cannot be created"):
        SqliteIndex.open(tmp_path / "file" / "library.db", HEADER)
    (tmp_path / "folder.db").mkdir()
    with pytest.raises(StorageFullError, match=r"folder\.db"):
        SqliteIndex.open(tmp_path / "folder.db", HEADER)


def test_a_full_disk_leaves_what_was_there(tmp_path: Path) -> None:
    index = SqliteIndex.open(tmp_path / "library.db", HEADER)
    put(index)
    with index._database.bare() as connection:  # the only connection of the pool
        pages = connection.execute("PRAGMA page_count").fetchone()[0]
        connection.execute(f"PRAGMA max_page_count = {pages + 2}")  # SQLITE_FULL after two more
    with pytest.raises(StorageFullError, match="nothing was changed"):
        put(index, "otter " + " ".join(f"word{number}" for number in range(20_000)))
    assert (hits(index), hits(index, "otter")) == (1, 0)
    assert all(check.ok for check in index.check(deep=True))
    with index._database.bare() as connection:
        connection.execute("PRAGMA max_page_count = 1000000")
    put(index, "otter")
    assert hits(index, "otter") == 1
    index.close()


@pytest.mark.skipif(sys.platform == "win32", reason="limits on file sizes are POSIX")
def test_a_limit_on_file_size_leaves_what_was_there(tmp_path: Path) -> None:
    """The same through the operating system: a write that fails with EFBIG in a child process."""
    script = """
import resource, sys
from pathlib import Path
sys.path.insert(0, sys.argv[2])
from test_index_sqlite_open import HEADER, SqliteIndex, StorageFullError, hits, put
index = SqliteIndex.open(Path(sys.argv[1]), HEADER)
put(index)
resource.setrlimit(resource.RLIMIT_FSIZE, (400_000, 400_000))
try:
    for number in range(200):
        put(index, "otter " + " ".join(f"w{number}x{each}" for each in range(2000)), f"d{number}")
except StorageFullError as error:
    print("full", hits(index) == 1)
"""
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
    path = tmp_path / "library.db"
    done = subprocess.run(
        [sys.executable, "-c", script, str(path), str(Path(__file__).parent)],
        capture_output=True,
        text=True,
        timeout=60,
        env=environment,
        check=False,
    )
    assert done.stdout.strip() == "full True", done.stderr
    index = SqliteIndex.open(path, HEADER)
    assert hits(index) == 1
    assert all(check.ok for check in index.check(deep=True))
    index.close()


def test_only_the_index_knows_sqlite() -> None:
    """One binding in one place: two SQLite libraries in a process break each other's locks."""
    root = Path(localrag.__file__).parent
    users = {path.relative_to(root).parts[0] for path in root.rglob("*.py") if _imports_sqlite(path)}
    assert users == {"index"}


def _imports_sqlite(path: Path) -> bool:
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom):
            names = [node.module or ""]
        if any(name.split(".")[0] in {"sqlite3", "apsw", "pysqlite3"} for name in names):
            return True
    return False


def _run(path: Path, *statements: str) -> None:
    connection = sqlite3.connect(path)
    with connection:
        for statement in statements:
            connection.execute(statement)
    connection.close()


def test_a_file_of_an_earlier_release_gets_the_column_it_lacks(tmp_path: Path) -> None:
    path = tmp_path / "library.db"
    index = SqliteIndex.open(path, HEADER)
    put(index)
    index.close()
    _run(path, "ALTER TABLE pages DROP COLUMN verbatim")
    again = SqliteIndex.open(path, HEADER)
    identifier = again.documents()[0].id
    assert [page.verbatim for page in again.pages(identifier)] == [False] * len(again.pages(identifier))
    put(again)
    assert all(check.ok for check in again.check(deep=True))
    again.close()
