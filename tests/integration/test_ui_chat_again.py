"""In the chat: an answer from before says so and can be replaced; reranking is offered where somebody can do it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from localrag.app import RAG
from localrag.settings import load_settings
from localrag.testing import HashEmbedder, ScriptedLLM
from localrag.types import Check
from localrag.ui import session

ROOT = Path(__file__).resolve().parents[2]
QUESTION = "When does the lease of the warehouse end?"


class Brevity:
    """Likes short passages."""

    name = "brevity"
    share = 1.0

    def score(self, query: str, passages: Sequence[str]) -> Sequence[float | None]:
        return [-float(len(passage)) for passage in passages]

    def check(self) -> list[Check]:
        return []


class Page:
    """The chat in one tab, over a library with a judge."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch, **settings: object) -> None:
        self.llm = ScriptedLLM(lambda _: f"It ends on 31 March 2031 [1]. Answer {len(self.llm.calls)}.")
        self.rag = RAG.open(
            load_settings(data_dir=folder / "data", **settings),
            embedder=HashEmbedder(),
            llm=self.llm,
            reranker=Brevity() if settings.get("reranker") else None,
        )
        self.rag.ingest_bytes(b"The lease of the warehouse ends on 31 March 2031.\n", "lease.md")
        self.rag.embed_pending()
        monkeypatch.setattr(RAG, "open", lambda *args, **options: self.rag)
        session._opened.clear()
        self.tab = AppTest.from_file(str(ROOT / "Welcome.py"), default_timeout=60)
        self.tab.run()
        self.tab.switch_page("pages/2_Chat.py").run()

    def ask(self) -> None:
        self.tab.chat_input[0].set_value(QUESTION).run()
        assert not self.tab.exception

    def text(self) -> str:
        return "\n".join(element.value for element in self.tab.markdown)

    def offers(self) -> list[str]:
        return [button.label for button in self.tab.button if button.label == "Answer again"]


@pytest.fixture
def page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Page]:
    made = Page(tmp_path, monkeypatch, reranker="ollama")
    yield made
    session._opened.clear()
    made.rag.close()


def test_an_answer_from_before_says_so_and_is_replaced_on_demand(page: Page) -> None:
    page.ask()
    assert page.offers() == []
    page.tab.query_params["c"] = "0" * 32  # another conversation: the same history
    page.tab.run()
    page.ask()
    assert "answered before, found in" in page.text()
    assert page.offers() == ["Answer again"]
    assert len(page.llm.calls) == 1
    next(button for button in page.tab.button if button.label == "Answer again").click().run()
    assert not page.tab.exception
    assert len(page.llm.calls) == 2
    assert "answered before" not in page.text()
    assert page.offers() == []
    assert page.text().count(QUESTION) == 1


def test_the_toggle_reranks(page: Page) -> None:
    toggle = page.tab.toggle(key="rerank")
    assert (toggle.label, toggle.value, toggle.disabled) == ("Rerank", False, False)
    assert "llama3.2:3b reads the best passages again" in toggle.help
    toggle.set_value(True).run()
    page.ask()
    held = page.tab.session_state.conversation
    assert held.turns[-1].answer.hits[0].rerank_score is not None


def test_without_a_reranker_the_toggle_is_off_and_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = Page(tmp_path, monkeypatch)
    toggle = page.tab.toggle(key="no_reranker")
    assert (toggle.value, toggle.disabled) == (False, True)
    assert "LOCALRAG_RERANKER" in toggle.help
    page.ask()
    assert page.tab.session_state.conversation.turns[-1].answer.hits[0].rerank_score is None
    session._opened.clear()
    page.rag.close()
