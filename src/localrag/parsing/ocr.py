"""A picture of a page -> the lines of text on it, upright whichever way it lay in the scanner.

The built-in engine is two small networks (PP-OCRv6) run by ONNX Runtime; both come with localrag, so that nothing is
fetched. Its detector also finds how a page is turned, for Tesseract too.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from localrag.parsing.ocr_cache import OcrCache
from localrag.parsing.ocr_detect import Box, find_lines
from localrag.parsing.ocr_page import OcrPage, page_of
from localrag.parsing.ocr_read import LineReader
from localrag.parsing.ocr_tesseract import read_with_tesseract, tesseract_version
from localrag.parsing.source import Tools

if TYPE_CHECKING:
    from onnxruntime import InferenceSession
    from PIL.Image import Image

# Part of the cache's keys: raise it when the same picture comes to be read differently.
_BUILTIN = "pp-ocrv6-small 1"
# Languages (ISO 639-2 with Tesseract's endings) all of whose letters the built-in engine knows: those in Latin script
# but Vietnamese, and Chinese and Japanese. It has no Cyrillic, Arabic, Hebrew, Indic or Hangul, and no Greek accents.
_BUILTIN_LANGUAGES = frozenset({
    "afr", "cat", "ces", "dan", "deu", "eng", "est", "eus", "fin", "fra", "gle", "glg", "hrv", "hun", "ind",
    "isl", "ita", "lat", "lav", "lit", "msa", "mlt", "nld", "nor", "oci", "pol", "por", "ron", "slk", "slv",
    "spa", "sqi", "swa", "swe", "tgl", "tur", "cym", "chi_sim", "chi_tra", "jpn",
})  # fmt: skip
_SAMPLE = 5  # lines that are read both ways up
# A page the right way up is read with 0.95 and more, one overhead with 0.3 to 0.7.
_PLAINLY, _SURER = 0.9, 0.1


def engine_for(tools: Tools) -> str:
    """`builtin`, `tesseract`, `off`, or `missing`: Tesseract is asked for or its languages are, and it is not there."""
    if tools.ocr in ("off", "builtin"):
        return tools.ocr
    known = _BUILTIN_LANGUAGES.issuperset(filter(None, tools.ocr_language.split("+")))
    if tools.ocr == "auto" and known:
        return "builtin"
    return "tesseract" if tools.tesseract else "missing"


def advice(tools: Tools) -> str:
    """What to do about a page that was not read, given the settings."""
    engine = engine_for(tools)
    if engine == "off":
        return "Text recognition is off; set LOCALRAG_OCR=auto and ingest it again with --force."
    if engine == "missing":
        return (
            "LOCALRAG_OCR and LOCALRAG_OCR_LANGUAGE ask for Tesseract: install it with that language, or change them."
        )
    return "OCR found nothing on it that it could read. A scan of 200 to 300 dots per inch is read best."


def recognise(picture: Image, tools: Tools) -> OcrPage:
    """The lines on an RGB picture of a page, from the cache where the same picture was read before.

    Raises:
        TesseractFailed: Tesseract is to read it, and does not run.
    """
    cache, key = _cache_and_key(picture, tools)
    page = cache.get(key)
    if page is None:
        page = _read(picture, tools)
        cache.put(key, page)
    return page


def recognised_before(picture: Image, tools: Tools) -> OcrPage | None:
    """What was read on that picture, if the cache has it."""
    if engine_for(tools) not in ("builtin", "tesseract"):
        return None
    cache, key = _cache_and_key(picture, tools)
    return cache.get(key)


def _cache_and_key(picture: Image, tools: Tools) -> tuple[OcrCache, bytes]:
    reader = _BUILTIN
    if engine_for(tools) == "tesseract":
        reader = f"{tesseract_version(tools.tesseract)} {tools.ocr_language}"
    return OcrCache(tools.ocr_cache, reader=reader), f"{picture.width} ".encode() + picture.tobytes()


def _read(picture: Image, tools: Tools) -> OcrPage:
    detector, reader = _network("detect", tools.ocr_threads), _reader()
    upright, boxes, turns = _upright(picture, detector, reader)
    if not boxes:
        return OcrPage(float(upright.width), float(upright.height), ())
    if engine_for(tools) == "tesseract":
        lines = read_with_tesseract(upright, tools)
    else:
        # Lines beside each other keep more processors busy than one line parted among them.
        with ThreadPoolExecutor(tools.ocr_threads) as pool:
            lines = list(zip(boxes, pool.map(lambda box: reader.read(upright, box), boxes), strict=True))
    return page_of(lines, upright.size, turns)


def _upright(picture: Image, detector: InferenceSession, reader: LineReader) -> tuple[Image, list[Box], int]:
    """The picture turned so that it can be read, where its lines are, and the quarter turns against the clock."""
    from PIL import Image as Pillow  # deferred: only pictures need it

    boxes = find_lines(detector, picture)
    turns = 0
    lying = sum(box.width for box in boxes if not box.runs_up)
    if sum(box.height for box in boxes if box.runs_up) > lying:
        picture, turns = picture.transpose(Pillow.Transpose.ROTATE_90), 1
        boxes = find_lines(detector, picture)
    if _is_overhead(picture, boxes, reader):
        picture, turns = picture.transpose(Pillow.Transpose.ROTATE_180), turns + 2
        # A half turn leaves slants as they are.
        boxes = [Box(picture.width - b.x, picture.height - b.y, b.width, b.height, b.slant) for b in reversed(boxes)]
    return picture, boxes, turns


def _is_overhead(picture: Image, boxes: Sequence[Box], reader: LineReader) -> bool:
    sample = sorted((box for box in boxes if not box.runs_up), key=lambda box: -box.width)[:_SAMPLE]
    if not sample:
        return False
    upright = sum(reader.read(picture, box).confidence for box in sample) / len(sample)
    if upright >= _PLAINLY:
        return False
    overhead = sum(reader.read(picture, box, overhead=True).confidence for box in sample) / len(sample)
    return overhead > upright + _SURER


@lru_cache(maxsize=1)
def _reader() -> LineReader:
    return LineReader(_network("read", 1))


@lru_cache(maxsize=2)
def _network(name: str, threads: int) -> InferenceSession:
    import onnxruntime  # deferred: 0.3 s, and only pictures need it

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 4
    # Threads that wait in a loop take the processor from whoever else needs it: a busy machine took twice as long.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    # The arena keeps the memory of the largest page until the process ends, and lines of many widths make it grow.
    options.enable_cpu_mem_arena = False
    model = Path(__file__).parent / "models" / "pp-ocrv6-small" / f"{name}.onnx"
    return onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])
