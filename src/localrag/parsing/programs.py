"""Programs that readers use where they are installed. The parent finds them, as children have a bare PATH."""

from __future__ import annotations

import shutil
from pathlib import Path

# Installers on macOS and Windows put LibreOffice where no PATH leads.
_SOFFICE_PLACES = (
    Path("/Applications/LibreOffice.app/Contents/MacOS/soffice"),
    Path("C:/Program Files/LibreOffice/program/soffice.com"),
)
_TESSERACT_PLACES = (Path("C:/Program Files/Tesseract-OCR/tesseract.exe"),)


def find_soffice() -> str:
    """Path of LibreOffice's command; empty when it is not installed."""
    return _find(("soffice", "libreoffice"), _SOFFICE_PLACES)


def find_tesseract() -> str:
    """Path of Tesseract's command; empty when it is not installed."""
    return _find(("tesseract",), _TESSERACT_PLACES)


def _find(names: tuple[str, ...], places: tuple[Path, ...]) -> str:
    found = (shutil.which(name) for name in names)
    return next(filter(None, found), "") or next((str(place) for place in places if place.is_file()), "")
