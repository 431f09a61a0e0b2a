"""What Outlook messages and internet mail have in common: the pages of a message, its body, and what it quotes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from localrag.errors import DocumentTooLarge
from localrag.parsing.source import Source
from localrag.types import Page

MESSAGE = "message"
QUOTED = "message, quoted"

_PICTURE = re.compile(r"\.(png|jpe?g|gif|bmp|emf|wmf|svg)$", re.IGNORECASE)
_LIKE_HEADING = re.compile(r"^(#{1,6}\s)", re.MULTILINE)
_WORD = re.compile(r"\w+")
_ADDRESS_OF_LINK = re.compile(r"<?\b(?:https?|mailto):[^\s<>]+>?")

# Words that programs put above what they quote, in the languages they are used in most.
_MARKER = re.compile(
    r"[-_* ]*(original message|forwarded message|begin forwarded message:|ursprüngliche nachricht|"
    r"weitergeleitete nachricht|message d'origine|message transféré|mensaje original|messaggio originale|"
    r"oorspronkelijk bericht|mensagem original)[-_* ]*",
    re.IGNORECASE,
)
_FROM = re.compile(r"\**(from|von|de|da|van)\s?:\**\s*\S", re.IGNORECASE)
_SENT = re.compile(r"\**(sent|date|gesendet|datum|envoyé|enviado|fecha|inviato|verzonden|data)\s?:", re.IGNORECASE)
_SUBJECT = re.compile(r"\**(subject|betreff|objet|asunto|oggetto|onderwerp|assunto)\s?:", re.IGNORECASE)
_RULE = re.compile(r"[-_]{5,}")
# `On 1 May 2024, Ann wrote:`; it may be wrapped.
_ATTRIBUTION_END = re.compile(r"(\b(wrote|schrieb|écrit|escribió|scritto|schreef|escreveu)\b.*|>)\s?:$", re.IGNORECASE)
_ATTRIBUTION_START = re.compile(r"(on|am|le|el|il|op|em)\s", re.IGNORECASE)
_ATTRIBUTION_LINES = 3
_HEADER_LINES = 6


def heading(subject: str) -> str:
    """The subject as a heading, "" when there is none."""
    subject = " ".join(subject.split())
    return f"# {subject}" if subject else ""


def header_block(fields: Mapping[str, str]) -> str:
    """One line for each field that says something."""
    return "\n".join(f"{name}: {' '.join(text.split())}" for name, text in fields.items() if text.strip(" <>,;\x00"))


def body_markdown(plain: str, html: str) -> str:
    """The body as Markdown: plain text as it is, but HTML where it brings tables or is all there is.

    What only the other form says follows it, so that both can be found.
    """
    plain = _LIKE_HEADING.sub(r"\\\1", plain.replace("\r\n", "\n").strip())
    if not html:
        return plain
    # Deferred: most messages are read without it.
    from localrag.parsing.html_fragment import html_to_markdown

    rich = html_to_markdown(html).strip()
    first, second = (rich, plain) if "<table" in html.lower() or not plain else (plain, rich)
    return "\n\n".join([first, *_only_there(second, first)])


def _only_there(text: str, other: str) -> Iterator[str]:
    """The paragraphs that have a word the other text lacks; addresses of links are no words."""
    known = set(_words(other))
    for paragraph in re.split(r"\n\s*\n", text):
        if not known.issuperset(_words(paragraph)):
            yield paragraph


def _words(text: str) -> list[str]:
    return _WORD.findall(_ADDRESS_OF_LINK.sub(" ", text).casefold())


def message_pages(head: Iterable[str], body: str) -> Iterator[Page]:
    """The message on a page of its own, then what it quotes; ordinals are for the caller to set."""
    own, quoted = split_quoted(body)
    if markdown := "\n\n".join(block for block in (*head, own) if block):
        yield Page(ordinal=1, label=MESSAGE, markdown=markdown)
    if quoted:
        yield Page(ordinal=1, label=QUOTED, markdown=quoted)


def split_quoted(body: str) -> tuple[str, str]:
    """What the sender wrote, and the older messages below it.

    Answers between quoted lines stay with them, and a message that only forwards another is not split.
    """
    lines = body.split("\n")
    cut = min(_marked_quote(lines), _trailing_quote(lines))
    own = "\n".join(lines[:cut]).strip()
    return (own, "\n".join(lines[cut:]).strip()) if own else (body, "")


def _marked_quote(lines: Sequence[str]) -> int:
    """Where a marker or the header lines of another message begin; the number of lines when nowhere."""
    for at, line in enumerate(lines):
        text = line.strip()
        if _MARKER.fullmatch(text) and (text[0] in "-_*" or text.endswith(":")):
            return at
        if _FROM.match(text):
            following = [one.strip() for one in lines[at + 1 : at + _HEADER_LINES] if one.strip()]
            if any(_SENT.match(one) for one in following) and any(_SUBJECT.match(one) for one in following):
                above = at - 1
                while above >= 0 and not lines[above].strip():
                    above -= 1
                return above if above >= 0 and _RULE.fullmatch(lines[above].strip()) else at
    return len(lines)


def _trailing_quote(lines: Sequence[str]) -> int:
    """Where the quoted lines at the end begin, with the line that says whose they are."""
    start = len(lines)
    while start and (not lines[start - 1].strip() or lines[start - 1].lstrip().startswith(">")):
        start -= 1
    if not any(line.lstrip().startswith(">") for line in lines[start:]):
        return len(lines)
    if not start or not _ATTRIBUTION_END.search(lines[start - 1].strip()):
        return start
    for above in range(start - 1, max(start - 1 - _ATTRIBUTION_LINES, -1), -1):
        if not lines[above].strip():
            break
        if _ATTRIBUTION_START.match(lines[above].strip()):
            return above
    return start - 1


def attachment_page(page: Page, name: str) -> Page:
    """The page of an attachment under the attachment's name."""
    own = page.label or ""
    if own in (MESSAGE, QUOTED):
        own = own.removeprefix(MESSAGE).removeprefix(", ")
    return replace(page, label=f"attachment {name}, {own}" if own else f"attachment {name}")


def numbered(pages: Iterable[Page]) -> tuple[Page, ...]:
    """The pages with ordinals from 1."""
    return tuple(replace(page, ordinal=ordinal) for ordinal, page in enumerate(pages, start=1))


def enter_message(source: Source, name: str, depth: int) -> None:
    """Counts a message inside another one.

    Raises:
        DocumentTooLarge: it is nested too deep, or one of too many.
    """
    source.budget.members += 1
    if depth > source.limits.depth or source.budget.members > source.limits.members:
        raise DocumentTooLarge(
            f"{name} is nested too deep or is one of too many messages in one file.",
            path=name,
            hint="Save it to a file of its own and add that.",
        )


def is_shown_picture(name: str, content_id: str, html: str) -> bool:
    """Whether an attachment is a picture that the body shows, such as the logo of a signature."""
    return bool(content_id and f"cid:{content_id}" in html and _PICTURE.search(name))
