"""An XML file -> pages of its text, with light structure from its element names.

Elements named like titles become headings, long texts become paragraphs, short ones `name: value` lines, and each
record or section starts anew. Nothing is fetched and no entity is expanded, but for short plain ones that the file
itself declares; what else an entity would have said is left out with a warning.
"""

from __future__ import annotations

import html.entities
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from localrag.errors import DocumentTooLarge, UnreadableDocument
from localrag.parsing.encoding import decode_text
from localrag.parsing.source import Source
from localrag.types import Page, ParsedDocument

_PAGE_CHARS = 6_000
# Apache Tika's maxXmlDepth; libxml2's own limit is 256.
_MAX_DEPTH = 100
# Entities longer than this, or that hold others, are what entity bombs are made of.
_ENTITY_CHARS = 200
_TITLE_CHARS = 300
# A value longer than this is prose and stands as a paragraph without its element's name.
_VALUE_CHARS = 200

_DECLARATION = re.compile(r"^\ufeff?\s*<\?xml\s[^>]*\?>")
_DECLARED = re.compile(rb"""^(?:\xef\xbb\xbf)?\s*<\?xml[^>]*?encoding\s*=\s*["']([\w.:-]+)["']""")
_ENTITY = re.compile(r"&([A-Za-z][A-Za-z0-9]{1,31});")
_DECLARED_ENTITY = re.compile(r"<!ENTITY\s+([\w.:-]+)\s")
# ISO 8879's names for Greek letters, which HTML does not have: agr is alpha, Agr is Alpha.
_GREEK = "a b g d e z ee th i k l m n x o p r s t u ph kh ps oh"
_ISO_GREEK = {
    f"{(latin.capitalize() if capital else latin)}gr": letter.upper() if capital else letter
    for latin, letter in zip(_GREEK.split(), "αβγδεζηθικλμνξοπρστυφχψω", strict=True)
    for capital in (False, True)
}
_PREDEFINED = frozenset({"amp", "lt", "gt", "quot", "apos"})
_TITLES = frozenset({"title", "article-title", "chapter-title", "heading", "headline", "head", "subject-title",
                     "caption-title", "h1", "h2", "h3", "h4", "h5", "h6"})  # fmt: skip
_PROSE = frozenset({"p", "para", "paragraph", "ptext", "abstract", "summary", "description", "body", "content"})
# Attributes that identify or link elements, and say nothing to a reader.
_SILENT_ATTRIBUTES = frozenset({"id", "class", "style", "rid", "href", "idref", "ref-type", "xmlns", "lang", "space"})
# Of an element that holds others, only attributes that name it are kept; the rest is layout and bookkeeping.
_NAMING_ATTRIBUTES = frozenset({"name", "title", "label", "alt", "caption", "description", "value", "key", "text",
                                "date", "n", "number"})  # fmt: skip


def read(source: Source) -> ParsedDocument:
    """The text of every element in pages labelled with the part of the tree they come from."""
    data = source.read_bytes()
    declared = _DECLARED.match(data)
    text, _ = decode_text(data, declared[1].decode("ascii") if declared else None)
    root = _parsed(text.replace("\x00", ""), source.name)
    _strip_wrappers(root)
    walker = _Walker(entities=_plain_entities(root.getroottree()), name=source.name)
    walker.element(root, path="", depth=1, level=1)
    walker.end_block()
    skipped = ", ".join(sorted(walker.skipped)[:10])
    warnings = (f"Entities that were not expanded: {skipped}.",) if skipped else ()
    pages = tuple(_pages(walker.blocks, _local(root)))
    return ParsedDocument(media_type="application/xml", pages=pages, title=walker.title, warnings=warnings)


