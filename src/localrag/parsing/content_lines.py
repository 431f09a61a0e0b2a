"""Content lines, which contacts (RFC 6350) and calendars (RFC 5545) are written in -> components with properties."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from quopri import decodestring

from localrag.parsing.encoding import decode_text, sniff_unicode

# A line goes on in the next one when that begins with a blank, or, in quoted-printable values, when it ends with =.
_FOLD = re.compile(rb"\r?\n[ \t]")
_LINE_END = re.compile(r"\r\n|\r|\n")
_QUOTED_PRINTABLE = re.compile(r"^[^:]*QUOTED-PRINTABLE[^:]*:", re.IGNORECASE)
_ESCAPE = re.compile(r"\\(.)")


@dataclass(frozen=True, slots=True)
class Property:
    """`group.NAME;TYPE=home,work:value`, the value as written but for its transfer encoding."""

    name: str
    group: str
    parameters: Mapping[str, tuple[str, ...]]
    raw: str

    @property
    def text(self) -> str:
        """The value, its escapes undone, on one line."""
        return " ".join(unescape(self.raw).split())

    def parts(self, separator: str) -> list[str]:
        """The values that the separator stands between, each as `text`."""
        pieces = re.split(rf"(?<!\\){re.escape(separator)}", self.raw)
        return [text for piece in pieces if (text := " ".join(unescape(piece).split()))]

    def parameter(self, name: str) -> str:
        """The first value of a parameter, "" when it has none."""
        return next(iter(self.parameters.get(name, ())), "")


@dataclass(slots=True)
class Component:
    """What stands between BEGIN:NAME and END:NAME."""

    name: str
    properties: list[Property] = field(default_factory=list)
    children: list[Component] = field(default_factory=list)

    def all(self, name: str) -> list[Property]:
        """Its properties of that name."""
        return [one for one in self.properties if one.name == name]

    def first(self, name: str) -> Property | None:
        """Its first property of that name, None when there is none."""
        return next(iter(self.all(name)), None)

    def text(self, name: str) -> str:
        """The text of its first property of that name, "" when there is none."""
        found = self.first(name)
        return found.text if found else ""


def unescape(text: str) -> str:
    """The text with line breaks for \\n, and without the backslash before other characters."""
    return _ESCAPE.sub(lambda match: "\n" if match[1] in "nN" else match[1], text)


def read_components(data: bytes) -> list[Component]:
    """The components of the file; one that is never ended goes on to where the file ends."""
    root = Component("")
    stack = [root]
    for one in _properties(data):
        if one.name == "BEGIN":
            component = Component(one.text.upper())
            stack[-1].children.append(component)
            stack.append(component)
        elif one.name == "END":
            at = next((i for i in range(len(stack) - 1, 0, -1) if stack[i].name == one.text.upper()), 0)
            if at:
                del stack[at:]
        else:
            stack[-1].properties.append(one)
    return root.children


def _properties(data: bytes) -> Iterator[Property]:
    encoding = sniff_unicode(data)
    if encoding is not None:  # saved by an editor
        data = data.decode(encoding, errors="replace").encode()
    # Unfolded as bytes: lines may be folded inside a character.
    text, _ = decode_text(_FOLD.sub(b"", data))
    lines = iter(_LINE_END.split(text))
    for line in lines:
        if _QUOTED_PRINTABLE.match(line):
            while line.endswith("="):
                line = line[:-1] + next(lines, "")
        if found := _property(line):
            yield found


def _property(line: str) -> Property | None:
    head, value = _split_head(line)
    if not value.strip():
        return None
    name, *parameters = _outside_quotes(head, ";")
    group, _, name = name.rpartition(".")
    if not re.fullmatch(r"[\w-]+", name):
        return None
    named: dict[str, tuple[str, ...]] = {}
    for parameter in parameters:
        key, equals, text = parameter.partition("=")
        # vCard 2.1 writes `;HOME;CELL` for `;TYPE=HOME,CELL`.
        key, text = (key.upper(), text) if equals else ("TYPE", key)
        # RFC 6350 quotes several types together: TYPE="home,voice".
        values = text.replace('"', "").split(",") if key == "TYPE" else _outside_quotes(text, ",")
        named[key] = (*named.get(key, ()), *(one.strip('" ') for one in values))
    if "QUOTED-PRINTABLE" in (one.upper() for values in named.values() for one in values):
        value = decode_text(decodestring(value.encode("utf-8")), next(iter(named.get("CHARSET", ())), None))[0]
    return Property(name=name.upper(), group=group, parameters=named, raw=value)


def _split_head(line: str) -> tuple[str, str]:
    """What is before and after the first colon outside quotation marks."""
    quoted = False
    for at, char in enumerate(line):
        if char == '"':
            quoted = not quoted
        elif char == ":" and not quoted:
            return line[:at], line[at + 1 :]
    return line, ""


def _outside_quotes(text: str, separator: str) -> list[str]:
    pieces, quoted = [""], False
    for char in text:
        quoted = quoted != (char == '"')
        if char == separator and not quoted:
            pieces.append("")
        else:
            pieces[-1] += char
    return pieces
