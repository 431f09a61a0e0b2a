"""What the readers can use on this machine beyond our own code, in the words of `localrag health`."""

from __future__ import annotations

from localrag.parsing.ocr import advice, engine_for
from localrag.parsing.source import Tools
from localrag.types import Check

_ENGINES = {
    "builtin": "the engine that comes with localrag (PP-OCRv6 small)",
    "off": "off: pages that are pictures are not read",
    "missing": "Tesseract is asked for and not installed: pages that are pictures are not read",
}


def tool_checks(tools: Tools) -> list[Check]:
    """Which engine reads pictures of text, and whether LibreOffice is there; its lack is a fact, not a fault."""
    engine = engine_for(tools)
    language = f", {tools.ocr_language}" if tools.ocr_language and engine in ("builtin", "tesseract") else ""
    detail = _ENGINES.get(engine, f"Tesseract at {tools.tesseract}")
    missing = engine == "missing"
    office = tools.soffice or "not installed: Word and PowerPoint files from before 2007 (doc, ppt) are not read"
    return [
        Check(name="text recognition", ok=not missing, detail=detail + language, hint=advice(tools) if missing else ""),
        Check(name="LibreOffice", ok=True, detail=office),
    ]
