"""Rich text files (rtf): headings, lists, tables, notes, comments and text boxes, by page where the file tells it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

from localrag.errors import EmptyDocument, UnreadableDocument
from localrag.parsing.lists import Nesting
from localrag.parsing.malformed import unreadable
from localrag.parsing.printed_pages import AUTHORED_BREAK, RENDERED_BREAK, PageCollector, as_text, is_page_number
from localrag.parsing.rtf import RichTextReader, joined
from localrag.parsing.rtf_tables import RtfTable
from localrag.parsing.source import Source
from localrag.types import Page, ParsedDocument

MEDIA_TYPE = "application/rtf"

# Groups whose text stands elsewhere than where it is written, by the word they begin with.
_ASIDES = {"footnote": "note", "annotation": "comment", "atnauthor": "author", "shptxt": "box", "dptxbxtext": "box",
           "listtext": "marker", "pntext": "marker",
           "header": "header", "headerl": "header", "headerr": "header", "headerf": "header",
           "footer": "footer", "footerl": "footer", "footerr": "footer", "footerf": "footer"}  # fmt: skip
# Drawings hold text boxes; what else is in them are words of formatting.
_DRAWINGS = frozenset({"shpinst", "do"})
_HEADING_STYLE = re.compile(
    r"(?:heading|überschrift|titre|título|titolo|kop|rubrik|overskrift|заголовок) ?([1-9])", re.IGNORECASE
)
_BODY_OUTLINE = 9  # outline levels count from 0; this one says that a paragraph is no heading
_NUMBER = re.compile(r"[(\[]?\w{1,6}([.-]\w{1,4})*[.):\]]*")


# Page breaks are marked by these characters, which therefore may not come from the text.
_NO_BREAKS = re.compile(f"[{AUTHORED_BREAK}{RENDERED_BREAK}]")
_NO_BREAK_BYTES = bytes.maketrans((AUTHORED_BREAK + RENDERED_BREAK).encode(), b"  ")


@dataclass(frozen=True, slots=True)
class _Look:
    """What a group inherits beside RichTextReader's own state, and what ends with it."""

    style: int = 0
    outline: int | None = None
    level: int = 0  # of a list
    listed: bool = False
    in_table: bool = False
    breaks_before: bool = False
    hidden: bool = False
    deleted: bool = False
    part: str = ""  # "info" or "stylesheet" inside those


_CHANGES: dict[str, Callable[[_Look, int | None], _Look]] = {
    "pard": lambda look, _: _Look(hidden=look.hidden, deleted=look.deleted, part=look.part),
    "plain": lambda look, _: replace(look, hidden=False, deleted=False),
    "info": lambda look, _: replace(look, part="info"),
    "stylesheet": lambda look, _: replace(look, part="stylesheet"),
    "s": lambda look, number: replace(look, style=number or 0),
    "outlinelevel": lambda look, number: replace(look, outline=number),
    "ls": lambda look, number: replace(look, listed=number != 0),
    "ilvl": lambda look, number: replace(look, level=number or 0),
    "intbl": lambda look, number: replace(look, in_table=number != 0),
    "pagebb": lambda look, number: replace(look, breaks_before=number != 0),
    "v": lambda look, number: replace(look, hidden=number != 0),
    "deleted": lambda look, number: replace(look, deleted=number != 0),
}
# These matter to RichTextReader too.
_PASSED_ON = frozenset({"plain", "info", "stylesheet"})


@dataclass(frozen=True, slots=True)
class _Aside:
    """An open group of _ASIDES: how deep it lies, and where the text around it goes on."""

    kind: str
    depth: int
    around: list[str]
    number: int = 0


@dataclass(slots=True)
class _Loose:
    """What waits for the end of the paragraph that it hangs on."""

    notes: list[str] = field(default_factory=list)
    comments: list[str] = field(default_factory=list)
    marker: str | None = None  # "" for a bullet
    author: str = ""


