"""What `localrag health` says of the tools for reading."""

from __future__ import annotations

import pytest

from localrag.parsing.source import Tools
from localrag.parsing.tool_checks import tool_checks


@pytest.mark.parametrize(
    ("tools", "ok", "detail"),
    [
        (Tools(), True, "the engine that comes with localrag (PP-OCRv6 small)"),
        (Tools(ocr_language="deu"), True, "the engine that comes with localrag (PP-OCRv6 small), deu"),
        (Tools(ocr="off", ocr_language="deu"), True, "off: pages that are pictures are not read"),
        (Tools(ocr_language="rus", tesseract="/usr/bin/tesseract"), True, "Tesseract at /usr/bin/tesseract, rus"),
        (
            Tools(ocr="tesseract"),
            False,
            "Tesseract is asked for and not installed: pages that are pictures are not read",
        ),
    ],
)
def test_the_engine_that_reads_pictures_is_named(tools: Tools, ok: bool, detail: str) -> None:
    check = tool_checks(tools)[0]
    assert (check.name, check.ok, check.detail) == ("text recognition", ok, detail)
    assert bool(check.hint) is not ok


def test_libreoffice_is_named_and_its_lack_is_no_fault() -> None:
    there, gone = tool_checks(Tools(soffice="/usr/bin/soffice"))[1], tool_checks(Tools())[1]
    assert (there.name, there.ok, there.detail) == ("LibreOffice", True, "/usr/bin/soffice")
    assert gone.ok
    assert gone.detail == "not installed: Word and PowerPoint files from before 2007 (doc, ppt) are not read"
