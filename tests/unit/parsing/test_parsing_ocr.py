"""Scans and pictures made here and read by the real networks: text, place, page, cache, and every way to do without."""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pymupdf
import pytest
from PIL import Image, ImageOps

from localrag.errors import DocumentTooLarge, NeedsOcr, UnreadableDocument
from localrag.parsing import ocr, pdf, pictures
from localrag.parsing.isolated import IsolatedParser
from localrag.parsing.ocr_cache import OcrCache
from localrag.parsing.ocr_page import OcrPage
from localrag.parsing.pdf_scans import page_picture
from localrag.parsing.render import render_page
from localrag.parsing.source import Limits, Source, Tools
from localrag.types import ParsedDocument

LINES = ("The lease of the boathouse ends", "on 30 June 2031. The rent is", "1,250 euros a month.")
TEXT = " ".join(LINES)
OTHER = "Dredging is paid by the harbour."


def drawn(lines: Sequence[str], width: int = 300, height: int = 120) -> Image.Image:
    """A picture of the lines in 14 points at 150 dots per inch."""
    page = pymupdf.open().new_page(width=width, height=height)
    for number, line in enumerate(lines):
        page.insert_text((20, 30 + 24 * number), line, fontsize=14)
    pixmap = page.get_pixmap(dpi=150)
    return Image.frombytes("RGB", (pixmap.width, pixmap.height), pixmap.samples)


def add_scan(document: pymupdf.Document, picture: Image.Image) -> pymupdf.Page:
    data = io.BytesIO()
    picture.save(data, "png")
    page = document.new_page(width=picture.width * 72 / 150, height=picture.height * 72 / 150)
    page.insert_image(page.rect, stream=data.getvalue())
    return page


def saved(document: pymupdf.Document, folder: Path) -> Path:
    path = folder / "scan.pdf"
    document.save(path)
    return path


def source(path: Path, tools: Tools | None = None, more: Callable[[float], None] = lambda _: None) -> Source:
    def no_child(_: bytes, name: str) -> ParsedDocument:
        raise AssertionError(f"nothing is embedded, yet {name} was read")

    return Source(path=path, name=path.name, tools=tools or Tools(), more_time=more, read_child=no_child)


def words(document: ParsedDocument) -> list[str]:
    """Each page's text, headings and line breaks forgotten."""
    return [" ".join(page.markdown.replace("#", "").split()) for page in document.pages]


def test_only_the_pages_without_text_are_recognised(tmp_path: Path) -> None:
    document = pymupdf.open()
    document.new_page().insert_text((72, 72), "This page holds its text.")
    add_scan(document, drawn(LINES))
    add_scan(document, Image.effect_noise((300, 200), 60).convert("RGB"))
    granted: list[float] = []
    parsed = pdf.read(source(saved(document, tmp_path), Tools(ocr_page_s=50.0), granted.append))
    assert words(parsed) == ["This page holds its text.", TEXT, ""]
    assert [page.number for page in parsed.pages] == [1, 2, 3]
    assert parsed.warnings == (
        "1 of 3 pages was read by OCR: names and figures may be misread.",
        "Page 3 has no text, only pictures.",
    )
    assert granted == [100.0]  # 2 pages, 50 seconds each


@pytest.mark.parametrize("degrees", [90, 180, 270])
def test_a_page_that_lay_turned_is_read(tmp_path: Path, degrees: int) -> None:
    document = pymupdf.open()
    add_scan(document, drawn(LINES).rotate(degrees, expand=True))
    assert words(pdf.read(source(saved(document, tmp_path)))) == [TEXT]


def test_a_page_that_lay_aslant_is_read_line_by_line(tmp_path: Path) -> None:
    document = pymupdf.open()
    add_scan(document, drawn(LINES).rotate(4, expand=True, fillcolor="white", resample=Image.Resampling.BICUBIC))
    assert words(pdf.read(source(saved(document, tmp_path)))) == [TEXT]


def test_a_stamped_number_does_not_hide_a_scan(tmp_path: Path) -> None:
    document = pymupdf.open()
    add_scan(document, drawn(LINES)).insert_text((200, 110), "BATES 000123", fontsize=10)
    (text,) = words(pdf.read(source(saved(document, tmp_path))))
    assert TEXT in text
    assert "BATES 000123" in text


