"""SVG plots, written without a library; equal data give equal files."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple
from xml.sax.saxutils import escape

from hlgraph.evaluate.statistics import Interval
from hlgraph.retrieve.explain.svg import escaped

_WIDTH, _HEIGHT = 760, 440
_LEFT, _RIGHT, _TOP, _BOTTOM = 70, 200, 40, 55
# The Okabe-Ito palette, which colour-blind readers can tell apart. Shapes repeat with another period than colours.
_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#777777")
_MOST_LETTERS = 26
_SHAPES = ("circle", "square", "diamond", "triangle")


class Point(NamedTuple):
    """A point; ``low`` and ``high`` are the ends of a vertical error bar, None for no bar."""

    x: float
    y: float
    low: float | None = None
    high: float | None = None


class Series(NamedTuple):
    """Named points; two or more are joined by a line."""

    name: str
    points: tuple[Point, ...]


class Axis(NamedTuple):
    """The label and the scale of an axis; a logarithmic axis omits values that are not above 0."""

    label: str
    is_log: bool = False


class _Scale(NamedTuple):
    low: float
    high: float
    is_log: bool
    start: float
    end: float

    def at(self, value: float) -> float:
        place = math.log10(value) if self.is_log else value
        return self.start + (place - self.low) / (self.high - self.low) * (self.end - self.start)

    def ticks(self) -> list[float]:
        if self.is_log:
            decades = range(math.floor(self.low), math.ceil(self.high) + 1)
            values = [factor * 10.0**decade for decade in decades for factor in (1, 2, 5)]
            inside = [value for value in values if self.low - 1e-9 <= math.log10(value) <= self.high + 1e-9]
            return inside if len(inside) <= 9 else [value for value in inside if str(value).strip("0.e+-")[:1] == "1"]
        step = _round_step((self.high - self.low) / 6)
        first = math.ceil(self.low / step - 1e-9)
        return [step * number for number in range(first, math.floor(self.high / step + 1e-9) + 1)]


def chart(series: Sequence[Series], title: str, *, x: Axis, y: Axis) -> str:
    """An SVG plot of named points with a legend.

    Parameters
    ----------
    series : drawn in this order
    title : shown above the plot; also the accessible name of the image
    x, y : the axes

    Returns
    -------
    str
        An SVG document with its own background, so that it is readable in light and dark themes.
    """
    shown = [_drawable(item, x, y) for item in series]
    every = [point for item in shown for point in item.points]
    across = _scale([point.x for point in every], x, start=_LEFT, end=_WIDTH - _RIGHT)
    heights = [value for point in every for value in (point.y, point.low, point.high) if value is not None]
    up = _scale(heights, y, start=_HEIGHT - _BOTTOM, end=_TOP)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" width="{_WIDTH}" height="{_HEIGHT}" '
        'font-family="sans-serif" font-size="12" role="img">',
        f"<title>{escape(title)}</title>",
        f'<rect width="{_WIDTH}" height="{_HEIGHT}" fill="#ffffff"/>',
        _text(_LEFT, 22, title, size=14),
        *_axes(across, up, x=x, y=y),
    ]
    for number, item in enumerate(shown):
        parts.extend(_drawn(item, number, across=across, up=up))
    return "\n".join([*parts, "</svg>", ""])


def _drawable(item: Series, x: Axis, y: Axis) -> Series:
    points = tuple(
        point._replace(low=point.low if not y.is_log or (point.low or 0) > 0 else None)
        for point in item.points
        if (point.x > 0 or not x.is_log) and (point.y > 0 or not y.is_log)
    )
    return Series(item.name, points)


def _scale(values: Sequence[float], axis: Axis, *, start: float, end: float) -> _Scale:
    places = [math.log10(value) if axis.is_log else value for value in values if value > 0 or not axis.is_log]
    low, high = (min(places), max(places)) if places else (0.0, 1.0)
    margin = 0.06 * (high - low) or 0.5
    return _Scale(low - margin, high + margin, axis.is_log, start, end)


def _round_step(rough: float) -> float:
    decade = 10.0 ** math.floor(math.log10(rough))
    return next(factor * decade for factor in (1, 2, 5, 10) if factor * decade >= rough)


def _axes(across: _Scale, up: _Scale, *, x: Axis, y: Axis) -> list[str]:
    bottom, right = _HEIGHT - _BOTTOM, _WIDTH - _RIGHT
    parts = []
    for value in across.ticks():
        place = across.at(value)
        parts.append(_line((place, bottom), (place, _TOP), colour="#dddddd"))
        parts.append(_text(place, bottom + 16, f"{value:g}", anchor="middle"))
    for value in up.ticks():
        place = up.at(value)
        parts.append(_line((_LEFT, place), (right, place), colour="#dddddd"))
        parts.append(_text(_LEFT - 6, place + 4, f"{value:g}", anchor="end"))
    parts.append(_line((_LEFT, bottom), (right, bottom), colour="#222222"))
    parts.append(_line((_LEFT, bottom), (_LEFT, _TOP), colour="#222222"))
    parts.append(_text((_LEFT + right) / 2, _HEIGHT - 16, x.label, anchor="middle"))
    middle = (_TOP + bottom) / 2
    turned = f'transform="rotate(-90 18 {middle:.1f})"'
    parts.append(f'<text x="18" y="{middle:.1f}" text-anchor="middle" fill="#222222" {turned}>{escape(y.label)}</text>')
    return parts


def _drawn(item: Series, number: int, *, across: _Scale, up: _Scale) -> list[str]:
    colour = _COLOURS[number % len(_COLOURS)]
    shape = _SHAPES[number % len(_SHAPES)]
    places = [(across.at(point.x), up.at(point.y)) for point in item.points]
    parts = []
    if len(places) > 1:
        joined = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
        parts.append(f'<polyline points="{joined}" fill="none" stroke="{colour}" stroke-width="1.5"/>')
    for point, (x, y) in zip(item.points, places, strict=True):
        if point.low is not None and point.high is not None:
            parts.append(_line((x, up.at(point.low)), (x, up.at(point.high)), colour=colour))
        parts.append(_mark(x, y, shape=shape, colour=colour))
    height = _TOP + 10 + 18 * number
    parts.append(_mark(_WIDTH - _RIGHT + 18, height, shape=shape, colour=colour))
    parts.append(_text(_WIDTH - _RIGHT + 30, height + 4, _short(item.name)))
    return parts


def _short(name: str) -> str:
    """A name that fits beside a plot."""
    return name if len(name) <= _MOST_LETTERS else f"{name[: _MOST_LETTERS - 1]}…"


def _mark(x: float, y: float, *, shape: str, colour: str) -> str:
    if shape == "circle":
        return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="5" fill="{colour}"/>'
    corners = {
        "square": ((-4.5, -4.5), (4.5, -4.5), (4.5, 4.5), (-4.5, 4.5)),
        "diamond": ((0, -6), (6, 0), (0, 6), (-6, 0)),
        "triangle": ((0, -6), (5.5, 4.5), (-5.5, 4.5)),
    }[shape]
    joined = " ".join(f"{x + dx:.1f},{y + dy:.1f}" for dx, dy in corners)
    return f'<polygon points="{joined}" fill="{colour}"/>'


def _line(start: tuple[float, float], end: tuple[float, float], *, colour: str) -> str:
    return f'<line x1="{start[0]:.1f}" y1="{start[1]:.1f}" x2="{end[0]:.1f}" y2="{end[1]:.1f}" stroke="{colour}"/>'


def _text(x: float, y: float, words: str, *, anchor: str = "start", size: int = 12) -> str:
    where = f'x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}"'
    return f'<text {where} fill="#222222">{escape(words)}</text>'


# Forest plots: means with intervals, one row per strategy and one column per measure or group.


_LABEL, _COLUMN, _ROW, _FOREST_TOP, _FOREST_BOTTOM, _FOREST_WIDTH = 210, 170, 22, 48, 30, 900
_MOST_LABEL_LETTERS = 30


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
    width = max(_COLUMN, (_FOREST_WIDTH - _LABEL) // len(columns))
    height = _FOREST_TOP + _ROW * len(rows) + _FOREST_BOTTOM
    low, high = _domain([cell for column in columns for cell in column.cells if cell], is_difference=is_difference)
    parts = [
        f'<svg class="forest" viewBox="0 0 {_LABEL + width * len(columns)} {height}" role="img">',
        f"<title>{escaped(title)}</title>",
    ]
    for at, name in enumerate(rows):
        y = _FOREST_TOP + _ROW * at + _ROW / 2
        parts.append(f'<text x="{_LABEL - 12}" y="{y + 4:.1f}" text-anchor="end">{_short_label(name)}</text>')
    for number, column in enumerate(columns):
        left = _LABEL + width * number
        start, end = left + 10, left + width - 22
        parts.append(
            f'<text x="{(start + end) / 2:.1f}" y="20" text-anchor="middle" class="head">{_short_label(column.name)}</text>'
        )
        for tick in (low, (low + high) / 2, high):
            x = start + (tick - low) / (high - low) * (end - start)
            kind = "zero" if is_difference and not tick else "grid"
            parts.append(
                f'<line class="{kind}" x1="{x:.1f}" y1="{_FOREST_TOP - 10}" x2="{x:.1f}" y2="{height - _FOREST_BOTTOM}"/>'
            )
            parts.append(f'<text x="{x:.1f}" y="{height - 10}" text-anchor="middle">{tick:g}</text>')
        for at, cell in enumerate(column.cells):
            if cell is not None:
                places = [start + (value - low) / (high - low) * (end - start) for value in cell]
                is_noise = is_difference and cell.low <= 0 <= cell.high
                parts += _interval_mark(
                    places,
                    _FOREST_TOP + _ROW * at + _ROW / 2,
                    words=_words(rows[at], column.name, cell),
                    is_noise=is_noise,
                )
    return "\n".join([*parts, "</svg>"])


def _interval_mark(places: Sequence[float], y: float, *, words: str, is_noise: bool) -> list[str]:
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


def _short_label(name: str) -> str:
    cut = name if len(name) <= _MOST_LABEL_LETTERS else f"{name[: _MOST_LABEL_LETTERS - 1]}…"
    return f"{escaped(cut)}<title>{escaped(name)}</title>"
