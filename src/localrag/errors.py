"""Every error localrag raises on purpose.

    LocalRagError
    ├── SettingsError                a setting is wrong (no retry)
    ├── LabelError                   a tag or collection that cannot be used (no retry)
    ├── DocumentError                one file failed; the batch goes on
    │   ├── UnsupportedDocument      no parser for this type
    │   ├── UnreadableDocument       corrupt, truncated, or no permission
    │   ├── EmptyDocument            nothing to index in it
    │   ├── NeedsOcr                 only pictures of text
    │   ├── EncryptedDocument        a password is needed
    │   ├── DocumentTooLarge         over a size, ratio, depth or output limit
    │   ├── ParseTimeout             the parser hung; a retry seldom helps
    │   └── ParserCrashed            the parser died or ran out of memory
    ├── BackendError                 a service failed (a retry may help)
    │   ├── BackendUnavailable       nothing answers at its address
    │   ├── BackendTimeout           it did not answer in time
    │   └── ModelMissing             it runs, but lacks the model (no retry)
    ├── IndexMismatchError           the index was built with other parameters (no retry)
    ├── IndexCorruptError            the index fails its integrity check (no retry)
    ├── StorageFullError             no space or no permission to write (retry once mended)
    ├── NotFoundError                no such document or page (no retry)
    ├── DatasetError                 a benchmark's files are missing or malformed (no retry)
    └── ModelError                   a model file is missing or damaged (no retry)

Every error carries `kind` (a stable word for JSON), `message` (what failed, on which thing) and `hint`
(what to do next). `retryable` says whether trying again unchanged can help.
"""

from __future__ import annotations

import re
from typing import ClassVar


def without_password(url: str) -> str:
    """The address, or addresses with commas, as a message may show it: `https://user:…@host`."""
    return re.sub(r"(//[^/@:,]*):[^/,]*@", r"\1:…@", url)


class LocalRagError(Exception):
    """Base of all errors raised on purpose."""

    kind: ClassVar[str] = "error"
    retryable: ClassVar[bool] = False

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message} {self.hint}".strip()


class SettingsError(LocalRagError):
    """A setting has a value that cannot be used."""

    kind = "settings"


class LabelError(LocalRagError):
    """A tag or a collection is not written as one."""

    kind = "label"


class DocumentError(LocalRagError):
    """One document could not be read; others are not affected."""

    kind = "document"

    def __init__(self, message: str, *, path: str, hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.path = path


class UnsupportedDocument(DocumentError):
    """No parser reads this type."""

    kind = "unsupported"


class UnreadableDocument(DocumentError):
    """Corrupt, truncated, changed while read, or without read permission."""

    kind = "unreadable"


class EmptyDocument(DocumentError):
    """The file holds no text."""

    kind = "empty"


class NeedsOcr(DocumentError):
    """The file holds only pictures of text."""

    kind = "needs_ocr"


class EncryptedDocument(DocumentError):
    """A password is needed to read it."""

    kind = "encrypted"


class DocumentTooLarge(DocumentError):
    """Over a limit on bytes, compression ratio, nesting, members or text produced."""

    kind = "too_large"


class ParseTimeout(DocumentError):
    """The parser was stopped at its time limit."""

    kind = "timeout"


class ParserCrashed(DocumentError):
    """The parser process died or ran out of memory."""

    kind = "crash"


class BackendError(LocalRagError):
    """A service localrag was told to use failed."""

    kind = "backend"
    retryable = True

    def __init__(self, message: str, *, service: str, url: str, hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.service = service
        self.url = url


class BackendUnavailable(BackendError):
    """Nothing answers at the service's address."""

    kind = "unavailable"


class BackendTimeout(BackendError):
    """The service did not answer in time."""

    kind = "backend_timeout"


class ModelMissing(BackendError):
    """The service runs but does not have the model."""

    kind = "model_missing"
    retryable = False


class IndexMismatchError(LocalRagError):
    """The index was built with other parameters than the settings name.

    can_rebuild: the index for the settings can be made from the text that it holds.
    """

    kind = "index_mismatch"

    def __init__(self, message: str, *, expected: str, found: str, hint: str = "", can_rebuild: bool = False) -> None:
        super().__init__(message, hint=hint)
        self.expected = expected
        self.found = found
        self.can_rebuild = can_rebuild


class IndexCorruptError(LocalRagError):
    """The index file fails its integrity check."""

    kind = "index_corrupt"


class StorageFullError(LocalRagError):
    """The index or data folder cannot be written: disk full, read-only, or no permission."""

    kind = "storage"
    retryable = True


class NotFoundError(LocalRagError):
    """No such document, page or chunk."""

    kind = "not_found"


class DatasetError(LocalRagError):
    """A file of an evaluation data set is missing or holds a line that cannot be used."""

    kind = "dataset"


class ModelError(LocalRagError):
    """A model file is missing, damaged, or not one localrag loads."""

    kind = "model"
