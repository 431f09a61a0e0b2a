"""Word and PowerPoint files before 2007, with scripts in LibreOffice's place: what it does and how it can fail."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import psutil
import pytest

from localrag.errors import DocumentError, EncryptedDocument, ParseTimeout, UnreadableDocument, UnsupportedDocument
from localrag.parsing.dispatch import read_document
from localrag.parsing.isolated import IsolatedParser
from localrag.parsing.source import Limits, Tools
from localrag.types import ParsedDocument

DATA = Path(__file__).parents[2] / "data" / "legacy"
WORD = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
TYPES = "http://schemas.openxmlformats.org/package/2006/content-types"
DOCX = {
    "[Content_Types].xml": f'<Types xmlns="{TYPES}"><Override PartName="/word/document.xml" '
    'ContentType="application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"/></Types>',
    "word/document.xml": f'<w:document xmlns:w="{WORD}"><w:body><w:p><w:r><w:t>The rent is due.</w:t></w:r></w:p>'
    "</w:body></w:document>",
}

Office = Callable[[str], Tools]


@pytest.fixture
def office(tmp_path: Path) -> Office:
    """Makes a LibreOffice that is a shell script; `${10}` is its folder for results and `${11}` the file."""

    def make(script: str) -> Tools:
        program = tmp_path / "soffice"
        program.write_text(f"#!/bin/sh\n{script}\n")
        program.chmod(0o755)
        return Tools(soffice=str(program))

    return make


def read(path: Path, tools: Tools, name: str = "") -> ParsedDocument:
    return read_document(path, name or path.name, Limits(), tools=tools)


def test_what_it_makes_of_the_file_is_read(
    office: Office, zipped: Callable[[str, Mapping[str, str | bytes]], Path], tmp_path: Path
) -> None:
    made = zipped("made.docx", DOCX)
    tools = office(f'echo "$@" > {tmp_path}/asked\nmkdir "${{10}}" && cp {made} "${{10}}/original.docx"')
    parsed = read(DATA / "lease.doc", tools)
    assert [page.markdown for page in parsed.pages] == ["The rent is due."]
    assert parsed.media_type == "application/msword"
    asked = (tmp_path / "asked").read_text()
    assert "--headless" in asked
    assert "--convert-to docx:MS Word 2007 XML" in asked
    assert "-env:UserInstallation=file:///" in asked


def test_the_profile_is_fresh_and_forbids_macros_and_links(office: Office, tmp_path: Path) -> None:
    tools = office(f'cp -r "$(dirname "${{11}}")/profile" {tmp_path}/seen')
    with pytest.raises(UnreadableDocument):
        read(DATA / "budget.ppt", tools)
    settings = (tmp_path / "seen" / "user" / "registrymodifications.xcu").read_text()
    assert '<prop oor:name="DisableMacrosExecution" oor:op="fuse"><value>true</value></prop>' in settings
    assert '<prop oor:name="Link" oor:op="fuse"><value>0</value></prop>' in settings


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        ("exit 3", "status 3 and no document"),
        ("exit 0", "status 0 and no document"),
        ("kill -SEGV $$", "SIGSEGV"),
        ("echo 'source file could not be loaded' >&2", "source file could not be loaded"),
        ('mkdir "${10}"; : > "${10}/original.docx"', "no document"),
        ('mkdir "${10}"; echo not a zip > "${10}/original.docx"', "plain text"),
    ],
)
def test_every_way_it_fails_is_told(office: Office, script: str, reason: str) -> None:
    with pytest.raises(UnreadableDocument) as caught:
        read(DATA / "lease.doc", office(script))
    assert reason in caught.value.message
    assert "lease.doc" in caught.value.message
    assert caught.value.hint


def test_a_program_that_does_not_start_is_told(tmp_path: Path) -> None:
    with pytest.raises(UnreadableDocument, match="it does not start: No such file or directory"):
        read(DATA / "lease.doc", Tools(soffice=str(tmp_path / "gone")))


def test_one_that_hangs_is_ended_with_all_it_started(office: Office, tmp_path: Path) -> None:
    tools = office(f"sleep 60 & echo $! > {tmp_path}/pid; wait")
    began = time.monotonic()
    with IsolatedParser(Limits(timeout_s=3.0), tools=tools) as parser, pytest.raises(ParseTimeout):
        parser.parse(DATA / "lease.doc", name="lease.doc")
    assert time.monotonic() - began < 30
    pid = int((tmp_path / "pid").read_text())
    assert not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE


@pytest.mark.parametrize(("name", "modern"), [("lease.doc", "docx"), ("budget.ppt", "pptx")])
def test_without_it_the_hint_says_what_to_install(name: str, modern: str) -> None:
    with pytest.raises(UnsupportedDocument, match="LibreOffice, and that is not installed") as caught:
        read(DATA / name, Tools())
    assert f"Install LibreOffice and ingest it again, or save it as .{modern}" in caught.value.hint


@pytest.mark.parametrize("name", ["lease", "lease.txt", "lease.docx"])
def test_the_content_tells_what_it_is_not_the_name(name: str) -> None:
    with pytest.raises(UnsupportedDocument, match="Word 97-2003 document"):
        read(DATA / "lease.doc", Tools(), name)


def encrypted_word() -> bytes:
    """Bit 8 of the flags, 10 bytes into Word's header, which begins with its magic number."""
    data = bytearray((DATA / "lease.doc").read_bytes())
    data[data.index(b"\xec\xa5") + 11] |= 1
    return bytes(data)


