"""Readers of places and tracks, GPX and KML: a table of the places of each part, and of each track its points counted."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

from hlgraph.errors import ReadError
from hlgraph.read.bounds import Produced
from hlgraph.read.content import Origin, clean_title
from hlgraph.read.formats._blocks import Unread, document_of, heading
from hlgraph.read.formats._format import FileFormat
from hlgraph.read.formats._xml import attribute, below, children, parsed, tag_of
from hlgraph.read.options import ReadOptions
from hlgraph.read.tables import markdown_rows
from hlgraph.records import Document, MetadataValue

if TYPE_CHECKING:
    from lxml.etree import _Element as Element

_LONG = 200  # characters of a description that stands below the table
_DESCRIBES = ("desc", "description", "cmt", "snippet", "Snippet")
_LABELS = {"ele": "elevation", "sym": "symbol", "desc": "description", "cmt": "comment", "Snippet": "snippet"}
_PLACES = ("Document", "Folder")
_LOOKS = (
    "Style",
    "StyleMap",
    "styleUrl",
    "LookAt",
    "Camera",
    "Icon",
    "Schema",
    "visibility",
    "open",
    "Region",
    "NetworkLink",
)
_GEOMETRY = frozenset(("Point", "LineString", "LinearRing", "Polygon", "MultiGeometry", "MultiTrack", "Track", "Model"))
_MARKUP = re.compile(r"<[a-zA-Z!/]")
_BREAK = re.compile(r"<(?=/?(?:p|br|div|tr|td|th|li|h\d)\b)", re.IGNORECASE)

_Values: TypeAlias = dict[str, str]
"""What is said of a place or track, by label."""


def read_places(origin: Origin, data: bytes, *, options: ReadOptions, kind: str) -> Document:
    """The document of a file of places: a table of names, coordinates, times and all else that is said of each.

    Parameters
    ----------
    origin : the file
    data : its bytes
    options : the size limit
    kind : ``gpx`` or ``kml``

    Raises
    ------
    MissingExtraError
        lxml is not installed.
    ReadError
        It is damaged, of another kind, or holds no place.
    """
    root = parsed(origin, data, extra="xml")
    if tag_of(root) != kind:
        raise ReadError(origin.uri, f"is XML whose first element {tag_of(root)!r} is not {kind}", "check its suffix")
    produced = Produced(origin, len(data), options.max_bytes)
    return (_gpx if kind == "gpx" else _kml)(root, produced)


def _gpx(root: Element, produced: Produced) -> Document:
    unread = Unread()
    about: _Values = {}
    for part in (root, *children(root, "metadata")):
        about |= _leaves(part, {"wpt", "rte", "trk", "metadata", "extensions", "bounds"})
    blocks = [about.pop(name) for name in ("description", "comment") if name in about]
    blocks += _table([_point(place) for place in children(root, "wpt")], produced)
    for route in children(root, "rte"):
        values = _leaves(route, {"rtept"})
        blocks.append(heading(values.pop("name", "Route"), 2))
        blocks += [f"{label}: {text}" for label, text in values.items()]
        blocks += _table([_point(place) for place in children(route, "rtept")], produced)
    tracks: list[_Values] = []
    for track in children(root, "trk"):
        values = _leaves(track, {"trkseg"})
        points = below(track, "trkpt")
        times = [time.text.strip() for point in points for time in children(point, "time") if time.text]
        tracks.append({"track": values.pop("name", f"{len(tracks) + 1}"), **_summary(len(points), times), **values})
        unread["points of tracks, but for their number and times"] += len(points)
    blocks += [heading("Tracks", 2), *_table(tracks, produced)] if tracks else []
    unread["extension"] += len(children(root, "extensions"))
    return _document(about, blocks, produced, unread)


def _kml(root: Element, produced: Produced) -> Document:
    unread = Unread()
    whole = (children(root, "Document", "Folder") or [root])[0]
    about = _leaves(whole, {*_PLACES, *_LOOKS, "Placemark"})
    blocks = [about.pop(name) for name in ("description", "snippet") if name in about]
    blocks += _folder(whole, 1, produced, unread)
    unread["style"] = sum(1 for _ in root.iter("{*}Style", "{*}StyleMap"))
    return _document(about, blocks, produced, unread)


def _folder(folder: Element, level: int, produced: Produced, unread: Unread) -> Iterator[str]:
    """The blocks of a folder, and of the folders in it, which have headings."""
    yield from _table([_placemark(place, unread) for place in children(folder, "Placemark")], produced)
    for inner in children(folder, *_PLACES):
        about = _leaves(inner, {*_PLACES, *_LOOKS, "Placemark"})
        yield heading(about.pop("name", ""), level + 1)
        yield from (text if label in _DESCRIBES else f"{label}: {text}" for label, text in about.items())
        yield from _folder(inner, level + 1, produced, unread)


def _document(about: _Values, blocks: list[str], produced: Produced, unread: Unread) -> Document:
    title = about.pop("name", "")
    metadata: dict[str, MetadataValue] = dict(about)
    warnings = Unread({kind: count for kind, count in unread.items() if count}).warnings()
    return document_of(produced, blocks, title=title, metadata=metadata, warnings=warnings)


def _point(point: Element) -> _Values:
    """What is said of a waypoint."""
    values = _leaves(point, set())
    name = {"name": values.pop("name")} if "name" in values else {}
    return {**name, "latitude": attribute(point, "lat"), "longitude": attribute(point, "lon"), **values}


def _placemark(place: Element, unread: Unread) -> _Values:
    values = _leaves(place, {*_GEOMETRY, *_LOOKS})
    name = {"name": values.pop("name")} if "name" in values else {}
    geometry: _Values = {}
    for shape in below(place, "Point"):
        for coordinates in children(shape, "coordinates"):
            longitude, latitude, *height = [*(coordinates.text or "").split(","), ""][:3]
            geometry |= {"latitude": latitude.strip(), "longitude": longitude.strip()}
            geometry |= {"elevation": height[0].strip()} if height and height[0].strip() not in ("", "0") else {}
    lines = [
        len((each.text or "").split()) for each in below(place, "coordinates") if tag_of(each.getparent()) != "Point"
    ]
    times = [when.text.strip() for track in below(place, "Track") for when in children(track, "when") if when.text]
    count = sum(lines) + len(below(place, "coord"))
    if count:
        unread["points of lines, areas and tracks, but for their number and times"] += count
        geometry |= _summary(count, times)
    return {**name, **geometry, **values}


def _summary(count: int, times: list[str]) -> _Values:
    span = {"start": times[0], "end": times[-1]} if times else {}
    return {"points": f"{count:,}", **span}


def _leaves(element: Element, without: set[str]) -> _Values:
    """The texts of the elements in an element by their labels, without the parts of some names."""
    values: _Values = {}
    stack = [(child, "") for child in reversed(element) if tag_of(child) not in without]
    while stack:
        inner, above = stack.pop()
        name = tag_of(inner)
        label = above if above and name in ("name", "text", "value", "when") else _LABELS.get(name, name)
        if name in ("Data", "SimpleData"):
            label = clean_title("".join(each.text or "" for each in children(inner, "displayName")))
            label = label or attribute(inner, "name")
        kept = [child for child in inner if tag_of(child) and tag_of(child) not in without | {"displayName"}]
        stack += [(child, label) for child in reversed(kept)]
        text = attribute(inner, "href") if name == "link" else "" if kept else _text(inner)
        if text:
            values[label] = f"{values[label]}, {text}" if label in values else text
    return values


def _text(element: Element) -> str:
    """The text of an element on one line, without the HTML that descriptions hold."""
    text = "".join(element.itertext())
    if _MARKUP.search(text):
        from lxml import html

        text = "".join(html.fragment_fromstring(_BREAK.sub(" <", text), create_parent=True).itertext())
    return clean_title(text)


def _table(rows: list[_Values], produced: Produced) -> list[str]:
    """The table of some places, and the long texts about them below it."""
    below_table: list[str] = []
    labels: dict[str, None] = {}
    for row in rows:
        name = row.get("name") or row.get("track", "")
        for label in [label for label, text in row.items() if len(text) > _LONG]:
            below_table.append(f"{name}: {row.pop(label)}" if name else row.pop(label))
        labels |= dict.fromkeys(row)
    produced.add_cells(len(labels) * len(rows))
    table = markdown_rows([*labels], ([row.get(label, "") for label in labels] for row in rows)) if labels else ""
    return [table, *below_table]


_FORMATS: tuple[tuple[str, Callable[..., Document]], ...] = tuple(
    (name, partial(read_places, kind=name)) for name in ("gpx", "kml")
)
FORMATS = tuple(FileFormat(name, suffixes=(f".{name}",), read=read) for name, read in _FORMATS)
