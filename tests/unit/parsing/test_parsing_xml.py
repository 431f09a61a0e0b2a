"""XML: the text of every element; entities neither expand nor fetch anything."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from localrag.errors import DocumentError, DocumentTooLarge, EmptyDocument, UnreadableDocument
from localrag.types import ParsedDocument

Read = Callable[[str | bytes, str], ParsedDocument]


def _text(document: ParsedDocument) -> str:
    return "\n\n".join(page.markdown for page in document.pages)


def test_records_become_blocks_of_named_values(read_content: Read) -> None:
    content = "<people><p1><name>Ada</name><age unit='y'>36</age></p1><p1><name>Bob</name><age>7</age></p1></people>"
    document = read_content(content, "a.xml")
    assert document.media_type == "application/xml"
    assert [(page.label, page.markdown) for page in document.pages] == [
        ("p1[1]..p1[2]", "- name: Ada\n- age (unit: y): 36\n\n- name: Bob\n- age: 7")
    ]


def test_titles_become_headings_at_their_depth(read_content: Read) -> None:
    content = (
        "<article><title>Top</title><sec><title>First</title><p>Words here.</p>"
        "<sec><title>Inner</title><p>More words.</p></sec></sec><sec><title>Second</title><p>End.</p></sec></article>"
    )
    document = read_content(content, "a.xml")
    assert document.title == "Top"
    assert _text(document) == ("# Top\n\n## First\n\nWords here.\n\n### Inner\n\nMore words.\n\n## Second\n\nEnd.")


def test_words_inside_a_sentence_stay_in_it(read_content: Read) -> None:
    content = (
        "<d><p>H<sub>2</sub>O is <b>wet</b>, see <list><item>one</item><item>two</item></list>end.</p><x>y</x></d>"
    )
    assert "H2O is wet, see one two end." in _text(read_content(content, "a.xml"))


def test_elements_that_only_wrap_text_are_dissolved(read_content: Read) -> None:
    wrapped = "".join(f"<k{n}><T>value {n}</T></k{n}>" for n in range(6))
    content = f"<d>{wrapped}<s><T>Let N</T><sub><T>1</T></sub><T> be odd.</T></s></d>"
    text = _text(read_content(content, "a.xml"))
    assert "- k0: value 0" in text
    assert "Let N1 be odd." in text


def test_attributes_that_say_something_are_kept(read_content: Read) -> None:
    content = (
        '<rows><row Id="1" Title="How to fold" id="x"/><row Id="2" Title="Why"/><g name="Group"><a>1</a></g></rows>'
    )
    text = _text(read_content(content, "a.xml"))
    assert "- row: Title: How to fold" in text
    assert "- g: name: Group\n- a: 1" in text


def test_long_files_are_cut_into_pages_labelled_with_their_place(read_content: Read) -> None:
    content = "<d>" + "".join(f"<s><title>T{n}</title><p>{'word ' * 200}</p></s>" for n in range(20)) + "</d>"
    document = read_content(content, "a.xml")
    # A section counts some 1,010 characters, so a page of 6,000 holds five.
    assert [page.label for page in document.pages] == ["s[1]..s[5]", "s[6]..s[10]", "s[11]..s[15]", "s[16]..s[20]"]


# Entities

LAUGHS = "<!DOCTYPE x [<!ENTITY a0 'ha'>" + "".join(
    f"<!ENTITY a{n} '{f'&a{n - 1};' * 10}'>" for n in range(1, 12)
) + "]><x><t>before</t><t>&a11;</t></x>"  # fmt: skip
QUADRATIC = f"<!DOCTYPE x [<!ENTITY a '{'A' * 100_000}'>]><x><t>before</t><t>{'&a;' * 10_000}</t></x>"


@pytest.mark.parametrize("content", [LAUGHS, QUADRATIC], ids=["billion laughs", "quadratic"])
def test_an_entity_bomb_does_not_go_off(read_content: Read, content: str) -> None:
    started = time.monotonic()
    try:
        text = _text(read_content(content, "a.xml"))
    except DocumentError as error:
        text = error.message
    assert len(text) < 1000
    assert "haha" not in text
    assert "AAAA" not in text
    assert time.monotonic() - started < 2


@pytest.mark.parametrize("scheme", ["file", "http"])
def test_external_entities_are_not_fetched(read_content: Read, tmp_path: Path, scheme: str) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text("the secret words")
    address = secret.as_uri() if scheme == "file" else "http://127.0.0.1:9/x"
    content = (
        f'<!DOCTYPE x [<!ENTITY leak SYSTEM "{address}"><!ENTITY % dtd SYSTEM "{address}"> %dtd;]>'
        "<x><t>public &leak; words</t></x>"
    )
    document = read_content(content, "a.xml")
    assert _text(document) == "- t: public words"
    assert "leak" in document.warnings[0]


def test_short_entities_of_the_file_and_of_html_are_read(read_content: Read) -> None:
    content = "<!DOCTYPE x SYSTEM 'x.dtd' [<!ENTITY co 'ACME Ltd'>]><x><t>&co; &amp; &eacute;&agr;&mdash;&zzz;</t></x>"
    document = read_content(content, "a.xml")
    assert _text(document) == "- t: ACME Ltd & éα—"
    assert document.warnings == ("Entities that were not expanded: zzz.",)


def test_undeclared_entities_without_a_document_type_are_tolerated(read_content: Read) -> None:
    assert _text(read_content("<x><t>a&nbsp;b &lt; &copy; &zzz;</t></x>", "a.xml")) == "- t: a b < © &zzz;"


# Faults


@pytest.mark.parametrize("depth", [101, 300, 100_000])
def test_too_deep_a_tree_is_refused(read_content: Read, depth: int) -> None:
    with pytest.raises(DocumentTooLarge, match="100 levels"):
        read_content("<a>" * depth + "x" + "</a>" * depth, "a.xml")


def test_a_hundred_levels_are_read(read_content: Read) -> None:
    assert "words" in _text(read_content("<a>" * 100 + "words" + "</a>" * 100, "a.xml"))


@pytest.mark.parametrize("content", ["<a><b>cut off", "<a></b>", "<a>&</a>", "<a/><b/>"])
def test_malformed_xml_says_where(read_content: Read, content: str) -> None:
    with pytest.raises(UnreadableDocument, match=r"line 1, column \d"):
        read_content(content, "a.xml")


def test_xml_without_text_is_empty(read_content: Read) -> None:
    with pytest.raises(EmptyDocument):
        read_content("<a><b/><!-- a comment is no text --></a>", "a.xml")


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "iso-8859-1", "windows-1252", "shift_jis", "gb2312"])
def test_the_declared_encoding_is_read(read_content: Read, encoding: str) -> None:
    word = {"shift_jis": "日本語", "gb2312": "中文"}.get(encoding, "Größe")
    content = f'<?xml version="1.0" encoding="{encoding}"?><a><t>{word}</t></a>'.encode(encoding)
    assert _text(read_content(content, "a.xml")) == f"- t: {word}"


def test_the_time_for_many_records_grows_with_their_number(read_content: Read) -> None:
    """100,000 records took more than ten minutes when each was counted among all of them."""
    started = time.process_time()

    document = read_content(f"<all>{'<r><a>1</a><b>2</b></r>' * 40_000}</all>", "a.xml")

    assert document.pages[-1].label.endswith("r[40000]")
    assert time.process_time() - started < 30  # 40,000 squared is 1,600,000,000 comparisons
