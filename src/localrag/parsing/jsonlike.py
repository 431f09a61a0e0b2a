"""A JSON file (or JSON Lines) -> pages of `path: value` lines under headings that name the part of the file.

Every key and every value is in the text. Objects and array elements that fit a chunk stay together; larger ones are
opened up and their parts get headings of their own, such as `web-app.servlet[3]`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

from localrag.errors import DocumentError, UnreadableDocument
from localrag.parsing.encoding import decode_text
from localrag.parsing.source import Source
from localrag.types import Page, ParsedDocument

_PAGE_CHARS = 3_000
# A part this long fits one chunk (512 tokens at three characters each) with its heading.
_PART_CHARS = 1_200
# A longer object or array is read member by member; a shorter one may fit one part as a whole.
_LARGE_CHARS = 1_000_000
# Strings, closed or not, and brackets outside of them.
_TOKEN = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"?|[\[\]{}]', re.DOTALL)


class _Literal(str):
    """A number or constant as the file spells it: 1.10 stays 1.10, and no number is too long."""

    __slots__ = ()


class _Object(list[tuple[str, object]]):
    """The members of an object in their order, duplicate keys included."""


@dataclass(frozen=True, slots=True)
class _Part:
    """Lines that belong together, and the path of what they describe (empty for the whole file)."""

    path: str
    lines: Sequence[str]

    def markdown(self) -> str:
        body = "\n".join(self.lines)
        return f"## {self.path}\n\n{body}" if self.path else body


def read(source: Source) -> ParsedDocument:
    """The file's values in pages labelled `items[0]..items[40]`."""
    text, _ = decode_text(source.read_bytes())
    try:
        parts = (part for path, value in _values(text, source.name) for part in _parts(path, value))
        pages = tuple(_pages(parts))
    except RecursionError as error:
        raise UnreadableDocument(
            f"{source.name} is nested too deeply to be read.", path=source.name, hint="Flatten the JSON and try again."
        ) from error
    return ParsedDocument(media_type="application/json", pages=pages)


def _values(text: str, name: str) -> Iterator[tuple[str, object]]:
    """The values in the file with their paths: one without a path, or one for each line of JSON Lines.

    Large objects and arrays are opened: each of their members is a value, and none is held longer than it takes to
    write it. As objects, a file of 100 MB takes more than two gigabytes.
    """
    begin = _skip_space(text, 0)
    line = text.count("\n", 0, begin) + 1
    if _is_large(text, begin):
        end = yield from _opened(text, name, begin, "")
        following = _next_line(text, name, end)
    else:
        value, end = _decoded(text, name, begin)
        following = _next_line(text, name, end)
        yield (f"line {line}" if following < len(text) else ""), value
    while following < len(text):
        line += text.count("\n", begin, following)
        begin = following
        value, end = _decoded(text, name, begin)
        following = _next_line(text, name, end)
        yield f"line {line}", value


def _is_large(text: str, at: int) -> bool:
    """Whether what begins there is an object, or an array of objects or arrays, that ends beyond the bound."""
    inside = _skip_space(text, at + 1)
    if not text.startswith("{", at) and not (text.startswith("[", at) and text.startswith(("[", "{"), inside)):
        return False
    depth = 0
    for token in _TOKEN.finditer(text, at, at + _LARGE_CHARS):
        if token[0] in "[{":
            depth += 1
        elif token[0] in "]}":
            depth -= 1
            if not depth:
                return False
    return at + _LARGE_CHARS < len(text)


def _opened(text: str, name: str, at: int, path: str) -> Generator[tuple[str, object], None, int]:
    """The members of the large object or array that begins at `at`, one at a time; returns where it ends.

    Small members of an object that follow each other come together, as an object.
    """
    is_object = text[at] == "{"
    held = _Object()
    index = 0
    while True:
        at = _skip_space(text, at + 1)
        if is_object:
            key, at = _key(text, name, at)
        member = _join(path, (" ".join(key.split()) or '""') if is_object else f"[{index}]")
        if _is_large(text, at):
            if held:
                yield path, held
                held = _Object()
            at = yield from _opened(text, name, at, member)
        else:
            value, at = _decoded(text, name, at)
            if is_object:
                held.append((key, value))
            else:
                yield member, value
        index += 1
        at = _skip_space(text, at)
        if text.startswith("}" if is_object else "]", at):
            break
        if not text.startswith(",", at):
            raise _invalid(name, "Expecting ',' delimiter", text, at)
    if held:
        yield path, held
    return at + 1


def _key(text: str, name: str, at: int) -> tuple[str, int]:
    """The key that begins at `at`, and where its value begins."""
    if not text.startswith('"', at):
        raise _invalid(name, "Expecting property name enclosed in double quotes", text, at)
    key, at = _decoded(text, name, at)
    at = _skip_space(text, at)
    if not text.startswith(":", at):
        raise _invalid(name, "Expecting ':' delimiter", text, at)
    return str(key), _skip_space(text, at + 1)


_DECODER = json.JSONDecoder(
    object_pairs_hook=_Object, parse_float=_Literal, parse_int=_Literal, parse_constant=_Literal, strict=False
)


