"""A plot of means with their intervals, one row a strategy and one column a measure or group, as SVG without a library."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from hlgraph.evaluate.bootstrap import Interval
from hlgraph.retrieve.explain.svg import escaped

_LABEL, _COLUMN, _ROW, _TOP, _BOTTOM, _WIDTH = 210, 170, 22, 48, 30, 900
_MOST_LETTERS = 30


class Column(NamedTuple):
    """A column: its name, and for each row an interval in per cent, or None."""

    name: str
    cells: tuple[Interval | None, ...]


def forest(rows: Sequence[str], columns: Sequence[Column], *, title: str, is_difference: bool = False) -> str:
    """An SVG element: a dot and a line for each interval; dots of differences whose interval contains 0 are hollow.

    Parameters
    ----------
    rows : names of the rows
    columns : at least one
    title : the accessible name of the image
    is_difference : draw a line at 0, and show what is noise
    """
    width = max(_COLUMN, (_WIDTH - _LABEL) // len(columns))
    height = _TOP + _ROW * len(rows) + _BOTTOM
    low, high = _domain([cell for column in columns for cell in column.cells if cell], is_difference=is_difference)
    parts = [
        f'<svg class="forest" viewBox="0 0 {_LABEL + width * len(columns)} {height}" role="img">',
        f"<title>{escaped(title)}</title>",
    ]
    for at, name in enumerate(rows):
        y = _TOP + _ROW * at + _ROW / 2
        parts.append(f'<text x="{_LABEL - 12}" y="{y + 4:.1f}" text-anchor="end">{_short(name)}</text>')
    for number, column in enumerate(columns):
        left = _LABEL + width * number
        start, end = left + 10, left + width - 22
        parts.append(
            f'<text x="{(start + end) / 2:.1f}" y="20" text-anchor="middle" class="head">{_short(column.name)}</text>'
        )
        for tick in (low, (low + high) / 2, high):
            x = start + (tick - low) / (high - low) * (end - start)
            kind = "zero" if is_difference and not tick else "grid"
            parts.append(f'<line class="{kind}" x1="{x:.1f}" y1="{_TOP - 10}" x2="{x:.1f}" y2="{height - _BOTTOM}"/>')
            parts.append(f'<text x="{x:.1f}" y="{height - 10}" text-anchor="middle">{tick:g}</text>')
        for at, cell in enumerate(column.cells):
            if cell is not None:
                places = [start + (value - low) / (high - low) * (end - start) for value in cell]
                is_noise = is_difference and cell.low <= 0 <= cell.high
                parts += _mark(
                    places, _TOP + _ROW * at + _ROW / 2, words=_words(rows[at], column.name, cell), is_noise=is_noise
                )
    return "\n".join([*parts, "</svg>"])


def _mark(places: Sequence[float], y: float, *, words: str, is_noise: bool) -> list[str]:
    mean, low, high = places
    kind = "noise" if is_noise else "told"
    return [
        f'<g class="{kind}"><title>{escaped(words)}</title>'
        f'<line x1="{low:.1f}" y1="{y:.1f}" x2="{high:.1f}" y2="{y:.1f}"/><circle cx="{mean:.1f}" cy="{y:.1f}" r="4.5"/></g>'
    ]


def _words(row: str, column: str, cell: Interval) -> str:
    return f"{row}, {column}: {cell.mean:.2f}, {cell.low:.2f} to {cell.high:.2f}"


def _domain(cells: Sequence[Interval], *, is_difference: bool) -> tuple[float, float]:
    """The ends of the axes, multiples of 10; around 0 for differences."""
    if is_difference:
        most = max((abs(value) for cell in cells for value in cell), default=1.0)
        end = next(step for step in (1, 2, 5, 10, 20, 30, 40, 50, 60, 80, 100) if most <= step or step == 100)
        return -float(end), float(end)
    values = [value for cell in cells for value in cell] or [0.0, 100.0]
    low, high = 10 * (min(values) // 10), 10 * -(-max(values) // 10)
    return (low, high) if high > low else (low, low + 10.0)


def _short(name: str) -> str:
    cut = name if len(name) <= _MOST_LETTERS else f"{name[: _MOST_LETTERS - 1]}…"
    return f"{escaped(cut)}<title>{escaped(name)}</title>"
