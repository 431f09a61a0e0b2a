"""Questions about the library itself, answered from its catalog: exact, and without a model."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

from localrag.answering.naming import close_names, file_name, meant
from localrag.retrieval.words import content_words
from localrag.types import Document, Failure

LISTED = 20
"""Documents listed at most."""

_THINGS = (
    r"(?P<kind>documents?|files?|docs?|pdfs?|pdf (?:files?|documents?)|word (?:files?|documents?)|spreadsheets?|"
    r"excel (?:files?|sheets?|books?)|csvs?|csv files?|presentations?|powerpoints?|slides?|slide decks?|e-?mails?|"
    r"e-?books?|pictures?|images?|web ?pages?|dokumente?|dateien?|unterlagen|tabellen|präsentationen|bilder)"
)
_HERE = (
    r"(?:(?:do|did|have|can) (?:i|we|you) (?:have|got|own|see|know|ask|search|add|added|upload|uploaded|index|indexed|"
    r"ingest|ingested)(?: about| access to)?|i have|we have|you have|have (?:i|we)(?: got)?|are there|"
    r"(?:are|is) (?:in|indexed|available|there|stored|loaded)|(?:have|has) been (?:added|indexed|uploaded|ingested)|"
    r"were (?:added|indexed|uploaded)|habe ich|haben wir|gibt es|sind (?:da|vorhanden|indexiert))"
)
_PLACE = (
    r"(?: (?:(?:are )?(?:in|to|of) )?(?:here|now|(?:my|the|this|our|your) (?:library|index|collection|catalog(?:ue)?)|"
    r"total|all|altogether|so far|yet|there|in (?:meiner|der) bibliothek))*"
)
_END = r"[\s?.!]*$"
_POLITE = r"^(?:(?:please|bitte|hi|hello|ok)[,\s]+|(?:can|could) you (?:please )?)*"

_LIST = re.compile(
    rf"{_POLITE}(?:(?:which|what|welche) (?:\w+ )?{_THINGS} {_HERE}{_PLACE}"
    rf"|(?:list|show(?: me)?|give me a list of|name|zeige?(?: mir)?|liste) (?:(?:all|alle)(?: of)? ?)?"
    rf"(?:(?:my|the|our|your|these|meine) )?"
    rf"(?:indexed |available |uploaded )?{_THINGS.replace('?P<kind>', '?P<listed>')}"
    rf"(?: (?:i have|we have|you have|auf|an))?{_PLACE}"
    rf"|what(?:['’]s| is| do (?:i|we) have)? in (?:my|the|this|our) (?:library|index|collection))"
    rf"{_END}",
    re.IGNORECASE,
)
_COUNT = re.compile(
    rf"{_POLITE}(?:how many|wie ?viele|count(?: all)?(?: my| the| our)?|(?:what is )?the number of) {_THINGS}"
    rf"(?: {_HERE})?{_PLACE}{_END}",
    re.IGNORECASE,
)
_PAGES = re.compile(
    rf"{_POLITE}(?:how many pages (?:(?:does|do) (?P<of>.+?) have|(?:are|is) (?:there )?in (?P<inside>.+?)|"
    rf"has (?P<has>.+?))|wie ?viele seiten hat (?P<hat>.+?)){_END}",
    re.IGNORECASE,
)
_MINE = re.compile(
    rf"{_POLITE}(?:list|show(?: me)?|which|what|welche|zeige?(?: mir)?) (?:all )?(?:of )?(?:(?:my|our|meine) )?"
    rf"(?P<what>[\w-]+(?: [\w-]+)?)(?P<have> (?:do i have|do we have|are there|habe ich|haben wir))?{_PLACE}{_END}",
    re.IGNORECASE,
)
_WHEN = re.compile(
    rf"{_POLITE}(?:when (?:was|were|did (?:i|we)) (?:(?:add|upload|index|ingest|import) )?(?P<what>.+?)"
    rf"(?: (?:last )?(?:added|uploaded|indexed|ingested|imported)(?: to (?:my|the) library)?)?|"
    rf"wann wurde (?P<was>.+?) (?:hinzugefügt|hochgeladen|indexiert)){_END}",
    re.IGNORECASE,
)
_ADDED = re.compile(r"add|upload|index|ingest|import", re.IGNORECASE)
_NEWEST = re.compile(
    rf"{_POLITE}(?:(?:which|what) (?:{_THINGS.replace('?P<kind>', '?:')} )?(?:did (?:i|we) (?:add|upload|index)|"
    rf"(?:was|were) (?:added|uploaded|indexed)) (?:last|most recently|recently|lately)|"
    rf"(?:what(?:['’]s| is| are) )?(?:list |show )?(?:me )?(?:my |the )?"
    rf"(?:newest|latest|most recent(?:ly added)?|last added) "
    rf"{_THINGS.replace('?P<kind>', '?:')}(?: (?:added|in (?:my|the) library))?){_END}",
    re.IGNORECASE,
)
_FAILED = re.compile(
    rf"{_POLITE}(?:(?:which|what|how many) (?:files|documents|uploads) (?:have |that )?"
    rf"(?:failed|could not be (?:read|indexed)|"
    rf"couldn['’]t be (?:read|indexed)|were not (?:read|indexed))(?: to (?:index|parse|ingest|upload))?|"
    rf"(?:are there|list|show)(?: me)?(?: any| all| the)* (?:failures|failed (?:files|documents|uploads))|"
    rf"did any(?: of my)? (?:files|documents) fail){_END}",
    re.IGNORECASE,
)
_LABELS = re.compile(
    rf"{_POLITE}(?:(?:which|what|list|show(?: me)?)(?: all)?(?: my| the| of my)? (?P<label>tags|collections|"
    rf"(?:kinds|types) of (?:files|documents)|(?:file|document) types)(?: {_HERE})?{_PLACE}){_END}",
    re.IGNORECASE,
)
_HAVE = re.compile(
    rf"{_POLITE}(?:do (?:i|we|you) have (?P<what>.+?)|is (?P<is>.+?) in (?:my|the|our) library|(?:is|was) (?P<was>\S+) "
    rf"(?:indexed|added|uploaded)){_PLACE}{_END}",
    re.IGNORECASE,
)
_TAGGED = re.compile(
    rf"{_POLITE}(?:which|what|list|show(?: me)?|how many)(?: all)?(?: my| the)? (?:documents|files) "
    rf"(?:are |have |with |in )*(?:the )?(?:(?P<tagged>tag(?:ged)?(?: with| as)?)|(?P<collection>collection)) "
    rf"[\"“']?(?P<value>[\w/=.: -]+?)[\"”']?{_END}",
    re.IGNORECASE,
)

# What people call files -> what their media types contain; "" is every document.
_KINDS: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    ("pdf", "PDF", ("application/pdf",)),
    ("word", "Word document", ("wordprocessingml", "msword")),
    ("spreadsheet|excel|tabellen", "spreadsheet", ("spreadsheet", "ms-excel")),
    ("csv", "CSV file", ("text/csv",)),
    ("presentation|powerpoint|slide|präsentation", "presentation", ("presentation", "powerpoint")),
    ("e-?mail", "e-mail", ("message/rfc822", "ms-outlook", "application/mbox")),
    ("e-?book", "e-book", ("epub",)),
    ("picture|image|bild", "picture", ("image/",)),
    ("web", "web page", ("text/html",)),
    ("", "document", ("",)),
)


@dataclass(frozen=True, slots=True)
class Catalogued:
    """What may be told: the documents in scope, and the failures where the whole library is."""

    documents: Sequence[Document]
    failures: Sequence[Failure] = ()


def library_answer(question: str, catalog: Callable[[], Catalogued]) -> str | None:
    """The answer in Markdown; None when the question is not about the library."""
    text = " ".join(question.split())
    for pattern, answer in _QUESTIONS:
        if found := pattern.match(text):
            said = answer(found, catalog())
            if said is not None:
                return said
    return None


def _listed(found: re.Match[str], catalog: Catalogued) -> str:
    label, documents = _of_kind(found["kind"] or found["listed"] or "documents", catalog.documents)
    return _list(documents, label)


def _counted(found: re.Match[str], catalog: Catalogued) -> str:
    label, documents = _of_kind(found["kind"], catalog.documents)
    if not documents:
        return f"There is no {label} in the library{_of_all(catalog)}."
    pages = sum(document.page_count for document in documents)
    said = f"**{_count(len(documents), label)}**, {_count(pages, 'page')} in all."
    if label == "document" and len(documents) > 1:
        kinds = Counter(_kind_of(document) for document in documents)
        said += "\n\n" + "\n".join(f"- {_count(number, kind)}" for kind, number in kinds.most_common())
    return said


def _page_count(found: re.Match[str], catalog: Catalogued) -> str | None:
    what = next(group for group in found.groups() if group)
    documents = meant(what, catalog.documents)
    if re.fullmatch(r"(?:my|the|this|our) library", what, re.IGNORECASE):
        documents = list(catalog.documents)
        return f"**{_count(sum(document.page_count for document in documents), 'page')}** in all."
    if not documents:
        return _unknown(what, catalog.documents)
    return "\n".join(f"- {document.name} has **{_count(document.page_count, 'page')}**." for document in documents)


def _mine(found: re.Match[str], catalog: Catalogued) -> str | None:
    """ "List my contracts": documents whose names, tags or collection say so; none of them is another question."""
    if not re.search(
        r"\b(?:my|our|meine)\b|\b(?:do i have|do we have|habe ich|haben wir)\b", found.group(), re.IGNORECASE
    ):
        return None
    wanted = content_words(found["what"])
    documents = [document for document in catalog.documents if wanted and wanted <= _labels_of(document)]
    return _list(documents, "document") if documents else None


def _when(found: re.Match[str], catalog: Catalogued) -> str | None:
    what = found["what"] or found["was"]
    if found["what"] and not _ADDED.search(found.group().replace(what, "")):
        return None
    documents = meant(what, catalog.documents)
    if not documents:
        return _unknown(what, catalog.documents)
    return "\n".join(f"- {document.name} was added on **{_moment(document.indexed_at)}**." for document in documents)


def _newest(found: re.Match[str], catalog: Catalogued) -> str:
    documents = sorted(catalog.documents, key=lambda document: document.indexed_at, reverse=True)
    lines = [f"- {document.name}, added {_moment(document.indexed_at)}" for document in documents[:5]]
    return "The last documents added:\n\n" + "\n".join(lines) if lines else "There is no document in the library."


def _failed(found: re.Match[str], catalog: Catalogued) -> str:
    if not catalog.failures:
        return "No file failed."
    lines = [f"- {failure.name}: {failure.message} {failure.hint}".rstrip() for failure in catalog.failures[:LISTED]]
    number = len(catalog.failures)
    return f"**{_count(number, 'file')}** could not be read:\n\n" + "\n".join(lines) + _more(number)


def _labels(found: re.Match[str], catalog: Catalogued) -> str:
    label = found["label"].casefold()
    if label == "tags":
        counted = Counter(f"{key}={value}" for document in catalog.documents for key, value in document.tags.items())
    elif label == "collections":
        counted = Counter(document.collection for document in catalog.documents if document.collection)
    else:
        counted = Counter(_kind_of(document) for document in catalog.documents)
    if not counted:
        return f"No document has {'a tag' if label == 'tags' else 'a collection'}."
    lines = [f"- {name}: {_count(number, 'document')}" for name, number in counted.most_common(LISTED)]
    return "\n".join(lines) + _more(len(counted))


def _have(found: re.Match[str], catalog: Catalogued) -> str | None:
    what = next(group for group in found.groups() if group)
    documents = meant(what, catalog.documents) if file_name(what) else []
    if documents:
        return f"Yes.\n\n{_list(documents, 'document')}"
    return _unknown(what, catalog.documents)


def _tagged(found: re.Match[str], catalog: Catalogued) -> str:
    value = found["value"].strip().casefold()
    if found["collection"]:
        held = [d for d in catalog.documents if d.collection and f"{d.collection}/".casefold().startswith(f"{value}/")]
    else:
        held = [
            document
            for document in catalog.documents
            if any(value in (one.casefold(), f"{key}={one}".casefold()) for key, one in document.tags.items())
        ]
    return (
        _list(held, "document") if held else f"No document is in this {'collection' if found['collection'] else 'tag'}."
    )


_QUESTIONS: tuple[tuple[re.Pattern[str], Callable[[re.Match[str], Catalogued], str | None]], ...] = (
    (_FAILED, _failed),
    (_NEWEST, _newest),
    (_TAGGED, _tagged),
    (_LABELS, _labels),
    (_LIST, _listed),
    (_COUNT, _counted),
    (_PAGES, _page_count),
    (_WHEN, _when),
    (_HAVE, _have),
    (_MINE, _mine),
)


def _of_kind(said: str, documents: Sequence[Document]) -> tuple[str, list[Document]]:
    """What the kind is called, and the documents of it."""
    for names, label, types in _KINDS:
        if not names or re.match(names, said, re.IGNORECASE):
            return label, [d for d in documents if any(part in d.media_type for part in types)]
    raise AssertionError("the last kind is every document")


def _kind_of(document: Document) -> str:
    label = next(label for _, label, types in _KINDS if any(part in document.media_type for part in types))
    return label if label != "document" else f"{(document.name.rpartition('.')[2] or 'other').lower()} file"


def _labels_of(document: Document) -> frozenset[str]:
    words = " ".join([document.name, document.collection or "", *document.tags, *document.tags.values()])
    return content_words(re.sub(r"[._/-]+", " ", words))


def _list(documents: Sequence[Document], label: str) -> str:
    if not documents:
        return f"There is no {label} in the library."
    lines = [f"- {_line(document)}" for document in documents[:LISTED]]
    return f"**{_count(len(documents), label)}**\n\n" + "\n".join(lines) + _more(len(documents))


def _line(document: Document) -> str:
    facts = [_count(document.page_count, "page"), f"added {_moment(document.indexed_at)}"]
    if document.collection:
        facts.append(f"in {document.collection}")
    facts += [f"{key}={value}" for key, value in document.tags.items()]
    if document.status != "indexed":
        facts.append("not yet found by meaning")
    return f"{document.name} ({', '.join(facts)})"


def _unknown(what: str, documents: Sequence[Document]) -> str | None:
    """That there is no such file, with names like it; None where no file was named."""
    name = file_name(what)
    if not name:
        return None
    close = close_names(name, documents)
    tail = f" Close to it: {', '.join(close)}." if close else ""
    return f"There is no document called {name} in the library.{tail}"


def _of_all(catalog: Catalogued) -> str:
    return f", which holds {_count(len(catalog.documents), 'document')}" if catalog.documents else ""


def _more(number: int) -> str:
    return f"\n- and {number - LISTED:,} more" if number > LISTED else ""


def _moment(when: datetime) -> str:
    return when.astimezone().strftime("%Y-%m-%d %H:%M")


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"