def read(source: Source) -> ParsedDocument:
    """The document as its reader sees it with all changes accepted; notes at the foot of the page that cites them.

    Raises:
        EmptyDocument, UnreadableDocument
    """
    data = source.read_bytes()
    if not data.lstrip().startswith(b"{\\rtf"):
        raise UnreadableDocument(f"{source.name} is not a rich text file.", path=source.name, hint="Save it again.")
    with unreadable(source, "rich text file"):
        reader = _DocumentReader()
        is_html = reader.read(data).is_html
        pages = _html_pages(data) if is_html else reader.finished()
    if not pages and reader.stack:
        raise UnreadableDocument(
            f"{source.name} is damaged: its groups do not end, and no text is outside them.",
            path=source.name,
            hint="Open it in the program that made it, save it again, and retry.",
        )
    if not pages:
        raise EmptyDocument(f"{source.name} holds no text.", path=source.name, hint="Nothing to index.")
    warnings = ("The file ends too early: it may be cut off.",) if reader.stack else ()
    return ParsedDocument(media_type=MEDIA_TYPE, pages=tuple(pages), title=reader.title or None, warnings=warnings)


def _html_pages(data: bytes) -> list[Page]:
    """The page that Outlook wrapped into the file."""
    from localrag.parsing.html_fragment import html_to_markdown
    from localrag.parsing.rtf import read_rich_text

    markdown = html_to_markdown(read_rich_text(data).text)
    return [Page(ordinal=1, markdown=markdown)] if markdown else []