def _decoded(text: str, name: str, at: int) -> tuple[object, int]:
    """The value that begins at `at`, and where it ends."""
    try:
        return _DECODER.raw_decode(text, at)
    except json.JSONDecodeError as error:
        raise _invalid(name, error.msg, text, error.pos) from error


def _next_line(text: str, name: str, end: int) -> int:
    """Where the next value begins, on a line below the one before; the length of the text when there is none."""
    at = _skip_space(text, end)
    if at < len(text) and "\n" not in text[end:at]:
        raise _invalid(name, "Extra data", text, at)
    return at


_SPACE = re.compile(r"[ \t\r\n]*")


def _skip_space(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    return found.end() if found else at


def _invalid(name: str, problem: str, text: str, at: int) -> DocumentError:
    line, column = text.count("\n", 0, at) + 1, at - text.rfind("\n", 0, at)
    return UnreadableDocument(
        f"{name} is not valid JSON: {problem} at line {line}, column {column}.",
        path=name,
        hint="Correct the file there, or rename it to .txt to have it read as plain text.",
    )


def _parts(path: str, value: object) -> Iterator[_Part]:
    """The value as one part if it fits, else its plain members as one part and each large member on its own."""
    lines = list(_lines("", value))
    if not isinstance(value, list) or not value or sum(len(line) + 1 for line in lines) <= _PART_CHARS:
        yield _Part(path, lines)
        return
    if not isinstance(value, _Object) and not any(isinstance(element, list) for element in value):
        yield from _split_lines(path, lines)
        return
    small: list[str] = []
    for member_path, member in _members("", value):
        own = list(_lines(member_path, member))
        if isinstance(value, _Object) and sum(len(line) + 1 for line in own) <= _PART_CHARS:
            small.extend(own)
            continue
        if small:
            yield from _split_lines(path, small)
            small = []
        yield from _parts(_join(path, member_path), member)
    yield from _split_lines(path, small)


def _split_lines(path: str, lines: Sequence[str]) -> Iterator[_Part]:
    """The lines in parts of the size of a page at most."""
    held: list[str] = []
    chars = 0
    for line in lines:
        if held and chars + len(line) > _PAGE_CHARS:
            yield _Part(path, held)
            held, chars = [], 0
        held.append(line)
        chars += len(line) + 1
    if held:
        yield _Part(path, held)


def _lines(path: str, value: object) -> Iterator[str]:
    """One line for each value below this one; short lists of plain values share a line."""
    if not isinstance(value, list):
        yield _line(path, _shown(value))
    elif not value:
        yield _line(path, "{}" if isinstance(value, _Object) else "[]")
    elif isinstance(value, _Object) or any(isinstance(element, list) for element in value):
        for member_path, member in _members(path, value):
            yield from _lines(member_path, member)
    else:
        yield from _list_lines(path, [_shown(element) for element in value])


def _list_lines(path: str, shown: Sequence[str]) -> Iterator[str]:
    """`tags: a, b, c`, or `tags[0..57]: a, b, ...` in several lines when the list is long."""
    start, chars = 0, 0
    for index, text in enumerate(shown):
        if index > start and chars + len(text) > _PART_CHARS // 2:
            yield _line(f"{path}[{start}..{index - 1}]", ", ".join(shown[start:index]))
            start, chars = index, 0
        chars += len(text) + 2
    place = path if start == 0 else f"{path}[{start}..{len(shown) - 1}]"
    yield _line(place, ", ".join(shown[start:]))


def _members(path: str, value: list[object] | _Object) -> Iterator[tuple[str, object]]:
    if isinstance(value, _Object):
        for key, member in value:
            yield _join(path, " ".join(key.split()) or '""'), member
    else:
        for index, member in enumerate(value):
            yield f"{path}[{index}]", member


def _join(path: str, key: str) -> str:
    return f"{path}.{key}" if path and not key.startswith("[") else f"{path}{key}"


def _line(path: str, shown: str) -> str:
    return f"- {path}: {shown}" if path else shown


def _shown(value: object) -> str:
    """The value as text on one line; JSON's own words for its constants."""
    if isinstance(value, str):
        return " ".join(value.split()) or '""'
    return "null" if value is None else str(value).lower()


def _pages(parts: Iterable[_Part]) -> Iterator[Page]:
    held: list[_Part] = []
    chars = ordinal = 0
    for part in chain(parts, [None]):
        markdown = part.markdown() if part else ""
        if held and (part is None or chars + len(markdown) > _PAGE_CHARS):
            ordinal += 1
            yield Page(ordinal=ordinal, label=_label(held), markdown="\n\n".join(one.markdown() for one in held))
            held, chars = [], 0
        if part is not None:
            held.append(part)
            chars += len(markdown) + 2


def _label(parts: Sequence[_Part]) -> str | None:
    """The paths of the first and the last part; plain members of the file itself have none."""
    first, last = parts[0].path, parts[-1].path
    return f"{first or 'start'}..{last or 'end'}" if first != last else first or None
