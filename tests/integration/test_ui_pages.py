"""The three pages over a real library: what they show, and what a click does."""

from __future__ import annotations

import io
import json
import re
import zipfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Protocol

import pytest
from streamlit.testing.v1 import AppTest

from localrag.app import RAG
from localrag.errors import BackendUnavailable, IndexMismatchError, StorageFullError
from localrag.library.rebuilding import RebuildProgress
from localrag.settings import Settings, load_settings
from localrag.testing import HashEmbedder, ScriptedLLM
from localrag.types import Check, Message
from localrag.ui import conversation, rebuilding, session
from localrag.ui.samples import sample_files
from localrag.ui.welcome import setting_rows

ROOT = Path(__file__).resolve().parents[2]
UPLOAD, CHAT = "pages/1_Upload_Documents.py", "pages/2_Chat.py"
WAIT_S = 60

LEASE = (
    "# Lease\n\nThe lease of the warehouse ends on 31 March 2031.\n\n"
    "## Rent\n\nThe monthly rent of the warehouse is $4,200 and is due on the first day of each month.\n"
)
ZOO = "# Zoo\n\nThe penguins of the zoo are fed with herring at noon.\n"


class DownLLM(ScriptedLLM):
    """A model whose server is not running."""

    def __init__(self) -> None:
        super().__init__([], name="llama3.2:3b")

    def stream(self, messages: Sequence[Message], generation: object) -> Iterator[str]:  # type: ignore[override]
        raise BackendUnavailable(
            "Ollama is not running at http://127.0.0.1:11434.",
            service="Ollama",
            url="",
            hint="Start it with: ollama serve",
        )

    def check(self) -> list[Check]:
        return [Check(name="Ollama", ok=False, detail="Ollama is not running.", hint="Start it with: ollama serve")]


class App:
    """The app in one browser tab, over a library that the test can look into."""

    def __init__(self, rag: RAG) -> None:
        self.rag = rag
        self.tab = AppTest.from_file(str(ROOT / "Welcome.py"), default_timeout=WAIT_S)

    def open(self, page: str | None = None) -> AppTest:
        self.tab.run()
        if page:
            self.tab.switch_page(page).run()
        assert not self.tab.exception
        return self.tab

    def worker_done(self) -> AppTest:
        assert session._opened(ROOT / "data" / "samples").worker.wait(WAIT_S)
        return self.tab.run()

    def ask(self, question: str) -> AppTest:
        self.tab.chat_input[0].set_value(question).run()
        assert not self.tab.exception
        return self.tab


class MakeApp(Protocol):
    """Opens a library with these texts as NAME.md, and the app over it."""

    def __call__(self, llm: ScriptedLLM | None = None, **documents: str) -> App: ...


