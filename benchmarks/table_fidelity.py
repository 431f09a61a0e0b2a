"""Cells under the right header: `python benchmarks/table_fidelity.py [--tables 60] [--only pdf-ruled] [--worst 3]`.

Random tables of 3 to 12 columns (words, figures, empty cells, merged header cells, cells of several lines, pipes in
cells, tables longer than a page) are written with the usual libraries, read by the reader of the format, and looked up
in its Markdown. A cell counts when it stands, whole, in the line of its row and under the name of its column; where a
row became a list, when it follows that name. Empty cells are counted too: they must be empty. The rows are found by
their first cell, which is unique. Writes benchmarks/results/table_fidelity.json.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import table_writers
from table_writers import Table

from localrag.parsing.dispatch import read_document
from localrag.parsing.source import Limits

RESULTS = Path(__file__).parent / "results" / "table_fidelity.json"
TARGET = 0.98
_RULE = re.compile(r"\|(?: ?:?-{3,}:? ?\|)+")
_CELL_END = re.compile(r"(?<!\\)\|")


@dataclass(frozen=True, slots=True)
class Found:
    """One row as the Markdown has it: pairs of a column's name and the cell under it."""

    cells: tuple[tuple[str, str], ...]


def squeezed(text: str) -> str:
    """What must agree: the characters without white space, and without the mark that joins the lines of a cell."""
    return re.sub(r"[\s;]+", "", text.replace("\\|", "|"))


def rows_of(markdown: str) -> Iterator[Found]:
    """The rows of all tables, and of all lists that stand for a row, in the order of the text."""
    lines = markdown.split("\n")
    header: list[str] = []
    record: list[tuple[str, str]] = []
    for at, line in enumerate(lines):
        if line.startswith("- ") and ": " in line:
            name, _, value = line[2:].partition(": ")
            record.append((name, value))
            continue
        if record and line.strip():
            yield Found(tuple(record))
            record = []
        if not line.startswith("|"):
            header = []
        elif at + 1 < len(lines) and _RULE.fullmatch(lines[at + 1].strip()):
            header = split_row(line)
        elif header and not _RULE.fullmatch(line.strip()):
            yield Found(tuple(zip(header, split_row(line), strict=False)))
    if record:
        yield Found(tuple(record))


def split_row(line: str) -> list[str]:
    """The cells of a line of a Markdown table."""
    return [cell.strip() for cell in _CELL_END.split(line.strip())[1:-1]]


def right_cells(table: Table, markdown: str) -> tuple[int, int, list[str]]:
    """How many cells stand under their header, of how many, and what is wrong with some of the others."""
    found: dict[str, Found] = {}
    for row in rows_of(markdown):
        for _, cell in row.cells[:2]:
            if squeezed(cell):
                found.setdefault(squeezed(cell), row)
    right = total = 0
    wrong: list[str] = []
    for row_cells in table.rows:
        row = found.get(squeezed(row_cells[0]))
        for column, text in enumerate(row_cells):
            total += 1
            names = [squeezed(name) for name in table.names(column)]
            if row is None:
                wrong.append(f"row {row_cells[0]!r} is not there")
                continue
            under = [cell for name, cell in row.cells if all(part in squeezed(name) for part in names)]
            if (squeezed(text) in [squeezed(cell) for cell in under]) or (not text and not any(under)):
                right += 1
            else:
                wrong.append(f"{row_cells[0]!r}, under {table.names(column)}: {text!r} became {under}")
    return right, total, wrong


def measure(kind: str, tables: int, seed: int, worst: int) -> dict[str, float | int]:
    """The share of cells that stand right in tables of one kind."""
    write = table_writers.WRITERS[kind]
    right = total = perfect = 0
    tales: list[tuple[float, int, list[str]]] = []
    with tempfile.TemporaryDirectory() as folder:
        for number in range(tables):
            chance = random.Random(f"{seed} {kind} {number}")
            table = table_writers.random_table(chance, long=number % 5 == 4)
            path = Path(folder) / f"table.{kind.partition('-')[0]}"
            write(table, path, chance)
            document = read_document(path, path.name, Limits())
            ok, of, wrong = right_cells(table, "\n\n".join(page.markdown for page in document.pages))
            right, total, perfect = right + ok, total + of, perfect + (ok == of)
            tales.append((ok / of, number, wrong))
    for share, number, wrong in sorted(tales)[:worst]:
        if wrong:
            print(f"    table {number}: {share:.3f}")
            for tale in wrong[:3]:
                print(f"        {tale}")
    return {"tables": tables, "cells": total, "right": round(right / total, 4), "perfect_tables": perfect}


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--tables", type=int, default=60, help="for each kind")
    arguments.add_argument("--seed", type=int, default=1)
    arguments.add_argument("--only", default="", help="one kind: " + " ".join(table_writers.WRITERS))
    arguments.add_argument("--worst", type=int, default=0, help="tables to tell of")
    arguments.add_argument("--save", type=Path, default=RESULTS)
    options = arguments.parse_args()
    results = {}
    for kind in [options.only] if options.only else table_writers.WRITERS:
        results[kind] = measure(kind, options.tables, options.seed, options.worst)
        print(f"{kind:14}" + "  ".join(f"{name} {value:,}" for name, value in results[kind].items()))
    if not options.only:
        low = [kind for kind, result in results.items() if result["right"] < TARGET]
        options.save.write_text(json.dumps({"seed": options.seed, "kinds": results}, indent=2) + "\n", encoding="utf-8")
        print(f"below {TARGET}: {', '.join(low) or 'none'}")


if __name__ == "__main__":
    main()
