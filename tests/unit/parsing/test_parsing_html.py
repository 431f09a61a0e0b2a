"""The HTML reader: what is kept, what is left out, how tables, code and long pages come out."""

from __future__ import annotations

from pathlib import Path

import pytest

from localrag.errors import EmptyDocument, UnsupportedDocument
from localrag.parsing import html
from localrag.parsing.html_pages import PAGE_CHARS
from localrag.parsing.source import Source
from localrag.types import ParsedDocument


def no_child(_: bytes, name: str) -> ParsedDocument:
    raise UnsupportedDocument(f"No reader for {name}.", path=name)


def read(markup: str | bytes, tmp_path: Path) -> ParsedDocument:
    path = tmp_path / "page.html"
    path.write_bytes(markup.encode() if isinstance(markup, str) else markup)
    return html.read(Source(path=path, name="page.html", read_child=no_child))


def markdown(markup: str | bytes, tmp_path: Path) -> str:
    return "\n\n".join(page.markdown for page in read(markup, tmp_path).pages)


def test_headings_paragraphs_lists_and_code(tmp_path: Path) -> None:
    markup = """<html><head><title>Guide</title></head><body><h1>Install <em>it</em></h1>
    <p>First   <b>line</b><br>second&nbsp;line with <code>make</code> &amp;
    <a href="https://example.org">a link</a>.</p>
    <ul><li>one<ul><li>inner</li></ul></li><li>two</li></ul>
    <ol start="3"><li>three</li><li><p>four</p></li></ol>
    <pre>if x:
    go()  # now</pre><blockquote><p>Quoted.</p></blockquote></body></html>"""
    parsed = read(markup, tmp_path)
    assert parsed.title == "Guide"
    assert parsed.pages[0].markdown == (
        "# Install it\n\nFirst line\nsecond line with make & a link.\n\n- one\n   - inner\n- two\n3. three\n4. four\n\n"
        "```\nif x:\n    go()  # now\n```\n\n> Quoted."
    )


@pytest.mark.parametrize(
    "around",
    [
        "<nav><a href='/'>CHROME</a></nav>",
        "<div role='navigation'>CHROME</div>",
        "<aside>CHROME</aside>",
        "<footer>CHROME</footer>",
        "<script>var x = 'CHROME'</script>",
        "<style>p { content: 'CHROME' }</style>",
        "<!-- CHROME -->",
        "<template>CHROME</template>",
        "<noscript>CHROME</noscript>",
        "<select><option>CHROME</option></select>",
        "<p hidden>CHROME</p>",
        "<p style='color: red; DISPLAY : none'>CHROME</p>",
        "<div style='visibility:hidden'><p>CHROME</p></div>",
        "<span style='font-size:0'>CHROME</span>",
        "<span style='opacity:0;'>CHROME</span>",
    ],
)
def test_what_is_not_content_is_left_out(around: str, tmp_path: Path) -> None:
    body = f"<p>before</p>{around} tail <p>after the text</p>"
    assert markdown(f"<body>{body}</body>", tmp_path) == "before\n\ntail\n\nafter the text"


@pytest.mark.parametrize("style", ["font-size:0.9em", "opacity:0.5", "display:block", "visibility:visible"])
def test_visible_styles_hide_nothing(style: str, tmp_path: Path) -> None:
    assert markdown(f"<p style='{style}'>seen</p>", tmp_path) == "seen"


@pytest.mark.parametrize(
    "rule",
    [
        ".x { display: none }",
        "p.x{color:red;visibility:hidden}",
        "/* .x */ @import 'a.css'; #i { opacity: 0 }",
        "@media screen { .x { font-size: 0px } }",
        ".x { display: block } .x { display: none !important }",
        "@media print { .x { display: block } } .a, .x { display: none }",
    ],
)
def test_what_a_rule_of_the_page_hides_is_not_read(rule: str, tmp_path: Path) -> None:
    page = f"<style>{rule}</style><p>Seen before.</p><p id=i class='x y'>HIDDEN</p><p class=y>Seen after.</p>"

    assert markdown(page, tmp_path) == "Seen before.\n\nSeen after."


@pytest.mark.parametrize(
    "rule",
    [
        "@media print { .x { display: none } }",
        "@media (max-width: 600px) { .x { display: none } }",
        "@keyframes f { from { opacity: 0 } }",
        "body { visibility: hidden }",
        ".x { display: none } .x.y { display: block }",
        ".x { display: none } .js .x { display: block }",
        ".menu .x { display: none }",
        ".x:empty { display: none }",
        ".x { opacity: 0.5; font-size: 10px }",
        ".z { display: none }",
    ],
)
def test_rules_that_hold_elsewhere_hide_nothing(rule: str, tmp_path: Path) -> None:
    page = f"<style>{rule}</style><div>Seen first.<p id=i class='x y'>Seen as well.</p></div>"

    assert markdown(page, tmp_path) == "Seen first.\n\nSeen as well."


