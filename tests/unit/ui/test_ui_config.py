"""How the app is served: on this machine only, with every guard on, and nothing fetched from elsewhere."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
CONFIG = tomllib.loads((ROOT / ".streamlit" / "config.toml").read_text(encoding="utf-8"))
PAGES = [ROOT / "Welcome.py", *sorted((ROOT / "pages").glob("*.py"))]


def test_the_server_is_closed_to_others() -> None:
    server = CONFIG["server"]
    assert server["address"] == "127.0.0.1"
    assert server["allowedHosts"] == ["127.0.0.1", "localhost"]
    assert server["enableCORS"] is True
    assert server["enableXsrfProtection"] is True
    assert server["enableStaticServing"] is False


def test_nothing_is_reported_and_no_fault_is_shown_raw() -> None:
    assert CONFIG["browser"]["gatherUsageStats"] is False
    assert CONFIG["client"]["showErrorDetails"] == "none"
    assert CONFIG["client"]["showErrorLinks"] is False
    assert CONFIG["server"]["showEmailPrompt"] is False


def test_a_run_ends_before_the_next_begins() -> None:
    assert CONFIG["runner"]["fastReruns"] is False


def test_no_theme_loads_a_font_from_elsewhere() -> None:
    assert "http" not in (ROOT / ".streamlit" / "config.toml").read_text(encoding="utf-8")


def test_no_page_has_an_icon_that_the_browser_would_fetch() -> None:
    calls = [
        (file.name, re.search(r"page_icon\s*=\s*([^,)]+)", text))
        for file in [*PAGES, *(ROOT / "src" / "localrag" / "ui").glob("*.py")]
        if "set_page_config(" in (text := file.read_text(encoding="utf-8"))
    ]
    assert [(name, icon and icon[1]) for name, icon in calls] == [("session.py", "_ICON")]
    assert (ROOT / "src" / "localrag" / "ui" / "icon.png").stat().st_size < 2_000


def test_pages_hold_no_logic() -> None:
    assert [page.name for page in PAGES] == ["Welcome.py", "1_Upload_Documents.py", "2_Chat.py", "3_Evaluate.py"]
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        assert len(text.splitlines()) <= 20
        assert len(re.findall(r"^\w+\.draw\(", text, re.MULTILINE)) == 1
        assert "import streamlit" not in text
