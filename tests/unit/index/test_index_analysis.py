"""Text to terms: every script, every kind of number and identifier."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from localrag.index import analysis
from localrag.index.analysis import MAX_QUERY_CHARACTERS, MAX_TERM_CHARACTERS, analyse, query_groups
from localrag.index.languages import detect_language


def terms(text: str, language: str | None = None) -> str:
    return " ".join(analyse(text, language=language).terms)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The running dogs", "the run dog"),
        ("AB-1234/X", "ab 1234 x ab1234x"),
        ("snake_case_2", "snake case 2 snakecase2"),
        ("report_march.pdf", "report march pdf reportmarchpdf"),
        ("jane.doe@example.org", "jane doe exampl org janedoeexampleorg"),
        ("e-mail well-known and/or", "e mail email well known and or"),
        ("company's l'eau O'Neill don’t", "compani eau leau neill oneill don"),
        ("1,234", "1234 1·234"),
        ("1.234", "1234 1·234"),
        ("1,234.5 1.234,5 1234.5", "1234 1234·5 1234 1234·5 1234 1234·5"),
        ("1,234,567", "1234567"),
        ("3.14 3,14", "3 3·14 3 3·14"),
        ("v1.2.3 1.2.3", "v1 2 3 v123 1 2 3 1·2·3"),
        ("31.12.2026", "31 12 2026 31·12·2026"),
        ("٣٫١٤ ١٢", "3 14 12"),
        ("ＦＵＬＬ１２", "full12"),
        ("naïve Ørsted Łódź Straße", "naiv orst lodz strass"),
        ("co\u00adop\u200bera\u2060tion", "cooper"),
        ("数据库", "数 据 库 数据 据库"),
        ("水", "水"),
        ("Python版本3", "python 版 本 版本 3"),
        ("がぎ", "が ぎ がぎ"),
        ("ｶﾞ", "ガ"),
        ("계약", "계 약 계약"),
        ("договоры", "договор"),
        ("हिन्दी भाषा", "हिन्द भाष"),
        ("😀 — … \x00 \ud800", ""),
        ("", ""),
    ],
)
def test_terms_of_a_text(text: str, expected: str) -> None:
    assert terms(text).split() == expected.split()


def test_marks_that_are_letters_stay_and_accents_go() -> None:
    assert terms("สวัสดี").split()[-1] == "ดี"
    assert terms("résumé") == terms("resume")
    assert terms("שָׁלוֹם") == terms("שלום")


def test_terms_hold_no_ascii_that_a_tokenizer_would_split_at() -> None:
    text = "".join(map(chr, range(1, 0x3000))) + " a-b_c.d@e/f&g+h'i’j,k "
    for term in analyse(text).terms:
        assert all(character.isalnum() or not character.isascii() for character in term), term
        assert " " not in term
        assert term


def test_a_word_without_end_is_cut() -> None:
    long = analyse("x" * 1_000_000 + " " + "é" * 100_000 + " " + "1." * 50_000).terms
    assert max(map(len, long)) <= MAX_TERM_CHARACTERS


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("The contract was signed by both of the parties", "english"),
        ("Der Vertrag wurde von beiden Parteien nicht unterschrieben", "german"),
        ("Le contrat est signé par les deux parties dans la ville", "french"),
        ("El contrato fue firmado por las dos partes en la ciudad", "spanish"),
        ("Il contratto è stato firmato dalle due parti della città", "italian"),
        ("O contrato foi assinado pelas duas partes em uma cidade não distante", "portuguese"),
        ("Het contract werd door de twee partijen niet ondertekend", "dutch"),
        ("Avtalet har inte skrivits under av båda parterna och är ogiltigt", "swedish"),
        ("Sopimus on allekirjoitettu mutta se ei ole voimassa", "finnish"),
        ("Invoice 4711 Total 99.00", "english"),
        ("die hard", "english"),
        ("", "english"),
    ],
)
def test_language_of_a_text(text: str, language: str) -> None:
    assert detect_language(text.lower().split()) == language
    assert analyse(text).language == language


def test_german_is_stemmed_as_german() -> None:
    text = "Die Häuser und die Verträge wurden nicht von der Stadt gekündigt"
    assert terms(text).split()[1] == "haus"
    assert "vertrag" in terms(text).split()


class TestQueryGroups:
    def test_a_word_is_asked_for_in_every_language_of_the_index(self) -> None:
        # English leaves "verträge" as vertrag+e folded, German stems to vertrag.
        assert query_groups("Häuser", ["german"]) == [("hauser", "haus")]
        assert query_groups("Häuser") == [("hauser",)]

    def test_stop_words_of_its_language_are_left_out(self) -> None:
        assert query_groups("What is the budget of the project?") == [("budget",), ("project",)]
        assert query_groups("Was ist die Ursache für den Unfall?")[0][0].startswith("ursach")

    def test_nothing_but_stop_words_stays(self) -> None:
        assert query_groups("to be or not to be") == [("to",), ("be",), ("or",), ("not",)]

    def test_pairs_speak_for_their_characters(self) -> None:
        assert query_groups("数据库") == [("数据",), ("据库",)]
        assert query_groups("库") == [("库",)]

    def test_repeated_words_are_asked_once(self) -> None:
        assert query_groups("oak oaks OAK elm") == [("oak",), ("elm",)]

    def test_the_length_is_bounded(self) -> None:
        assert query_groups("x " * MAX_QUERY_CHARACTERS + "elm") == [("x",)]

    @pytest.mark.parametrize("query", ["", " \n", "\x00", "😀", "\ud800", "‮"])
    def test_a_query_without_words_asks_nothing(self, query: str) -> None:
        assert query_groups(query) == []


def test_threads_stem_side_by_side() -> None:
    def stems(worker: int) -> list[tuple[str, ...]]:
        words = [f"running{chr(97 + worker)}{chr(97 + n % 26)}{chr(97 + n // 26)}ations" for n in range(600)]
        return [tuple(analyse(word).terms) for word in words]

    alone = [stems(worker) for worker in range(8)]
    analysis._stem.cache_clear()
    analysis._remembered_terms.cache_clear()
    with ThreadPoolExecutor(max_workers=8) as pool:
        together = list(pool.map(stems, range(8)))
    assert together == alone
    assert all(len(terms) == 1 for worker in together for terms in worker)
