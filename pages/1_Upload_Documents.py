"""Puts documents into the library and shows what is there."""

from pathlib import Path

from localrag.ui import session, upload

session.page("Upload Documents")
upload.draw(session.open_session(Path(__file__).resolve().parents[1] / "data" / "samples"))
