"""The public names: listed, importable, and cheap to import."""

from __future__ import annotations

import subprocess
import sys

import pytest

import localrag
from localrag import errors


def test_every_listed_name_can_be_imported_and_nothing_else() -> None:
    assert len(localrag.__all__) == len(set(localrag.__all__))
    for name in localrag.__all__:
        assert getattr(localrag, name) is not None
    with pytest.raises(AttributeError, match="nothing"):
        localrag.nothing  # noqa: B018


def test_importing_the_package_and_its_help_loads_no_heavy_library() -> None:
    heavy = "{'numpy', 'onnxruntime', 'streamlit', 'pymupdf', 'tiktoken', 'tokenizers', 'pydantic', 'ollama'}"
    script = (
        "import sys, localrag.cli\n"
        "sys.argv = ['localrag', '--help']\n"
        "try:\n    localrag.cli.main()\n"
        f"finally:\n    print('LOADED', sorted({heavy} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60)
    assert "ingest" in done.stdout
    assert done.stdout.rstrip().endswith("LOADED []")


def _subclasses(cls: type[Exception]) -> set[type[Exception]]:
    return {cls}.union(*(_subclasses(child) for child in cls.__subclasses__()))


def test_every_error_is_drawn_in_the_tree_and_has_a_kind_of_its_own() -> None:
    tree = errors.__doc__ or ""
    found = {cls for cls in _subclasses(errors.LocalRagError) if cls.__module__ == errors.__name__}
    assert {cls.__name__ for cls in found if cls.__name__ not in tree} == set()
    kinds = [cls.kind for cls in found]  # type: ignore[attr-defined]
    assert len(kinds) == len(set(kinds))


def test_an_error_reads_as_message_and_hint() -> None:
    error = errors.EncryptedDocument("a.pdf needs a password.", path="a.pdf", hint="Save a copy without one.")
    assert str(error) == "a.pdf needs a password. Save a copy without one."
    assert (error.kind, error.path, error.retryable) == ("encrypted", "a.pdf", False)
