"""Asks the library and shows the answer with its sources."""

from pathlib import Path

from localrag.ui import chat, session

session.page("Chat")
chat.draw(session.open_session(Path(__file__).resolve().parents[1] / "data" / "samples"))
