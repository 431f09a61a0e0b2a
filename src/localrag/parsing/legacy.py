"""Word and PowerPoint files of 1997 to 2003 -> Markdown, through LibreOffice and our readers of what it makes of them.

LibreOffice runs inside the parser process's limits: its memory, its clock, its network that leads nowhere. It gets a
profile of its own, so that it neither meets nor disturbs the user's, in which macros and links to other files are off.
"""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
import tempfile
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from localrag.errors import EncryptedDocument, UnreadableDocument, UnsupportedDocument
from localrag.parsing.malformed import unreadable
from localrag.parsing.source import Source
from localrag.types import ParsedDocument


@dataclass(frozen=True, slots=True)
class _Kind:
    what: str
    old: str
    new: str
    filter: str


_WORD = _Kind("Word 97-2003 document", "doc", "docx", "MS Word 2007 XML")
_POWERPOINT = _Kind("PowerPoint 97-2003 presentation", "ppt", "pptx", "Impress MS PowerPoint 2007 XML")
_KINDS = {"application/msword": _WORD, "application/vnd.ms-powerpoint": _POWERPOINT}

# Word's header says it in a bit, PowerPoint's in the token that the current user's record begins with.
_WORD_FLAGS_AT, _WORD_ENCRYPTED = 10, 0x0100
_POWERPOINT_TOKEN_AT, _POWERPOINT_ENCRYPTED = 12, b"\xdf\xc4\xd1\xf3"

_SETTINGS = (
    ("org.openoffice.Office.Common/Security/Scripting", "DisableMacrosExecution", "true"),
    ("org.openoffice.Office.Common/Security/Scripting", "MacroSecurityLevel", "3"),
    ("org.openoffice.Office.Common/Security/Scripting", "BlockUntrustedRefererLinks", "true"),
    ("org.openoffice.Office.Writer/Content/Update", "Link", "0"),
    # A proxy that answers nothing, for systems where the process keeps its network.
    ("org.openoffice.Inet/Settings", "ooInetProxyType", "2"),
    ("org.openoffice.Inet/Settings", "ooInetHTTPProxyName", "127.0.0.1"),
    ("org.openoffice.Inet/Settings", "ooInetHTTPProxyPort", "9"),
    ("org.openoffice.Inet/Settings", "ooInetHTTPSProxyName", "127.0.0.1"),
    ("org.openoffice.Inet/Settings", "ooInetHTTPSProxyPort", "9"),
)


def read(source: Source) -> ParsedDocument:
    """The document as the reader of its modern form sees it.

    Raises:
        UnsupportedDocument: LibreOffice is not installed.
        EncryptedDocument: a password is needed.
        UnreadableDocument: LibreOffice cannot open it, or fails.
    """
    kind = _KINDS[source.media_type]
    with unreadable(source, kind.what):
        encrypted = _is_encrypted(source.path, kind)
    if encrypted:
        raise EncryptedDocument(
            f"{source.name} is encrypted: a password is needed to read it.",
            path=source.name,
            hint="Save a copy without a password and add that.",
        )
    if not source.tools.soffice:
        raise UnsupportedDocument(
            f"{source.name} is a {kind.what}, which is read with the help of LibreOffice, and that is not installed.",
            path=source.name,
            hint=f"Install LibreOffice and ingest it again, or save it as .{kind.new} and add that file.",
        )
    with tempfile.TemporaryDirectory(prefix="localrag-") as folder:
        converted = _converted(source, kind, Path(folder))
        document = source.read_child(converted, source.name)
    return replace(document, media_type=source.media_type)


def _is_encrypted(path: Path, kind: _Kind) -> bool:
    import olefile  # deferred: only files with the OLE signature need it

    with olefile.OleFileIO(path) as container:
        if kind is _WORD:
            header = container.openstream("WordDocument").read(_WORD_FLAGS_AT + 2)
            return bool(int.from_bytes(header[_WORD_FLAGS_AT:], "little") & _WORD_ENCRYPTED)
        if not container.exists("Current User"):
            return False
        record = container.openstream("Current User").read(_POWERPOINT_TOKEN_AT + 4)
        return bool(record[_POWERPOINT_TOKEN_AT:] == _POWERPOINT_ENCRYPTED)


def _converted(source: Source, kind: _Kind, folder: Path) -> bytes:
    """The modern file that LibreOffice makes of the old one."""
    profile = folder / "profile"
    (profile / "user").mkdir(parents=True)
    (profile / "user" / "registrymodifications.xcu").write_text(_profile(), encoding="utf-8")
    original, made = folder / f"original.{kind.old}", folder / "made" / f"original.{kind.new}"
    shutil.copyfile(source.path, original)
    command = [
        source.tools.soffice,
        "--headless", "--norestore", "--nolockcheck", "--nodefault", "--nofirststartwizard",
        f"-env:UserInstallation={profile.as_uri()}",
        "--convert-to", f"{kind.new}:{kind.filter}", "--outdir", str(made.parent), str(original),
    ]  # fmt: skip
    # No limit of its own here: the parent ends this process and all it started, at the file's wall clock.
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=False, cwd=folder)
    except OSError as error:
        raise _failed(source, kind, f"it does not start: {error.strerror or error}") from error
    if not made.is_file() or not made.stat().st_size:
        said = " ".join(done.stderr.decode(errors="replace").split()).replace(str(original), source.name)
        raise _failed(source, kind, f"it ended with {_status(done.returncode)}{': ' if said else ''}{said[:160]}")
    return made.read_bytes()


def _profile() -> str:
    items = "".join(
        f'<item oor:path="/{path}"><prop oor:name="{name}" oor:op="fuse"><value>{value}</value></prop></item>'
        for path, name, value in _SETTINGS
    )
    return f'<oor:items xmlns:oor="http://openoffice.org/2001/registry">{items}</oor:items>'


def _failed(source: Source, kind: _Kind, reason: str) -> UnreadableDocument:
    return UnreadableDocument(
        f"{source.name} could not be read: LibreOffice did not convert it ({reason}).",
        path=source.name,
        hint=f"Open it in its program, save it as .{kind.new} and add that file.",
    )


def _status(code: int) -> str:
    # A shell between us and the program tells of a signal as 128 and its number.
    number = -code if code < 0 else code - 128
    with suppress(ValueError):  # no signal has that number
        if number > 0 and sys.platform != "win32":
            return signal.Signals(number).name
    return f"status {code} and no document"
