"""An HTML text -> its tree, without what a reader of the page would not see or came not to read."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from typing import Any

from localrag.parsing.html_styles import Sheet

# libxml2 drops everything below level 2048 without a word.
MAX_DEPTH = 2000
_XML_DECLARATION = re.compile(r"^\ufeff?\s*<\?xml[^>]*\?>")
_XHTML = re.compile(r"<\?xml|http://www\.w3\.org/1999/xhtml")
_ENTITY = re.compile(rb"&[A-Za-z][A-Za-z0-9]{1,31};")
_DECLARATIONS = re.compile(r"<!DOCTYPE[^\[>]*\[.*?\]\s*>", re.DOTALL | re.IGNORECASE)  # where entities are made
_META = re.compile(rb"""<meta[^>]+charset\s*=\s*["']?\s*([\w.:-]+)""", re.IGNORECASE)
_XML_ENCODING = re.compile(rb"""^(?:\xef\xbb\xbf)?\s*<\?xml[^>]*?encoding\s*=\s*["']([\w.:-]+)""")
_HEAD_BYTES = 4096  # browsers look for the encoding in the first 1,024; saved pages put scripts before it

_NEVER = frozenset({"script", "style", "template", "noscript", "head", "svg", "canvas", "iframe", "object", "embed",
                    "audio", "video", "select", "button", "input", "datalist", "map", "annotation", "dialog",
                    "textarea", "progress", "meter", "frameset", "noframes"})  # fmt: skip
# What may stand in a head (HTML, 4.2); the first of other elements begins the body.
_METADATA = frozenset({"base", "basefont", "bgsound", "link", "meta", "noframes", "noscript", "script", "style",
                       "template", "title"})  # fmt: skip
_AROUND = frozenset({"nav", "footer", "aside"})
_AROUND_ROLES = frozenset({"navigation", "banner", "contentinfo", "search", "complementary", "menu", "menubar"})
_HIDDEN_STYLE = re.compile(
    r"(?:^|;)\s*(?:display\s*:\s*none|visibility\s*:\s*(?:hidden|collapse)|opacity\s*:\s*0(?:\.0+)?\s*(?:;|$|!)"
    r"|font-size\s*:\s*0(?:\.0+)?(?:px|pt|em|rem|%)?\s*(?:;|$|!))",
    re.IGNORECASE,
)
# A part that holds less of the page's text than this is not its content: an empty <main> filled by a script.
_MAIN_SHARE = 0.25
_MIN_SHARE = 0.1
_LINKED_SHARE = 0.9


class TooDeepError(Exception):
    """The tree is deeper than libxml2 keeps; see `plain_text`."""


def declared_encoding(data: bytes) -> str | None:
    """The encoding that the file names in a meta tag or its XML declaration."""
    found = _XML_ENCODING.match(data) or _META.search(data[:_HEAD_BYTES])
    return found[1].decode("ascii") if found else None


def parse(text: str) -> Any:
    """The root element, whatever the markup; None when there is none. Nothing is fetched.

    Raises:
        TooDeepError: elements are nested more than 2,000 levels deep.
    """
    from lxml import etree  # deferred: only HTML and e-books need it

    body = _XML_DECLARATION.sub("", text.replace("\x00", ""), count=1)
    body = _DECLARATIONS.sub("<!DOCTYPE html>", body, count=1)
    parser = etree.HTMLParser(encoding="utf-8", huge_tree=True, no_network=True, remove_comments=True, remove_pis=True)
    data = body.encode("utf-8", errors="replace")
    root = _parse_xhtml(data) if _XHTML.search(text[:_HEAD_BYTES]) else None
    if root is None and body.strip():
        root = etree.fromstring(data, parser)
    if root is not None:
        _close_head(root)
        depth = 0
        for event, _ in etree.iterwalk(root, events=("start", "end")):
            depth += 1 if event == "start" else -1
            if depth > MAX_DEPTH:
                raise TooDeepError
    return root


def _close_head(root: Any) -> None:
    """Moves what is no metadata to the body: libxml2 knows that `<p>` begins one, of `<main>` it does not."""
    head = root.find("head")
    astray = next((child for child in head if child.tag not in _METADATA), None) if head is not None else None
    if head is None or astray is None:
        return
    body = root.find("body")
    if body is None:
        body = root.makeelement("body")
        head.addnext(body)
    moved = [astray, *astray.itersiblings()]
    moved[-1].tail = (moved[-1].tail or "") + (body.text or "")
    body.text = None
    for at, child in enumerate(moved):
        body.insert(at, child)


def _parse_xhtml(data: bytes) -> Any:
    """The root of well-formed XHTML, names without their namespace; None when it is not well-formed.

    XHTML has to be read as XML: to an HTML parser `<script/>` and `<title/>` swallow all that follows.
    """
    from lxml import etree  # loaded already

    parser = etree.XMLParser(
        resolve_entities=False, load_dtd=False, no_network=True, huge_tree=False, remove_comments=True, remove_pis=True
    )
    try:
        root = etree.fromstring(_ENTITY.sub(_character, data), parser)
    except etree.XMLSyntaxError:
        return None
    for element in root.iter(etree.Element):
        element.tag = etree.QName(element).localname.lower()
    return root


