from collections.abc import Callable
from pathlib import Path

import pytest

from localrag.errors import EncryptedDocument, UnreadableDocument
from localrag.parsing import xls
from localrag.parsing.containers import ole_format
from localrag.parsing.source import Source

OFFICE = Path(__file__).resolve().parents[2] / "data/office"

Sources = Callable[..., Source]


def test_dates_of_the_1904_calendar_and_lengths_of_time(source: Sources) -> None:
    page = xls.read(source(OFFICE / "date_1904.xls")).pages[0]

    # 42735 days after 1 January 1904 is 1 January 2021; 10.632... days are 255 hours.
    assert page.markdown.splitlines()[4:] == ["| 2021-01-01 | 15 |", "| 2021-01-02 | 16 |", "| 255:10:10 | 17 |"]


def test_excel_5_is_read(source: Sources) -> None:
    pages = xls.read(source(OFFICE / "testEXCEL_5.xls")).pages

    assert [page.label for page in pages] == ["sheet Feuil1, rows 1-22"]  # Feuil2 and Feuil3 are empty
    assert "| Number | Square |\n| --- | --- |\n| 1 | 1 |\n| 2 | 4 |" in pages[0].markdown


def test_all_sheets_are_read(source: Sources) -> None:
    pages = xls.read(source(OFFICE / "tests-example.xls")).pages

    assert [page.label for page in pages] == [
        "sheet Example Test, rows 1-7",
        "sheet Format Abbr., rows 4-22",
        "sheet Readme, rows 4-22",
    ]
    # The first row holds figures, so no header is made up.
    assert pages[0].markdown.splitlines()[2] == "| A | B | C | D | E | F | G | H | I |"
    assert "| MC | What is 2+2? | 4 | correct | 3 | incorrect |  |  |  |" in pages[0].markdown


def test_a_password_is_asked_for(source: Sources) -> None:
    with pytest.raises(EncryptedDocument, match="password"):
        xls.read(source(OFFICE / "testEXCEL_protected_passtika.xls"))


def test_another_file_under_the_extension_is_unreadable(source: Sources, tmp_path: Path) -> None:
    path = tmp_path / "table.xls"
    path.write_text("Name\tAge\n")

    with pytest.raises(UnreadableDocument):
        xls.read(source(path))


def test_damaged_files_are_refused_in_our_words(
    failures_when_damaged: Callable[[object, Path], int], capfd: pytest.CaptureFixture[str]
) -> None:
    # OLE sectors past the last one in use may be cut off unnoticed; half of the file may not.
    assert failures_when_damaged(xls.read, OFFICE / "testEXCEL_5.xls") >= 15
    assert capfd.readouterr().out == ""  # xlrd prints its complaints where it is let


def test_a_chain_of_sectors_that_leads_back_to_itself_ends(source: Sources, tmp_path: Path) -> None:
    data = bytearray((OFFICE / "testEXCEL_5.xls").read_bytes())
    # The allocation table is in sector 0, behind the header of 512 bytes; sector 3 is said to be followed by itself.
    data[512 + 4 * 3 : 512 + 4 * 4] = (3).to_bytes(4, "little")
    path = tmp_path / "circle.xls"
    path.write_bytes(data)

    with pytest.raises(UnreadableDocument):
        xls.read(source(path))


def test_a_container_that_states_impossible_sizes_is_refused_before_memory_is_asked_for(tmp_path: Path) -> None:
    data = bytearray((OFFICE / "testEXCEL_5.xls").read_bytes())
    data[30] = 40  # sectors of 2 ** 40 bytes
    path = tmp_path / "sizes.xls"
    path.write_bytes(data)

    with pytest.raises(UnreadableDocument, match="impossible sizes"):
        ole_format(path, "sizes.xls")
