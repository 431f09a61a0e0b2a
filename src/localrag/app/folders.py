"""Where the library keeps what it writes, below LOCALRAG_DATA_DIR."""

from __future__ import annotations

from dataclasses import astuple, dataclass
from pathlib import Path

from localrag.settings import Settings


@dataclass(frozen=True, slots=True)
class DataFolders:
    """The folders of one library; none need exist.

    uploads: files that came without a path of their own. markdown: what was read of each document.
    models: pulled embedding models. ocr: what was recognised on pictures of pages. evaluations: saved runs.
    """

    uploads: Path
    markdown: Path
    models: Path
    ocr: Path
    evaluations: Path

    @classmethod
    def of(cls, settings: Settings) -> DataFolders:
        """Those of the library that the settings name."""
        root = settings.data_dir
        return cls(
            uploads=root / "uploads",
            markdown=root / "markdown",
            models=root / "models",
            ocr=root / "ocr",
            evaluations=root / "evaluations",
        )

    def all(self) -> tuple[Path, ...]:
        """Every folder."""
        return astuple(self)
