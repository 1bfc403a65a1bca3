"""Readers of what phones and planners export: places and tracks (GPX, KML), and calendars (iCalendar).

Places are a table for each part, and of each track the points are counted. Each event and task has a heading.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from datetime import date, datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

from hlgraph.errors import ReadError, needs_extra
from hlgraph.read.bounds import Produced
from hlgraph.read.content import Origin, clean_title, decode
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


# Calendars

_ENTRIES = {"VEVENT": "Event", "VTODO": "Task", "VJOURNAL": "Note"}
_SETTINGS = "UID DTSTAMP CREATED LAST-MODIFIED SEQUENCE TRANSP RECURRENCE-ID"
_TOLD = {"SUMMARY", "LOCATION", "DESCRIPTION", "DTSTART", "DTEND", "DURATION", "RRULE", "EXDATE", *_SETTINGS.split()}
_LABELS_OF_DATES = {"GEO": "latitude and longitude", "RDATE": "also on"}
_WEEKDAYS = {"MO": "Monday", "TU": "Tuesday", "WE": "Wednesday", "TH": "Thursday"}
_WEEKDAYS |= {"FR": "Friday", "SA": "Saturday", "SU": "Sunday"}
_EVERY = {"YEARLY": "year", "MONTHLY": "month", "WEEKLY": "week", "DAILY": "day", "HOURLY": "hour"}
_BEGINS = re.compile(r"^BEGIN:VCALENDAR\b", re.IGNORECASE | re.MULTILINE)
_ESCAPED = re.compile(r"\\([\\,;nN])")


def read_calendar(origin: Origin, data: bytes, *, options: ReadOptions) -> Document:
    """The document of a calendar: a heading for each event, task or note, and a line for each of its properties.

    Parameters
    ----------
    origin : the file
    data : its bytes
    options : encoding and size limit

    Raises
    ------
    MissingExtraError
        icalendar is not installed.
    ReadError
        It is damaged, cut, or of another kind.

    References
    ----------
    RFC 5545.
    """
    with needs_extra("calendar", "reading calendars"):
        from icalendar import Calendar
    produced, unread = Produced(origin, len(data), options.max_bytes), Unread()
    text, warnings = decode(origin, data, encoding=options.encoding)
    try:
        calendars = list(Calendar.from_ical(text, multiple=True))
    except ValueError as error:
        raise ReadError(origin.uri, f"is no valid calendar: {str(error)[:200]}", "export it again") from error
    is_cut = len(calendars) < len(_BEGINS.findall(text))  # icalendar leaves out what has no end
    if not calendars or is_cut or any(part.name != "VCALENDAR" for part in calendars):
        raise ReadError(
            origin.uri, "holds a calendar without its end, or none (VCALENDAR)", "export it again, or check its suffix"
        )
    title, blocks = "", list[str]()
    for calendar in calendars:
        title = title or _plain(calendar.get("X-WR-CALNAME", calendar.get("NAME", "")))
        blocks.append(_plain(calendar.get("X-WR-CALDESC", calendar.get("DESCRIPTION", ""))))
        for entry in calendar.subcomponents:
            if entry.name in _ENTRIES:
                blocks += _entry(entry, unread)
            elif entry.name != "VTIMEZONE":
                unread[str(entry.name).lower()] += 1
    return document_of(produced, blocks, title=title, warnings=(*warnings, *unread.warnings()))


def _entry(entry: Any, unread: Unread) -> Iterator[str]:
    """The blocks of an event, a task or a note: when, where, what else is said of it, and its description."""
    yield heading(_plain(entry.get("SUMMARY", "")) or _ENTRIES[entry.name], 2)
    yield f"when: {_span(entry)}" if "DTSTART" in entry else ""
    yield f"repeats: {_repeats(entry['RRULE'])}" if "RRULE" in entry else ""
    yield f"except on: {_values(entry['EXDATE'])}" if "EXDATE" in entry else ""
    yield f"where: {_values(entry['LOCATION'])}" if "LOCATION" in entry else ""
    for name, value in entry.items():
        several = value if isinstance(value, list) else [value]
        if name.startswith("X-") or any("ENCODING" in getattr(each, "params", {}) for each in several):
            unread["attachment or property of one program"] += len(several)
        elif name not in _TOLD:
            yield f"{_LABELS_OF_DATES.get(name, name.lower().replace('-', ' '))}: {_values(value)}"
    yield _plain(entry.get("DESCRIPTION", ""))
    for inner in entry.subcomponents:
        unread["reminder" if inner.name == "VALARM" else str(inner.name).lower()] += 1


def _values(value: Any) -> str:
    """The text of one or several values: people by their names, dates in words."""
    if several := value if isinstance(value, list) else _part(value, "cats"):
        return ", ".join(map(_values, several))
    if dates := _part(value, "dts"):
        return ", ".join(
            _when(each.dt) if isinstance(each.dt, date) else _plain(each.to_ical().decode()) for each in dates
        )
    if isinstance(moment := _part(value, "dt"), date):
        return _when(moment)
    if hasattr(value, "to_ical") and not isinstance(value, str):
        coded = value.to_ical()
        return _plain(coded.decode() if isinstance(coded, bytes) else coded).replace(";", ", ")
    return str(getattr(value, "params", {}).get("CN", "")) or _plain(value)


def _part(value: Any, name: str) -> Any:
    """An attribute of a value; None if it has none, also since the value is broken and stands as it is in the file."""
    try:
        return getattr(value, name, None)
    except ValueError:
        return None


def _plain(value: Any) -> str:
    """A text without escapes, an address without its scheme."""
    text = _ESCAPED.sub(lambda match: "\n" if match[1] in "nN" else match[1], str(value))
    return re.sub(r"^mailto:", "", text.strip(), flags=re.IGNORECASE)


def _span(entry: Any) -> str:
    """When an event is: "20 September 2025, 20:30 to 23:00"; the end of a whole day is the day before the date that is stated."""
    start = _part(entry["DTSTART"], "dt")
    if not isinstance(start, date):
        return _plain(entry["DTSTART"])
    end, length = _part(entry.get("DTEND"), "dt"), _part(entry.get("DURATION"), "dt")
    if end is None and isinstance(length, timedelta):
        end = start + length
    if end is None or end == start or isinstance(end, datetime) is not isinstance(start, datetime):
        return _when(start)
    if not isinstance(start, datetime):
        last = end - timedelta(days=1)
        return _when(start) if last <= start else f"{_when(start)} to {_when(last)}"
    is_short = isinstance(end, datetime) and end.date() == start.date() and end.tzinfo == start.tzinfo
    return (
        f"{_day(start)}, {start:%H:%M} to {end:%H:%M}{_zone(start)}" if is_short else f"{_when(start)} to {_when(end)}"
    )


def _when(moment: date) -> str:
    return f"{_day(moment)}, {moment:%H:%M}{_zone(moment)}" if isinstance(moment, datetime) else _day(moment)


def _day(moment: date) -> str:
    return f"{moment.day} {moment:%B} {moment.year}"


def _zone(moment: datetime) -> str:
    return f" ({getattr(moment.tzinfo, 'key', None) or moment.tzname()})" if moment.tzinfo else ""


def _repeats(rule: Any) -> str:
    """A rule of repetition in words: "every 2 weeks on Monday, Friday until 31 December 2025"."""
    if not hasattr(rule, "get"):
        return _plain(rule)
    (often,), (step,) = rule.get("FREQ", ["?"]), rule.get("INTERVAL", [1])
    unit = _EVERY.get(str(often), str(often).lower())
    days = (f"{str(day)[:-2]} {_WEEKDAYS.get(str(day)[-2:], str(day))}".strip() for day in rule.get("BYDAY", ()))
    rest = [
        f"{name.lower()} {', '.join(map(str, rule[name]))}"
        for name in rule
        if name.startswith("BY") and name != "BYDAY"
    ]
    parts = [f"every {unit}" if step == 1 else f"every {step} {unit}s"]
    parts += [f"on {', '.join(days)}"] if "BYDAY" in rule else []
    parts += rest
    parts += [f"until {_when(rule['UNTIL'][0])}"] if "UNTIL" in rule else []
    parts += [f"{rule['COUNT'][0]} times"] if "COUNT" in rule else []
    return " ".join(parts)


_FORMATS: tuple[tuple[str, Callable[..., Document]], ...] = (
    ("gpx", partial(read_places, kind="gpx")),
    ("ics", read_calendar),
    ("kml", partial(read_places, kind="kml")),
)
FORMATS = tuple(FileFormat(name, suffixes=(f".{name}",), read=read) for name, read in _FORMATS)
