"""JSON: every key and value is in the text, under the path that names it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable

import pytest

from localrag.errors import UnreadableDocument
from localrag.parsing.jsonlike import _values
from localrag.types import ParsedDocument

Read = Callable[[str | bytes, str], ParsedDocument]


def test_a_small_file_is_one_page_of_paths_and_values(read_content: Read) -> None:
    content = '{"name": "Ada", "born": {"year": 1815, "place": "London"}, "tags": ["a", "b"], "none": null, "ok": true}'
    document = read_content(content, "a.json")
    assert document.media_type == "application/json"
    assert [(page.label, page.markdown) for page in document.pages] == [
        (None, "- name: Ada\n- born.year: 1815\n- born.place: London\n- tags: a, b\n- none: null\n- ok: true")
    ]


def test_every_key_and_value_of_a_large_file_is_there(read_content: Read) -> None:
    value = {
        f"key{number}": {
            "items": [{"id": f"id{number}-{at}", "text": "word " * 30} for at in range(20)],
            f"e{number}": [],
        }
        for number in range(8)
    }
    document = read_content(json.dumps(value), "a.json")
    text = "\n".join(page.markdown for page in document.pages)
    for number in range(8):
        assert f"- e{number}: []" in text
        for at in range(20):
            assert f"## key{number}.items[{at}]\n\n- id: id{number}-{at}\n- text: word" in text
    assert all(len(page.markdown) <= 3_000 for page in document.pages)
    assert document.pages[0].label is not None
    assert document.pages[0].label.startswith("key0.items[0]..key0.items[")


def test_arrays_of_plain_values_share_lines(read_content: Read) -> None:
    # 1,000 numbers of 4 digits and a comma: 600 / 6 = 100 a line, so ten lines or eleven.
    document = read_content(json.dumps({"years": list(range(1000, 2000))}), "a.json")
    text = "\n".join(page.markdown for page in document.pages)
    assert "- years[0..99]: 1000, 1001" in text or "- [0..99]: 1000, 1001" in text
    assert text.count("1999") == 1


def test_numbers_keep_their_spelling(read_content: Read) -> None:
    content = '{"a": 1.10, "b": 1e400, "c": -0, "d": %s, "e": NaN}' % ("9" * 5000)
    text = "\n".join(page.markdown for page in read_content(content, "a.json").pages)
    assert "- a: 1.10\n- b: 1e400\n- c: -0\n" in text
    assert "9" * 5000 in text


def test_duplicate_keys_are_both_kept(read_content: Read) -> None:
    assert read_content('{"a": "first", "a": "second"}', "a.json").pages[0].markdown == "- a: first\n- a: second"


def test_json_lines_are_labelled_with_their_lines(read_content: Read) -> None:
    document = read_content('{"id": 1}\n\n{"id": 2}\n', "a.jsonl")
    assert [(page.label, page.markdown) for page in document.pages] == [
        ("line 1..line 3", "## line 1\n\n- id: 1\n\n## line 3\n\n- id: 2")
    ]


@pytest.mark.parametrize(
    ("content", "place"),
    [
        ('{\n  "a": 1,\n}', "line 3, column 1"),
        ('{"a": 1} trailing', "line 1, column 10"),
        ('{"a": 1}\n{"b": }\n', "line 2, column 7"),
        ("[1, 2", "line 1, column 6"),
        ("nothing", "line 1, column 1"),
    ],
)
def test_invalid_json_says_where(read_content: Read, content: str, place: str) -> None:
    with pytest.raises(UnreadableDocument, match=place) as caught:
        read_content(content, "a.json")
    assert ".txt" in caught.value.hint


@pytest.mark.parametrize("content", ["[" * 100_000, "[" * 100_000 + "]" * 100_000, '{"a":' * 5_000 + "1" + "}" * 5_000])
def test_a_recursion_bomb_is_a_clean_error(read_content: Read, content: str) -> None:
    with pytest.raises(UnreadableDocument, match="nested too deeply"):
        read_content(content, "a.json")


def test_strings_become_one_line_and_surrogates_are_replaced(read_content: Read) -> None:
    text = read_content('{"a": "one\\ntwo\\tthree", "b": "\\ud800 end", "c": "x\\u0000y", "d": ""}', "a.json").pages[0]
    assert text.markdown == '- a: one two three\n- b: \ufffd end\n- c: xy\n- d: ""'


def test_a_scalar_is_a_document_too(read_content: Read) -> None:
    assert read_content('"just a string"', "a.json").pages[0].markdown == "just a string"


def test_utf_16_is_read(read_content: Read) -> None:
    assert read_content('{"Größe": "山"}'.encode("utf-16"), "a.json").pages[0].markdown == "- Größe: 山"


LONG = " " * 1_000_001  # from this length on an array is read element by element


def test_a_long_array_is_read_element_by_element(read_content: Read) -> None:
    document = read_content(f'[{LONG}{{"a": 1}}, [2, 3], "plain" ]\n', "a.json")

    assert [(page.label, page.markdown) for page in document.pages] == [
        ("[0]..[2]", "## [0]\n\n- a: 1\n\n## [1]\n\n2, 3\n\n## [2]\n\nplain")
    ]


def test_lines_after_a_long_array_are_read_too(read_content: Read) -> None:
    document = read_content(f'[{LONG}{{"a": 1}}]\n\n{{"b": 2}}\n', "a.jsonl")

    assert document.pages[0].markdown == "## [0]\n\n- a: 1\n\n## line 3\n\n- b: 2"


@pytest.mark.parametrize(
    ("end", "said"),
    [
        ('{"a": 1} {"b": 2}]', "Expecting ',' delimiter at line 2, column 10"),
        ('{"a": 1}] 5', "Extra data at line 2, column 11"),
        ('{"a": 1}, ', "Expecting value at line 2, column 11"),
        ('{"a": 1}', "Expecting ',' delimiter at line 2, column 9"),
    ],
)
def test_a_long_array_that_is_damaged_says_where(end: str, said: str, read_content: Read) -> None:
    with pytest.raises(UnreadableDocument, match=said):
        read_content(f"[{LONG}\n{end}", "a.json")


def _export(items: int) -> str:
    """An object as programs export it: some facts, the records, a count."""
    records = ", ".join(json.dumps({"id": f"id{at}", "brackets": '}]{["\\'}) for at in range(items))
    return (
        f'{{"meta": {{"version": 1}}, "by": "Ada", "data": {{"items" : [{records}], "next": null}}, "total": {items}}}'
    )


def test_the_records_of_a_large_object_are_read_one_by_one(read_content: Read) -> None:
    # Some 40 characters a record: 30,000 of them are 1,200,000 characters, above the bound of 1,000,000.
    large = read_content(_export(30_000), "a.json")
    text = "\n".join(page.markdown for page in large.pages)
    assert (
        '- meta.version: 1\n- by: Ada\n\n## data.items[0]\n\n- id: id0\n- brackets: }]{["\\\n\n## data.items[1]' in text
    )
    assert text.endswith(
        '## data.items[29999]\n\n- id: id29999\n- brackets: }]{["\\\n\n## data\n\n- next: null\n\n- total: 30000'
    )
    # The same as below the bound.
    small = read_content(_export(2_000), "a.json")
    assert [page.markdown for page in small.pages[:20]] == [page.markdown for page in large.pages[:20]]


def test_a_record_is_made_before_the_next_is_read() -> None:
    values = _values(_export(30_000)[:-100], "a.json")
    assert next(values) == ("", [("meta", [("version", "1")]), ("by", "Ada")])
    assert next(values) == ("data.items[0]", [("id", "id0"), ("brackets", '}]{["\\')])


@pytest.mark.parametrize(
    ("damaged", "said"),
    [
        ('{1: 2, "a": [%s]}', "Expecting property name enclosed in double quotes at line 1, column 2"),
        ('{"a" [%s]}', "Expecting ':' delimiter at line 1, column 6"),
        ('{"b": 1 "a": [%s]}', "Expecting ',' delimiter at line 1, column 9"),
        ('{"a": [%s], }', "Expecting property name enclosed in double quotes at line 1, column 1240053"),
        ('{"a": [%s', "Expecting ',' delimiter at line 1"),
        ('{"a', "Unterminated string"),
    ],
)
def test_a_large_object_that_is_damaged_says_where(damaged: str, said: str, read_content: Read) -> None:
    # 37 characters a record and 2 between: 31,796 * 39 - 2 = 1,240,042; `}` comes 7 + 4 later.
    records = ", ".join(['{"a": "0123456789012345678901234567"}'] * 31_796)
    content = damaged % records if "%s" in damaged else damaged + "x" * 1_300_000
    with pytest.raises(UnreadableDocument, match=re.escape(said)):
        read_content(content, "a.json")
