"""The types localrag reads, in one table: name, media type, reader, extensions. All lists of types come from here."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Format:
    """A type localrag reads: its name, its media type, the module whose `read` reads it, and its extensions.

    binary: what its files are called, for a type whose bytes begin with a signature; "" for text.
    """

    name: str
    media_type: str
    module: str
    extensions: tuple[str, ...]
    binary: str = ""


def _format(extensions: str, media_type: str, module: str, binary: str = "") -> Format:
    """The row of a type that is named by the first of its extensions."""
    endings = tuple(extensions.split())
    return Format(endings[0], media_type, f"localrag.parsing.{module}", endings, binary)


_OOXML = "application/vnd.openxmlformats-officedocument"
_ODF = "application/vnd.oasis.opendocument"

_DOCUMENTS = (
    _format("pdf", "application/pdf", "pdf", "PDF"),
    _format("docx docm dotx dotm", f"{_OOXML}.wordprocessingml.document", "docx", "Word"),
    _format("pptx pptm ppsx ppsm potx potm", f"{_OOXML}.presentationml.presentation", "pptx", "PowerPoint"),
    _format("xlsx xlsm xltx xltm", f"{_OOXML}.spreadsheetml.sheet", "xlsx", "Excel"),
    _format("xls", "application/vnd.ms-excel", "xls", "Excel"),
    _format("odt ott", f"{_ODF}.text", "odt", "OpenDocument"),
    _format("ods ots", f"{_ODF}.spreadsheet", "ods", "OpenDocument"),
    _format("odp otp", f"{_ODF}.presentation", "odp", "OpenDocument"),
    _format("odg", f"{_ODF}.graphics", "odp", "OpenDocument"),
    _format("rtf", "application/rtf", "rtf_file", "rich text"),
    _format("doc dot", "application/msword", "legacy", "Word"),
    _format("ppt pps pot", "application/vnd.ms-powerpoint", "legacy", "PowerPoint"),
    _format("csv", "text/csv", "delimited"),
    _format("tsv tab", "text/tab-separated-values", "delimited"),
    _format("html htm xhtml shtml", "text/html", "html"),
    _format("json jsonl ndjson geojson", "application/json", "jsonlike"),
    _format("xml", "application/xml", "xmlfile"),
    _format("epub", "application/epub+zip", "epub", "EPUB"),
    _format("ipynb", "application/x-ipynb+json", "ipynb"),
    _format("zip", "application/zip", "zipped", "zip"),
    _format("eml", "message/rfc822", "eml"),
    _format("mbox mbx", "application/mbox", "mbox"),
    _format("vcf vcard", "text/vcard", "vcf"),
    _format("ics ical vcs", "text/calendar", "ics"),
    _format("msg", "application/vnd.ms-outlook", "msg", "Outlook"),
    _format("txt text log", "text/plain", "text"),
    _format("md markdown mdown mkd", "text/markdown", "markdown"),
)
# Text that is read line by line, as it stands, under a media type of its own. `text/x-` says so to whoever reads it.
_MARKUP_AND_SETTINGS = {
    "yaml": "yaml yml", "toml": "toml", "ini": "ini cfg conf properties", "rst": "rst", "asciidoc": "adoc asciidoc",
    "tex": "tex",
}  # fmt: skip
_PROGRAMS = {
    "python": "py pyi", "javascript": "js mjs cjs jsx", "typescript": "ts tsx", "java": "java", "kotlin": "kt kts",
    "scala": "scala", "c": "c h", "c++": "cpp cc cxx hpp hh hxx", "csharp": "cs", "go": "go", "rust": "rs",
    "swift": "swift", "ruby": "rb", "php": "php", "perl": "pl pm", "lua": "lua", "r": "r", "julia": "jl",
    "dart": "dart", "haskell": "hs", "sql": "sql", "shellscript": "sh bash zsh", "powershell": "ps1",
    "batch": "bat cmd", "css": "css scss less", "diff": "diff patch",
}  # fmt: skip


def _verbatim(languages: dict[str, str]) -> tuple[Format, ...]:
    return tuple(_format(endings, f"text/x-{language}", "text") for language, endings in languages.items())


# Pictures of text, which OCR reads; frames of one file are its pages.
_PICTURES = tuple(
    _format(endings, f"image/{kind}", "pictures", "picture")
    for kind, endings in {
        "png": "png", "jpeg": "jpg jpeg jpe", "tiff": "tiff tif", "webp": "webp", "bmp": "bmp", "gif": "gif",
    }.items()
)  # fmt: skip
_CODE = _verbatim(_PROGRAMS)
_ALL = (*_DOCUMENTS, *_PICTURES, *_verbatim(_MARKUP_AND_SETTINGS), *_CODE)

FORMATS = {one.name: one for one in _ALL}
BY_EXTENSION = {ending: one for one in _ALL for ending in one.extensions}


def _shown() -> Iterator[str]:
    for one in _ALL:
        if one not in _CODE:
            yield from one.extensions


# What a hint names: one extension for each type of document.
MAIN_TYPES = " ".join(one.name for one in _DOCUMENTS)
# The whole list, which the README and the upload page show.
SUPPORTED_TYPES = " ".join(_shown()) + " and source code (" + " ".join(e for one in _CODE for e in one.extensions) + ")"
