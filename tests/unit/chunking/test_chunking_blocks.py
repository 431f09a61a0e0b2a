"""What a page is made of: the blocks and their places, worked out by hand."""

from __future__ import annotations

import time

import pytest

from localrag.chunking.blocks import Fence, read_blocks


def kinds(text: str) -> list[tuple[str, str]]:
    return [(block.kind, text[block.start : block.end]) for block in read_blocks(text)[0]]


def headings(text: str) -> list[tuple[int, str]]:
    return [(block.level, block.title) for block in read_blocks(text)[0] if block.kind == "heading"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("# A", [(1, "A")]),
        ("###### A", [(6, "A")]),
        ("   ## A ##  ", [(2, "A")]),
        ("# A#", [(1, "A#")]),
        ("# C# and F# #", [(1, "C# and F#")]),
        ("#\tTab", [(1, "Tab")]),
        ("A\n===", [(1, "A")]),
        ("A\n---\nB", [(2, "A")]),
        ("para\n# A\npara", [(1, "A")]),
        # none of these is a heading
        ("####### A", []),
        ("#hashtag", []),
        ("#", []),
        ("    # indented code", []),
        ("\t# indented code", []),
        ("> # quoted", []),
        ("| # cell |\n|---|\n| # cell |", []),
        ("two lines\nof text\n---", []),
        ("Regards\n--\nAnn", []),
        ("- item\n---", []),
        ("---\n---", []),
        ("---\ntitle: x\n---\n\ntext", []),
        ("<!--\n# hidden\n-->", []),
        ("<pre>\n# raw\n</pre>", []),
    ],
)
def test_what_is_a_heading(text: str, expected: list[tuple[int, str]]) -> None:
    assert headings(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("```\n# no\n```\n# yes", ["yes"]),
        ("~~~\n# no\n```\n# no\n~~~\n# yes", ["yes"]),
        ("````\n```\n# no\n```\n````\n# yes", ["yes"]),
        ("```py\n# no\n``` py\n# no\n```\n# yes", ["yes"]),
        ("``` a`b\n# yes", ["yes"]),
        ("``\n# yes", ["yes"]),
        ("```\n# no\n\n# no", []),
        ("- item\n\n    ```\n    # no\n    ```\n\n# yes", ["yes"]),
        ("- item\n  ```\n# no\n  ```\n# yes", ["yes"]),
        ("text\n```\n# no\n```", []),
    ],
)
def test_nothing_in_a_fence_is_a_heading(text: str, expected: list[str]) -> None:
    assert [title for _, title in headings(text)] == expected


def test_a_fence_left_open_is_handed_on_and_closed_by_the_next_page() -> None:
    _, left = read_blocks("text\n~~~~\ncode")
    assert left == Fence(mark="~", length=4)
    blocks, left = read_blocks("# no\n~~~\n~~~~~\n# yes", left)
    assert [(block.kind, block.title) for block in blocks] == [("code", ""), ("heading", "yes")]
    assert left is None


def test_blocks_have_their_exact_places() -> None:
    text = "# A\n\nOne\ntwo.\n\n- x\n  more\n- y\n\n| h |\n|---|\n| 1 |\n\n```\nc\n```\n"
    assert kinds(text) == [
        ("heading", "# A"),
        ("paragraph", "One\ntwo."),
        ("list", "- x\n  more\n- y"),
        ("table", "| h |\n|---|\n| 1 |"),
        ("code", "```\nc\n```"),
    ]


def test_lists_are_cut_at_items_tables_at_rows_and_code_at_lines() -> None:
    text = "1. a\n   b\n2. c\n   - d"
    (block,) = read_blocks(text)[0]
    assert [text[cut : cut + 4] for cut in block.cuts] == ["2. c", "   -"]
    text = "h | i\n--|--\n1 | 2\n3 | 4\n5 | 6"
    (block,) = read_blocks(text)[0]
    assert block.header == "h | i"
    # The first row stays with its header.
    assert [text[cut : cut + 5] for cut in block.cuts] == ["3 | 4", "5 | 6"]
    text = "```\na\n\nb\n```"
    (block,) = read_blocks(text)[0]
    assert [text[cut : cut + 1] for cut in block.cuts] == ["a", "b", "`"]


@pytest.mark.parametrize("ending", ["\n", "\r\n", "\r"])
def test_all_line_endings_are_known(ending: str) -> None:
    text = ending.join(["# A", "", "b", "c", "", "- d"])
    assert [kind for kind, _ in kinds(text)] == ["heading", "paragraph", "list"]
    assert [part for _, part in kinds(text)][1] == f"b{ending}c"


@pytest.mark.parametrize(
    "unit",
    ["#", "# ", "|", "|-", "- ", "- a\n", "- a\n\n", "`", "```\n", "*", " ", "\n", "=", "<", "<!--", "a|", "1. "],
)
def test_four_times_the_page_takes_four_times_the_time_not_sixteen(unit: str) -> None:
    def seconds(count: int) -> float:
        started = time.thread_time()
        read_blocks(unit * count)
        return time.thread_time() - started

    seconds(1000)
    small, large = min(seconds(5_000) for _ in range(2)), min(seconds(20_000) for _ in range(2))
    # 4 is linear and 16 quadratic; the constant keeps times near the clock's grain out.
    assert large < 9 * small + 0.02
