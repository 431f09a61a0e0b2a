"""Chunks of worked examples, counted in words: one word is one token, so every budget below can be checked by eye."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from localrag.chunking.split import Chunker
from localrag.types import Chunk, Page


class Words:
    """A tokenizer whose tokens are runs without white space."""

    max_tokens = 512

    def count(self, text: str) -> int:
        return len(text.split())

    def offsets(self, text: str) -> list[tuple[int, int]]:
        return [match.span() for match in re.finditer(r"\S+", text)]


def chunk(*markdown: str, budget: int = 32, overlap: int = 0) -> list[Chunk]:
    pages = [Page(ordinal=at, number=at, markdown=text) for at, text in enumerate(markdown, start=1)]
    return Chunker(Words(), budget, overlap).chunk("doc", pages)


def words(name: str, count: int) -> str:
    """One sentence of `count` words: `A1 a2 … a5.`"""
    return " ".join(f"{name.upper() if at == 1 else name}{at}" for at in range(1, count + 1)) + "."


def test_a_short_page_is_one_chunk_with_its_offsets() -> None:
    (only,) = chunk("\n\nHello there.\n")
    assert (only.id, only.index, only.page_ordinal, only.page) == ("doc_0", 0, 1, 1)
    assert (only.text, only.start, only.end) == ("Hello there.", 2, 14)
    assert only.heading_path == ()
    assert only.prefix == ""
    assert only.token_count == 4  # [CLS] Hello there. [SEP]


def test_headings_become_a_path_that_goes_on_over_pages() -> None:
    chunks = chunk("Before.\n\n# Intro\n\nOne.\n\n## Background\n\nTwo.", "Three.\n\n# Method\n\nFour.")
    assert [(item.page, item.heading_path) for item in chunks] == [
        (1, ()),
        (1, ("Intro",)),
        (1, ("Intro", "Background")),
        (2, ("Intro", "Background")),
        (2, ("Method",)),
    ]
    assert chunks[2].text == "## Background\n\nTwo."
    assert chunks[2].embedding_text == "Section: Intro > Background\n\n## Background\n\nTwo."
    # Section: Intro > Background (4), ## Background Two. (3), two special tokens.
    assert chunks[2].token_count == 9


def test_paragraphs_are_packed_and_kept_whole() -> None:
    first, second, third = words("a", 12), words("b", 12), words("c", 12)
    chunks = chunk(f"{first}\n\n{second}\n\n{third}")  # 32 - 2 special = 30 words: two paragraphs of 12, not three
    assert [item.text for item in chunks] == [f"{first}\n\n{second}", third]


@pytest.mark.parametrize("budget", [0, 15])
def test_a_budget_without_room_is_refused(budget: int) -> None:
    with pytest.raises(ValueError, match="at least 16"):
        Chunker(Words(), budget, 0)


def test_a_paragraph_over_the_budget_is_cut_after_a_sentence() -> None:
    text = " ".join([words("a", 14), words("b", 14), words("c", 14)])
    # 30 words fit: sentences of 14 + 14 = 28, the third would make 42.
    assert [item.text for item in chunk(text)] == [f"{words('a', 14)} {words('b', 14)}", words("c", 14)]


def test_a_sentence_over_the_budget_is_cut_after_a_word() -> None:
    # 70 words: 30, then 40 left, of which 30 would leave a good 10.
    assert [len(item.text.split()) for item in chunk(words("a", 70))] == [30, 30, 10]


def test_a_crumb_at_the_end_is_evened_out() -> None:
    # 32 words: 30 would leave 2, under a sixth of 30; so 32 * 5/8 = 20, and 12.
    assert [len(item.text.split()) for item in chunk(words("a", 32))] == [20, 12]


def test_a_word_over_the_budget_is_cut_between_visible_characters() -> None:
    # A token over 32 characters counts one for every 4: 400 characters are 100, and 30 of those are 120 characters.
    chunks = chunk("x" * 400)
    assert [len(item.text) for item in chunks] == [120, 120, 120, 40]
    families = chunk("👨‍👩‍👧" * 80)  # five characters each, joined
    assert all(len(item.text) % 5 == 0 for item in families)
    assert "".join(item.text for item in families) == "👨‍👩‍👧" * 80


def test_the_last_whole_sentences_are_repeated_in_the_same_section() -> None:
    text = " ".join(words(name, 10) for name in "abcd")
    first, second = chunk(text, overlap=12)
    assert first.text == " ".join(words(name, 10) for name in "abc")
    assert second.text == " ".join(words(name, 10) for name in "cd")  # 10 of 12 tokens; b would make 20


def test_nothing_is_repeated_over_sections_or_pages() -> None:
    chunks = chunk(f"# A\n\n{words('a', 20)}\n\n# B\n\n{words('b', 20)}", words("c", 20), overlap=15)
    assert [item.text for item in chunks] == [f"# A\n\n{words('a', 20)}", f"# B\n\n{words('b', 20)}", words("c", 20)]


def test_the_overlap_gives_way_to_a_block_that_fits_whole() -> None:
    first, second = f"{words('a', 10)} {words('b', 10)}", words("c", 28)
    # 20 + 28 are over 30. With the overlap b (10) the second paragraph would be cut; alone it fits.
    assert [item.text for item in chunk(f"{first}\n\n{second}", overlap=12)] == [first, second]


def test_a_split_table_repeats_its_header_in_the_prefix() -> None:
    rows = [f"| r{at} | v{at} |" for at in range(6)]
    table = "\n".join(["| Name | Value |", "|---|---|", *rows])
    first, second = chunk(f"# T\n\n{table}")
    # `Section: T` is 2, so 28 words are left: `# T` 2, header 5, rule 1, four rows of 5 are 20.
    assert first.text == "\n".join(["# T\n", "| Name | Value |", "|---|---|", *rows[:4]])
    assert first.prefix == "Section: T"
    assert second.text == "\n".join(rows[4:])
    assert second.prefix == "Section: T\n\n| Name | Value |"
    assert second.embedding_text.count("| Name | Value |") == 1


def test_lists_and_code_are_kept_whole_where_they_fit() -> None:
    intro = words("a", 14)
    items = "\n".join(f"- {words(name, 6)}" for name in "bcd")  # 3 * 7 = 21 words
    code = "```\n" + "\n".join(f"call {at} here" for at in range(6)) + "\n```"  # 6 * 3 + 2 = 20 words
    assert [item.text for item in chunk(f"{intro}\n\n{items}\n\n{code}")] == [intro, items, code]


def test_a_list_over_the_budget_is_cut_between_items() -> None:
    items = [f"- {words(name, 8)}" for name in "abcde"]  # 9 words each, three make 27
    assert [item.text for item in chunk("\n".join(items))] == ["\n".join(items[:3]), "\n".join(items[3:])]


def test_a_heading_alone_joins_what_follows_or_what_came_before() -> None:
    (only,) = chunk("# Title\n\n## Part\n\nBody.")
    assert (only.text, only.heading_path) == ("# Title\n\n## Part\n\nBody.", ("Title", "Part"))
    foot, following = chunk("# A\n\nBody.\n\n# B", "More.")
    assert (foot.text, foot.heading_path) == ("# A\n\nBody.\n\n# B", ("A",))
    assert following.heading_path == ("B",)
    (lone,) = chunk("# Only a title")
    assert (lone.text, lone.heading_path) == ("# Only a title", ("Only a title",))


def test_a_long_path_never_crowds_out_the_body() -> None:
    title = " ".join(f"t{at}" for at in range(30))
    body = chunk(f"# {title}\n\n## {title}\n\n### Leaf", "Body.", budget=48)[-1]
    # Half of 48 is the body's; 48 - 2 - 24 = 22 words are the prefix's, and the outer titles have 30 each.
    assert (body.prefix, body.text) == ("Section: … > Leaf", "Body.")
    longest = chunk(f"# {title}", "Body.", budget=48)[-1]
    assert longest.prefix == "Section: " + " ".join(f"t{at}" for at in range(21)) + "…"


@pytest.mark.parametrize(
    ("first", "second", "carried"),
    [
        (None, None, True),
        ("lines 1-80", "lines 81-160", True),
        ("cell 1", "cell 2", True),
        ("sheet Q3, rows 2-40", "sheet Q3, rows 41-80", True),
        ("docs/a.pdf", "docs/a.pdf", True),
        ("docs/a.pdf", "docs/b.pdf", False),
        ("sheet Q3, rows 2-40", "sheet Q4, rows 2-40", False),
        ("chapter 1: Start", "chapter 2: End", False),
    ],
)
def test_a_path_is_carried_within_one_text_only(first: str | None, second: str | None, carried: bool) -> None:
    pages = [Page(ordinal=1, label=first, markdown="# A\n\nx"), Page(ordinal=2, label=second, markdown="y")]
    assert Chunker(Words(), 32, 0).chunk("doc", pages)[1].heading_path == (("A",) if carried else ())


def test_a_fence_is_carried_over_line_ranges_but_not_over_pages() -> None:
    open_fence, inside = "```\nx", "# comment\n```\n\n# Heading\n\ny"
    lines = [Page(ordinal=at, label=f"lines {at}-{at}", markdown=text) for at, text in enumerate((open_fence, inside))]
    assert [item.heading_path for item in Chunker(Words(), 32, 0).chunk("doc", lines)] == [(), (), ("Heading",)]
    assert [item.heading_path for item in chunk(open_fence, inside)] == [(), ("comment",)]


def test_empty_and_blank_pages_have_no_chunks() -> None:
    assert chunk("", " \n\t\n") == []


def test_the_models_limit_is_kept_whatever_the_setting() -> None:
    tokenizer = Words()
    tokenizer.max_tokens = 20
    page = Page(ordinal=1, markdown=words("a", 100))
    assert max(item.token_count for item in Chunker(tokenizer, 512, 64).chunk("doc", [page])) <= 20


def test_a_hash_is_no_heading_in_plain_text() -> None:
    text = "# first comment\nport = 1\n\nNOTES\n=====\n\nWritten down.\n"
    page = Page(ordinal=1, label="lines 1-7", markdown=text)
    chunker = Chunker(Words(), 32, 0)
    assert {chunk.heading_path for chunk in chunker.chunk("doc", [page])} == {("first comment",), ("NOTES",)}
    plain = chunker.chunk("doc", [replace(page, verbatim=True)])
    assert [(chunk.heading_path, chunk.text) for chunk in plain] == [
        ((), "# first comment\nport = 1"),
        (("NOTES",), "NOTES\n=====\n\nWritten down."),
    ]
