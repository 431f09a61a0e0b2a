"""A table that goes on over the page's end: its header stands above every part."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from localrag.parsing.pdf_lines import Table, has_figures, is_heading_number

_NEAR = 4.0  # points by which the same line of a grid differs from page to page


def continue_table(table: Table, above: Table) -> None:
    """Gives the first table of a page the header of the one that ended the page before, if it is the same table.

    It is when the columns stand in the same places and this part shows no header: none, or in a grid a first row of
    figures, or one in plain type where the header was bold, or without lines rows that only lack their figures. A
    header whose upper rows are gone (they were taken for a line that runs over all pages) gets them back.
    """
    if above.header is None or 2 * sum(map(bool, above.header)) <= len(above.header) or not _same_columns(table, above):
        return  # a first row of mostly empty cells was no header to repeat
    if table.header is None:
        table.header, table.bold = list(above.header), above.bold
    elif _is_lower_part(table.header, above.header):
        table.header = list(above.header)
    elif _may_be_rest(table, above):
        table.body[:0], table.header_as_body = table.header_as_body, []
        table.header, table.bold = list(above.header), above.bold
    elif table.ruled and table.header_rows == 1 and table.header != above.header and _is_row(table, above):
        table.body.insert(0, table.header)
        table.header, table.bold = list(above.header), above.bold


def _is_lower_part(header: Sequence[str], above: Sequence[str]) -> bool:
    """Whether the names are those above without their groups; years alone head tables of all sorts."""
    if not any(name and not is_heading_number(name) for name in header):
        return False
    return all(name == whole or whole.endswith(f" {name}") for name, whole in zip(header, above, strict=True))


def _may_be_rest(table: Table, above: Table) -> bool:
    """Whether what was taken for a header are rows, and what stands above is a header without doubt."""
    if not table.header_as_body or table.bold:
        return False
    if above.bold:
        return True
    return not above.header_as_body and any(has_figures(row[0], row[1:]) for row in table.body)


def _is_row(table: Table, above: Table) -> bool:
    first, header = table.header or [], above.header or []
    if above.bold != table.bold:
        return above.bold
    return has_figures(first[0], first[1:]) and not has_figures(header[0], header[1:])


def _same_columns(table: Table, above: Table) -> bool:
    if table.ruled != above.ruled or len(table.edges) != len(above.edges) or not table.edges:
        return False
    if table.ruled:
        return all(abs(x - other) <= _NEAR for x, other in zip(table.edges, above.edges, strict=True))
    # Columns without lines are as wide as what stands in them: each must overlap its own and no other.
    spans, others = _spans(table.edges), _spans(above.edges)
    return all(
        sum(x0 < other1 and other0 < x1 for other0, other1 in others) == 1 and x0 < own1 and own0 < x1
        for (x0, x1), (own0, own1) in zip(spans, others, strict=True)
    )


def _spans(edges: Sequence[float]) -> list[tuple[float, float]]:
    return list(pairwise(edges))[::2]
