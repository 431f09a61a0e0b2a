"""The figures behind a chart or the words of a diagram in an Office file, as Markdown."""

from __future__ import annotations

from typing import Any

from localrag.parsing.number_format import format_number
from localrag.parsing.tables import markdown_table

_C = "{http://schemas.openxmlformats.org/drawingml/2006/chart}"
_A = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
# A chart of more points was drawn from a sheet that is better added itself.
_MAX_POINTS = 1_000


def chart_markdown(root: Any) -> str:
    """`Chart: title` and a table of the cached values: a row per category, a column per series; "" if it has none."""
    series = [_series(node) for node in root.iter(f"{_C}ser")]
    series = [one for one in series if one[2]]
    title = next((_words(node) for node in root.iter(f"{_C}title") if node.getparent().tag == f"{_C}chart"), "")
    lines = [f"Chart: {title}"] if title else []
    if series:
        categories = max((categories for _, categories, _ in series), key=len)
        points = sorted({index for _, _, values in series for index in values})[:_MAX_POINTS]
        rows = [["", *(name or f"Series {i}" for i, (name, _, _) in enumerate(series, start=1))]]
        rows += [
            [categories.get(point, str(point + 1)), *(values.get(point, "") for _, _, values in series)]
            for point in points
        ]
        lines.append(markdown_table(rows))
    return "\n\n".join(lines)


def diagram_markdown(root: Any) -> str:
    """The words of a SmartArt diagram, one list item a node."""
    items = (_words(node) for node in root.iter("{http://schemas.openxmlformats.org/drawingml/2006/diagram}t"))
    return "\n".join(f"- {text}" for text in items if text)


def _series(node: Any) -> tuple[str, dict[int, str], dict[int, str]]:
    """A series' name, its categories (or x values), and its values, both by the number of the point."""
    name = " ".join(text for _, text in sorted(_points(node.find(f"{_C}tx")).items())) or _plain(node.find(f"{_C}tx"))
    categories = _points(_first(node, "cat", "xVal"))
    return name, categories, _points(_first(node, "val", "yVal"))


def _first(node: Any, *names: str) -> Any:
    return next((found for name in names if (found := node.find(f"{_C}{name}")) is not None), None)


def _plain(node: Any) -> str:
    return "" if node is None else (node.findtext(f"{_C}v") or "").strip()


def _points(node: Any) -> dict[int, str]:
    """Number of the point -> its cached value; several levels of categories are joined, the outer one first."""
    if node is None:
        return {}
    levels = list(node.iter(f"{_C}lvl")) or [node]
    found: dict[int, str] = {}
    for level in levels:
        code = next((format_node.text for format_node in level.iter(f"{_C}formatCode")), None) or "General"
        for point in level.iter(f"{_C}pt"):
            index = int(point.get("idx", "0"))
            text = _value(point.findtext(f"{_C}v") or "", code)
            found[index] = f"{text} / {found[index]}" if index in found else text
    return found


def _value(text: str, code: str) -> str:
    try:
        return format_number(float(text), code)
    except ValueError:
        return text.strip()


def _words(node: Any) -> str:
    paragraphs = ("".join(run.text or "" for run in part.iter(f"{_A}t")) for part in node.iter(f"{_A}p"))
    return " ".join(text.strip() for text in paragraphs if text.strip())
