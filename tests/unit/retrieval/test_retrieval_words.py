"""Content words in any script."""

from __future__ import annotations

import pytest

from localrag.retrieval.words import content_words, stems


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("What is the running cost of engines?", {"run", "cost", "engin"}),
        ("Mira Falk's code isn't known", {"mira", "falk", "code", "known"}),
        ("Was kostet die Größe?", {"kostet", "die", "grosse"}),  # ß folds to ss, ö to o
        ("café CAFÉ cafe", {"cafe"}),
        ("Когда работали заводы?", {"работа", "завод"}),
        ("北京大学", {"北京", "京大", "大学"}),
        ("Model 3", {"model", "3"}),
        ("what is it about?", set()),
        ("", set()),
    ],
)
def test_words_are_folded_stemmed_and_stop_words_left_out(text: str, words: set[str]) -> None:
    assert content_words(text) == words


def test_order_is_kept_with_gaps_for_stop_words() -> None:
    assert stems("the code of Mira") == ["", "code", "", "mira"]
