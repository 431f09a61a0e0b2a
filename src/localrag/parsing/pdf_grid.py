"""Rules of a page -> tables with drawn cells: text is placed by the box it stands in, however often it wraps."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import reduce

from localrag.parsing.pdf_lines import Piece, Table, has_figures, is_number
from localrag.parsing.pdf_rules import Rule
from localrag.parsing.pdf_text import stacked

_NEAR = 3.0  # points: rules that end this close to each other meet
_MAX_COLUMNS = 60
_MAX_BOXES = 6_000  # a page of 100 rows and 60 columns; graph paper and plans have more
_MAX_HEADER = 4  # rows
_MAX_PAIRS = 250_000  # pairs of rules looked at on a page; more is a drawing


@dataclass(slots=True)
class _Grid:
    """Lines that meet. `xs` and `ys` are the borders of its columns and rows, outer ones included."""

    across: list[Rule]
    down: list[Rule]
    xs: list[float] = field(default_factory=list)
    ys: list[float] = field(default_factory=list)


def with_ruled_tables(pieces: Sequence[Piece], rules: Sequence[Rule]) -> list[Piece]:
    """The pieces, those inside a ruled table replaced by one piece that holds the table."""
    result = list(pieces)
    for grid in _grids(rules):
        inside = [piece for piece in result if _is_inside(piece, grid)]
        table = _read(grid, inside)
        if table is None:
            continue
        gone = set(map(id, inside))
        result = [piece for piece in result if id(piece) not in gone]
        result.append(_table_piece(grid, inside, table))
    return result


def _grids(rules: Sequence[Rule]) -> list[_Grid]:
    across = [rule for rule in rules if rule.y0 == rule.y1]
    down = [rule for rule in rules if rule.x0 == rule.x1]
    if len(down) < 2 or len(across) < 2 or len(down) * len(across) > _MAX_PAIRS:
        return []
    owner: dict[int, _Grid] = {}  # id of a rule across -> the grid it belongs to
    for wall in down:
        meets = [rule for rule in across if _meet(rule, wall)]
        joined = {id(grid): grid for rule in meets if (grid := owner.get(id(rule)))}
        grid = next(iter(joined.values()), None) or _Grid([], [])
        for other in list(joined.values())[1:]:
            grid.across += other.across
            grid.down += other.down
            owner.update((id(rule), grid) for rule in other.across)
        grid.down.append(wall)
        new = [rule for rule in meets if id(rule) not in owner]
        grid.across += new
        owner.update((id(rule), grid) for rule in new)
    grids = list({id(grid): grid for grid in owner.values()}.values())
    for grid in grids:
        ends = [x for rule in grid.across for x in (rule.x0, rule.x1)]
        grid.xs = _borders([rule.x0 for rule in grid.down], min(ends), max(ends))
        ends = [y for rule in grid.down for y in (rule.y0, rule.y1)]
        grid.ys = _borders([rule.y0 for rule in grid.across], min(ends), max(ends))
    return [
        grid
        for grid in grids
        if 3 <= len(grid.xs) <= _MAX_COLUMNS and len(grid.ys) >= 3 and len(grid.xs) * len(grid.ys) <= _MAX_BOXES
    ]


def _meet(across: Rule, down: Rule) -> bool:
    return across.x0 - _NEAR <= down.x0 <= across.x1 + _NEAR and down.y0 - _NEAR <= across.y0 <= down.y1 + _NEAR


def _borders(inner: Iterable[float], low: float, high: float) -> list[float]:
    result: list[float] = []
    for value in sorted([*inner, low, high]):
        if not result or value - result[-1] > _NEAR:
            result.append(value)
    return result


def _is_inside(piece: Piece, grid: _Grid) -> bool:
    middle = (piece.y0 + piece.y1) / 2
    return grid.xs[0] <= piece.middle <= grid.xs[-1] and grid.ys[0] <= middle <= grid.ys[-1]


def _slot(borders: Sequence[float], value: float) -> int:
    return max(0, min(sum(border <= value for border in borders) - 1, len(borders) - 2))


def _read(grid: _Grid, inside: Sequence[Piece]) -> Table | None:
    """The grid's cells; None when it is a frame or a chart rather than a table."""
    width, height = len(grid.xs) - 1, len(grid.ys) - 1
    owners = _owners(grid)
    _part_cells(owners, grid, inside)
    cells: dict[tuple[int, int], list[Piece]] = {}
    for piece in inside:
        where = (_slot(grid.ys, (piece.y0 + piece.y1) / 2), _slot(grid.xs, piece.middle))
        cells.setdefault(owners[where], []).append(piece)
    filled = Counter(row for row, _ in cells)
    if sum(count > 1 for count in filled.values()) < 2:
        return None
    if len(cells) < 0.3 * len(set(owners.values())):
        return None
    if _has_unruled_rows(cells):
        return None
    caption = ""
    top = 0
    while height - top > 2 and len({owners[top, column] for column in range(width)}) == 1:
        caption = f"{caption} {_text(cells.get(owners[top, 0], []))}".strip()
        top += 1
    rows = [
        _row(row, top, {c: cells.get(owners[row, c], []) for c in range(width)}, owners) for row in range(top, height)
    ]
    joined = _header_height(rows, any(owners[top, column] == owners[top, column - 1] for column in range(1, width)))
    header = [" ".join(dict.fromkeys(filter(None, parts))) for parts in zip(*rows[:joined], strict=True)]
    bold = all(piece.bold for (row, _), cell in cells.items() if top <= row < top + joined for piece in cell)
    body = [row for row in rows[joined:] if any(row)]
    return Table(header, body, caption, edges=tuple(grid.xs), ruled=True, header_rows=joined, bold=bold)


