"""Tags and collections have one spelling each, and what cannot be one is refused."""

from __future__ import annotations

import pytest

from localrag.errors import LabelError
from localrag.library.labels import checked_collection, checked_tags


def test_outer_spaces_are_no_part_of_a_label() -> None:
    assert checked_collection(" legal / contracts ") == "legal/contracts"
    assert checked_tags({" year ": " 2026 "}) == {"year": "2026"}


def test_one_spelling_of_an_accent() -> None:
    assert checked_collection("cafe\u0301") == checked_collection("caf\u00e9")


@pytest.mark.parametrize("path", ["", " ", "a//b", "/a", "a/", "a/ /b", "a\nb", "a\x00", "\udcff", "x" * 501])
def test_a_collection_with_an_empty_or_unshowable_part_is_refused(path: str) -> None:
    with pytest.raises(LabelError):
        checked_collection(path)


@pytest.mark.parametrize(
    "tags", [{"": "x"}, {" ": "x"}, {"a=b": "x"}, {"a": "\udcff"}, {"a\t": "x\x07"}, {"a": "x" * 501}]
)
def test_a_tag_without_a_usable_key_or_with_broken_text_is_refused(tags: dict[str, str]) -> None:
    with pytest.raises(LabelError):
        checked_tags(tags)