def _parsed(text: str, name: str) -> Any:
    """The root element of the tree, entities unexpanded."""
    from lxml import etree  # deferred: only XML files need it

    body = _DECLARATION.sub("", text, count=1).strip()
    parser = etree.XMLParser(
        resolve_entities=False, load_dtd=False, no_network=True, huge_tree=False, remove_comments=True, remove_pis=True
    )
    try:
        try:
            return etree.fromstring(body.encode("utf-8", errors="replace"), parser)
        except etree.XMLSyntaxError as error:
            if getattr(error, "code", None) != etree.ErrorTypes.ERR_UNDECLARED_ENTITY:
                raise
            # HTML's entities are what writers mean by those they forgot to declare.
            declared = frozenset(_DECLARED_ENTITY.findall(body)) | _PREDEFINED
            known = _ENTITY.sub(lambda match: match[0] if match[1] in declared else _replacement(match[1]), body)
            return etree.fromstring(known.encode("utf-8", errors="replace"), parser)
    except etree.XMLSyntaxError as error:
        if "depth" in str(error).lower():
            raise _too_deep(name) from error
        raise UnreadableDocument(
            f"{name} is not well-formed XML: {error.msg}.",
            path=name,
            hint="Correct the file there, or rename it to .txt to have it read as plain text.",
        ) from error


def _replacement(name: str) -> str:
    """The character of a well-known entity; for others its name, as text."""
    return _known_entity(name) or f"&amp;{name};"


def _known_entity(name: str) -> str | None:
    return html.entities.html5.get(f"{name};") or _ISO_GREEK.get(name)


def _too_deep(name: str) -> DocumentTooLarge:
    return DocumentTooLarge(
        f"{name} nests elements more than {_MAX_DEPTH} levels deep.", path=name, hint="Flatten the XML and try again."
    )


# A wrapper is seen under at least this many kinds of parents ...
_WRAPPER_PARENTS = 5
# ... and mostly is all its parent holds.
_WRAPPER_ALONE = 0.5


def _strip_wrappers(root: Any) -> None:
    """Dissolves elements that only hold text on behalf of their parents (PDAT in patents, text runs in exports).

    With them, every sentence with an index or an emphasis in it would fall to pieces.
    """
    from lxml import etree  # loaded already

    parents: dict[str, set[str]] = {}
    alone: Counter[str] = Counter()
    total: Counter[str] = Counter()
    for element in root.iterdescendants(etree.Element):
        if len(element) == 0 and not element.attrib and _local(element) not in _TITLES | _PROSE:
            tag, parent = str(element.tag), element.getparent()
            parents.setdefault(tag, set()).add(str(parent.tag))
            total[tag] += 1
            alone[tag] += len(parent) == 1 and not (parent.text or "").strip()
    wrappers = [
        tag
        for tag, kinds in parents.items()
        if len(kinds) >= _WRAPPER_PARENTS and alone[tag] >= _WRAPPER_ALONE * total[tag]
    ]
    if wrappers:
        etree.strip_tags(root, *wrappers)


def _plain_entities(tree: Any) -> dict[str, str]:
    """The file's own entities that are short and hold no markup and no other entity."""
    dtd = tree.docinfo.internalDTD
    if dtd is None:
        return {}
    return {
        entity.name: entity.content
        for entity in dtd.iterentities()
        if entity.content and len(entity.content) <= _ENTITY_CHARS and not re.search("[&%<]", entity.content)
    }


@dataclass(frozen=True, slots=True)
class _Block:
    """Lines of one record or section, and where in the tree it begins."""

    path: str
    lines: tuple[str, ...]


