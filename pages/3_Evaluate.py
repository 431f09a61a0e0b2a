"""Measures search and answers on judged questions and shows the runs."""

from pathlib import Path

from localrag.ui import evaluate, session

session.page("Evaluate")
evaluate.draw(session.open_session(Path(__file__).resolve().parents[1] / "data" / "samples"))
