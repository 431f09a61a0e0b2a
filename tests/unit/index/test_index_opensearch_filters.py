"""The filter tree as OpenSearch queries: one flat clause for each field, whatever the number of tests."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from localrag.filters import (
    AllOf,
    AnyOf,
    DocumentIn,
    Filter,
    InCollection,
    IndexedBetween,
    MediaTypeIs,
    Not,
    ReadableBy,
    TagIs,
)
from localrag.index.opensearch_filters import exact, filter_fields, render, tag_term
from localrag.types import Document

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("where", "query"),
    [
        (DocumentIn(frozenset({"b", "a"})), {"terms": {"document": ["a", "b"]}}),
        (DocumentIn(frozenset()), {"terms": {"document": []}}),
        (TagIs("team", "legal"), {"terms": {"tags": ['["team", "legal"]']}}),
        (InCollection("legal/eu"), {"terms": {"collections": ["legal/eu"]}}),
        (MediaTypeIs("text/html"), {"terms": {"media_type": ["text/html"]}}),
        (IndexedBetween(), {"match_all": {}}),
        (IndexedBetween(start=EPOCH + timedelta(seconds=2)), {"range": {"indexed_at": {"gte": 2_000_000}}}),
        (IndexedBetween(end=EPOCH), {"range": {"indexed_at": {"lt": 0}}}),
        (AnyOf(()), {"match_none": {}}),
        (AllOf(()), {"bool": {"filter": [{"match_all": {}}], "must_not": []}}),
        (Not(MediaTypeIs("x")), {"bool": {"must_not": [{"terms": {"media_type": ["x"]}}]}}),
        (
            AllOf((MediaTypeIs("x"), Not(InCollection("a")), Not(InCollection("b")))),
            {
                "bool": {
                    "filter": [{"terms": {"media_type": ["x"]}}],
                    "must_not": [{"terms": {"collections": ["a", "b"]}}],
                }
            },
        ),
    ],
)
def test_each_node_has_its_query(where: Filter, query: object) -> None:
    assert render(where) == query


def test_open_documents_are_readable_by_anyone() -> None:
    should = render(ReadableBy(frozenset({"ann"})))["bool"]["should"]
    assert should == [
        {"bool": {"must_not": [{"exists": {"field": "readable_by"}}]}},
        {"terms": {"readable_by": ["ann"]}},
    ]


def test_two_thousand_tests_are_one_clause() -> None:
    query = render(AnyOf(tuple(TagIs("year", str(year)) for year in range(2000))))
    (clause,) = query["bool"]["should"]
    assert len(clause["terms"]["tags"]) == 2000


def test_more_values_than_a_clause_takes_are_split() -> None:
    query = render(DocumentIn(frozenset(str(number) for number in range(130_000))))
    # 60,000 a clause: 60,000 + 60,000 + 10,000
    assert [len(clause["terms"]["document"]) for clause in query["bool"]["should"]] == [60_000, 60_000, 10_000]


def test_key_and_value_of_a_tag_do_not_run_together() -> None:
    assert tag_term("a", 'b", "c') != tag_term('a", "b', "c")


def test_a_value_longer_than_a_term_may_be_is_still_exact() -> None:
    long = "x" * 40_000
    assert len(exact(long)) == len("sha256:") + 64
    assert exact(long) != exact(long + "x")
    assert exact("short") == "short"


def test_a_document_carries_the_ancestors_of_its_collection() -> None:
    document = Document(
        id="d",
        content_hash="h",
        name="n",
        uri="u",
        media_type="text/plain",
        size_bytes=1,
        page_count=1,
        indexed_at=EPOCH + timedelta(microseconds=5),
        tags={"k": "v"},
        collection="a/b/c",
        readable_by=frozenset({"bob", "ann"}),
    )
    assert filter_fields(document) == {
        "document": "d",
        "media_type": "text/plain",
        "tags": ['["k", "v"]'],
        "collections": ["a", "a/b", "a/b/c"],
        "readable_by": ["ann", "bob"],
        "indexed_at": 5,
    }
