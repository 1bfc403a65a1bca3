"""Charts and SmartArt of Office files as text: a chart is a table of its categories and series, a diagram a nested list."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import date, timedelta
from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple

from hlgraph.read.content import clean, clean_title
from hlgraph.read.notation import attribute, child, children, list_item, literals, local_name, shown_number
from hlgraph.read.tables import Cell, Grid

if TYPE_CHECKING:
    from lxml.etree import _Element as Element

    from hlgraph.read.bounds import Produced

_DAY_0 = date(1899, 12, 30)  # of the serial numbers of dates
_CATEGORIES = ("cat", "xVal")
_VALUES = ("val", "yVal", "bubbleSize")


class _Series(NamedTuple):
    names: tuple[str, ...]
    categories: tuple[tuple[int, str], ...]
    values: tuple[dict[int, str], ...]


def chart_text(chart: Element, produced: Produced) -> str:
    """The title of a chart, and its categories and series as a Markdown table.

    Series with other categories have a table of their own.

    Parameters
    ----------
    chart : root of the chart part
    produced : counts the cells
    """
    plots = child(chart, "chart", "plotArea")
    if plots is None:
        return ""
    titles = [text for text in (words_of(child(chart, "chart", "title")), *_axis_titles(plots, "valAx")) if text]
    corner = " / ".join((*_axis_titles(plots, "catAx"), *_axis_titles(plots, "dateAx")))
    blocks = ["\n".join(titles)] if titles else []
    series = [each for plot in plots for each in plot if local_name(each) == "ser"]
    read = [_series(each, number) for number, each in enumerate(series, 1)]
    for categories, group in groupby(read, key=lambda one: one.categories):
        blocks.append(_series_table(corner, dict(categories), [*group], produced))
    return "\n\n".join(filter(None, blocks))


def chart_titles(chart: Element) -> str:
    """The title of a chart and those of its axes, for a chart beside the table that it shows."""
    plots = children(child(chart, "chart", "plotArea"))
    titles = (child(chart, "chart", "title"), *(child(axis, "title") for axis in plots))
    return "; ".join(filter(None, map(words_of, titles)))


def _series_table(corner: str, labels: dict[int, str], group: list[_Series], produced: Produced) -> str:
    columns = [values for one in group for values in one.values]
    places = sorted({at for points in (labels, *columns) for at in points})
    produced.add_cells(len(places) * (len(columns) + 1))
    head = [Cell(corner, is_head=True), *(Cell(name, is_head=True) for one in group for name in one.names)]
    rows = [[Cell(labels.get(at, "")), *(Cell(values.get(at, "")) for values in columns)] for at in places]
    return Grid([head, *rows], produced=produced).markdown()


def _axis_titles(plots: Element, name: str) -> list[str]:
    return [text for axis in plots if local_name(axis) == name if (text := words_of(child(axis, "title")))]


def _series(element: Element, number: int) -> _Series:
    name = " ".join(_cached(child(element, "tx")).values()) or f"Series {number}"
    categories: dict[int, str] = {}
    values: list[dict[int, str]] = []
    for each in element:
        if local_name(each) in _CATEGORIES:
            categories = _cached(each)
        elif local_name(each) in _VALUES:
            values.append(_cached(each))
    names = (name, *(f"{name} size" for _ in values[1:])) if values else ()
    return _Series(names, tuple(categories.items()), tuple(values))


def _cached(element: Element | None) -> dict[int, str]:
    """The cached values by index. A category with several levels has the outer ones in front."""
    if element is None:
        return {}
    levels = [_points(each) for each in element.iter() if local_name(each) == "lvl"]
    if not levels:
        return _points(element)
    inner, *outer = levels
    names = [""] * len(outer)
    joined: dict[int, str] = {}
    for at in sorted({at for level in levels for at in level}):
        names = [level.get(at, name) for level, name in zip(outer, names, strict=True)]
        joined[at] = " ".join(filter(None, (*reversed(names), inner.get(at, ""))))
    return joined


def _points(element: Element) -> dict[int, str]:
    shape = ""
    points: dict[int, str] = {}
    for each in element.iter():
        if local_name(each) == "formatCode":
            shape = each.text or ""
        elif local_name(each) == "pt" and (index := attribute(each, "idx")).isdecimal() and len(index) < 10:
            value = child(each, "v")
            text = value.text if value is not None else ""
            points[int(index)] = clean_title(clean(_shown(text or "", attribute(each, "formatCode", default=shape))))
    if not points:  # a literal name
        points = {at: clean_title(clean(each.text or "")) for at, each in enumerate(element) if local_name(each) == "v"}
    return points


def _shown(text: str, shape: str) -> str:
    try:
        value = float(text)
    except ValueError:
        return text
    places = literals(shape)[0].lower()
    if "y" in places and 0 < value < 2_958_466:  # the year 9999
        return (_DAY_0 + timedelta(days=int(value))).isoformat()
    return shown_number(value, shape) if shape and shape != "General" else text


def words_of(element: Element | None) -> str:
    """The text of a title or a shape on one line."""
    if element is None:
        return ""
    paragraphs = [each for each in element.iter() if local_name(each) == "p"]
    texts = ("".join(part.text or "" for part in each.iter() if local_name(part) == "t") for each in paragraphs)
    values = (each.text or "" for each in element.iter() if local_name(each) == "v")
    return clean_title(clean(" ".join((*texts, *values))))


_NO_NODES = ("parTrans", "pres", "sibTrans")


def diagram_text(model: Element) -> str:
    """The texts of SmartArt as a nested list.

    Parameters
    ----------
    model : root of the data part of the diagram
    """
    nodes: dict[str, str] = {}
    for each in children(child(model, "ptLst")):
        if attribute(each, "type") not in _NO_NODES:
            nodes[attribute(each, "modelId")] = words_of(child(each, "t"))
    below: dict[str, list[tuple[int, str]]] = {}
    has_parent: set[str] = set()
    for each in children(child(model, "cxnLst")):
        if attribute(each, "type", default="parOf") == "parOf":
            order = attribute(each, "srcOrd", default="0")
            place = int(order) if order.isdecimal() and len(order) < 10 else 0
            below.setdefault(attribute(each, "srcId"), []).append((place, attribute(each, "destId")))
            has_parent.add(attribute(each, "destId"))
    return "\n".join(_outline([key for key in nodes if key not in has_parent], nodes, below))


def _outline(tops: Iterable[str], nodes: dict[str, str], below: dict[str, list[tuple[int, str]]]) -> Iterator[str]:
    """The nodes depth first, each once; nodes without text do not count as a level."""
    seen: set[str] = set()
    stack = [(key, 0) for key in reversed([*tops])]
    stack = [(key, 0) for key in reversed([*nodes])] + stack  # those in a cycle come last
    while stack:
        key, level = stack.pop()
        if key in seen or key not in nodes:
            continue
        seen.add(key)
        if nodes[key]:
            yield list_item(nodes[key], "", level=level)
        inner = sorted(below.get(key, ()), reverse=True)
        stack += [(each, level + bool(nodes[key])) for _, each in inner]
