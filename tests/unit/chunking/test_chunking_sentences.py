"""Sentences, titles, visible characters and token counts: the small parts, by example."""

from __future__ import annotations

from itertools import pairwise

import pytest

from localrag.chunking.graphemes import safe_cut
from localrag.chunking.headings import HeadingStack, plain_title
from localrag.chunking.ruler import Ruler
from localrag.chunking.sentences import sentence_starts
from localrag.testing import PieceTokenizer


def sentences(text: str) -> list[str]:
    cuts = [0, *sentence_starts(text, 0, len(text)), len(text)]
    return [text[start:end].strip() for start, end in pairwise(cuts)]


@pytest.mark.parametrize(
    "expected",
    [
        ["One.", "Two!", "Three?"],
        ["He met Dr. Smith at 5 p.m. on Jan. 3.", "It rained."],
        ["See Fig. 3 and pp. 4-9, e.g. this one.", "Then go on."],
        ["J. R. Miller wrote it.", "We read it."],
        ["It cost 3.50 in 2019.", "In 2020 it cost more."],
        ["They work for Acme Inc. in Rome.", "She left."],
        ["They bought Acme Inc.", "The price was low."],
        ["“Really?”", "He nodded."],
        ["Wait... what?", "Yes."],
        ["Das gilt z.B. für Mieter.", "Und für Käufer."],
        ["Она ушла.", "Он остался."],
        ["هل هذا صحيح؟", "نعم."],
        ["यह ठीक है।", "चलो।"],
    ],
)
def test_sentences_with_spaces_between(expected: list[str]) -> None:
    assert sentences(" ".join(expected)) == expected


def test_chinese_and_japanese_sentences_need_no_space() -> None:
    assert sentences("今日は晴れ。「本当？」はい！行こう。") == ["今日は晴れ。", "「本当？」", "はい！", "行こう。"]


def test_the_slice_is_kept_to() -> None:
    text = "A one. B two. C three."
    assert sentence_starts(text, 7, 14) == []
    assert sentence_starts(text, 0, len(text)) == [7, 14]


@pytest.mark.parametrize(
    ("raw", "title"),
    [
        ("**Bold** and *thin*", "Bold and thin"),
        ("The `code` of [a link](x.html)", "The code of a link"),
        ("![logo](a.png) Name", "logo Name"),
        ("Name {#anchor}", "Name"),
        ("A <br/> B", "A B"),
        ("snake_case_name", "snake_case_name"),
        ("5 * 3 * 2", "5 * 3 * 2"),
        (r"1\. First", "1. First"),
        ("  spaced \t out ", "spaced out"),
    ],
)
def test_titles_are_plain_text(raw: str, title: str) -> None:
    assert plain_title(raw) == title


def test_a_paragraph_styled_as_a_heading_is_cut_at_a_word() -> None:
    title = plain_title("word " * 100)
    assert len(title) <= 160
    assert title.endswith("word…")


def test_a_heading_ends_those_of_its_level_and_deeper() -> None:
    stack = HeadingStack()
    paths = []
    for level, title in [(2, "A"), (3, "B"), (3, "C"), (1, "D"), (4, "E"), (2, "F"), (2, "<br>")]:
        stack.push(level, title)
        paths.append(stack.path)
    assert paths == [("A",), ("A", "B"), ("A", "C"), ("D",), ("D", "E"), ("D", "F"), ("D", "F")]


@pytest.mark.parametrize(
    ("text", "at", "expected"),
    [
        ("abcd", 2, 2),
        ("ae\u0301b", 2, 1),
        ("x👍🏽y", 2, 1),
        ("x👨‍👩‍👧y", 4, 1),
        ("🇩🇪🇫🇷", 3, 2),
        ("a\r\nb", 2, 1),
        ("한국", 1, 1),
        ("\u1112\u1161\u11ab", 1, 3),
        ("\u0301\u0301\u0301", 1, 3),
    ],
)
def test_a_cut_parts_no_visible_character(text: str, at: int, expected: int) -> None:
    assert safe_cut(text, at, 0, len(text)) == expected


def test_the_ruler_counts_slices_as_the_tokenizer_counts_the_whole() -> None:
    text = "one three seventeen, two"  # one; three; sevent een; a comma; two: 6 pieces
    ruler = Ruler(text, PieceTokenizer())
    assert ruler.count(0, len(text)) == 6
    assert ruler.count(0, 10) == 2
    assert ruler.reach(0, 3) == 16  # before `een`
    assert ruler.reach(4, 99) == len(text)


def test_long_pages_are_counted_in_windows_without_a_seam() -> None:
    text = "seven letters\n" * 20_000  # 280,000 characters, five windows; letters is two pieces
    assert Ruler(text, PieceTokenizer()).count(0, len(text)) == 3 * 20_000


def test_what_no_token_covers_is_counted_all_the_same() -> None:
    class Blind(PieceTokenizer):
        def offsets(self, text: str) -> list[tuple[int, int]]:
            return []

    assert Ruler("\u200b" * 400, Blind()).count(0, 400) == 100  # one for every 4 characters
    assert Ruler(" " * 400, Blind()).count(0, 400) == 0