class _DocumentReader(RichTextReader):
    """Sorts the text into paragraphs, tables and asides. `pieces` is the text of the innermost open one."""

    def __init__(self) -> None:
        super().__init__()
        self.title = ""
        self._look = _Look()
        self._looks: list[_Look] = []
        self._asides: list[_Aside] = []
        self._levels: dict[int, int] = {}  # style -> level of heading
        self._collector = PageCollector()
        self._nesting = Nesting()
        self._table = RtfTable()
        self._loose = _Loose()
        self._running: dict[str, list[str]] = {"header": [], "footer": []}
        self._note_count = 0
        self._noted_pages = 0
        self._section_ended = False

    def finished(self) -> list[Page]:
        """The pages, once everything was read."""
        while self._asides:
            self._end_aside(self._asides.pop())
        self._look = replace(self._look, in_table=False)
        self._end_paragraph()
        self._end_table()
        self._collector.add_to_first(self._running["header"], self._running["footer"])
        return self._collector.pages(self._noted_pages)

    def _brace(self, brace: bytes) -> None:
        if brace == b"{":
            self._looks.append(self._look)
        super()._brace(brace)
        if brace == b"}" and self._looks:
            while self._asides and self._asides[-1].depth > len(self.stack):
                self._end_aside(self._asides.pop())
            self._look = self._looks.pop()

    def _word(self, word: str, number: int | None) -> None:
        taken = self._begin_aside(word, number) or self._describe(word, number)
        if not taken and self._is_shown() and not self._asides:
            taken = self._structure(word)
        if taken:
            self.star = False
        else:
            super()._word(word, number)

    def _is_shown(self) -> bool:
        return super()._is_shown() and not self._look.hidden and not self._look.deleted

    def _begin_aside(self, word: str, number: int | None) -> bool:
        """Opens the aside that the word begins, if it begins one."""
        kind = _ASIDES.get(word, "")
        if self._look.part == "info" and word == "title":
            kind = "title"
        elif self._look.part == "stylesheet" and word == "s" and not self.star:
            kind = "style"
        elif not kind or not self._is_shown():
            return False
        self._flush()
        if kind == "note":
            self._note_count += 1
            self.pieces.append(f"[^{self._note_count}]")
        own = self._note_count if kind == "note" else number or 0
        self._asides.append(_Aside(kind=kind, depth=len(self.stack), around=self.pieces, number=own))
        self.pieces = []
        self.state = replace(self.state, skip=False)
        if kind not in ("title", "style"):
            self._look = _Look()
        return True

    def _end_aside(self, aside: _Aside) -> None:
        self._flush()
        text = joined("".join(self.pieces))
        lines = [line for raw in text.split("\n") if (line := " ".join(raw.split()))]
        line = " ".join(lines)
        self.pieces = aside.around
        match aside.kind:
            case "note":
                self._loose.notes.append(f"[^{aside.number}]: {line}")
            case "comment" if line:
                by = f" by {self._loose.author}" if self._loose.author else ""
                self._loose.comments.append(f"> Comment{by}: {line}")
            case "author":
                self._loose.author = line
            case "marker":
                self._loose.marker = _number(line)
            case "box":
                for text in lines:
                    self._collector.add(as_text(text))
            case "title":
                self.title = line
            case "style":
                self._note_style(aside.number, line.rstrip(";"))
            case "header" | "footer" if line and not is_page_number(line) and line not in self._running[aside.kind]:
                self._running[aside.kind].append(line)

    def _note_style(self, number: int, name: str) -> None:
        named = _HEADING_STYLE.match(name)
        outline = self._look.outline
        if outline is not None and outline < _BODY_OUTLINE:
            self._levels[number] = outline + 1
        elif named:
            self._levels[number] = int(named[1])
        elif name.lower() == "title":
            self._levels[number] = 1

    def _describe(self, word: str, number: int | None) -> bool:
        """Takes in a word that says how what follows looks."""
        if word == "nofpages":
            self._noted_pages = number or 0
            return True
        if word in _DRAWINGS:
            return True
        change = _CHANGES.get(word)
        if change is None:
            return False
        self._look = change(self._look, number)
        return word not in _PASSED_ON

    def _structure(self, word: str) -> bool:
        """Ends what the word ends, if it ends something."""
        match word:
            case "par":
                self._end_paragraph()
            case "sect":
                self._end_paragraph()
                self._section_ended = True
            case "sbknone":
                self._section_ended = False
            case "page":
                super()._text(AUTHORED_BREAK)
            case "cell":
                self._table.add_text(self._taken())
                self._table.end_cell()
            case "row":
                self._table.end_row()
            case "nestcell" | "nestrow":
                self._text(", " if word == "nestcell" else "; ")
            case "trowd" | "clvmrg" | "clmrg" | "cellx":
                self._table.define(word)
            case "chftn":
                pass  # the number of a note, which is written by where it begins
            case _:
                return False
        return True

    def _text(self, text: str) -> None:
        super()._text(_NO_BREAKS.sub(" ", text))

    def _bytes(self, data: bytes) -> None:
        super()._bytes(data.translate(_NO_BREAK_BYTES))

    def _taken(self) -> str:
        """The text gathered since the last paragraph ended."""
        self._flush()
        text = joined("".join(self.pieces)).strip(" \t\n")
        self.pieces.clear()
        return text

    def _end_paragraph(self) -> None:
        text = self._taken()
        if self._look.in_table or self._table.is_open:
            self._table.add_text(text)
            return
        self._end_table()
        marker, self._loose.marker = self._loose.marker, None
        if text:
            if self._section_ended or self._look.breaks_before:
                self._collector.page_break(AUTHORED_BREAK)
                self._section_ended = False
            self._put(text, marker)
        self._put_loose()

    def _put(self, text: str, marker: str | None) -> None:
        look = self._look
        level = look.outline + 1 if look.outline is not None else self._levels.get(look.style, 0)
        if 0 < level <= _BODY_OUTLINE and text.strip(AUTHORED_BREAK):
            self._nesting.close()
            for piece in _broken(text):
                if piece == AUTHORED_BREAK:
                    self._collector.page_break(AUTHORED_BREAK)
                else:
                    self._collector.add_heading(f"{marker or ''} {piece}", level)
        elif marker is not None or look.listed:
            self._collector.add_item(text, marker or "", self._nesting.depth(look.level))
        else:
            self._nesting.close()
            self._collector.add(as_text(text))

    def _put_loose(self) -> None:
        for comment in self._loose.comments:
            self._collector.add(comment)
        for note in self._loose.notes:
            self._collector.add_note(note)
        self._loose.comments, self._loose.notes = [], []

    def _end_table(self) -> None:
        blocks = list(self._table.take())
        for block in blocks:
            self._nesting.close()
            self._collector.add(block if block.startswith("| ") else as_text(block))
        if blocks:
            self._put_loose()


def _broken(text: str) -> Iterator[str]:
    return (piece for piece in re.split(f"({AUTHORED_BREAK})", text) if piece.strip(" \n"))


def _number(marker: str) -> str:
    """What numbers a list's item; "" for a bullet: a lone letter is one as well, drawn in a font of symbols."""
    text = marker.strip()
    return "" if len(text) == 1 and not text.isdigit() else text if _NUMBER.fullmatch(text) else ""
