"""The charts hold the figures of the run, and become a picture without a network."""

from __future__ import annotations

import builtins
from pathlib import Path
from typing import Any

import pytest

from localrag.errors import SettingsError
from localrag.evaluation import charts
from localrag.evaluation.benchmark import MODES, SWEEP
from localrag.evaluation.runs import SavedRun

QUERY = {"text": "q", "qrels": {"d": 1}}
VALUES = {"lexical": 0.25, "vector": 0.5, "hybrid": 0.75}


def make_run(*, sweep: bool = False) -> SavedRun:
    measures = ("ndcg@10", "recall@10", "precision@5", "hit@5")
    return SavedRun.model_validate(
        {
            "dataset": "harbour",
            "made_at": "2026-11-30T22:00:00Z",
            "settings": {"semantic": 0.4},
            "documents": 3,
            "chunks": 3,
            "seconds": 1.0,
            "by_mode": {mode: dict.fromkeys(measures, VALUES[mode]) for mode in MODES},
            "queries": {"q": QUERY},
            "titles": {},
            "by_query": {mode: {measure: {"q": VALUES[mode]} for measure in measures} for mode in MODES},
            "ranked": {mode: {"q": ["d"]} for mode in MODES},
            "sweep": [{"semantic": at, "measures": {"ndcg@10": at / 2, "recall@5": at}} for at in SWEEP]
            if sweep
            else [],
        }
    )


def rows(chart: dict[str, Any], layer: int) -> list[dict[str, Any]]:
    """What a layer is drawn from: its own data, or those of the whole chart."""
    named = chart["layer"][layer].get("data") or chart["data"]
    values: list[dict[str, Any]] = chart["datasets"][named["name"]]
    return values


def test_a_bar_for_each_main_measure_and_mode() -> None:
    drawn = rows(charts.bars(make_run()).to_dict(), 0)

    assert [(row["measure"], row["mode"], row["value"]) for row in drawn] == [
        (measure, mode, value)
        for measure in ("nDCG@10", "Recall@10", "Hit@5")  # the run has no mrr@10, and precision@5 is not drawn
        for mode, value in (("Keyword", 0.25), ("Meaning", 0.5), ("Both", 0.75))
    ]


def test_the_curve_has_both_measures_at_every_place_and_the_place_of_the_run() -> None:
    chart = charts.curve(make_run(sweep=True)).to_dict()

    assert rows(chart, 0) == [{"semantic": 0.4}]
    assert [row["value"] for row in rows(chart, 1) if row["measure"] == "Recall@5"] == list(SWEEP)
    assert [row["value"] for row in rows(chart, 1) if row["measure"] == "nDCG@10"] == [at / 2 for at in SWEEP]


def test_the_picture_grows_by_the_curve(tmp_path: Path) -> None:
    charts.save_picture(make_run(), tmp_path / "new" / "bars.png")
    charts.save_picture(make_run(sweep=True), tmp_path / "both.png")
    widths = []
    for path in (tmp_path / "new" / "bars.png", tmp_path / "both.png"):
        content = path.read_bytes()
        assert content.startswith(b"\x89PNG\r\n\x1a\n")
        widths.append(int.from_bytes(content[16:20], "big"))  # IHDR: the width in pixels
    assert widths[0] > 900
    assert widths[1] > widths[0] + 600


def test_a_picture_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(SettingsError, match="cannot be written"):
        charts.save_picture(make_run(), tmp_path / "file" / "chart.png")


def test_without_the_library_its_extra_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    real = builtins.__import__

    def without(name: str, *rest: Any, **more: Any) -> Any:
        if name.startswith("vl_convert"):
            raise ImportError(name)
        return real(name, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(SettingsError) as error:
        charts.save_picture(make_run(), tmp_path / "chart.png")
    assert error.value.hint == "pip install 'localrag[plot]'"
    assert not (tmp_path / "chart.png").exists()
