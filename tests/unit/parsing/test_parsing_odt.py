"""OpenDocument texts: what stands in the content and in the styles, as the reader of the document sees it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from localrag.errors import EmptyDocument, EncryptedDocument, UnreadableDocument
from localrag.parsing import odt
from localrag.parsing.source import Source
from localrag.types import ParsedDocument

Sources = Callable[..., Source]
Zipped = Callable[[str, Mapping[str, str | bytes]], Path]
Read = Callable[..., ParsedDocument]

_OASIS = "urn:oasis:names:tc:opendocument:xmlns"
NAMESPACES = (
    " ".join(f'xmlns:{name}="{_OASIS}:{name}:1.0"' for name in ("office", "text", "table", "style", "meta"))
    + f' xmlns:draw="{_OASIS}:drawing:1.0" xmlns:fo="{_OASIS}:xsl-fo-compatible:1.0"'
    + ' xmlns:dc="http://purl.org/dc/elements/1.1/"'
)
STYLES = (
    '<style:style style:name="Title" style:family="paragraph"/>'
    '<style:style style:name="Heading_20_2" style:family="paragraph" style:display-name="Heading 2"/>'
    '<style:style style:name="P2" style:family="paragraph" style:parent-style-name="Heading_20_2"/>'
    '<style:style style:name="Break" style:family="paragraph"><style:paragraph-properties fo:break-before="page"/>'
    '</style:style><style:style style:name="Last" style:family="paragraph">'
    '<style:paragraph-properties fo:break-after="page"/></style:style>'
    '<style:style style:name="New" style:family="paragraph" style:master-page-name="Standard"/>'
    '<style:style style:name="Hidden" style:family="text"><style:text-properties text:display="none"/></style:style>'
    '<text:list-style style:name="N"><text:list-level-style-number text:level="1" style:num-format="1" '
    'style:num-suffix="."/><text:list-level-style-number text:level="2" style:num-format="a" style:num-suffix=")" '
    'text:display-levels="2"/></text:list-style>'
    '<text:list-style style:name="B"><text:list-level-style-bullet text:level="1"/></text:list-style>'
)


def content(body: str, styles: str = STYLES) -> str:
    return (
        f"<office:document-content {NAMESPACES}><office:automatic-styles>{styles}</office:automatic-styles>"
        f"<office:body><office:text>{body}</office:text></office:body></office:document-content>"
    )


@pytest.fixture
def read(source: Sources, zipped: Zipped) -> Read:
    """Reads a document with the body, and other parts of the package as they are given."""

    def run(body: str, **parts: str) -> ParsedDocument:
        members = {f"{name}.xml": text for name, text in parts.items()}
        return odt.read(source(zipped("a.odt", {"content.xml": content(body), **members})))

    return run


def _cell(inner: str, attributes: str = "") -> str:
    return f"<table:table-cell {attributes}>{inner}</table:table-cell>"


def _p(text: str, style: str = "") -> str:
    return f'<text:p text:style-name="{style}">{text}</text:p>'


def test_headings_by_element_and_by_style(read: Read) -> None:
    document = read(
        _p("A lease", "Title") + '<text:h text:outline-level="1">Rent</text:h>' + _p("Garage", "P2") + _p("# of rooms")
    )

    assert document.title == "A lease"
    assert document.pages[0].markdown == "# A lease\n\n# Rent\n\n## Garage\n\n\\# of rooms"


def test_white_space_and_marks_within_a_paragraph(read: Read) -> None:
    body = _p(
        "one\n  two<text:s text:c='3'/>three<text:tab/>four<text:line-break/> five "
        "<text:span>six<text:bookmark-start/></text:span><text:a> seven</text:a>"
        "<text:span text:style-name='Hidden'>secret</text:span><!-- c -->"
        "<text:ruby><text:ruby-base>字</text:ruby-base><text:ruby-text>ji</text:ruby-text></text:ruby>"
    )

    assert read(body).pages[0].markdown == "one two three four\nfive six seven字"


def test_changes_are_taken_as_accepted(read: Read) -> None:
    changes = "<text:tracked-changes><text:changed-region><text:deletion>" + _p("800") + "</text:deletion>"
    changes += "</text:changed-region></text:tracked-changes>"

    document = read(
        changes
        + _p("It is <text:change/><text:change-start/>900<text:change-end/> euros.")
        + f'<text:section text:display="none">{_p("hidden")}</text:section><text:section>{_p("shown")}</text:section>'
    )

    assert document.pages[0].markdown == "It is 900 euros.\n\nshown"


def _list(style: str, *items: str, attributes: str = "") -> str:
    inner = "".join(f"<text:list-item>{item}</text:list-item>" for item in items)
    return f'<text:list text:style-name="{style}" {attributes}>{inner}</text:list>'


def test_lists_are_numbered_as_their_style_says(read: Read) -> None:
    nested = _list("", _p("deep"), _p("deeper"))
    body = (
        _list("N", _p("one"), _p("two") + _p("goes on") + nested)
        + _list("B", _p("bullet"))
        + _list("N", _p("three"), attributes='text:continue-numbering="true"')
        + _p("Then")
        + _list("N", _p("anew"))
    )

    assert read(body).pages[0].markdown == (
        "1. one\n2. two\n   goes on\n   - 2.a) deep\n   - 2.b) deeper\n- bullet\n3. three\n\nThen\n\n1. anew"
    )


def test_a_start_value_and_a_list_header(read: Read) -> None:
    items = f'<text:list-item text:start-value="7">{_p("seven")}</text:list-item>'
    items += f"<text:list-header>{_p('no number')}</text:list-header><text:list-item>{_p('eight')}</text:list-item>"

    document = read(f'<text:list text:style-name="N">{items}</text:list>')

    assert document.pages[0].markdown == "7. seven\n   no number\n8. eight"


def test_numbers_that_are_none_count_as_left_out(read: Read) -> None:
    items = f'<text:list-item text:start-value="x">{_p("one")}</text:list-item>'
    body = f'<text:h text:outline-level="">A</text:h><text:list text:style-name="N">{items}</text:list>'

    assert read(body).pages[0].markdown == "# A\n\n1. one"


def test_headings_are_numbered_by_the_outline(read: Read) -> None:
    outline = (
        '<text:outline-style><text:outline-level-style text:level="1" style:num-format="1"/><text:outline-level-style '
        'text:level="2" style:num-format="1" text:display-levels="2"/></text:outline-style>'
    )
    heading = '<text:h text:outline-level="{}">{}</text:h>'
    body = heading.format(1, "A") + heading.format(2, "B") + heading.format(1, "C") + heading.format(2, "D")

    document = read(body, styles=f"<office:document-styles {NAMESPACES}>{outline}</office:document-styles>")

    assert document.pages[0].markdown == "# 1 A\n\n## 1.1 B\n\n# 2 C\n\n## 2.1 D"


def _row(*cells: str) -> str:
    return (
        "<table:table-row>"
        + "".join(f"<table:table-cell>{_p(cell)}</table:table-cell>" for cell in cells)
        + "</table:table-row>"
    )


def test_tables_with_merged_cells_and_a_title_row(read: Read) -> None:
    body = (
        "<table:table><table:table-header-rows>"
        f'<table:table-row><table:table-cell table:number-columns-spanned="3">{_p("Rents")}</table:table-cell>'
        '<table:covered-table-cell table:number-columns-repeated="2"/></table:table-row></table:table-header-rows>'
        + _row("Region", "Flat", "Rent")
        + f'<table:table-row><table:table-cell table:number-rows-spanned="2">{_p("North")}</table:table-cell>'
        + f"{_cell(_p('A|1'))}{_cell(_p('900'))}</table:table-row>"
        + "<table:table-row><table:covered-table-cell/>"
        + _cell(_p("both"), 'table:number-columns-spanned="2"')
        + "<table:covered-table-cell/>"
        + "</table:table-row></table:table>"
    )

    assert read(body).pages[0].markdown == (
        "Rents\n\n| Region | Flat | Rent |\n| --- | --- | --- |\n| North | A\\|1 | 900 |\n| North | both | both |"
    )


def test_lists_and_tables_within_a_cell_stay_in_it(read: Read) -> None:
    inner = f"<table:table>{_row('x', 'y')}{_row('z', 'w')}</table:table>"
    cells = _cell(_list("B", _p("one"), _p("two"))) + _cell(inner)

    document = read(f"<table:table>{_row('A', 'B')}<table:table-row>{cells}</table:table-row></table:table>")

    assert document.pages[0].markdown.splitlines()[-1] == "| one two | x, y; z, w |"


def test_a_table_of_one_column_frames_text(read: Read) -> None:
    assert read(f"<table:table>{_row('first')}{_row('second')}</table:table>").pages[0].markdown == "first\n\nsecond"


def test_an_empty_table_and_damaged_counts_do_no_harm(read: Read) -> None:
    cell = '<table:table-cell table:number-columns-repeated="99999999999"/>'
    row = f'<table:table-row table:number-rows-repeated="x">{cell}</table:table-row>'

    document = read(f"<table:table>{row}</table:table>{_p('after')}")

    assert document.pages[0].markdown == "after"


def test_notes_comments_and_boxes_hang_on_their_paragraph(read: Read) -> None:
    note = f"<text:note-citation>1</text:note-citation><text:note-body>{_p('Third day.')}</text:note-body>"
    comment = (
        f"<office:annotation><dc:creator>Ann</dc:creator><dc:date>2024</dc:date>{_p('Check.')}</office:annotation>"
    )
    box = f"<draw:frame><draw:text-box>{_p('In the box', 'Break')}</draw:text-box></draw:frame>"

    document = read(_p(f"Rent<text:note>{note}</text:note> is due{comment}.{box}") + _p("Next"))

    assert document.pages[0].markdown == (
        "Rent[^1] is due.\n\nIn the box\n\n> Comment by Ann: Check.\n\nNext\n\n[^1]: Third day."
    )


def test_running_text_comes_once(read: Read) -> None:
    master = (
        f"<style:master-page><style:header>{_p('Lease')}</style:header><style:header-left>{_p('Lease')}"
        f"</style:header-left><style:footer>{_p('Page <text:page-number>3</text:page-number>')}</style:footer>"
        f"<style:footer-first>{_p('Draft')}</style:footer-first></style:master-page>"
    )
    styles = f"<office:document-styles {NAMESPACES}><office:master-styles>{master}</office:master-styles>"

    document = read(_p("Body"), styles=f"{styles}</office:document-styles>")

    assert document.pages[0].markdown == "Lease\n\nBody\n\nDraft"


def _meta(pages: int, title: str = "") -> str:
    statistic = f'<meta:document-statistic meta:page-count="{pages}"/>'
    inner = f"<office:meta><dc:title>{title}</dc:title>{statistic}</office:meta>"
    return f"<office:document-meta {NAMESPACES}>{inner}</office:document-meta>"


def test_pages_are_numbered_where_the_file_tells_them(read: Read) -> None:
    authored = _p("One", "New") + _p("Two", "Break") + _p("still two", "Last") + _p("Three")
    rendered = _p("One") + _p("Two begins. <text:soft-page-break/>It goes on") + "<text:soft-page-break/>" + _p("Three")

    numbered = read(authored, meta=_meta(3, "Named"))
    unknown = read(authored, meta=_meta(9))
    soft = read(rendered, meta=_meta(9))

    assert numbered.title == "Named"
    assert [(page.number, page.markdown) for page in numbered.pages] == [
        (1, "One"), (2, "Two\n\nstill two"), (3, "Three")
    ]  # fmt: skip
    assert [page.number for page in unknown.pages] == [None]
    assert [(page.number, page.markdown) for page in soft.pages] == [
        (1, "One\n\nTwo begins."), (2, "It goes on"), (3, "Three")
    ]  # fmt: skip


def test_a_table_over_two_pages_has_its_header_on_both(read: Read) -> None:
    rows = f"{_row('Name', 'Rent')}{_row('a', '1')}<text:soft-page-break/>{_row('b', '2')}"

    pages = read(f"<table:table>{rows}</table:table>").pages

    assert [page.markdown.splitlines()[0] for page in pages] == ["| Name | Rent |"] * 2
    assert [page.markdown.splitlines()[-1] for page in pages] == ["| a | 1 |", "| b | 2 |"]


def test_an_index_is_read_without_its_templates(read: Read) -> None:
    template = "<text:index-title-template>T</text:index-title-template>"
    source = f"<text:table-of-content-source>{template}</text:table-of-content-source>"
    body = f"<text:table-of-content>{source}<text:index-body>{_p('Rent 3')}</text:index-body></text:table-of-content>"

    assert read(body).pages[0].markdown == "Rent 3"


def test_an_encrypted_document_asks_for_its_password(source: Sources, zipped: Zipped) -> None:
    manifest = "<manifest:manifest><manifest:encryption-data/></manifest:manifest>"
    path = zipped("a.odt", {"META-INF/manifest.xml": manifest, "content.xml": b"\x01\x02"})

    with pytest.raises(EncryptedDocument, match="password"):
        odt.read(source(path))


def test_a_declared_document_type_is_refused(source: Sources, zipped: Zipped) -> None:
    bomb = '<?xml version="1.0"?><!DOCTYPE a [<!ENTITY b "c">]>' + content(_p("x"))

    with pytest.raises(UnreadableDocument, match="document type"):
        odt.read(source(zipped("a.odt", {"content.xml": bomb})))


@pytest.mark.parametrize("parts", [{"mimetype": "x"}, {"content.xml": "<a/>"}, {"content.xml": "<a"}])
def test_a_package_without_its_document_is_unreadable(
    source: Sources, zipped: Zipped, parts: Mapping[str, str]
) -> None:
    with pytest.raises(UnreadableDocument):
        odt.read(source(zipped("a.odt", parts)))


def test_without_text_it_is_empty(read: Read) -> None:
    with pytest.raises(EmptyDocument):
        read(_p(""))


def test_damaged_files_are_refused_in_our_words(
    failures_when_damaged: Callable[[object, Path], int], zipped: Zipped
) -> None:
    body = "".join(f'<text:h text:outline-level="1">Part {i}</text:h>{_p("word " * i)}' for i in range(40))
    path = zipped("whole.odt", {"mimetype": "application/vnd.oasis.opendocument.text", "content.xml": content(body)})

    assert failures_when_damaged(odt.read, path) >= 45
