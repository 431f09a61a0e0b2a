"""Foreign text made harmless: all that comes from documents, file names and the model is shown through this module.

The text is parsed as CommonMark with tables and written anew from its syntax tree, so that the page only ever sees
structure of our own making. Raw HTML, links, images, LaTeX, colour directives, icons and emoji codes come out as
the characters they are written with; paragraphs, lists, emphasis, quotes, code and tables keep working.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Literal, TypeAlias

from markdown_it import MarkdownIt
from markdown_it.tree import SyntaxTreeNode

HighlightKind: TypeAlias = Literal["quote", "unsupported"]

_STYLE: dict[HighlightKind, str] = {"quote": "yellow-background", "unsupported": "orange-background"}

# Signs of ours inside the text while it is parsed: noncharacters, which no text may hold (Unicode 23.7).
_START: dict[HighlightKind, str] = {"quote": "\ufdd0", "unsupported": "\ufdd1"}
_END = "\ufdd2"
_BADGE_OPEN, _BADGE_CLOSE = "\ufdd3", "\ufdd4"
_SIGNS = re.compile("[\ufdd0-\ufdef]")
_KIND_OF: dict[str, HighlightKind] = {sign: kind for kind, sign in _START.items()}

_ALWAYS_ACTIVE = re.compile(r"([\\`*_{}\[\]<>|~$:&#^])")
_ACTIVE_AT_START = re.compile(r"^(\s*)([-+=]|\d+(?=[.)]))")
_JOINER = "\N{WORD JOINER}"  # zero width; it parts what the page would turn into something after parsing
_SHORTCODE = re.compile(r":(?=[\w+\-/]+:)")
_TYPOGRAPHY = re.compile(r"(?<!\S)(<->|->|<-|--|>=|<=|~=)(?!\S)")
_ADDRESS = re.compile(
    r"(?:[a-z][a-z0-9+.\-]*://|www\.)[^\s<>`\ufdd0-\ufdef]*[^\s<>`.,;:!?'\")\]}*_~\ufdd0-\ufdef]"
    r"|(?:mailto:|xmpp:)?[\w.+\-]+@[\w\-]+(?:\.[\w\-]+)+",
    re.IGNORECASE,
)
_AUTOLINK = re.compile(r"(?<=:)(?=//)|(?<=www)(?=\.)|(?<=@)(?=[-\w])", re.IGNORECASE)
_SIGN = f"{_BADGE_OPEN}(\\d+){_BADGE_CLOSE}|([{''.join(_START.values())}{_END}])"
_OUR_SIGNS = re.compile(_SIGN)
_PIECE = re.compile(f"{_SIGN}|({_ADDRESS.pattern})", re.IGNORECASE)
_EDGE = re.compile(r"[\s#>*_~`|+\-]+")
_MAX_ADDRESS_CHARS = 200
_MAX_NESTING = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Highlight:
    """A half-open span of the text to be coloured."""

    start: int
    end: int
    kind: HighlightKind = "quote"


def render_safe(markdown: str, *, highlights: Sequence[Highlight] = (), badges: Sequence[str] = ()) -> str:
    """Markdown for `st.markdown` that reads as the given text and can neither fetch, link nor run anything.

    Args:
        markdown: text from a document, a file name or the model.
        highlights: spans of it to colour; they may cross inline structure, and must not overlap.
        badges: citation markers, verbatim; each occurrence is shown as a badge.
    """
    marked = _with_badges(_with_highlights(_SIGNS.sub("\ufffd", markdown), highlights), badges)
    return _Writer(badges).document(SyntaxTreeNode(_parser().parse(marked)))


def plain(text: str) -> str:
    """One line of Markdown that shows the text literally: for labels, names and messages."""
    return _literal(" ".join(_SIGNS.sub("\ufffd", text).split()))


def badge(text: str, colour: Literal["blue", "green", "orange", "red", "gray"] = "gray") -> str:
    """The text as a small coloured badge."""
    return f":{colour}-badge[{_inert(' '.join(_SIGNS.sub('', text).split()))}]"


class _Parser(MarkdownIt):
    """A parser that keeps the addresses of links as they are written: they are shown, never followed."""

    def normalizeLink(self, url: str) -> str:
        return url

    def validateLink(self, url: str) -> bool:
        del url
        return True


@cache
def _parser() -> MarkdownIt:
    """CommonMark with tables and strikethrough; HTML is text."""
    parser = _Parser("commonmark", {"html": False, "maxNesting": _MAX_NESTING})
    return parser.enable(["table", "strikethrough"])


# ------------------------------------------------------------------- before parsing


def _with_highlights(text: str, highlights: Sequence[Highlight]) -> str:
    """The text with our signs around each span, moved inwards past marks that would be broken by them."""
    parts: list[str] = []
    position = 0
    for highlight in sorted(highlights, key=lambda item: item.start):
        start, end = _trimmed(text, max(highlight.start, position), min(highlight.end, len(text)))
        if start < end:
            parts += [text[position:start], _START[highlight.kind], text[start:end], _END]
            position = end
    return "".join([*parts, text[position:]])


def _trimmed(text: str, start: int, end: int) -> tuple[int, int]:
    if start < end and (lead := _EDGE.match(text, start, end)):
        start = lead.end()
    while end > start and _EDGE.fullmatch(text[end - 1]):
        end -= 1
    return start, end


def _with_badges(text: str, badges: Sequence[str]) -> str:
    """The text with every marker replaced by its number, so that nothing in a file name is taken for Markdown."""
    numbers = {marker: number for number, marker in reversed(list(enumerate(badges))) if marker}
    if not numbers:
        return text
    longest_first = sorted(numbers, key=len, reverse=True)
    pattern = re.compile("|".join(map(re.escape, longest_first)))
    return pattern.sub(lambda found: f"{_BADGE_OPEN}{numbers[found[0]]}{_BADGE_CLOSE}", text)


# ------------------------------------------------------------------------ literal text


def _inert(text: str) -> str:
    """The text with every character escaped that could start structure, now or after parsing."""
    text = _AUTOLINK.sub(_JOINER, text)
    text = _SHORTCODE.sub(f":{_JOINER}", text)
    text = _TYPOGRAPHY.sub(rf"\1{_JOINER}", text)
    text = _ALWAYS_ACTIVE.sub(r"\\\1", text)
    return _ACTIVE_AT_START.sub(_escaped_start, text)


def _escaped_start(found: re.Match[str]) -> str:
    """`- a` and `1. a` at the start of a line are no list."""
    space, mark = found.groups()
    return f"{space}{mark}\\" if mark.isdigit() else f"{space}\\{mark}"


def _literal(text: str) -> str:
    """The text escaped, addresses in it as code so that they stay exact, can be copied and are no links."""
    parts: list[str] = []
    position = 0
    for found in _ADDRESS.finditer(text):
        parts += [_inert(text[position : found.start()]), _code(found[0])]
        position = found.end()
    return "".join([*parts, _inert(text[position:])])


def _code(text: str) -> str:
    """An inline code span that shows the text."""
    text = " ".join(text.split()).replace(":material/", f":{_JOINER}material/")
    if not text:
        return ""
    fence = "`" * (_longest_run(text, "`") + 1)
    pad = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{fence}{pad}{text}{pad}{fence}"


def _longest_run(text: str, character: str) -> int:
    return max((len(run) for run in re.findall(f"{re.escape(character)}+", text)), default=0)


def _shortened(address: str) -> str:
    return address if len(address) <= _MAX_ADDRESS_CHARS else f"{address[:_MAX_ADDRESS_CHARS]}…"


# ----------------------------------------------------------------------- the writer


class _Writer:
    """Writes a syntax tree as Markdown. `_highlight` is the span that the text written next lies in."""

    def __init__(self, badges: Sequence[str]) -> None:
        self._badges = badges
        self._highlight: HighlightKind | None = None
        self._in_heading = False
        self._in_table = False

    def document(self, root: SyntaxTreeNode) -> str:
        return "\n\n".join(self._blocks(root))

    # Blocks. Each is a string of whole lines without indentation.

    def _blocks(self, parent: SyntaxTreeNode) -> Iterator[str]:
        for node in parent.children:
            written = self._block(node)
            if written:
                yield written

    def _block(self, node: SyntaxTreeNode) -> str:
        writers: dict[str, Callable[[SyntaxTreeNode], str]] = {
            "paragraph": self._paragraph,
            "heading": self._heading,
            "blockquote": self._blockquote,
            "bullet_list": self._list,
            "ordered_list": self._list,
            "fence": self._code_block,
            "code_block": self._code_block,
            "table": self._table,
            "hr": lambda _: "***",
        }
        writer = writers.get(node.type)
        return writer(node) if writer else _inert(self._without_signs(node.content))

    def _paragraph(self, node: SyntaxTreeNode) -> str:
        return self._children(node)

    def _heading(self, node: SyntaxTreeNode) -> str:
        """Bold text: a heading of a passage must not outgrow those of the page, nor bring an anchor link."""
        self._in_heading = True
        text = self._children(node).strip()
        self._in_heading = False
        return f"**{text}**" if text else ""

    def _blockquote(self, node: SyntaxTreeNode) -> str:
        lines = "\n\n".join(self._blocks(node)).split("\n")
        return "\n".join(f"> {line}".rstrip() for line in lines)

    def _list(self, node: SyntaxTreeNode) -> str:
        tight = all(child.hidden for item in node.children for child in item.children if child.type == "paragraph")
        first = int(node.attrs.get("start", 1)) if node.type == "ordered_list" else 0
        items = []
        for offset, item in enumerate(node.children):
            mark = f"{first + offset}{item.markup}" if node.type == "ordered_list" else item.markup
            body = ("\n" if tight else "\n\n").join(self._blocks(item))
            items.append(f"{mark} {_indented(body, len(mark) + 1)}".rstrip())
        return ("\n" if tight else "\n\n").join(items)

    def _code_block(self, node: SyntaxTreeNode) -> str:
        """A code block without a language: some languages are drawn, not shown."""
        text = self._without_signs(node.content).replace(":material/", f":{_JOINER}material/").rstrip("\n")
        fence = "`" * max(3, _longest_run(text, "`") + 1)
        return f"{fence}\n{text}\n{fence}"

    def _table(self, node: SyntaxTreeNode) -> str:
        self._in_table = True
        rows = [[self._cell(cell) for cell in row.children] for part in node.children for row in part.children]
        self._in_table = False
        lines = ["| " + " | ".join(cells) + " |" for cells in rows]
        lines.insert(1, "|" + " --- |" * len(rows[0]))
        return "\n".join(lines)

    def _cell(self, cell: SyntaxTreeNode) -> str:
        return self._children(cell).replace("\n", " ") or " "

    # Inline.

    def _children(self, node: SyntaxTreeNode) -> str:
        return "".join(self._inline(child) for child in node.children)

    def _inline(self, node: SyntaxTreeNode) -> str:
        match node.type:
            case "inline":
                return self._children(node)
            case "text":
                return self._text(node.content)
            case "strong":
                inner = self._children(node)
                return inner if self._in_heading else f"**{inner}**"
            case "em":
                return f"*{self._children(node)}*"
            case "s":
                return f"~~{self._children(node)}~~"
            case "code_inline":
                return self._code_span(node.content)
            case "softbreak":
                return "\n"
            case "hardbreak":
                return "\\\n"
            case "link":
                return self._link(node)
            case "image":
                return self._image(node)
            case _:
                return self._text(node.content)

    def _link(self, node: SyntaxTreeNode) -> str:
        """The link's text, then its address as code unless that is the text."""
        shown = self._children(node)
        address = self._without_signs(str(node.attrs.get("href", "")))
        written = self._code_span(_shortened(address))
        if address.startswith("#") or not written or written == shown:
            return shown
        return f"{shown} ({written})" if shown.strip() else written

    def _image(self, node: SyntaxTreeNode) -> str:
        alt = self._children(node).strip()
        return rf"\[image\: {alt}\]" if alt else r"\[image\]"

    def _code_span(self, text: str) -> str:
        code = _code(self._without_signs(text))
        return code.replace("|", r"\|") if self._in_table else code

    def _text(self, text: str) -> str:
        """Escaped text. Only pure text is coloured: a bracket inside a code span would end the colour early."""
        text = text.replace("\n", " ")
        parts: list[str] = []
        position = 0
        for found in _PIECE.finditer(text):
            parts.append(self._coloured(text[position : found.start()]))
            position = found.end()
            number, sign, address = found.group(1, 2, 3)
            if number is not None:
                parts.append(badge(self._badges[int(number)], "blue"))
            elif sign is not None:
                self._highlight = _KIND_OF.get(sign)
            else:
                parts.append(self._code_span(address))
        return "".join([*parts, self._coloured(text[position:])])

    def _coloured(self, text: str) -> str:
        if not text:
            return ""
        written = _inert(text)
        return f":{_STYLE[self._highlight]}[{written}]" if self._highlight and text.strip() else written

    def _without_signs(self, text: str) -> str:
        """The text as it was before our signs: badges are markers again. Keeps track of the highlight."""

        def replace(found: re.Match[str]) -> str:
            if found[1] is not None:
                return self._badges[int(found[1])]
            self._highlight = _KIND_OF.get(found[0])
            return ""

        return _OUR_SIGNS.sub(replace, text)


def _indented(text: str, width: int) -> str:
    """All lines but the first moved right, blank ones left empty."""
    return re.sub(r"\n(?=[^\n])", "\n" + " " * width, text)
