"""The Markdown of each document as files, so that a user can see what the index sees.

`markdown/{content_hash}.md` for a document of one page, `markdown/{content_hash}/page_NNN.md` otherwise. The
files are for reading only: the index holds the same text and never reads them back.
"""

from __future__ import annotations

import shutil
import time
import uuid
from collections.abc import Collection, Sequence
from contextlib import suppress
from pathlib import Path

from localrag.library.files import make_folder, write_atomically, write_unseen
from localrag.types import Page

# Hidden: what a kill leaves behind looks like no document, and `sweep` takes it away.
_PART = ".part-"


class MarkdownFiles:
    """Writes and removes the Markdown of a document version."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def write(self, content_hash: str, pages: Sequence[Page]) -> None:
        """Puts the pages on disk in place of any earlier ones of the same bytes, all at once.

        Another process may be writing the same bytes' pages: then either's stay, whole.

        Raises:
            StorageFullError: no space, or no permission.
        """
        if len(pages) == 1:
            write_atomically(self._folder / f"{content_hash}.md", _encode(pages[0]))
            shutil.rmtree(self._folder / content_hash, ignore_errors=True)
            return
        part = self._folder / f"{_PART}{uuid.uuid4().hex}"
        try:
            make_folder(part)
            for page in pages:
                # Not flushed one by one: 3,000 pages took half a minute, and the index holds the same text.
                write_unseen(part / f"page_{page.ordinal:03d}.md", _encode(page))
            self.remove(content_hash)
            with suppress(OSError):  # another process was faster, and its pages are of the same bytes
                part.rename(self._folder / content_hash)
        finally:
            shutil.rmtree(part, ignore_errors=True)

    def missing(self, content_hash: str) -> bool:
        """Whether this version has no files, as after a kill between the commit and the writing."""
        return not (self._folder / f"{content_hash}.md").exists() and not (self._folder / content_hash).exists()

    def sweep(self, known: Collection[str], *, older_than_s: float = 3600.0) -> int:
        """Removes files of versions that are not known any more and returns how many there were.

        Young ones stay: another process may be about to commit them.
        """
        if not self._folder.is_dir():
            return 0
        oldest = time.time() - older_than_s
        stale = [entry.stem for entry in self._folder.iterdir() if entry.stem not in known and _older(entry, oldest)]
        for content_hash in stale:
            self.remove(content_hash)
        return len(stale)

    def remove(self, content_hash: str) -> None:
        """Removes the files of this version, if there are any."""
        (self._folder / f"{content_hash}.md").unlink(missing_ok=True)
        shutil.rmtree(self._folder / content_hash, ignore_errors=True)


def _older(entry: Path, oldest: float) -> bool:
    try:
        return entry.stat().st_mtime < oldest
    except OSError:  # another process has just removed or replaced it
        return False


def _encode(page: Page) -> bytes:
    heading = f"<!-- {page.label.replace('--', '- -')} -->\n\n" if page.label else ""
    return (heading + page.markdown).encode("utf-8", "replace")
