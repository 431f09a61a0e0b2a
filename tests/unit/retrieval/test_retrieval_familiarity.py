"""A query's language against the model's vocabulary. PieceTokenizer cuts words into pieces of six characters."""

from __future__ import annotations

import pytest

from localrag.retrieval.familiarity import LEAST, familiarity
from localrag.testing import PieceTokenizer

PIECES = PieceTokenizer()
ENGLISH, MULTILINGUAL = "bge-small-en-v1.5", "multilingual-e5-small"


def test_words_that_stay_whole_are_known() -> None:
    assert familiarity("when is the rent due", PIECES, ENGLISH) == 1.0


def test_words_cut_into_many_pieces_are_foreign() -> None:
    # 6 + 4 pieces of two words: (10 + 2) / (2 + 2) = 3 is past 2.1.
    query = "Donaudampfschifffahrtsgesellschaft Wettbewerbsverbotsklausel"
    assert familiarity(query, PIECES, ENGLISH) == pytest.approx(LEAST)


def test_between_the_two_it_falls_evenly() -> None:
    # 2 + 2 + 2 + 3 pieces of four words: (9 + 2) / (4 + 2) = 1.8333, (1.8333 - 1.6) / 0.5 = 0.4667 of the way down.
    got = familiarity("Mietvertrag kündbar Rückgabe Wettbewerbsverbot", PIECES, ENGLISH)
    assert got == pytest.approx(1 - 0.7 * 0.46667, abs=1e-4)


def test_one_rare_word_alone_is_no_foreign_language() -> None:
    assert familiarity("Kubernetes", PIECES, ENGLISH) == 1.0  # two pieces: (2 + 2) / (1 + 2) = 1.33


@pytest.mark.parametrize(
    "query", ["合同什么时候结束", "契約はいつ終わりますか", "สัญญาสิ้นสุดเมื่อใด", "合同 2024 何时结束?"]
)
def test_scripts_without_spaces_are_foreign_to_an_english_model_alone(query: str) -> None:
    assert familiarity(query, PIECES, ENGLISH) == LEAST
    assert familiarity(query, PIECES, MULTILINGUAL) == 1.0


def test_a_foreign_name_in_an_english_question_changes_nothing() -> None:
    assert familiarity("who signed the contract with 华为 in May", PIECES, ENGLISH) == 1.0


@pytest.mark.parametrize("model", ["en-core", "BAAI/bge-base-en", "all-english-v2", "gte-small-EN-v1"])
def test_a_model_calls_itself_english_in_a_part_of_its_name(model: str) -> None:
    assert familiarity("合同什么时候结束", PIECES, model) == LEAST


@pytest.mark.parametrize("model", ["tokenizer-x", "bge-m3", "entailment-model", "bge-small-zh-v1.5"])
def test_other_names_promise_nothing(model: str) -> None:
    assert familiarity("合同什么时候结束", PIECES, model) == 1.0


@pytest.mark.parametrize("query", ["?", "…", "12"])
def test_a_query_without_words_is_as_good_as_known(query: str) -> None:
    assert familiarity(query, PIECES, ENGLISH) == 1.0