def test_text_over_a_picture_keeps_its_own_words(tmp_path: Path) -> None:
    document = pymupdf.open()
    page = add_scan(document, Image.new("RGB", (600, 250), "lightyellow"))
    page.insert_text((20, 40), "Quarterly results", fontsize=20)
    parsed = pdf.read(source(saved(document, tmp_path)))
    assert words(parsed) == ["Quarterly results"]
    assert parsed.warnings == ()


@pytest.mark.parametrize(
    ("tools", "hint"),
    [
        (Tools(ocr="off"), "set LOCALRAG_OCR=auto"),
        (Tools(ocr="tesseract"), "install it"),
        (Tools(ocr_language="rus"), "install it"),
    ],
)
def test_without_an_engine_the_hint_says_what_to_set(tmp_path: Path, tools: Tools, hint: str) -> None:
    document = pymupdf.open()
    add_scan(document, drawn(LINES))
    path = saved(document, tmp_path)
    with pytest.raises(NeedsOcr, match="its 1 page is a picture") as caught:
        pdf.read(source(path, tools))
    assert hint in caught.value.hint
    document.new_page().insert_text((72, 72), "Typed.")
    parsed = pdf.read(source(saved(document, tmp_path), tools))
    assert parsed.warnings == (f"Page 1 has no text, only pictures. {caught.value.hint}",)


@pytest.mark.parametrize(
    ("tools", "engine"),
    [
        (Tools(), "builtin"),
        (Tools(ocr_language="deu+fra", tesseract="/t"), "builtin"),
        (Tools(ocr_language="eng+rus", tesseract="/t"), "tesseract"),
        (Tools(ocr_language="eng+rus"), "missing"),
        (Tools(ocr="builtin", ocr_language="rus"), "builtin"),
        (Tools(ocr="tesseract", tesseract="/t"), "tesseract"),
        (Tools(ocr="off", tesseract="/t"), "off"),
    ],
)
def test_the_engine_follows_settings_language_and_what_is_there(tools: Tools, engine: str) -> None:
    assert ocr.engine_for(tools) == engine


def test_time_used_up_keeps_what_was_read_and_the_next_run_goes_on(tmp_path: Path) -> None:
    document = pymupdf.open()
    add_scan(document, drawn(LINES))
    add_scan(document, drawn([OTHER]))
    path = saved(document, tmp_path)
    hurried = Tools(ocr_page_s=1e-9, ocr_cache=str(tmp_path / "cache"))
    parsed = pdf.read(source(path, hurried))
    assert words(parsed) == [TEXT, ""]
    assert parsed.warnings == (
        "1 of 2 pages was read by OCR: names and figures may be misread.",
        "Page 2 was not read: OCR took too long. Ingest the file again with --force to go on, or raise "
        "LOCALRAG_OCR_PAGE_TIMEOUT_S.",
    )
    assert ocr.recognised_before(page_picture(document[0]), hurried)
    parsed = pdf.read(source(path, replace(hurried, ocr_page_s=60.0)))
    assert words(parsed) == [TEXT, OTHER]
    assert parsed.warnings == ("2 of 2 pages were read by OCR: names and figures may be misread.",)


