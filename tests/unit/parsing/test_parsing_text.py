"""Plain text and Markdown: verbatim pages labelled with lines, cut where a reader would cut."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from localrag.errors import DocumentTooLarge, EmptyDocument, UnreadableDocument
from localrag.parsing.dispatch import check_file, read_document
from localrag.parsing.source import Limits
from localrag.types import ParsedDocument

Read = Callable[[str | bytes, str], ParsedDocument]


def _lines(label: str | None) -> tuple[int, int]:
    """First and last line of a label."""
    assert label is not None
    first, _, last = label.partition(" ")[2].partition("-")
    return int(first), int(last or first)


def _assert_pages_are_those_lines(document: ParsedDocument, text: str) -> None:
    lines = text.split("\n")
    covered: list[int] = []
    for ordinal, page in enumerate(document.pages, start=1):
        first, last = _lines(page.label)
        assert page.ordinal == ordinal
        assert page.number is None
        assert page.markdown == "\n".join(lines[first - 1 : last])
        covered.extend(range(first, last + 1))
    assert covered == sorted(set(covered))
    assert all(not lines[at - 1].strip() for at in set(range(1, len(lines) + 1)) - set(covered))


# Plain text


def test_a_short_text_is_one_page_as_it_stands(read_content: Read) -> None:
    document = read_content("# no heading\r\n  indented\r\n\r\nlast\r\n", "a.txt")
    assert document.media_type == "text/plain"
    assert [(page.label, page.markdown) for page in document.pages] == [
        ("lines 1-4", "# no heading\n  indented\n\nlast")
    ]


def test_a_long_text_is_cut_at_empty_lines(read_content: Read) -> None:
    # Paragraphs of 29 lines and an empty one: the last empty line within 100 lines is the 90th.
    text = "\n".join("" if number % 30 == 0 else f"line {number}" for number in range(1, 301))
    document = read_content(text, "a.txt")
    assert [page.label for page in document.pages] == ["lines 1-89", "lines 91-179", "lines 181-269", "lines 271-299"]
    _assert_pages_are_those_lines(document, text)


def test_a_text_without_empty_lines_is_cut_by_lines_and_characters(read_content: Read) -> None:
    text = "\n".join(["x" * 999] * 20)  # 1,000 characters a line with its end: six lines a page
    document = read_content(text, "a.txt")
    assert [page.label for page in document.pages] == ["lines 1-6", "lines 7-12", "lines 13-18", "lines 19-20"]
    _assert_pages_are_those_lines(document, text)


def test_only_line_ends_count_as_lines(read_content: Read) -> None:
    document = read_content("one\u2028still\x0bone\x0cone\rtwo\nthree", "a.txt")
    assert document.pages[0].label == "lines 1-3"


def test_one_endless_line_is_one_page(read_content: Read) -> None:
    document = read_content("word " * 10_000, "a.txt")
    assert [page.label for page in document.pages] == ["line 1"]


def test_empty_lines_around_the_text_are_not_labelled(read_content: Read) -> None:
    assert read_content("\n\n  \nwords\n\n", "a.txt").pages[0].label == "line 4"


@pytest.mark.parametrize("content", [" \n\t\n", "\ufeff", "\u200b\u200b", "--- | ---\n"])
def test_a_text_without_letters_or_digits_is_empty(read_content: Read, content: str) -> None:
    with pytest.raises(EmptyDocument):
        read_content(content, "a.txt")


def test_a_pictograph_is_text(read_content: Read) -> None:
    assert read_content("🎉", "a.txt").pages[0].markdown == "🎉"


# Markdown


def test_markdown_is_kept_verbatim_with_its_title(read_content: Read) -> None:
    text = "---\ntitle: x\n---\n\n# Guide\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n```sh\n# comment\n```\n"
    document = read_content(text, "a.md")
    assert document.media_type == "text/markdown"
    assert document.title == "x"
    _assert_pages_are_those_lines(document, text)


@pytest.mark.parametrize(
    ("text", "title"),
    [("intro\n\n# Real #\n", "Real"), ("```\n# not\n```\n\n# Yes\n", "Yes"), ("## Only second\n", None), ("x\n", None)],
)
def test_the_title_is_the_first_top_heading_outside_code(read_content: Read, text: str, title: str | None) -> None:
    assert read_content(text, "a.md").title == title


def test_pages_begin_at_headings_where_they_can(read_content: Read) -> None:
    # Sections of 42 lines (heading, empty, 39 lines, empty): a page is half full past 50, so at every second heading.
    section = "\n".join(["## Section", "", *["text"] * 39, ""])
    document = read_content("\n".join([section] * 4), "a.md")
    assert [page.label for page in document.pages] == ["lines 1-83", "lines 85-167"]
    assert all(page.markdown.startswith("## Section") for page in document.pages)


@pytest.mark.parametrize("fence", ["```", "~~~~", "   ```"])
def test_a_fenced_block_is_never_cut(read_content: Read, fence: str) -> None:
    code = "\n".join([fence + "python", *["x = 1\n\n# comment"] * 300, fence])
    text = "\n\n".join(["before " * 300, code, "after " * 300])
    document = read_content(text, "a.md")
    _assert_pages_are_those_lines(document, text)
    holding = [page for page in document.pages if fence in page.markdown]
    assert len(holding) == 1
    assert holding[0].markdown.count("x = 1") == 300


@pytest.mark.parametrize("unit", ["| {} | value |", "{} words of one paragraph that goes on"])
def test_a_table_or_paragraph_is_never_cut(read_content: Read, unit: str) -> None:
    block = "\n".join(unit.format(number) for number in range(150))
    text = "\n\n".join(["before " * 700, block, "after " * 700])
    document = read_content(text, "a.md")
    _assert_pages_are_those_lines(document, text)
    assert sum(unit.format(0) in page.markdown and unit.format(149) in page.markdown for page in document.pages) == 1


def test_no_heading_is_left_alone_at_the_foot_of_a_page(read_content: Read) -> None:
    text = "\n\n".join(["filler " * 400, "## Heading", "body " * 900])  # 2,800 and 4,500 characters
    document = read_content(text, "a.md")
    assert len(document.pages) == 2
    assert document.pages[1].markdown.startswith("## Heading")
    _assert_pages_are_those_lines(document, text)


def test_an_unclosed_fence_runs_to_the_end(read_content: Read) -> None:
    text = "# T\n\n```\n" + "\n\n".join(f"# comment {number}" for number in range(200))
    document = read_content(text, "a.md")
    assert sum("# comment" in page.markdown for page in document.pages) == 1


# What holds for every file


def test_a_sparse_file_over_the_limit_is_refused_unread(tmp_path: Path) -> None:
    path = tmp_path / "huge.txt"
    with path.open("wb") as file:
        file.truncate(2 * 1024**3)
    with pytest.raises(DocumentTooLarge, match="2,147,483,648 bytes"):
        check_file(path, "huge.txt", Limits())


def test_missing_empty_and_odd_files_are_named(tmp_path: Path) -> None:
    (tmp_path / "empty").touch()
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "broken").symlink_to(tmp_path / "nowhere")
    for name, kind, word in (
        ("missing", UnreadableDocument, "does not exist"),
        ("broken", UnreadableDocument, "does not exist"),
        ("", UnreadableDocument, "is not a file"),
        ("pipe", UnreadableDocument, "is not a file"),
        ("empty", EmptyDocument, "0 bytes"),
    ):
        with pytest.raises(kind, match=word) as caught:
            read_document(tmp_path / name, "shown.txt", Limits())
        assert caught.value.message.startswith("shown.txt")
        assert caught.value.path == "shown.txt"


def test_a_file_without_read_permission_says_so(tmp_path: Path) -> None:
    class Locked(type(tmp_path)):  # type: ignore[misc]
        """Root may read everything, so the refusal of the system is played here."""

        def open(self, *_: object, **__: object) -> None:
            raise PermissionError(13, "Permission denied")

    (tmp_path / "a.txt").write_text("words")
    with pytest.raises(UnreadableDocument, match="permission denied"):
        check_file(Locked(tmp_path / "a.txt"), "a.txt", Limits())


def test_source_code_is_text_with_a_type_of_its_own(read_content: Read) -> None:
    document = read_content("# not a heading\ndef f():\n\treturn 1\n", "f.py")

    assert document.media_type == "text/x-python"
    assert document.is_verbatim
    assert all(page.verbatim for page in document.pages)
    assert [(page.label, page.markdown) for page in document.pages] == [
        ("lines 1-3", "# not a heading\ndef f():\n\treturn 1")
    ]


def test_markdown_and_tables_are_not_verbatim(read_content: Read) -> None:
    assert read_content("# x", "a.log").is_verbatim
    assert not read_content("# x", "a.mdown").is_verbatim
    assert not read_content("a\tb\n1\t2\n", "a.tsv").is_verbatim


def test_characters_that_could_not_be_read_are_counted(read_content: Read) -> None:
    document = read_content("<p>one \ufffd two \ufffd\ufffd</p>", "a.html")

    assert document.warnings == ("3 characters could not be read and stand as \ufffd.",)
