"""The start page: `streamlit run Welcome.py`, or `localrag ui`."""

from pathlib import Path

from localrag.ui import session, welcome

session.page("Welcome")
welcome.draw(session.open_session(Path(__file__).resolve().parent / "data" / "samples"))
