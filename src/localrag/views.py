"""The JSON contract: our types as the plain dictionaries that `--json` prints (DESIGN, "Commands and JSON")."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from localrag.errors import LocalRagError
from localrag.types import Answer, Check, Citation, Document, Hit, Ranking

if TYPE_CHECKING:
    from localrag.app import IngestReport
    from localrag.app.models import ModelInfo
    from localrag.evaluation.comparing import Change, RunComparison
    from localrag.evaluation.runs import SavedRun
    from localrag.library.catalog import Deletion
    from localrag.library.ingest import Outcome
    from localrag.library.migration import Migration

Json: TypeAlias = dict[str, Any]


def error_json(error: LocalRagError | None) -> Json | None:
    """`{"kind","message","hint"}`, or None where nothing failed."""
    return None if error is None else {"kind": error.kind, "message": error.message, "hint": error.hint}


def outcome_json(outcome: Outcome) -> Json:
    """One document of `ingest --json`."""
    return {
        "id": outcome.document_id,
        "name": outcome.name,
        "uri": outcome.uri,
        "status": outcome.status,
        "pages": outcome.pages,
        "chunks": outcome.chunks,
        "error": error_json(outcome.error),
        "note": outcome.note,
        "warnings": list(outcome.warnings),
    }


def ingest_json(report: IngestReport) -> Json:
    """`ingest --json`."""
    return {
        "documents": [outcome_json(outcome) for outcome in report.outcomes],
        "indexed": report.count("indexed"),
        "skipped": report.count("skipped"),
        "failed": report.count("failed"),
        "seconds": round(report.seconds, 3),
    }


def hit_json(hit: Hit) -> Json:
    """One hit of `search --json` and `ask --json`."""
    return {
        "rank": hit.rank,
        "score": hit.score,
        "scale": hit.scale,
        "lexical_rank": hit.lexical_rank,
        "vector_rank": hit.vector_rank,
        "rerank_score": hit.rerank_score,
        "chunk_id": hit.chunk.id,
        "document_id": hit.chunk.document_id,
        "document": hit.document,
        "page": hit.chunk.page,
        "label": hit.chunk.label,
        "heading_path": list(hit.chunk.heading_path),
        "text": hit.chunk.text,
    }


def search_json(ranking: Ranking) -> Json:
    """`search --json`."""
    return {
        "query": ranking.query,
        "semantic": ranking.semantic,
        "hits": [hit_json(hit) for hit in ranking.hits],
        "vectors_ready": ranking.vectors_ready,
        "milliseconds": round(ranking.milliseconds, 3),
        "notice": ranking.notice,
    }


def citation_json(citation: Citation) -> Json:
    """One citation of `ask --json`."""
    return {
        "marker": citation.marker,
        "document_id": citation.document_id,
        "document": citation.document,
        "page": citation.page,
        "label": citation.label,
        "quote": citation.quote,
        "verified": citation.verified,
        "chunk_id": citation.chunk_id,
    }


def answer_json(answer: Answer) -> Json:
    """`ask --json`."""
    return {
        "question": answer.question,
        "answer": answer.text,
        "refused": answer.refused,
        "confidence": answer.confidence,
        "mode": answer.mode,
        "model": answer.model,
        "notice": answer.notice,
        "cached": answer.cached,
        "citations": [citation_json(citation) for citation in answer.citations],
        "unsupported": list(answer.unsupported),
        "queries": list(answer.queries),
        "hits": [hit_json(hit) for hit in answer.hits],
        "left_out": list(answer.left_out),
        "milliseconds": {
            "retrieval": round(answer.timings.retrieval, 3),
            "first_token": None if answer.timings.first_token is None else round(answer.timings.first_token, 3),
            "total": round(answer.timings.total, 3),
        },
    }


def document_json(document: Document) -> Json:
    """One line of `documents --json`."""
    return {
        "id": document.id,
        "name": document.name,
        "uri": document.uri,
        "media_type": document.media_type,
        "size_bytes": document.size_bytes,
        "pages": document.page_count,
        "chunks": document.chunk_count,
        "embedded": document.embedded_count,
        "tags": dict(document.tags),
        "collection": document.collection,
        "indexed_at": document.indexed_at.isoformat(),
        "status": document.status,
        "warnings": list(document.warnings),
    }


def delete_json(deleted: Iterable[Deletion], missing: Sequence[str]) -> Json:
    """`delete --json`."""
    return {
        "deleted": [{"id": item.id, "name": item.name, "chunks": item.chunks} for item in deleted],
        "missing": list(missing),
    }


def health_json(checks: Sequence[Check]) -> Json:
    """`health --json`."""
    return {
        "ok": all(check.ok for check in checks),
        "checks": [
            {"name": check.name, "ok": check.ok, "detail": check.detail, "hint": check.hint} for check in checks
        ],
    }


def evaluation_json(run: SavedRun, comparison: RunComparison | None = None) -> Json:
    """`evaluate --json`. `sweep` and `answers` are null unless measured, `baseline` unless there is one."""
    return {
        "dataset": run.dataset,
        "documents": run.documents,
        "chunks": run.chunks,
        "queries": len(run.queries),
        "metrics": dict(run.metrics),
        "by_mode": {mode: dict(measures) for mode, measures in run.by_mode.items()},
        "hybrid_against": {
            "leg": run.comparison.leg,
            "difference": round(run.comparison.difference, 6),
            "p": round(run.comparison.p_value, 6),
        },
        "sweep": [{"semantic": point.semantic, **point.measures} for point in run.sweep] or None,
        "answers": dict(run.answer_measures) or None,
        "baseline": None if comparison is None else _comparison_json(comparison),
        "settings": dict(run.settings),
        "seconds": run.seconds,
    }


def _comparison_json(comparison: RunComparison) -> Json:
    return {
        "by_mode": {mode: _changes_json(changes) for mode, changes in comparison.by_mode.items()},
        "answers": _changes_json(comparison.answers),
    }


def _changes_json(changes: Mapping[str, Change]) -> Json:
    return {
        measure: {
            "value": round(change.value, 6),
            "baseline": round(change.baseline, 6),
            "difference": round(change.difference, 6),
            "p": round(change.p_value, 6),
            "questions": change.questions,
        }
        for measure, change in changes.items()
    }


def migration_json(migration: Migration) -> Json:
    """`migrate --json`."""
    return {
        "documents": migration.documents,
        "copied": migration.copied,
        "chunks": migration.chunks,
        "vectors": migration.vectors,
        "conversations": migration.conversations,
        "searches": migration.searches,
        "agreement": round(migration.agreement, 4),
        "problems": list(migration.problems),
    }


def models_json(models: Sequence[ModelInfo]) -> list[Json]:
    """`models list --json`."""
    return [
        {
            "name": model.name,
            "kind": model.kind,
            "revision": model.revision,
            "dimension": model.dimension,
            "max_tokens": model.max_tokens,
            "active": model.active,
        }
        for model in models
    ]
