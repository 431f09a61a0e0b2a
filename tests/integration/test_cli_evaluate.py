"""`localrag evaluate` as a command: what it prints, what it keeps, what it refuses."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

MINI = Path(__file__).resolve().parents[1] / "data" / "beir-mini"


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "localrag", "evaluate", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=180)


def test_all_at_once(tmp_path: Path) -> None:
    first = run(str(MINI), "--save", str(tmp_path / "first.json"))
    assert first.returncode == 0, first.stderr
    done = run(
        str(MINI), "--answers", "--no-llm", "--limit", "2", "--sweep", "--baseline", str(tmp_path / "first.json"),
        "--plot", str(tmp_path / "chart.png"), "--json",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    told: dict[str, Any] = json.loads(done.stdout)

    assert {"dataset", "documents", "queries", "metrics", "by_mode", "seconds"} <= set(told)
    assert told["hybrid_against"]["leg"] == "vector"
    assert [point["semantic"] for point in told["sweep"]] == [step / 10 for step in range(11)]
    assert told["sweep"][5]["ndcg@10"] == told["metrics"]["ndcg@10"]
    assert (told["answers"]["questions"], told["answers"]["by_model"]) == (4, 0)
    changes = told["baseline"]["by_mode"]["hybrid"]["ndcg@10"]
    assert (changes["difference"], changes["p"], changes["questions"]) == (0.0, 1.0, 4)
    assert told["settings"]["use_llm"] is False
    assert (tmp_path / "chart.png").read_bytes().startswith(b"\x89PNG")
    kept = list((tmp_path / "data" / "evaluations").glob("beir-mini-*.json"))
    assert len(kept) == 1
    assert str(kept[0]) in done.stderr


def test_the_tables_show_what_was_measured() -> None:
    done = run(str(MINI), "--answers", "--no-llm", "--sweep")
    assert done.returncode == 0, done.stderr
    lines = [line.split() for line in done.stdout.splitlines()]
    assert ["semantic", "ndcg@10", "recall@5"] in lines
    assert ["0", "0.750", "0.750"] in lines
    assert ["questions", "6"] in lines
    assert "hybrid against vector: ndcg@10 +0.000, p = 1.0000" in done.stdout


def test_a_baseline_that_is_no_run_is_refused_before_anything_is_measured(tmp_path: Path) -> None:
    path = tmp_path / "other.json"
    path.write_text('{"hits": 3}')
    done = run(str(MINI), "--baseline", str(path))
    assert (done.returncode, done.stdout) == (2, "")
    assert "is not an evaluation run" in done.stderr
    assert not (tmp_path / "data" / "evaluations").exists()


@pytest.mark.parametrize("arguments", [("--limit", "0"), ("--limit", "few")])
def test_a_limit_is_a_number_from_1(arguments: tuple[str, ...]) -> None:
    done = run(str(MINI), *arguments)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr


def test_answers_of_a_model_that_is_not_there_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OLLAMA_HOST", "http://127.0.0.1:9")
    done = run(str(MINI), "--answers")
    assert (done.returncode, done.stdout) == (2, "")
    assert "--no-llm" in done.stderr