def _character(match: re.Match[bytes]) -> bytes:
    """The character that an HTML entity stands for; XML knows but five of them."""
    text = match[0].decode("ascii")
    return match[0] if text in ("&amp;", "&lt;", "&gt;", "&quot;", "&apos;") else html.unescape(text).encode()


def title(root: Any) -> str | None:
    """The text of <title>."""
    found = root.find(".//title")
    text = " ".join("".join(found.itertext()).split()) if found is not None else ""
    return text or None


def drop_unseen(root: Any) -> None:
    """Removes scripts, styles, hidden elements and form controls, keeping the text that follows them."""
    by_rule = Sheet(root).hidden(root)
    for element in list(root.iter()):
        if _is_unseen(element):
            remove(element)
    # Where its rules hide the page as such, a script was to show it.
    whole = _length(root)
    if whole - sum(map(_length, _outermost(by_rule))) >= _MIN_SHARE * whole:
        for element in by_rule:
            remove(element)


def _outermost(elements: list[Any]) -> Iterator[Any]:
    """Those that stand in none of the others."""
    known = set(elements)
    return (element for element in elements if known.isdisjoint(element.iterancestors()))


def _is_unseen(element: Any) -> bool:
    if not isinstance(element.tag, str) or element.tag.lower() in _NEVER:
        return True
    hidden = element.get("hidden")
    return (hidden is not None and hidden != "until-found") or bool(_HIDDEN_STYLE.search(element.get("style") or ""))


def remove(element: Any) -> None:
    """Takes the element out; the text after it stays."""
    parent = element.getparent()
    if parent is None:
        return
    if element.tail:
        before = element.getprevious()
        if before is not None:
            before.tail = (before.tail or "") + element.tail
        else:
            parent.text = (parent.text or "") + element.tail
    parent.remove(element)


def main_content(root: Any) -> Any:
    """The element that holds what the page is about: <main> or the one <article>, else the body; navigation taken out.

    Where that would leave next to nothing, the body is returned as it is.
    """
    body = root.find("body")
    body = root if body is None else body
    whole = _length(body)
    candidates = [element for element in body.iter("main") if element.tag == "main"]
    candidates += [element for element in body.iter() if element.get("role") == "main"]
    articles = list(body.iter("article"))
    candidates += articles if len(articles) == 1 else []
    for candidate in candidates:
        if _length(candidate) >= _MAIN_SHARE * whole:
            body, whole = candidate, _length(candidate)
            break
    around = [*_around(body), *_link_lists(body)]
    if whole - sum(map(_length, around)) >= _MIN_SHARE * whole:
        for element in around:
            remove(element)
    return body


def _around(body: Any) -> Iterator[Any]:
    """Navigation, footers and asides; outermost ones only. Those of an article belong to it."""
    from lxml import etree  # loaded already

    walk = etree.iterwalk(body, events=("start", "end"))
    articles = 0
    for event, element in walk:
        if element.tag == "article":
            articles += 1 if event == "start" else -1
        elif event == "start" and element is not body and _is_around(element, articles > 0):
            walk.skip_subtree()
            yield element


def _link_lists(body: Any) -> Iterator[Any]:
    """Lists of links in headers: languages, sections, breadcrumbs."""
    for header in body.iter("header"):
        for found in header.iter("ul", "ol"):
            linked = sum(map(_length, found.iter("a")))
            if linked and linked >= _LINKED_SHARE * _length(found) and not _has_ancestor(found, ("nav", "ul", "ol")):
                yield found


def _has_ancestor(element: Any, tags: tuple[str, ...]) -> bool:
    return next(element.iterancestors(*tags), None) is not None


def _is_around(element: Any, inside: bool) -> bool:
    roles = (element.get("role") or "").lower().split()
    if _AROUND_ROLES.intersection(roles):
        return not inside or "navigation" in roles
    return element.tag == "nav" or (element.tag in _AROUND and not inside)


def _length(element: Any) -> int:
    return sum(len(text.strip()) for text in element.itertext())


class _Text(HTMLParser):
    """Collects visible text without building a tree."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.parts: list[str] = []
        self._skipped: list[str] = []  # open elements from the outermost unseen one on

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        names = dict(attrs)
        unseen = tag in _NEVER or "hidden" in names or _HIDDEN_STYLE.search(names.get("style") or "")
        if (self._skipped or unseen) and tag not in _VOID:
            self._skipped.append(tag)
        self.parts.append("\n" if tag in _BREAKING else "")

    def handle_endtag(self, tag: str) -> None:
        if tag in self._skipped:
            while self._skipped.pop() != tag:
                pass
        self.parts.append("\n" if tag in _BREAKING else "")

    def handle_data(self, data: str) -> None:
        if not self._skipped:
            self.parts.append(data)


_VOID = frozenset({"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "wbr"})
_BREAKING = frozenset({"p", "div", "br", "li", "tr", "h1", "h2", "h3", "h4", "h5", "h6", "pre", "table", "section"})


def plain_text(text: str) -> list[str]:
    """The visible text of a page too deep for a tree, as paragraphs without structure."""
    reader = _Text()
    reader.feed(text)
    reader.close()
    lines = (" ".join(line.split()) for line in "".join(reader.parts).split("\n"))
    return [line for line in lines if line]
