"""Data sets are read whole, or refused with the file and the line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from localrag.errors import DatasetError
from localrag.evaluation.beir import load_dataset

MINI = Path(__file__).resolve().parents[2] / "data" / "beir-mini"

ENTRY = {"_id": "d1", "title": "A", "text": "alpha"}
QUERY = {"_id": "q1", "text": "alpha?"}
HEADER = "query-id\tcorpus-id\tscore"


def _write(folder: Path, *, corpus: list[object], queries: list[object], qrels: list[str]) -> Path:
    (folder / "qrels").mkdir(parents=True)
    (folder / "corpus.jsonl").write_text("\n".join(map(json.dumps, corpus)), encoding="utf-8")
    (folder / "queries.jsonl").write_text("\n".join(map(json.dumps, queries)), encoding="utf-8")
    (folder / "qrels" / "test.tsv").write_text("\n".join(qrels), encoding="utf-8")
    return folder


def _refusal(folder: Path) -> str:
    with pytest.raises(DatasetError) as caught:
        load_dataset(folder)
    return caught.value.message


def test_the_mini_set_is_read_whole() -> None:
    dataset = load_dataset(MINI)

    assert dataset.name == "beir-mini"
    assert [entry.id for entry in dataset.corpus] == [f"d{number}" for number in range(1, 9)]
    assert dataset.corpus[6].title == "Café"
    assert dataset.corpus[7].text == ""
    assert dataset.qrels["q2"] == {"d3": 2, "d4": 1}


def test_queries_with_nothing_relevant_are_left_out() -> None:
    assert list(load_dataset(MINI).queries) == ["q1", "q2", "q3", "q4"]  # q5 has only a 0


def test_unjudged_queries_are_left_out(tmp_path: Path) -> None:
    folder = _write(
        tmp_path / "set",
        corpus=[ENTRY],
        queries=[{"_id": "other", "text": "beta?"}, QUERY],
        qrels=[HEADER, "q1\td1\t1"],
    )

    assert load_dataset(folder).queries == {"q1": "alpha?"}


def test_what_other_programs_write_is_read(tmp_path: Path) -> None:
    """A byte order mark, CRLF, blank lines, ids as numbers, no title, no header, a negative judgement."""
    folder = tmp_path / "set"
    (folder / "qrels").mkdir(parents=True)
    (folder / "corpus.jsonl").write_bytes(
        b'\xef\xbb\xbf{"_id": 1, "text": "alpha"}\r\n\r\n{"_id": 2, "title": null, "text": "beta \\ud800"}\r\n'
    )
    (folder / "queries.jsonl").write_bytes(b'{"_id": 7, "text": "which?"}\r\n')
    (folder / "qrels" / "test.tsv").write_bytes(b"7\t1\t1\r\n7\t2\t-1\r\n")

    dataset = load_dataset(folder)

    assert [(entry.id, entry.title, entry.text) for entry in dataset.corpus] == [
        ("1", "", "alpha"),
        ("2", "", "beta ?"),
    ]
    assert dataset.qrels == {"7": {"1": 1, "2": 0}}


def test_an_entry_may_be_a_page_of_a_pdf(tmp_path: Path) -> None:
    folder = _write(
        tmp_path / "set",
        corpus=[
            {"_id": "a", "file": "report.pdf", "page": 4},
            {"_id": "b", "text": "kept", "metadata": {"file": "report.pdf", "page": 5}},
            {"_id": "c", "text": "the file is not there", "file": "gone.pdf", "page": 1},
            {"_id": "d", "text": "no file", "page": 9},
        ],
        queries=[QUERY],
        qrels=["q1\ta\t1"],
    )
    (folder / "pdfs").mkdir()
    pdf = folder / "pdfs" / "report.pdf"
    pdf.write_bytes(b"%PDF-")

    entries = load_dataset(folder).corpus

    assert [(entry.pdf, entry.page) for entry in entries] == [(pdf, 4), (pdf, 5), (None, 1), (None, 9)]


@pytest.mark.parametrize("missing", ["corpus.jsonl", "queries.jsonl", "qrels/test.tsv"])
def test_a_missing_file_is_named(tmp_path: Path, missing: str) -> None:
    folder = _write(tmp_path / "set", corpus=[ENTRY], queries=[QUERY], qrels=["q1\td1\t1"])
    (folder / missing).unlink()

    assert _refusal(folder) == f"{folder / missing} is missing."


def test_a_folder_that_is_none_is_named(tmp_path: Path) -> None:
    assert _refusal(tmp_path / "nowhere") == f"{tmp_path / 'nowhere'} is not a folder."


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ('{"_id": "d2", "text": ', "not JSON"),
        ("[" * 100_000, "not JSON"),
        ('["d2"]', "expected a JSON object"),
        ('{"text": "beta"}', '"_id" must be a text, it is missing'),
        ('{"_id": "", "text": "beta"}', '"_id" must not be empty'),
        ('{"_id": true, "text": "beta"}', '"_id" must be a text, found bool'),
        ('{"_id": "d2", "body": "beta"}', '"text" must be a text, it is missing'),
        ('{"_id": "d2", "text": ["beta"]}', '"text" must be a text, found list'),
        ('{"_id": "d1", "text": "beta"}', "\"_id\" 'd1' stands on line 1 already"),
        ('{"_id": "d2", "text": "b", "page": 0}', '"page" must be a number from 1, found 0'),
        ('{"_id": "d2", "file": "a.pdf"}', '"file" needs a "page" beside it'),
        ('{"_id": "d2", "file": "../a.pdf", "page": 1}', '"file" must be the name of a file in pdfs/'),
        ('{"_id": "d2", "file": "..", "page": 1}', '"file" must be the name of a file in pdfs/'),
        ('{"_id": "d2", "file": "a.pdf", "page": 1}', "a.pdf does not exist and the line has no text"),
    ],
)
def test_a_bad_corpus_line_is_refused_by_number(tmp_path: Path, line: str, problem: str) -> None:
    folder = _write(tmp_path / "set", corpus=[ENTRY], queries=[QUERY], qrels=["q1\td1\t1"])
    corpus = folder / "corpus.jsonl"
    corpus.write_text(f"{json.dumps(ENTRY)}\n\n{line}\n", encoding="utf-8")

    message = _refusal(folder)

    assert message.startswith(f"{corpus}, line 3: ")
    assert problem in message


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("q1\td1", "expected query, document and score between tabs"),
        ("q1 0 d1 1", "expected query, document and score between tabs"),
        ("q1\td1\tyes", "the score must be a whole number, found 'yes'"),
        ("q9\td1\t1", "queries.jsonl has no query 'q9'"),
        ("q1\td9\t1", "corpus.jsonl has no document 'd9'"),
    ],
)
def test_a_bad_judgement_is_refused_by_line(tmp_path: Path, line: str, problem: str) -> None:
    folder = _write(tmp_path / "set", corpus=[ENTRY], queries=[QUERY], qrels=[HEADER, line])

    assert _refusal(folder).startswith(f"{folder / 'qrels' / 'test.tsv'}, line 2: {problem}")


def test_a_bad_first_judgement_is_no_header(tmp_path: Path) -> None:
    folder = _write(tmp_path / "set", corpus=[ENTRY], queries=[QUERY], qrels=["q1\td1\tyes"])

    assert "line 1: the score must be a whole number" in _refusal(folder)


@pytest.mark.parametrize(
    ("corpus", "qrels", "problem"),
    [([], ["q1\td1\t1"], "corpus.jsonl holds no documents."), ([ENTRY], ["q1\td1\t0"], "judges nothing relevant.")],
)
def test_a_set_that_measures_nothing_is_refused(
    tmp_path: Path, corpus: list[object], qrels: list[str], problem: str
) -> None:
    folder = _write(tmp_path / "set", corpus=corpus, queries=[QUERY], qrels=qrels)

    assert _refusal(folder).endswith(problem)


def test_a_file_in_another_encoding_is_refused(tmp_path: Path) -> None:
    folder = _write(tmp_path / "set", corpus=[ENTRY], queries=[QUERY], qrels=["q1\td1\t1"])
    (folder / "corpus.jsonl").write_bytes('{"_id": "d1", "text": "Café"}'.encode("latin-1"))

    assert _refusal(folder).startswith(f"{folder / 'corpus.jsonl'} is not UTF-8")


def test_gold_answers_and_unanswerable_questions_come_along() -> None:
    dataset = load_dataset(MINI)

    assert dataset.gold == {
        "q1": ("nine euros", "nine euros a night"),
        "q2": ("noon",),
        "q4": ("after breakfast", "breakfast"),
    }
    assert dataset.unanswerable == {"u1": "who conducts the opera", "u2": "which railway reaches the island"}
    assert dataset.histories == {}


def _asked(folder: Path, *others: object, **metadata: object) -> Path:
    """A set with one judged query that says this of itself, and with these questions of the other kind."""
    written = _write(folder, corpus=[ENTRY], queries=[{**QUERY, "metadata": metadata}], qrels=[HEADER, "q1\td1\t1"])
    (written / "queries_other.jsonl").write_text("\n".join(map(json.dumps, others)), encoding="utf-8")
    return written


@pytest.mark.parametrize(
    ("metadata", "gold"),
    [
        ({"answers": ["A", " ", "A", 7]}, ("A", "7")),
        ({"answer": 1.5}, ("1.5",)),
        ({"answers": [{"text": "A"}], "answer": None}, ()),
        ({"aliases": ["B"]}, ()),  # of nothing
        ({}, ()),
    ],
)
def test_answers_are_texts_and_numbers(tmp_path: Path, metadata: dict[str, object], gold: tuple[str, ...]) -> None:
    assert load_dataset(_asked(tmp_path / "set", **metadata)).gold == ({"q1": gold} if gold else {})


def test_the_turns_before_a_question_are_read(tmp_path: Path) -> None:
    history = [{"role": "user", "text": "alpha?"}, {"role": "agent", "content": "beta"}]
    other = {"_id": "u1", "text": "and?", "metadata": {"history": history[:1]}}
    dataset = load_dataset(_asked(tmp_path / "set", other, history=history))

    assert [(turn.role, turn.content) for turn in dataset.histories["q1"]] == [
        ("user", "alpha?"),
        ("assistant", "beta"),
    ]
    assert [turn.content for turn in dataset.histories["u1"]] == ["alpha?"]


def test_only_what_is_called_unanswerable_is_so(tmp_path: Path) -> None:
    """A turn that is under-specified calls for a question in return."""
    others = [
        {"_id": "u1", "text": "1", "metadata": {"answerability": ["UNANSWERABLE"]}},
        {"_id": "u2", "text": "2", "metadata": {"answerability": ["UNDERSPECIFIED"]}},
        {"_id": "u3", "text": "3", "answerability": "unanswerable"},
        {"_id": "u4", "text": "4"},
    ]
    assert list(load_dataset(_asked(tmp_path / "set", *others)).unanswerable) == ["u1", "u3", "u4"]


@pytest.mark.parametrize(
    ("other", "said"),
    [
        ({"_id": "q1", "text": "again"}, "queries_other.jsonl, line 1: \"_id\" 'q1' is that of another question."),
        ({"_id": "u1"}, 'queries_other.jsonl, line 1: "text" must be a text, it is missing.'),
        ({"_id": "u1", "text": "x", "history": ["alpha"]}, 'queries_other.jsonl, line 1: "history" must list turns'),
    ],
)
def test_a_wrong_unanswerable_question_is_named(tmp_path: Path, other: object, said: str) -> None:
    assert said in _refusal(_asked(tmp_path / "set", other))
