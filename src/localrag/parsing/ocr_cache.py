"""Pages that were read before, by their picture: a file that is ingested again is not recognised again.

An entry is sealed with a key that only the picture yields. So nothing of a document's text stays readable once the
document itself is gone, and the entries need not be found and deleted with it.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
import zlib
from contextlib import suppress
from pathlib import Path

from localrag.parsing.ocr_page import OcrPage

# Of some 4 KB: 200 MB. Above it the tenth that was not used for longest goes.
_MOST, _KEPT = 50_000, 0.9


class OcrCache:
    """Entries in one folder, which is made when the first is stored. An unusable folder only costs the time saved."""

    def __init__(self, folder: str, *, reader: str, most: int = _MOST) -> None:
        """A cache for what `reader` reads: an engine with its version and language, as others read differently.

        Args:
            folder: where the entries are; empty: nothing is stored or found.
            reader: see above.
            most: entries that are kept, those that were used last.
        """
        self._folder = Path(folder) if folder else None
        self._reader = reader.encode()
        self._most = most

    def get(self, picture: bytes) -> OcrPage | None:
        """What was read on the picture, or None; damaged entries count as absent."""
        if self._folder is None:
            return None
        name, key = self._name_and_key(picture)
        with suppress(OSError, ValueError, TypeError, zlib.error):
            page = OcrPage.from_bytes(zlib.decompress(_sealed((self._folder / name).read_bytes(), key)))
            with suppress(OSError):  # a cache that may only be read
                os.utime(self._folder / name)
            return page
        return None

    def put(self, picture: bytes, page: OcrPage) -> None:
        """Stores what was read on the picture, whole or not at all."""
        if self._folder is None:
            return
        name, key = self._name_and_key(picture)
        with suppress(OSError):  # a full disk or a missing permission: the page was read all the same
            self._folder.mkdir(parents=True, exist_ok=True)
            handle, temporary = tempfile.mkstemp(dir=self._folder, suffix=".new")
            try:
                with os.fdopen(handle, "wb") as file:
                    file.write(_sealed(zlib.compress(page.to_bytes()), key))
                Path(temporary).replace(self._folder / name)
            finally:
                Path(temporary).unlink(missing_ok=True)
            self._prune(self._folder)

    def _prune(self, folder: Path) -> None:
        """Deletes the entries that were not used for longest where there are too many; half-written ones count too."""
        with os.scandir(folder) as found:
            names = [entry.path for entry in found]
        if len(names) > self._most:
            used = {name: Path(name).stat().st_mtime_ns for name in names}
            for name in sorted(names, key=used.__getitem__)[: len(names) - int(_KEPT * self._most)]:
                Path(name).unlink(missing_ok=True)

    def _name_and_key(self, picture: bytes) -> tuple[str, bytes]:
        digest = hashlib.sha256(self._reader + b"\0" + hashlib.sha256(picture).digest()).digest()
        return hashlib.sha256(b"name" + digest).hexdigest(), hashlib.sha256(b"key" + digest).digest()


def _sealed(data: bytes, key: bytes) -> bytes:
    """The bytes under a pad that the key yields; sealed bytes are opened by the same. A key seals one content only."""
    pad = hashlib.shake_256(key).digest(len(data))
    return (int.from_bytes(data) ^ int.from_bytes(pad)).to_bytes(len(data))
