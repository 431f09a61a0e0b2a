"""Contacts (vcf) -> a page for each, with a line for each of its fields."""

from __future__ import annotations

import re
from collections.abc import Iterator

from localrag.errors import EmptyDocument, UnreadableDocument
from localrag.parsing.content_lines import Component, Property, read_components, unescape
from localrag.parsing.malformed import unreadable
from localrag.parsing.source import Source
from localrag.types import Page, ParsedDocument

MEDIA_TYPE = "text/vcard"

_NAMES = {"TEL": "Phone", "EMAIL": "E-mail", "ADR": "Address", "ORG": "Organisation", "BDAY": "Birthday",
          "URL": "Web", "IMPP": "Messenger", "LANG": "Language", "TZ": "Time zone", "GEO": "Position",
          "RELATED": "Related"}  # fmt: skip
# Pictures, keys and bookkeeping, which say nothing to a reader.
_SILENT = frozenset({"VERSION", "PRODID", "UID", "REV", "PHOTO", "LOGO", "SOUND", "KEY", "SOURCE", "CLIENTPIDMAP", "FN",
                     "N", "XML", "AGENT", "MAILER", "CLASS", "KIND", "SORT-STRING", "CALURI", "CALADRURI", "FBURL",
                     "X-ABUID", "X-ABLABEL", "X-ABADR", "X-IMAGETYPE", "X-IMAGEHASH"})  # fmt: skip
# Words of TYPE that tell what every number or address of the kind is.
_PLAIN_TYPES = frozenset({"pref", "internet", "voice", "x-internet", "quoted-printable", "utf-8", "parcel", "postal"})
_APPLE_LABEL = re.compile(r"_\$!<(.*)>!\$_")
_MAX_NAME = 80


def read(source: Source) -> ParsedDocument:
    """The contacts in their order, labelled `contact 3: Ann Smith`.

    Raises:
        EmptyDocument, UnreadableDocument
    """
    with unreadable(source, "contact file"):
        cards = [one for one in read_components(source.read_bytes()) if one.name == "VCARD"]
        if not cards:
            raise UnreadableDocument(
                f"{source.name} holds no contact.", path=source.name, hint="Export it again as vCard (.vcf)."
            )
        pages = tuple(_pages(cards))
    if not pages:
        raise EmptyDocument(f"{source.name} holds no text.", path=source.name, hint="Nothing to index.")
    return ParsedDocument(media_type=MEDIA_TYPE, pages=pages)


def _pages(cards: list[Component]) -> Iterator[Page]:
    ordinal = 0
    for number, card in enumerate(cards, start=1):
        name = _name(card)
        lines = list(dict.fromkeys(_lines(card)))
        blocks = [f"# {name}" if name else "", "\n".join(lines)]
        if any(blocks):
            ordinal += 1
            label = f"contact {number}: {name[:_MAX_NAME]}" if name else f"contact {number}"
            yield Page(ordinal=ordinal, label=label, markdown="\n\n".join(filter(None, blocks)))


def _name(card: Component) -> str:
    """The name as shown, else made of its parts, else the organisation's."""
    if name := card.text("FN"):
        return name
    if (parts := card.first("N")) is not None:
        # Family; given; more; before; after.
        family, given, more, before, after = (_split(parts) + [""] * 5)[:5]
        if name := " ".join(part for part in (before, given, more, family, after) if part):
            return name
    organisation = card.first("ORG")
    return ", ".join(organisation.parts(";")) if organisation else card.text("EMAIL")


def _split(one: Property) -> list[str]:
    return [" ".join(unescape(part).split()) for part in re.split(r"(?<!\\);", one.raw)]


def _lines(card: Component) -> Iterator[str]:
    labels = {one.group: one.text for one in card.all("X-ABLABEL") if one.group}
    for one in card.properties:
        if one.name in _SILENT or _is_data(one):
            continue
        text = ", ".join(one.parts(";")) if one.name in ("ADR", "ORG", "GEO") else one.text
        text = re.sub(r"^(tel|mailto|sip|xmpp):", "", text) if one.name in ("TEL", "EMAIL", "IMPP") else text
        kinds = [kind.lower() for kind in one.parameters.get("TYPE", ()) if kind.lower() not in _PLAIN_TYPES]
        if label := _APPLE_LABEL.sub(r"\1", labels.get(one.group, "")):
            kinds = [label]
        name = _NAMES.get(one.name) or one.name.removeprefix("X-").replace("-", " ").capitalize()
        if text:
            kind = f" ({', '.join(kinds)})" if kinds else ""
            yield f"- {name}{kind}: {text}"


def _is_data(one: Property) -> bool:
    return one.parameter("ENCODING").lower() in ("b", "base64") or one.raw.startswith("data:")