def test_what_was_read_is_kept_sealed_by_picture_engine_and_language(tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    tools = Tools(ocr_cache=str(cache))
    picture = drawn(LINES)
    assert ocr.recognised_before(picture, tools) is None
    page = ocr.recognise(picture, tools)
    assert ocr.recognised_before(picture, tools) == page
    (entry,) = cache.iterdir()
    assert b"boathouse" not in entry.read_bytes()
    assert ocr.recognised_before(drawn([*LINES[:2], "1,260 euros a month."]), tools) is None
    assert ocr.recognised_before(picture, replace(tools, ocr="tesseract", tesseract="/gone")) is None
    assert ocr.recognised_before(picture, replace(tools, ocr="off")) is None


def test_a_damaged_or_unusable_cache_costs_nothing_but_time(tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    tools = Tools(ocr_cache=str(cache))
    page = ocr.recognise(drawn([OTHER]), tools)
    (entry,) = cache.iterdir()
    entry.write_bytes(entry.read_bytes()[:-7])
    assert ocr.recognised_before(drawn([OTHER]), tools) is None
    assert ocr.recognise(drawn([OTHER]), tools) == page
    assert ocr.recognised_before(drawn([OTHER]), tools) == page
    (tmp_path / "file").write_text("no folder")
    assert ocr.recognise(drawn([OTHER]), Tools(ocr_cache=str(tmp_path / "file"))) == page


def test_the_cache_keeps_the_entries_that_were_used_last(tmp_path: Path) -> None:
    cache = OcrCache(str(tmp_path), reader="engine", most=10)
    for number in range(10):
        cache.put(b"%d" % number, OcrPage(float(number), 1.0, ()))
        entry = max(tmp_path.iterdir(), key=lambda path: path.stat().st_mtime_ns)
        os.utime(entry, (1_000_000 + number, 1_000_000 + number))
    assert cache.get(b"0") is not None  # the oldest, used now
    cache.put(b"10", OcrPage(10.0, 1.0, ()))
    # Eleven are over the bound of ten, so nine are kept: those numbered 1 and 2 go.
    kept = [number for number in range(11) if cache.get(b"%d" % number)]
    assert kept == [0, 3, 4, 5, 6, 7, 8, 9, 10]


def yellow(png: bytes) -> tuple[float, float, float, float] | None:
    """The box of the marked pixels, in shares of the picture: blue is well below red there."""
    picture = Image.open(io.BytesIO(png)).convert("RGB")
    red, _, blue = picture.split()
    marked = Image.merge("RGB", (red, blue, blue)).convert("L", matrix=(1, -1, 0, 0)).point(lambda v: 255 * (v > 60))
    box = marked.getbbox()
    return box and (box[0] / picture.width, box[1] / picture.height, box[2] / picture.width, box[3] / picture.height)


@pytest.mark.parametrize("degrees", [0, 90])
def test_a_quote_is_marked_on_the_scan(tmp_path: Path, degrees: int) -> None:
    document = pymupdf.open()
    add_scan(document, drawn(LINES).rotate(degrees, expand=True))
    path, tools = saved(document, tmp_path), Tools(ocr_cache=str(tmp_path / "cache"))
    pdf.read(source(path, tools))
    picture = render_page(path, 1, "30 June 2031", 150, tools=tools)
    assert picture.found
    box = yellow(picture.png)
    assert box is not None
    # The second line: baseline at 54 of 120 points, its letters from 44 to 57, and the box reaches up to 7 points
    # beyond them; a quarter turn against the clock makes down to right. `on ` stands before the date, the rent after.
    low, high = (box[1], box[3]) if degrees == 0 else (box[0], box[2])
    assert 0.29 < low < 0.37
    assert 0.46 < high < 0.54
    left, right = (box[0], box[2]) if degrees == 0 else (1 - box[3], 1 - box[1])
    assert 0.08 < left < 0.18
    assert 0.35 < right < 0.48


def test_without_the_cache_the_page_is_shown_unmarked(tmp_path: Path) -> None:
    document = pymupdf.open()
    add_scan(document, drawn(LINES))
    picture = render_page(saved(document, tmp_path), 1, "30 June 2031", 150)
    assert not picture.found
    assert yellow(picture.png) is None


@pytest.mark.parametrize("kind", ["png", "jpeg", "webp", "bmp", "gif", "tiff"])
def test_pictures_of_all_kinds_are_read_and_marked(tmp_path: Path, kind: str) -> None:
    path, tools = tmp_path / "upload", Tools(ocr_cache=str(tmp_path / "cache"))
    drawn([OTHER]).save(path, kind)
    parsed = pictures.read(source(path, tools))
    assert words(parsed) == [OTHER]
    assert parsed.pages[0].number is None
    assert parsed.warnings == ("1 of 1 page was read by OCR: names and figures may be misread.",)
    assert render_page(path, 1, "paid by the harbour", tools=tools).found


def test_frames_of_a_tiff_are_pages(tmp_path: Path) -> None:
    path = tmp_path / "fax.tiff"
    blank = Image.new("1", (700, 300), 1)
    drawn(LINES).convert("1").save(path, save_all=True, append_images=[blank, drawn([OTHER]).convert("1")])
    parsed = pictures.read(source(path))
    assert words(parsed) == [TEXT, "", OTHER]
    assert [page.number for page in parsed.pages] == [1, 2, 3]
    assert parsed.warnings == (
        "2 of 3 pages were read by OCR: names and figures may be misread.",
        "Page 2 has no text that could be recognised.",
    )
    with pytest.raises(UnreadableDocument, match=r"no page 4: its pages are 1 to 3"):
        render_page(path, 4, "")


def test_pictures_are_seen_as_viewers_show_them(tmp_path: Path) -> None:
    upright = drawn([OTHER])
    exif = Image.Exif()
    exif[0x0112] = 6  # to be turned a quarter turn clockwise for viewing
    upright.rotate(90, expand=True).save(tmp_path / "phone.jpg", exif=exif)
    clear = Image.new("RGBA", upright.size, (0, 0, 0, 0))  # black letters on nothing, which is black as well
    clear.putalpha(ImageOps.invert(upright.convert("L")))
    clear.save(tmp_path / "clear.png")
    deep = Image.new("I;16", upright.size)
    deep.putdata([value * 16 for value in upright.convert("L").tobytes()])  # 12 of 16 bits: all of it dark
    deep.save(tmp_path / "deep.tiff")
    for name in ("phone.jpg", "clear.png", "deep.tiff"):
        assert words(pictures.read(source(tmp_path / name))) == [OTHER]


def test_a_picture_without_text_says_so(tmp_path: Path) -> None:
    path = tmp_path / "sky.png"
    Image.linear_gradient("L").save(path)
    with pytest.raises(NeedsOcr, match=r"sky\.png is a picture in which no text was recognised") as caught:
        pictures.read(source(path))
    assert "OCR found nothing" in caught.value.hint


def test_damaged_and_oversized_pictures_are_told(tmp_path: Path) -> None:
    path = tmp_path / "cut.png"
    drawn(LINES).save(path)
    path.write_bytes(path.read_bytes()[:3000])
    with pytest.raises(UnreadableDocument, match=r"cut\.png is damaged"):
        pictures.read(source(path))
    Image.new("1", (10_000, 8_001)).save(path)  # 80,010,000 pixels in 10 KB
    with pytest.raises(DocumentTooLarge, match="10,000 x 8,001 pixels"):
        pictures.read(source(path))


def test_the_networks_run_within_the_limits_of_the_parser_process(tmp_path: Path) -> None:
    path = tmp_path / "letter.png"
    drawn(LINES).resize((3000, 1200)).save(path)
    with IsolatedParser(Limits()) as parser:
        assert words(parser.parse(path, name="letter.png")) == [TEXT]


TABLE = """level\tpage_num\tblock_num\tpar_num\tline_num\tword_num\tleft\ttop\twidth\theight\tconf\ttext
1\t1\t0\t0\t0\t0\t0\t0\t625\t250\t-1\t
5\t1\t1\t1\t1\t1\t40\t50\t80\t20\t96.1\tПлата
5\t1\t1\t1\t1\t2\t130\t50\t60\t20\t91.9\tза
5\t1\t1\t1\t2\t1\t40\t80\t90\t20\t93.0\tаренду
5\t1\t2\t1\t1\t1\t400\t200\t30\t20\t11.0\t~~
"""


def script(folder: Path, body: str) -> str:
    program = folder / "tesseract"
    program.write_text(f"#!/bin/sh\n[ $1 = --version ] && echo tesseract 5.3.0 && exit\n{body}\n")
    program.chmod(0o755)
    return str(program)


def test_tesseract_reads_what_it_is_asked_to(tmp_path: Path) -> None:
    (tmp_path / "table").write_text(TABLE)
    program = script(tmp_path, f'echo "$@" > {tmp_path}/asked; cat > {tmp_path}/picture; cat {tmp_path}/table')
    drawn(LINES).save(tmp_path / "letter.png")
    tools = Tools(ocr_language="rus", tesseract=program, ocr_cache=str(tmp_path / "cache"))
    parsed = pictures.read(source(tmp_path / "letter.png", tools))
    assert words(parsed) == ["Плата за аренду"]  # 11 percent sure is not sure
    assert (tmp_path / "asked").read_text() == "stdin stdout -l rus --psm 3 tsv\n"
    assert (tmp_path / "picture").read_bytes().startswith(b"\x89PNG")


def test_a_tesseract_that_fails_is_quoted(tmp_path: Path) -> None:
    program = script(tmp_path, "echo Failed loading language rus >&2; exit 1")
    drawn(LINES).save(tmp_path / "letter.png")
    with pytest.raises(NeedsOcr) as caught:
        pictures.read(source(tmp_path / "letter.png", Tools(ocr_language="rus", tesseract=program)))
    assert caught.value.hint == "Tesseract failed: Failed loading language rus."