def test_rules_that_hide_all_of_a_page_are_for_its_script(tmp_path: Path) -> None:
    page = "<style>.loading { display: none }</style><div class=loading><p>The whole text.</p></div>"

    assert markdown(page, tmp_path) == "The whole text."


def test_a_style_of_its_own_shows_what_a_rule_hides(tmp_path: Path) -> None:
    page = "<style>.x { display: none }</style><p class=x style='display: block'>Seen.</p><p>Also seen.</p>"

    assert markdown(page, tmp_path) == "Seen.\n\nAlso seen."


@pytest.mark.parametrize("element", ["main", "section", "article", "div", "figure"])
def test_a_body_without_its_tag_begins_where_the_metadata_ends(element: str, tmp_path: Path) -> None:
    page = f"<!doctype html><meta charset=utf-8><title>Short</title><{element}>All there.<p>And more.</{element}>"

    parsed = read(page, tmp_path)

    assert parsed.title == "Short"
    assert parsed.pages[0].markdown == "All there.\n\nAnd more."


def test_main_is_taken_alone_when_it_holds_the_text(tmp_path: Path) -> None:
    body = "<div>Log in. Sign up.</div><main><h1>Ducks</h1><p>Ducks swim on ponds.</p></main><div>Imprint</div>"
    assert markdown(f"<body>{body}</body>", tmp_path) == "# Ducks\n\nDucks swim on ponds."


def test_an_empty_main_does_not_hide_the_page(tmp_path: Path) -> None:
    body = "<main></main><div>All the text of this page stands outside.</div>"
    assert markdown(f"<body>{body}</body>", tmp_path) == "All the text of this page stands outside."


def test_a_page_that_is_all_navigation_is_kept(tmp_path: Path) -> None:
    assert markdown("<body><nav><ul><li>Home</li><li>Prices</li></ul></nav></body>", tmp_path) == "- Home\n- Prices"


def test_asides_of_an_article_belong_to_it(tmp_path: Path) -> None:
    body = "<article><p>Text.</p><aside>A note.</aside></article><aside>Advertisement</aside>"
    assert markdown(f"<body><div>{body}</div><article></article></body>", tmp_path) == "Text.\n\nA note."


def test_a_list_of_links_in_a_header_is_navigation(tmp_path: Path) -> None:
    languages = "".join(f"<li><a href='#'>Language {i}</a></li>" for i in range(9))
    body = f"<main><header><h1>Duck</h1><ul>{languages}</ul></header><p>{'A duck is a bird. ' * 20}</p></main>"
    text = markdown(f"<body>{body}</body>", tmp_path)
    assert text.startswith("# Duck\n\nA duck is a bird.")
    assert "Language" not in text


def test_pictures_leave_their_alternative_text_only(tmp_path: Path) -> None:
    text = markdown("<p>See <img src='https://evil.example/x.png?q=1' alt='a chart'> here.</p>", tmp_path)
    assert text == "See a chart here."


def test_text_that_looks_like_markdown_is_no_heading(tmp_path: Path) -> None:
    assert markdown("<p># 5 of them</p>", tmp_path) == "\\# 5 of them"


def test_every_cell_stands_under_its_header(tmp_path: Path) -> None:
    table = """<table><caption>Sales</caption>
    <thead><tr><th rowspan=2>Region</th><th colspan=2>Units</th></tr><tr><th>2022</th><th>2021</th></tr></thead>
    <tr><td rowspan=2>North<br>(cold)</td><td>1</td><td>2 | 3</td></tr>
    <tr><td>4</td><td><ul><li>five</li><li>six</li></ul></td></tr>
    <tr><td colspan=2>South</td><td>7</td></tr></table>"""
    assert markdown(table, tmp_path) == (
        "Sales\n\n| Region | Units 2022 | Units 2021 |\n| --- | --- | --- |\n"
        "| North (cold) | 1 | 2 \\| 3 |\n| North (cold) | 4 | five; six |\n| South |  | 7 |"
    )


def test_a_table_of_labels_and_values_has_an_empty_header(tmp_path: Path) -> None:
    table = "<table><tr><th>Kingdom</th><td>Animalia</td></tr><tr><th>Class</th><td>Aves</td></tr></table>"
    assert markdown(table, tmp_path) == "|  |  |\n| --- | --- |\n| Kingdom | Animalia |\n| Class | Aves |"


def test_layout_tables_are_read_cell_by_cell(tmp_path: Path) -> None:
    inner = "<table><tr><td>a</td><td>b</td></tr><tr><td>1</td><td>2</td></tr></table>"
    table = f"<table><tr><td><h1>Title</h1><p>One.</p><p>Two.</p>{inner}</td><td>Side.</td></tr></table>"
    assert markdown(table, tmp_path) == "# Title\n\nOne.\n\nTwo.\n\n| a | b |\n| --- | --- |\n| 1 | 2 |\n\nSide."


