"""Both legs of a search in one request, with scores that do not depend on how the engine keeps its books.

Lucene finds the candidates; their BM25 is then computed here, with the formula of `bm25`. Lucene's own scores count
deleted chunks until segments are merged, know a length to some percent only, and give the forms of one word in
several languages an idf each. What the formula needs comes in the same request: how many chunks there are, how
long they are together, and how many hold each term.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from localrag.filters import Filter
from localrag.index import bm25
from localrag.index.analysis import query_groups
from localrag.index.content import SCORE_DIGITS
from localrag.index.opensearch_entries import chunk_of, numbers
from localrag.index.opensearch_errors import kept_changing
from localrag.index.opensearch_filters import Query, any_value, render
from localrag.index.opensearch_http import Http, Json
from localrag.index.opensearch_schema import LIBRARY, Names
from localrag.index.opensearch_state import State
from localrag.protocols import Vectors
from localrag.types import LegResults, ScoredChunk

# A search gives way to a document that is being replaced, and to a language that is new in the library; neither
# happens again and again.
_TRIES = 10
# Lucene's order is close to the exact one, so the best `limit` are among some more of its candidates.
_MORE_CANDIDATES = 50
# HNSW looks at `k` candidates: at fewer than this it misses neighbours that matter.
_LEAST_NEIGHBOURS = 100
_MOST_HITS = 10_000

_FIELDS = ["id", "document", "version", "position", "payload"]


@dataclass(frozen=True, slots=True)
class Totals:
    """What BM25 and the reader are told of the whole library."""

    changes: int
    epoch: str
    chunks: int
    terms: int
    embedded: int
    languages: frozenset[str]
    switching: bool

    @property
    def vectors_ready(self) -> float:
        """The share of chunks that have a vector; 1 when there is none."""
        return self.embedded / self.chunks if self.chunks else 1.0


class Legs:
    """Search in one library."""

    def __init__(self, http: Http, names: Names, state: State) -> None:
        self._http = http
        self._names = names
        self._state = state
        self._languages: frozenset[str] = frozenset()

    def search(
        self, text: str | None, vector: Vectors | None, *, limit: int, where: Filter | None
    ) -> tuple[LegResults, Totals]:
        """Both legs, and the totals that they were computed with."""
        for _ in range(_TRIES):
            groups = [] if text is None else query_groups(text, self._languages)
            asked = _Asked(groups, vector, limit, where)
            legs, totals = self._once(asked, text is not None)
            spoken = self._languages
            self._languages = totals.languages
            if text is not None and spoken != totals.languages and groups != query_groups(text, totals.languages):
                continue
            if legs is not None:
                return legs, totals
        raise kept_changing(self._http.url)

    def totals(self) -> Totals:
        """Of the whole library."""
        return _totals(self._http.searches(self._totals_queries()))

    def _once(self, asked: _Asked, with_text: bool) -> tuple[LegResults | None, Totals]:
        """The legs, or None when they saw a document in two versions."""
        queries = self._totals_queries()
        groups = asked.groups
        terms = sorted({term for group in groups for term in group})
        if len(terms) > bm25.MAX_TERMS:  # a pasted text: first see which of its words tell the most
            terms = bm25.rarest(self._counted(terms))
            chosen = set(terms)
            groups = [tuple(term for term in group if term in chosen) for group in groups]
        lexical: tuple[ScoredChunk, ...] | None = None
        nearest: tuple[ScoredChunk, ...] | None = None
        if terms and asked.limit > 0:
            queries += [self._term_counts(terms), (self._names.content, self._lexical(terms, asked))]
        if asked.vector is not None and asked.limit > 0:
            queries.append((self._names.content, self._nearest(asked.vector, asked)))
        answers = self._http.searches(queries)
        totals = _totals(answers)
        hits = [answer["hits"]["hits"] for answer in answers[2:]]
        if _versions_differ(hits):
            return None, totals
        if with_text:
            lexical = ()
            if terms and asked.limit > 0:
                holding = _holding(terms, answers[2])
                lexical = _best(_scored(hits[1], _weights(groups, holding, totals.chunks), totals), asked.limit)
        if asked.vector is not None:
            nearest = _best(_cosines(hits[-1]), asked.limit) if asked.limit > 0 else ()
        return LegResults(lexical=lexical, vector=nearest, vectors_ready=totals.vectors_ready), totals

    def _totals_queries(self) -> list[tuple[str, Json]]:
        state = {"query": {"ids": {"values": [LIBRARY]}}, "_source": ["changes", "epoch", "switching"]}
        library = {
            "query": {"bool": {"filter": self.chunks()}},
            "size": 0,
            "track_total_hits": True,
            "aggs": {
                "terms": {"sum": {"field": "length"}},
                "embedded": {"filter": {"term": {"embedded": True}}},
                "languages": {"terms": {"field": "language", "size": 100}},
            },
        }
        return [(self._names.state, state), (self._names.content, library)]

    def chunks(self, where: Filter | None = None) -> list[Query]:
        """Filter clauses for the chunks that are to be seen."""
        clauses = [{"term": {"kind": "chunk"}}, *self._state.visible()]
        return clauses if where is None else [*clauses, render(where)]

    def _counted(self, terms: Sequence[str]) -> dict[str, int]:
        (answer,) = self._http.searches([self._term_counts(terms)])
        return _holding(terms, answer)

    def _term_counts(self, terms: Sequence[str]) -> tuple[str, Json]:
        """How many chunks hold each term, whatever the filter: idf is of the library."""
        holding = {"filters": [{"term": {"terms": term}} for term in terms]}
        return self._names.content, {
            "query": {"bool": {"filter": [*self.chunks(), any_value("terms", terms)]}},
            "size": 0,
            "track_total_hits": False,
            "aggs": {"holding": {"filters": holding}},
        }

    def _lexical(self, terms: Sequence[str], asked: _Asked) -> Json:
        return {
            "query": {
                "bool": {
                    "should": [{"term": {"terms": term}} for term in terms],
                    "minimum_should_match": 1,
                    "filter": self.chunks(asked.where),
                }
            },
            "size": min(2 * asked.limit + _MORE_CANDIDATES, _MOST_HITS),
            "sort": [{"_score": "desc"}, {"id": "asc"}],
            "track_total_hits": False,
            "_source": [*_FIELDS, "terms", "length"],
        }

    def _nearest(self, vector: Vectors, asked: _Asked) -> Json:
        k = min(max(2 * asked.limit, _LEAST_NEIGHBOURS), _MOST_HITS)
        embedding = {"vector": numbers(vector), "k": k, "filter": {"bool": {"filter": self.chunks(asked.where)}}}
        return {
            "query": {"knn": {"embedding": embedding}},
            "size": min(k, asked.limit + _MORE_CANDIDATES),
            "sort": [{"_score": "desc"}, {"id": "asc"}],
            "track_total_hits": False,
            "_source": _FIELDS,
        }


@dataclass(frozen=True, slots=True)
class _Asked:
    groups: list[tuple[str, ...]]
    vector: Vectors | None
    limit: int
    where: Filter | None


def _totals(answers: Sequence[Json]) -> Totals:
    state = answers[0]["hits"]["hits"][0]["_source"]
    aggregations = answers[1]["aggregations"]
    return Totals(
        changes=state["changes"],
        epoch=state["epoch"],
        chunks=answers[1]["hits"]["total"]["value"],
        terms=int(aggregations["terms"]["value"]),
        embedded=aggregations["embedded"]["doc_count"],
        languages=frozenset(bucket["key"] for bucket in aggregations["languages"]["buckets"]),
        switching="switching" in state,
    )


def _holding(terms: Sequence[str], answer: Json) -> dict[str, int]:
    buckets = answer["aggregations"]["holding"]["buckets"]
    return {term: bucket["doc_count"] for term, bucket in zip(terms, buckets, strict=True)}


def _weights(groups: Sequence[tuple[str, ...]], holding: Mapping[str, int], chunks: int) -> dict[str, float]:
    """The idf of each term; the forms of one word in several languages share it."""
    weights: dict[str, float] = {}
    for group in groups:
        forms = [term for term in group if holding[term]]
        in_group = min(chunks, sum(holding[form] for form in forms))
        for form in forms:
            weights.setdefault(form, bm25.idf(chunks, in_group))
    return weights


def _scored(hits: Sequence[Json], weights: Mapping[str, float], totals: Totals) -> list[ScoredChunk]:
    scored = []
    average = totals.terms / totals.chunks if totals.chunks else 1.0
    for hit in hits:
        source = hit["_source"]
        counts = Counter(source["terms"].split(" "))
        damping = bm25.K1 * (1 - bm25.B + bm25.B * source["length"] / average)
        score = sum(
            weight * counts[term] / (counts[term] + damping) for term, weight in weights.items() if term in counts
        )
        scored.append(_chunk(source, score))
    return scored


def _cosines(hits: Sequence[Json]) -> list[ScoredChunk]:
    # The engine's score of a cosine is (1 + cos) / 2.
    return [_chunk(hit["_source"], 2 * hit["_score"] - 1) for hit in hits]


def _chunk(source: Json, score: float) -> ScoredChunk:
    return ScoredChunk(chunk=chunk_of(source), document=source["payload"]["name"], score=round(score, SCORE_DIGITS))


def _best(scored: list[ScoredChunk], limit: int) -> tuple[ScoredChunk, ...]:
    return tuple(sorted(scored, key=lambda hit: (-hit.score, hit.chunk.id))[:limit])


def _versions_differ(legs: Sequence[Sequence[Json]]) -> bool:
    """Whether one leg saw a document before a change and the other after it."""
    versions: dict[str, str] = {}
    sources = (hit["_source"] for leg in legs for hit in leg)
    return any(versions.setdefault(source["document"], source["version"]) != source["version"] for source in sources)