@dataclass(slots=True)
class _Walker:
    """Turns the tree into blocks, in document order."""

    entities: dict[str, str]
    name: str
    blocks: list[_Block] = field(default_factory=list)
    skipped: set[str] = field(default_factory=set)
    title: str | None = None
    _lines: list[str] = field(default_factory=list)
    _chars: int = 0
    _path: str = ""

    def element(self, element: Any, path: str, depth: int, level: int) -> None:
        """Adds the element and all below it; `level` is that of the next heading."""
        if depth > _MAX_DEPTH:
            raise _too_deep(self.name)
        children = [child for child in element if isinstance(child.tag, str)]
        if not children or self._is_prose(element):
            self._leaf(element, path, level)
            return
        if len(children) > 1:
            self.end_block()
        self._path = self._path if self._lines else path
        self._attributes_line(element, _NAMING_ATTRIBUTES)
        inner = level + 1 if any(_local(child) in _TITLES for child in children) else level
        names = [_local(child) for child in children]
        total = Counter(names)
        seen: dict[str, int] = {}
        for child, name in zip(children, names, strict=True):
            seen[name] = seen.get(name, 0) + 1
            step = f"{name}[{seen[name]}]" if total[name] > 1 else name
            self.element(child, f"{path}/{step}" if path else step, depth + 1, level if name in _TITLES else inner)
        if len(children) > 1:
            self.end_block()

    def _add(self, line: str) -> None:
        """Adds a line to the block; a block as long as a page is closed, and goes on as the next one."""
        self._chars += len(line) + 2
        if self._chars > _PAGE_CHARS:
            self.end_block()
            self._chars = len(line) + 2
        self._lines.append(line)

    def end_block(self) -> None:
        """Closes the block that is being filled."""
        if self._lines:
            self.blocks.append(_Block(self._path, tuple(self._lines)))
        self._lines, self._chars = [], 0

    def _is_prose(self, element: Any) -> bool:
        """Whether text and child elements are mixed: then the children are words of a sentence."""
        return bool((element.text or "").strip()) or any((child.tail or "").strip() for child in element)

    def _leaf(self, element: Any, path: str, level: int) -> None:
        text = " ".join(self._text(element).split())
        name = _local(element)
        parent = path.rpartition("/")[0]
        self._path = self._path if self._lines else parent
        if not text:
            self._attributes_line(element)
        elif name in _TITLES and len(text) <= _TITLE_CHARS:
            self.end_block()
            self._path = parent
            self.title = self.title or text
            self._add(f"{'#' * min(level, 6)} {text}")
        elif name in _PROSE or len(text) > _VALUE_CHARS:
            self._add(text)
        else:
            attributes = _attributes(element)
            self._add(f"- {name}{f' ({attributes})' if attributes else ''}: {text}")

    def _attributes_line(self, element: Any, only: frozenset[str] | None = None) -> None:
        attributes = _attributes(element, only)
        if attributes:
            self._add(f"- {_local(element)}: {attributes}")

    def _text(self, element: Any) -> str:
        """All text in the element; parts that are structures of their own are set off by spaces."""
        parts = [element.text or ""]
        for child in element:
            if isinstance(child.tag, str):
                inner = self._text(child)
                # Two children and no text of its own: rows and items, not words. Unspaced they would run together.
                apart = len(child) > 1 and not self._is_prose(child)
                parts.append(f" {inner} " if apart else inner)
            else:
                parts.append(self._entity(child))
            parts.append(child.tail or "")
        if len(element) > 1 and not self._is_prose(element):
            return " ".join(parts)
        return "".join(parts)

    def _entity(self, reference: Any) -> str:
        name = reference.name
        found = self.entities.get(name) or _known_entity(name)
        if found is None:
            self.skipped.add(name)
        return found or ""


def _local(element: Any) -> str:
    """The element's name without its namespace."""
    return str(element.tag).rpartition("}")[2]


def _attributes(element: Any, only: frozenset[str] | None = None) -> str:
    """`currency: EUR; date: 2020-01-01`: the attributes in no namespace that say something, or those in `only`."""
    shown = ((key.rpartition("}"), " ".join(value.split())) for key, value in element.attrib.items())
    return "; ".join(
        f"{local}: {value}"
        for (space, _, local), value in shown
        if value and not space and (local.lower() in only if only else local.lower() not in _SILENT_ATTRIBUTES)
    )


def _pages(blocks: list[_Block], root: str) -> Iterator[Page]:
    held: list[_Block] = []
    chars = ordinal = 0
    for block in [*blocks, None]:
        size = sum(len(line) + 2 for line in block.lines) if block else 0
        if held and (block is None or chars + size > _PAGE_CHARS):
            ordinal += 1
            yield Page(ordinal=ordinal, label=_label(held, root), markdown="\n\n".join(_markdown(one) for one in held))
            held, chars = [], 0
        if block is not None:
            held.append(block)
            chars += size


def _markdown(block: _Block) -> str:
    """The block's lines, with an empty line between them but within a list."""
    pieces = list(block.lines[:1])
    for before, line in zip(block.lines, block.lines[1:], strict=False):
        pieces.append("\n" if before.startswith("- ") and line.startswith("- ") else "\n\n")
        pieces.append(line)
    return "".join(pieces)


def _label(blocks: list[_Block], root: str) -> str:
    """The parts of the tree the page begins and ends in, three steps deep."""
    first, last = ("/".join(block.path.split("/")[:3]) or root for block in (blocks[0], blocks[-1]))
    return first if first == last else f"{first}..{last}"