def test_spans_out_of_proportion_do_no_harm(tmp_path: Path) -> None:
    rows = "<tr><th colspan='999999999' rowspan='x'>a</th></tr>" * 50
    text = markdown(f"<table>{rows}<tr><td rowspan=65534>b</td><td>c</td></tr></table>", tmp_path)
    assert len(text) < 100_000
    assert "| b | c |" in text


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        ("<p>Grüße</p>".encode("utf-16"), "Grüße"),
        ("<p>Grüße</p>".encode("utf-8-sig"), "Grüße"),
        ("<meta charset=iso-8859-1><p>Grüße – fein</p>".encode("cp1252"), "Grüße – fein"),
        ('<meta http-equiv=x content="text/html; charset=windows-1251"><p>Привет</p>'.encode("cp1251"), "Привет"),
        ("<meta charset='shift_jis'><p>こんにちは</p>".encode("cp932"), "こんにちは"),
    ],
)
def test_the_encoding_is_the_one_the_page_names(data: bytes, expected: str, tmp_path: Path) -> None:
    assert markdown(data, tmp_path) == expected


def test_xhtml_is_read_as_xml(tmp_path: Path) -> None:
    markup = """<?xml version="1.0" encoding="utf-8"?><html xmlns="http://www.w3.org/1999/xhtml"><head><title/>
    <script src="x.js"/></head><body><p>A&nbsp;b &eacute; &amp; <a id="x"/>c</p></body></html>"""
    assert markdown(markup, tmp_path) == "A b é & c"


def test_entities_are_neither_expanded_nor_fetched(tmp_path: Path) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text("TOPSECRET")
    bomb = "".join(f'<!ENTITY b{i} "{f"&b{i - 1};" * 10}">' for i in range(1, 9))
    markup = f"""<?xml version="1.0"?><!DOCTYPE html [<!ENTITY s SYSTEM "{secret.as_uri()}"><!ENTITY b0 "boom">{bomb}]>
    <html xmlns="http://www.w3.org/1999/xhtml"><body><p>start &s; &b8; end</p></body></html>"""
    text = markdown(markup, tmp_path)
    assert "TOPSECRET" not in text
    assert text.startswith("start")
    assert len(text) < 1_000


@pytest.mark.parametrize("depth", [500, 20_000])
def test_deep_nesting_loses_no_text(depth: int, tmp_path: Path) -> None:
    markup = f"<body><p>top</p>{'<div>' * depth}deep<script>no</script>{'</div>' * depth}<p>end</p></body>"
    parsed = read(markup, tmp_path)
    assert "\n\n".join(page.markdown for page in parsed.pages) == "top\n\ndeep\n\nend"
    assert len(parsed.warnings) == (depth > 2_000)


def test_pages_are_sections_with_their_heading_as_label(tmp_path: Path) -> None:
    filler = "<p>" + "A sentence of ordinary length. " * 60 + "</p>"  # 31 * 60 = 1,860 characters
    body = f"<p>Preface.</p><h1>Report</h1><h2>Costs</h2>{filler}<h2>Income</h2>{filler * 4}<h2>Tax</h2><p>None.</p>"
    pages = read(f"<body>{body}</body>", tmp_path).pages
    assert [(page.ordinal, page.number, page.label) for page in pages] == [
        (1, None, "start to section Costs"),
        (2, None, "section Income, part 1"),
        (3, None, "section Income, part 2"),
        (4, None, "section Tax"),
    ]
    assert pages[1].markdown.startswith("## Income\n")
    assert all(len(page.markdown) <= PAGE_CHARS + 100 for page in pages)


def test_long_blocks_are_cut_where_they_can_be(tmp_path: Path) -> None:
    lines = "\n".join(f"line {i}" for i in range(3_000))
    rows = "".join(f"<tr><td>row {i}</td><td>{i}</td></tr>" for i in range(1_000))
    words = " ".join(f"word{i}" for i in range(3_000))
    body = f"<pre>{lines}</pre><table><tr><th>Name</th><th>Value</th></tr>{rows}</table><p>{words}</p>"
    pages = read(f"<body>{body}</body>", tmp_path).pages
    assert max(len(page.markdown) for page in pages) <= PAGE_CHARS + 100
    text = "\n".join(page.markdown for page in pages)
    assert all(f"\nline {i}\n" in text for i in range(3_000))
    assert all(f"| row {i} | {i} |" in text for i in range(1_000))
    assert all(page.markdown.count("```") % 2 == 0 for page in pages)
    tabled = [page.markdown for page in pages if "| row " in page.markdown]
    assert all("| Name | Value |\n| --- | --- |" in page for page in tabled)


@pytest.mark.parametrize(
    "markup", ["", "   ", "<html><head><title>x</title></head><body></body></html>", "<script>1</script>"]
)
def test_a_page_without_text_is_empty(markup: str, tmp_path: Path) -> None:
    with pytest.raises(EmptyDocument, match=r"page\.html"):
        read(markup, tmp_path)
