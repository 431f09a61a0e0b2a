"""Settings: one reader of the environment, equal to .env.example, wrong values told clearly."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from localrag.errors import SettingsError
from localrag.settings import Settings, load_settings

ROOT = Path(__file__).resolve().parents[2]


def _example() -> dict[str, str]:
    lines = (ROOT / ".env.example").read_text(encoding="utf-8").splitlines()
    return dict(line.split("=", 1) for line in lines if line and not line.startswith("#"))


def _variable(field: str) -> str:
    alias = Settings.model_fields[field].validation_alias
    return str(alias) if alias else f"LOCALRAG_{field.upper()}"


def test_env_example_lists_every_setting_with_its_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LOCALRAG_DATA_DIR")
    defaults = Settings(_env_file=None)
    shown = {
        _variable(field): "" if getattr(defaults, field) is None else str(getattr(defaults, field))
        for field in Settings.model_fields
    }
    assert _example() == shown


def test_the_example_file_itself_loads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LOCALRAG_DATA_DIR")
    assert Settings(_env_file=ROOT / ".env.example") == Settings(_env_file=None)


def test_environment_wins_over_the_file_and_arguments_over_both(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / ".env").write_text("LOCALRAG_TOP_K=3\nLOCALRAG_SEMANTIC=0.25\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LOCALRAG_TOP_K", "4")
    assert (load_settings().top_k, load_settings().semantic) == (4, 0.25)
    assert load_settings(top_k=5).top_k == 5


def test_the_data_folder_moves_the_index(tmp_path: Path) -> None:
    assert load_settings(data_dir=tmp_path / "x").resolved_index_url == f"sqlite:///{tmp_path / 'x' / 'localrag.db'}"


@pytest.mark.parametrize(
    ("value", "url"),
    [
        ("127.0.0.1:11434", "http://127.0.0.1:11434"),
        ("127.0.0.1", "http://127.0.0.1:11434"),
        ("0.0.0.0", "http://127.0.0.1:11434"),
        ("0.0.0.0:9999", "http://127.0.0.1:9999"),
        ("http://box.lan:8080/ollama/", "http://box.lan:8080/ollama"),
        ("https://box.lan", "https://box.lan:11434"),
        ("[::1]", "http://[::1]:11434"),
        ("[::1]:7", "http://[::1]:7"),
    ],
)
def test_ollama_host_in_all_forms_that_ollama_takes(monkeypatch: pytest.MonkeyPatch, value: str, url: str) -> None:
    monkeypatch.setenv("OLLAMA_HOST", value)
    assert load_settings().ollama_host == url


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("LOCALRAG_TOP_K", "0"),
        ("LOCALRAG_TOP_K", "many"),
        ("LOCALRAG_SEMANTIC", "1.5"),
        ("LOCALRAG_CHUNK_TOKENS", "10"),
        ("LOCALRAG_FUSION", "magic"),
        ("LOCALRAG_INDEX_NAME", "Not Allowed"),
        ("OLLAMA_NUM_GPU", "all"),
        ("OLLAMA_HOST", ":::"),
        ("OLLAMA_HOST", "http://127.0.0.1:99999"),
        ("OLLAMA_HOST", "http://"),
        ("OLLAMA_HOST", "[::1"),
        ("OLLAMA_HOST", "ftp://127.0.0.1:1"),
        ("LOCALRAG_PARSE_TIMEOUT_S", "inf"),
        ("LOCALRAG_LLM_TIMEOUT_S", "inf"),
        ("LOCALRAG_PARSE_MEMORY_MB", "999999999999999"),
    ],
)
def test_a_wrong_value_names_its_variable(monkeypatch: pytest.MonkeyPatch, name: str, value: str) -> None:
    monkeypatch.setenv(name, value)
    with pytest.raises(SettingsError, match=re.escape(value)) as caught:
        load_settings()
    assert name in str(caught.value)


def test_overlap_over_half_the_chunk_is_refused() -> None:
    with pytest.raises(SettingsError, match="at most half"):
        load_settings(chunk_tokens=100, chunk_overlap_tokens=51)