@pytest.fixture
def make_app(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[MakeApp]:
    opened: list[RAG] = []
    session._opened.clear()

    def make(llm: ScriptedLLM | None = None, **documents: str) -> App:
        rag = RAG.open(load_settings(data_dir=tmp_path / "data"), embedder=HashEmbedder(), llm=llm or DownLLM())
        opened.append(rag)
        for name, text in documents.items():
            assert rag.ingest_bytes(text.encode(), f"{name}.md").status == "indexed"
        rag.embed_pending()
        monkeypatch.setattr(RAG, "open", lambda **_: rag)
        return App(rag)

    yield make
    session._opened.clear()
    for rag in opened:
        rag.close()


def shown(tab: AppTest) -> str:
    """All Markdown on the page as it reads, one element a line."""
    elements = [*tab.title, *tab.markdown, *tab.caption, *tab.info, *tab.warning, *tab.error, *tab.success]
    return re.sub(r"\\(?=[^\w\s])", "", "\n".join(element.value for element in elements)).replace("\u2060", "")


def address(tab: AppTest) -> str:
    """The conversation named in the address bar."""
    value = tab.query_params["c"]
    return value if isinstance(value, str) else value[0]


def select(tab: AppTest, *rows: int) -> AppTest:
    """Ticks rows of the documents table."""
    key = next(frame.key for frame in tab.dataframe if frame.key and frame.key.startswith("documents_"))
    tab.session_state[key] = {"selection": {"rows": list(rows), "columns": [], "cells": []}}
    return tab.run()


# -------------------------------------------------------------------------------- Welcome


def test_welcome_of_an_empty_library_tells_the_first_steps(make_app: MakeApp) -> None:
    tab = make_app().open()
    assert [metric.value for metric in tab.metric][:3] == ["0", "0", "–"]
    assert "First steps" in shown(tab)
    assert tab.button(key="load_samples").label == "Load sample documents"


def test_welcome_counts_and_says_what_needs_action(make_app: MakeApp) -> None:
    app = make_app(lease=LEASE, zoo=ZOO)
    tab = app.open()
    assert [metric.value for metric in tab.metric][:3] == ["2", str(app.rag.stats().chunks), "100%"]
    text = shown(tab)
    assert "**Index** :green-badge" in text
    assert "**Embedding model** :green-badge" in text
    assert "**Language model** :orange-badge" in text
    assert "`ollama serve`" in text
    assert "Optional: until then, answers quote" in text


def test_welcome_shows_every_setting_in_force(make_app: MakeApp, monkeypatch: pytest.MonkeyPatch) -> None:
    app = make_app()
    rows = {row["Setting"]: row["Value"] for row in setting_rows(app.rag.settings)}
    assert rows["LOCALRAG_TOP_K"] == "8"
    assert rows["OLLAMA_HOST"] == "http://127.0.0.1:11434"
    assert rows["LOCALRAG_INDEX_URL"].startswith("sqlite:///")
    monkeypatch.setenv("OLLAMA_HOST", "http://me:secret@127.0.0.1:1")
    assert "secret" not in str(setting_rows(load_settings()))
    assert len(app.open().dataframe[0].value) == len(rows)


def test_the_sample_button_loads_the_samples_once(make_app: MakeApp, tmp_path: Path) -> None:
    app = make_app()
    app.open().button(key="load_samples").click().run()
    app.worker_done()
    names = {document.name for document in app.rag.documents()}
    assert names == {path.name for path in sample_files(ROOT / "data" / "samples")}
    assert len(names) >= 5
    assert app.rag.pending_count() == 0


def test_a_library_that_cannot_be_opened_is_explained(make_app: MakeApp, monkeypatch: pytest.MonkeyPatch) -> None:
    app = make_app()

    def refuse(**_: object) -> RAG:
        raise IndexMismatchError("Built with another model.", expected="a", found="b", hint="Run `localrag ingest X`.")

    monkeypatch.setattr(RAG, "open", refuse)
    for page in (None, UPLOAD, CHAT):
        tab = App(app.rag).open(page)
        assert [title.value for title in tab.title] == ["The library cannot be opened"]
        assert "Built with another model." in tab.error[0].value
        assert "`localrag ingest X`" in tab.error[0].value
        assert not tab.button


def test_a_library_of_other_settings_is_rebuilt_by_a_click(make_app: MakeApp, monkeypatch: pytest.MonkeyPatch) -> None:
    app = make_app(lease=LEASE)
    done: list[str] = []

    def opened(**_: object) -> RAG:
        if done:
            return app.rag
        raise IndexMismatchError("Built with m.", expected="a", found="b", hint="Run `localrag X`.", can_rebuild=True)

    def rebuild(settings: Settings, on_progress: Callable[[RebuildProgress], None]) -> None:
        if not app.tab.error or "The disk is full." not in app.tab.error[-1].value:
            raise StorageFullError("The disk is full.", hint="Free some.")
        on_progress(RebuildProgress(stage="cutting", done=1, total=4))
        done.append(settings.embedding_model)

    monkeypatch.setattr(RAG, "open", opened)
    monkeypatch.setattr("localrag.ui.rebuilding.rebuild_library", rebuild)
    session._opened.clear()
    tab = app.open()
    assert [title.value for title in tab.title] == ["The library cannot be opened"]
    tab.button[0].click().run()
    assert ["Built with m." in tab.error[0].value, "The disk is full." in tab.error[1].value] == [True, True]
    tab.button[0].click().run()
    assert not tab.exception
    assert [title.value for title in tab.title] == ["localrag"]
    assert done == ["bge-small-en-v1.5"]


def test_a_rebuild_is_told_in_words() -> None:
    state = RebuildProgress(stage="embedding", done=1_200, total=4_000, seconds_left=140.0)
    assert (rebuilding.share(state), rebuilding.text(state)) == (0.3, "Making vectors: 1,200 of 4,000, 2 min 20 s left")
    waiting = RebuildProgress(stage="waiting")
    assert (rebuilding.share(waiting), rebuilding.text(waiting)) == (
        0.0,
        "Waiting for a rebuild in another window or terminal",
    )


# --------------------------------------------------------------------------------- Upload


def test_uploads_are_indexed_once_across_reruns(make_app: MakeApp, monkeypatch: pytest.MonkeyPatch) -> None:
    app = make_app()
    taken: list[str] = []
    ingest_bytes = app.rag.ingest_bytes
    monkeypatch.setattr(
        app.rag, "ingest_bytes", lambda content, name: (taken.append(name), ingest_bytes(content, name))[1]
    )
    tab = app.open(UPLOAD)
    files = [("lease.md", LEASE.encode(), "text/markdown"), ("empty.txt", b"", "text/plain")]
    tab.file_uploader[0].set_value(files).run()
    tab = app.worker_done().run()
    assert sorted(taken) == ["empty.txt", "lease.md"]
    text = shown(tab)
    assert re.search(r"\*\*lease\.md\*\* · indexed \d chunk", text)
    assert "**empty.txt** · :red-badge[empty] empty.txt is empty" in text
    assert "Files read: 1 indexed, 1 failed" in text
    assert app.rag.pending_count() == 0
    assert tab.dataframe[0].value["Name"].to_list() == ["lease.md"]
    assert tab.dataframe[0].value["Status"].to_list() == ["Ready"]


def test_bytes_that_are_there_already_are_skipped_by_name(make_app: MakeApp) -> None:
    app = make_app(lease=LEASE)
    app.open(UPLOAD).file_uploader[0].set_value(("copy.md", LEASE.encode(), "text/markdown")).run()
    assert "**copy.md** · already indexed as lease.md, skipped" in shown(app.worker_done())
    assert len(app.rag.documents()) == 1


def test_a_failure_is_listed_and_can_be_dismissed(make_app: MakeApp) -> None:
    app = make_app()
    app.rag.ingest_bytes(b"%PDF-1.4 broken", "broken.pdf")
    tab = app.open(UPLOAD)
    assert "**broken.pdf** :red-badge[unreadable]" in shown(tab)
    next(button for button in tab.button if button.label == "Dismiss").click().run()
    assert app.rag.failures() == []
    assert "broken.pdf" not in shown(tab)


def test_the_table_can_be_searched(make_app: MakeApp) -> None:
    tab = make_app(lease=LEASE, zoo=ZOO).open(UPLOAD)
    assert tab.dataframe[0].value["Name"].to_list() == ["lease.md", "zoo.md"]
    tab.text_input(key="document_search").set_value("ZOO md").run()
    assert tab.dataframe[0].value["Name"].to_list() == ["zoo.md"]
    tab.text_input(key="document_search").set_value("nothing").run()
    assert "matches nothing" in shown(tab)


def test_deleting_asks_first(make_app: MakeApp) -> None:
    app = make_app(lease=LEASE, zoo=ZOO)
    tab = select(app.open(UPLOAD), 1)
    tab.button(key="delete").click().run()
    assert "Delete **zoo.md** from the library?" in shown(tab)
    tab.button(key="delete_no").click().run()
    assert len(app.rag.documents()) == 2
    tab.button(key="delete").click().run()
    tab.button(key="delete_yes").click().run()
    assert [document.name for document in app.rag.documents()] == ["lease.md"]
    assert tab.dataframe[0].value["Name"].to_list() == ["lease.md"]


def test_choosing_other_rows_takes_the_question_back(make_app: MakeApp) -> None:
    app = make_app(lease=LEASE, zoo=ZOO)
    tab = select(app.open(UPLOAD), 1)
    tab.button(key="delete").click().run()
    select(tab, 0)
    assert "Delete **" not in shown(tab)
    assert tab.button(key="delete").label == "Delete"
    assert len(app.rag.documents()) == 2


def test_the_button_in_a_row_asks_for_that_row_alone(make_app: MakeApp) -> None:
    app = make_app(lease=LEASE, zoo=ZOO)
    tab = app.open(UPLOAD)
    assert tab.dataframe[0].value["Delete"].to_list() == [":material/delete:"] * 2
    tab.session_state["delete_clicked"] = {"row": 0, "label": ":material/delete:"}
    tab.run()
    assert "Delete **lease.md** from the library?" in shown(tab)
    assert len(app.rag.documents()) == 2
    tab.button(key="delete_yes").click().run()
    assert [document.name for document in app.rag.documents()] == ["zoo.md"]


def test_what_was_read_is_shown_beside_its_source(make_app: MakeApp) -> None:
    tab = select(make_app(lease=LEASE).open(UPLOAD), 0)
    assert "The monthly rent of the warehouse is $4,200" in shown(tab)
    tab.toggle(key="reading_raw").set_value(True).run()
    assert "## Rent\n\nThe monthly rent" in tab.code[0].value


def test_pages_are_leafed_through_below_what_was_not_read(make_app: MakeApp) -> None:
    app = make_app()
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as writer:
        for name, text in (("a.py", "# starts the pump"), ("b.txt", "The second page."), ("c.txt", ""), ("d.txt", "")):
            writer.writestr(name, text)
    assert app.rag.ingest_bytes(archive.getvalue(), "all.zip").status == "indexed"
    tab = select(app.open(UPLOAD), 0)

    assert tab.warning[0].value == "- c.txt is empty (0 bytes).\n- d.txt is empty (0 bytes)."
    assert tab.dataframe[0].value["Warnings"].tolist() == ["⚠ 2"]
    assert tab.button(key="reading_previous").disabled
    tab.button(key="reading_next").click().run()
    assert "The second page." in shown(tab)
    assert tab.button(key="reading_next").disabled


def test_code_is_shown_as_it_stands(make_app: MakeApp) -> None:
    app = make_app()
    app.rag.ingest_bytes(b"# starts the pump\nSTART = 12\n", "pump.py")
    tab = select(app.open(UPLOAD), 0)

    assert tab.code[0].value == "# starts the pump\nSTART = 12"


# ----------------------------------------------------------------------------------- Chat


def test_an_empty_library_invites_to_upload(make_app: MakeApp) -> None:
    tab = make_app().open(CHAT)
    assert "Your library is empty" in shown(tab)
    assert tab.chat_input[0].disabled


def test_ollama_down_is_told_before_the_question_and_quotes_answer_it(make_app: MakeApp) -> None:
    app = make_app(lease=LEASE, zoo=ZOO)
    tab = app.open(CHAT)
    assert "Ollama is not running." in tab.warning[0].value
    assert "`ollama serve`" in tab.warning[0].value
    text = shown(app.ask("What is the monthly rent of the warehouse?"))
    assert "$4,200" in text
    assert ":blue-badge[[lease.md, lines" in text
    assert ":gray-badge[Quoted, no model]" in text
    assert any("`ollama serve`" in note.value for note in tab.caption)


def test_a_streamed_answer_is_checked_and_its_sources_are_the_cited_ones(make_app: MakeApp) -> None:
    reply = "The monthly rent of the warehouse is $4,200 [1]. Pigs can fly over the moon."
    app = make_app(ScriptedLLM([reply], name="llama3.2:3b"), lease=LEASE, zoo=ZOO)
    app.open(CHAT)
    tab = app.ask("What is the monthly rent of the warehouse?")
    text = shown(tab)
    assert "is $4,200 :blue-badge[[lease.md, lines" in text
    assert ":orange-background[Pigs can fly over the moon.]" in text
    assert "sentences are not supported by your documents" in text
    assert re.search(r"retrieval \d.*, first token \d.*, total \d", text)
    assert [panel.label.split(" (")[0] for panel in tab.expander] == ["Sources", "Also retrieved"]
    assert tab.expander[0].label == "Sources (1)"
    source = tab.expander[0]
    assert re.search(r"Score \d\.\d{4} · keyword #\d+ · semantic (#\d+|–)", source.caption[0].value)
    assert any(":yellow-background[" in element.value for element in source.markdown)
    assert not any("zoo.md" in element.value for element in source.markdown)


def test_a_question_beside_the_documents_is_refused(make_app: MakeApp) -> None:
    # The stand-in for an embedding model always finds something, so it is the model that refuses.
    app = make_app(ScriptedLLM(["The documents do not say anything about this."]), lease=LEASE)
    app.open(CHAT)
    text = shown(app.ask("xylophone quetzal?"))
    assert "I could not find this in your documents." in text
    assert ":gray-badge[Not in your documents]" in text


def test_a_refresh_keeps_the_conversation(make_app: MakeApp) -> None:
    app = make_app(lease=LEASE)
    tab = app.open(CHAT)
    app.ask("What is the monthly rent of the warehouse?")
    identity = address(tab)
    fresh = AppTest.from_file(str(ROOT / CHAT), default_timeout=WAIT_S)
    fresh.query_params["c"] = identity
    fresh.run()
    assert not fresh.exception
    assert "$4,200" in shown(fresh)
    assert [message.name for message in fresh.chat_message] == ["user", "assistant"]


def test_a_refresh_keeps_what_is_searched_and_how(make_app: MakeApp) -> None:
    app = make_app(lease=LEASE, zoo=ZOO)
    fresh = AppTest.from_file(str(ROOT / CHAT), default_timeout=WAIT_S)
    fresh.query_params.update({"top_k": "3", "semantic": "0.2", "only_documents": "zoo.md", "use_llm": "false"})
    fresh.run()
    assert not fresh.exception
    assert (fresh.slider(key="top_k").value, fresh.slider(key="semantic").value) == (3, 0.2)
    assert [app.rag.get(identity).name for identity in fresh.multiselect(key="only_documents").value] == ["zoo.md"]
    assert fresh.toggle(key="use_llm").value is False


def test_the_conversation_survives_a_visit_to_another_page(make_app: MakeApp) -> None:
    app = make_app(lease=LEASE)
    app.open(CHAT)
    app.ask("What is the monthly rent of the warehouse?")
    app.tab.switch_page(UPLOAD).run()
    app.tab.switch_page(CHAT).run()
    assert "$4,200" in shown(app.tab)


def test_clearing_forgets_it_everywhere(make_app: MakeApp) -> None:
    app = make_app(lease=LEASE)
    tab = app.open(CHAT)
    app.ask("What is the monthly rent of the warehouse?")
    identity = address(tab)
    assert app.rag.load_conversation(identity)
    tab.button(key="clear").click().run()
    assert app.rag.load_conversation(identity) is None
    assert len(tab.chat_message) == 0


def test_follow_ups_take_the_history_along(make_app: MakeApp) -> None:
    llm = ScriptedLLM(["The monthly rent is $4,200 [1].", "On the first day of each month [1]."])
    app = make_app(llm, lease=LEASE)
    app.open(CHAT)
    app.ask("What is the monthly rent of the warehouse?")
    app.ask("When is the monthly rent due?")
    told = json.dumps([message.content for message in llm.calls[1][0]])
    assert "What is the monthly rent of the warehouse?" in told
    assert len(app.tab.chat_message) == 4


def test_the_controls_reach_the_search(make_app: MakeApp, monkeypatch: pytest.MonkeyPatch) -> None:
    app = make_app(lease=LEASE, zoo=ZOO)
    asked: list[dict[str, object]] = []
    ask_stream = app.rag.ask_stream
    monkeypatch.setattr(app.rag, "ask_stream", lambda q, **kept: (asked.append(kept), ask_stream(q, **kept))[1])
    tab = app.open(CHAT)
    zoo = next(document for document in app.rag.documents() if document.name == "zoo.md")
    tab.slider(key="top_k").set_value(3)
    tab.slider(key="semantic").set_value(0.0)
    tab.multiselect(key="only_documents").set_value([zoo.id])
    tab.toggle(key="use_llm").set_value(False)
    tab.run()
    assert len(tab.warning) == 0, "without the model, nothing is amiss"
    text = shown(app.ask("What is the warehouse and what do penguins eat?"))
    (kept,) = asked
    assert (kept["top_k"], kept["semantic"], kept["use_llm"]) == (3, 0.0, False)
    assert kept["scope"].documents == (zoo.id,)  # type: ignore[attr-defined]
    assert "herring" in text
    assert "lease.md" not in text


def test_the_document_filter_forgets_a_document_that_was_deleted(make_app: MakeApp) -> None:
    app = make_app(lease=LEASE, zoo=ZOO)
    tab = app.open(CHAT)
    zoo = next(document for document in app.rag.documents() if document.name == "zoo.md")
    tab.multiselect(key="only_documents").set_value([zoo.id]).run()
    app.rag.delete(zoo.id)
    tab.run()
    assert not tab.exception
    assert tab.multiselect(key="only_documents").value == []


def test_unfinished_vectors_are_told(make_app: MakeApp) -> None:
    app = make_app(lease=LEASE)
    tab = app.open(CHAT)
    app.rag.ingest_bytes(ZOO.encode(), "zoo.md")
    tab.run()
    assert "Still indexing 1 text" in tab.info[0].value


def test_a_conversation_that_cannot_be_read_begins_anew(make_app: MakeApp) -> None:
    app = make_app(lease=LEASE)
    identity = conversation.new_id()
    app.rag.save_conversation(identity, '{"made by": "another version"}')
    fresh = AppTest.from_file(str(ROOT / CHAT), default_timeout=WAIT_S)
    fresh.query_params["c"] = identity
    fresh.run()
    assert not fresh.exception
    assert len(fresh.chat_message) == 0
    assert "cannot be read by this version" in fresh.toast[0].value
    assert address(fresh) != identity
    assert app.rag.load_conversation(identity) == '{"made by": "another version"}'
