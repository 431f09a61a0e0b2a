"""What a format reader is given: the file, its display name, its limits, and a way to read files inside it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from localrag.types import ParsedDocument


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Bounds on what one file may cost. The defaults follow Apache Tika's where it has one.

    timeout_s: wall clock for the whole file, enforced by the parent, which ends the child.
    memory_mb: address space of the child beyond what it needs idle.
    output_chars: Markdown that one file may produce; a table of a million rows has some 90 million.
    ratio, ratio_floor_bytes: inflated over compressed size, judged once more than the floor was inflated.
    processors: how many may work on one file at a time; 0: those that the parser has for each file.
    depth: containers inside containers. members: files in one archive, all levels together.
    """

    timeout_s: float = 120.0
    memory_mb: int = 2048
    processors: int = 0
    file_bytes: int = 512 * 1024 * 1024
    output_chars: int = 250_000_000
    inflated_bytes: int = 1024 * 1024 * 1024
    ratio: int = 100
    ratio_floor_bytes: int = 1024 * 1024
    depth: int = 10
    members: int = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Tools:
    """What readers may use beyond our own code, and how. Paths are found by the parent: a child lacks the user's PATH.

    ocr: `auto` (the built-in engine, Tesseract for languages it lacks), `builtin`, `tesseract` or `off`.
    ocr_language: codes as Tesseract has them, joined by +; empty leaves it to the engine.
    ocr_cache: folder for what was read, by page picture; empty keeps nothing.
    ocr_page_s: wall clock for one page, on average over the pages of a file; it comes on top of `Limits.timeout_s`.
    ocr_threads: processors that one page may use.
    tesseract, soffice: paths of the programs; empty where not installed.
    """

    ocr: str = "auto"
    ocr_language: str = ""
    ocr_cache: str = ""
    ocr_page_s: float = 60.0
    ocr_threads: int = 2
    tesseract: str = ""
    soffice: str = ""


def no_more_time(seconds: float) -> None:
    """Where nobody limits the time, none needs to be asked for."""


@dataclass(slots=True)
class Budget:
    """What one file and everything inside it has cost so far; shared by all its levels."""

    inflated_bytes: int = 0
    members: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """One file to read. `depth` is 0 for the user's file, 1 for a member of it, and so on.

    `read_child(data, name)` reads an embedded file (archive member, mail attachment) through the same
    detection and limits, one level deeper; it raises a DocumentError that the container reports as a warning.
    `more_time(seconds)` asks for wall clock beyond the limit of the file, for work known to be slow.
    """

    path: Path
    name: str
    media_type: str = ""
    limits: Limits = field(default_factory=Limits)
    depth: int = 0
    budget: Budget = field(default_factory=Budget)
    tools: Tools = field(default_factory=Tools)
    more_time: Callable[[float], None] = no_more_time
    read_child: Callable[[bytes, str], ParsedDocument]

    def read_bytes(self) -> bytes:
        """All bytes of the file."""
        return self.path.read_bytes()