def _has_unruled_rows(cells: dict[tuple[int, int], list[Piece]]) -> bool:
    """Whether figures stand stacked in boxes side by side: rows without rules, to be told apart by baseline."""
    stacked: Counter[int] = Counter()
    for (row, _), cell in cells.items():
        stacked[row] += len(_baselines(cell)) > 1 and all(is_number(piece.text) for piece in cell)
    return any(count >= 2 for count in stacked.values())


def _owners(grid: _Grid) -> dict[tuple[int, int], tuple[int, int]]:
    """(row, column) of the first box of the merged cell that each box belongs to."""
    owners: dict[tuple[int, int], tuple[int, int]] = {}
    for row in range(len(grid.ys) - 1):
        middle = (grid.ys[row] + grid.ys[row + 1]) / 2
        for column in range(len(grid.xs) - 1):
            owner = (row, column)
            if column and not _has_wall(grid.down, grid.xs[column], middle):
                owner = owners[row, column - 1]
            elif row and not _has_floor(grid.across, grid.ys[row], (grid.xs[column] + grid.xs[column + 1]) / 2):
                owner = owners[row - 1, column]
            owners[row, column] = owner
    return owners


def _part_cells(owners: dict[tuple[int, int], tuple[int, int]], grid: _Grid, inside: Sequence[Piece]) -> None:
    """Makes boxes their own cells where texts stand side by side in a merged one: the walls are only not drawn."""
    places: dict[tuple[tuple[int, int], int], set[int]] = {}
    for piece in inside:
        row, column = _slot(grid.ys, (piece.y0 + piece.y1) / 2), _slot(grid.xs, piece.middle)
        places.setdefault((owners[row, column], round(piece.baseline)), set()).add(column)
    parted = {owner for (owner, _), columns in places.items() if len(columns) > 1}
    for box, owner in list(owners.items()):
        if owner in parted:
            owners[box] = box


def _has_wall(down: Sequence[Rule], x: float, y: float) -> bool:
    return any(abs(rule.x0 - x) <= _NEAR and rule.y0 <= y <= rule.y1 for rule in down)


def _has_floor(across: Sequence[Rule], y: float, x: float) -> bool:
    return any(abs(rule.y0 - y) <= _NEAR and rule.x0 <= x <= rule.x1 for rule in across)


def _row(row: int, top: int, line: dict[int, list[Piece]], owners: dict[tuple[int, int], tuple[int, int]]) -> list[str]:
    """The row's texts: a cell merged downward stands in every row it covers, one merged sideways only in headings."""
    texts = []
    for column in sorted(line):
        repeated = column and owners[row, column] == owners[row, column - 1] and row > top
        texts.append("" if repeated else _text(line[column]))
    return texts


def _baselines(cell: Sequence[Piece]) -> set[int]:
    return {round(piece.baseline) for piece in cell}


def _text(cell: Sequence[Piece]) -> str:
    lines: dict[int, str] = {}
    for piece in sorted(cell, key=lambda piece: (round(piece.baseline), piece.x0)):
        row = round(piece.baseline)
        lines[row] = f"{lines[row]} {piece.text}" if row in lines else piece.text
    return reduce(stacked, lines.values(), "")


def _header_height(rows: Sequence[Sequence[str]], over_several: bool) -> int:
    """Rows of the header: one, or below a heading over several columns all up to the first row of figures."""
    if not over_several:
        return 1
    for i, row in enumerate(rows[1 : _MAX_HEADER + 1], 1):
        if has_figures(row[0], row[1:]):
            return i
    return min(2, len(rows) - 1)


def _table_piece(grid: _Grid, inside: Sequence[Piece], table: Table) -> Piece:
    first = min(inside, key=lambda piece: piece.baseline)
    return Piece(
        x0=grid.xs[0],
        y0=grid.ys[0],
        x1=grid.xs[-1],
        y1=grid.ys[-1],
        baseline=first.baseline,
        size=first.size,
        bold=False,
        italic=False,
        mono=False,
        text=" ".join(piece.text for piece in inside),
        table=table,
    )