def encrypted_powerpoint() -> bytes:
    """The token of the current user's record, which is another in encrypted files."""
    data = (DATA / "budget.ppt").read_bytes()
    assert data.count(b"\x5f\xc0\x91\xe3") == 1
    return data.replace(b"\x5f\xc0\x91\xe3", b"\xdf\xc4\xd1\xf3")


@pytest.mark.parametrize("make", [encrypted_word, encrypted_powerpoint])
def test_encrypted_files_are_told_without_starting_it(
    office: Office, tmp_path: Path, make: Callable[[], bytes]
) -> None:
    path = tmp_path / "secret"
    path.write_bytes(make())
    with pytest.raises(EncryptedDocument, match="a password is needed"):
        read(path, office(f"touch {tmp_path}/started"))
    assert not (tmp_path / "started").exists()


def test_damaged_files_are_told(tmp_path: Path) -> None:
    path = tmp_path / "cut.doc"
    path.write_bytes((DATA / "lease.doc").read_bytes()[:2000])
    with pytest.raises(DocumentError) as caught:
        read(path, Tools())
    assert "cut.doc" in caught.value.message


@pytest.mark.libreoffice
def test_libreoffice_reads_word() -> None:
    tools = Tools(soffice=shutil.which("soffice") or "soffice")
    with IsolatedParser(Limits(), tools=tools) as parser:
        (page,) = parser.parse(DATA / "lease.doc", name="lease.doc").pages
    assert page.markdown.startswith("# Lease of the boathouse\n\nThe rent is 1,250 euros a month")
    assert "| Year | Rent |\n| --- | --- |\n| 2027 | 1,300 |" in page.markdown
    assert page.markdown.endswith("Ends with the word heron.")


@pytest.mark.libreoffice
def test_libreoffice_reads_powerpoint() -> None:
    tools = Tools(soffice=shutil.which("soffice") or "soffice")
    with IsolatedParser(Limits(), tools=tools) as parser:
        first, second = parser.parse(DATA / "budget.ppt", name="budget.ppt").pages
    assert first.number == 1
    assert "# Harbour budget" in first.markdown
    assert "Dredging costs 84,000 euros" in first.markdown
    assert second.number == 2
    assert "Ask the pilot." in second.markdown
