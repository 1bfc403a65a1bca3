"""Readers of what phones, maps and planners export: places (GPX, KML, KMZ, GeoJSON), calendars (iCalendar), contacts (vCard).

Places and contacts are tables, and of each track and area the points are counted. Each event and task has a heading.
"""

from __future__ import annotations

import io
import quopri
import re
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import date, datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

import msgspec

from hlgraph.errors import ReadError, needs_extra
from hlgraph.read.bounds import Produced, check_package
from hlgraph.read.content import Origin, clean_title, decode
from hlgraph.read.formats._blocks import Unread, document_of, heading, records_table
from hlgraph.read.formats._format import FileFormat
from hlgraph.read.formats._xml import attribute, below, children, parsed, tag_of
from hlgraph.read.options import ReadOptions
from hlgraph.read.rows import cell_text, groups_of_cell, groups_of_object, groups_of_rows, numbered_leaves
from hlgraph.records import Document, MetadataValue
from hlgraph.text import ACL

if TYPE_CHECKING:
    from lxml.etree import _Element as Element

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


def read_kmz(origin: Origin, data: bytes, *, options: ReadOptions) -> Document:
    """The document of the places in a KMZ file, a packed KML file with its pictures.

    Parameters
    ----------
    origin : the file
    data : its bytes
    options : the size limit

    Raises
    ------
    MissingExtraError
        lxml is not installed.
    ReadError
        It is damaged, too large, or holds no KML or no place.
    """
    check_package(origin, data, limit=options.max_bytes)
    with zipfile.ZipFile(io.BytesIO(data)) as package:
        names = [name for name in package.namelist() if not name.endswith("/")]
        places = [name for name in names if name.lower().endswith(".kml")]
        if not places:
            raise ReadError(origin.uri, "holds no KML file", "check its suffix")
        document = read_places(origin, package.read(places[0]), options=options, kind="kml")
    unread = Unread({"file in it": len(names) - 1} if len(names) > 1 else {}).warnings()
    return replace(document, warnings=(*document.warnings, *unread))


def read_geojson(origin: Origin, data: bytes, *, options: ReadOptions) -> Document:
    """The document of the features of a map: a table of their properties, with the coordinates of points.

    Parameters
    ----------
    origin : the file
    data : its bytes
    options : encoding and size limit

    Raises
    ------
    ReadError
        It is no GeoJSON, too large, or holds no feature.

    References
    ----------
    RFC 7946.
    """
    text, warnings = decode(origin, data, encoding=options.encoding)
    produced, unread = Produced(origin, len(data), options.max_bytes), Unread()
    try:
        root = msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError) as error:
        raise ReadError(origin.uri, f"is not JSON ({error})", "export it again") from error
    kind = root.get("type") if isinstance(root, dict) else None
    if not isinstance(root, dict) or kind not in ("FeatureCollection", "Feature", *_GEOMETRY_OF_JSON):
        raise ReadError(origin.uri, "is not GeoJSON: its first object has no type of it", "add --format json")
    features = root.get("features") if kind == "FeatureCollection" else [root]
    features = [feature for feature in features or () if isinstance(feature, dict)]
    given = [feature.get("properties") for feature in features]
    named = {groups_of_cell(origin, each.get(ACL) if isinstance(each, dict) else None) for each in given}
    groups = {**groups_of_object(root), **groups_of_rows(origin, named)}
    rows = [_feature(feature, unread) for feature in features]
    about = {
        name: cell_text(value) for name, value in root.items() if name not in _STRUCTURE and kind == "FeatureCollection"
    }
    blocks = [f"{name}: {value}" for name, value in about.items() if value and name not in _NAMES]
    title = next((about[name] for name in _NAMES if about.get(name)), "")
    blocks += records_table(rows, produced)
    notes = (*warnings, *unread.warnings())
    return document_of(produced, blocks, title=title, metadata=groups, warnings=notes, part="its features")


def _feature(feature: dict[str, Any], unread: Unread) -> _Values:
    """What is said of a feature, the name first, and where it is."""
    given = feature.get("properties")
    leaves = dict(numbered_leaves(given)) if isinstance(given, dict) else {}
    values = {name: cell_text(value) for name, value in leaves.items()}
    name = next((name for name in values if name.lower() in _NAMES), "")
    shape = feature.get("geometry") if "geometry" in feature else feature if "coordinates" in feature else None
    geometry: _Values = {}
    if isinstance(shape, dict) and (kind := str(shape.get("type") or "")):
        numbers = shape.get("coordinates")
        if kind == "Point" and isinstance(numbers, list) and len(numbers) > 1:
            geometry = {"latitude": cell_text(numbers[1]), "longitude": cell_text(numbers[0])}
        else:
            count = _count_points([numbers, shape.get("geometries")])
            geometry = {"geometry": kind, "points": f"{count:,}"}
            unread["points of lines and areas, but for their number"] += count
    own = {"id": cell_text(feature["id"])} if feature.get("id") not in (None, "") and "id" not in values else {}
    return {**({name: values.pop(name)} if name else {}), **own, **values, **geometry}


def _count_points(value: object) -> int:
    count, waiting = 0, [value]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            value = [value.get("coordinates"), value.get("geometries")]
        if isinstance(value, list):
            is_point = len(value) > 1 and isinstance(value[0], int | float)
            count += is_point
            waiting += [] if is_point else value
    return count


_GEOMETRY_OF_JSON = (
    *("Point", "MultiPoint", "LineString", "MultiLineString", "Polygon", "MultiPolygon"),
    "GeometryCollection",
)
_STRUCTURE = ("type", "features", "bbox", "crs", "geometry", "properties")
_NAMES = ("name", "title", "label")


def _gpx(root: Element, produced: Produced) -> Document:
    unread = Unread()
    about: _Values = {}
    for part in (root, *children(root, "metadata")):
        about |= _leaves(part, {"wpt", "rte", "trk", "metadata", "extensions", "bounds"})
    blocks = [about.pop(name) for name in ("description", "comment") if name in about]
    blocks += records_table([_point(place) for place in children(root, "wpt")], produced)
    for route in children(root, "rte"):
        values = _leaves(route, {"rtept"})
        blocks.append(heading(values.pop("name", "Route"), 2))
        blocks += [f"{label}: {text}" for label, text in values.items()]
        blocks += records_table([_point(place) for place in children(route, "rtept")], produced)
    tracks: list[_Values] = []
    for track in children(root, "trk"):
        values = _leaves(track, {"trkseg"})
        points = below(track, "trkpt")
        times = [time.text.strip() for point in points for time in children(point, "time") if time.text]
        tracks.append({"track": values.pop("name", f"{len(tracks) + 1}"), **_summary(len(points), times), **values})
        unread["points of tracks, but for their number and times"] += len(points)
    blocks += [heading("Tracks", 2), *records_table(tracks, produced)] if tracks else []
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
    yield from records_table([_placemark(place, unread) for place in children(folder, "Placemark")], produced)
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
    said = {"when": _span(entry) if "DTSTART" in entry else "", "repeats": _repeats(entry.get("RRULE") or "")}
    said |= {label: _values(entry.get(name, "")) for label, name in (("except on", "EXDATE"), ("where", "LOCATION"))}
    for name, value in entry.items():
        several = value if isinstance(value, list) else [value]
        if name.startswith("X-") or any("ENCODING" in getattr(each, "params", {}) for each in several):
            unread["attachment or property of one program"] += len(several)
        elif name not in _TOLD:
            said[_LABELS_OF_DATES.get(name, name.lower().replace("-", " "))] = _values(value)
    yield from (f"{label}: {value}" for label, value in said.items() if value)
    yield _plain(entry.get("DESCRIPTION", ""))
    for inner in entry.subcomponents:
        unread["reminder" if inner.name == "VALARM" else str(inner.name).lower()] += 1


def _values(value: Any) -> str:
    """The text of one or several values: people by their names and replies, dates in words."""
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
    about = getattr(value, "params", {})
    reply = str(about.get("PARTSTAT", "NEEDS-ACTION")).lower()
    return f"{about.get('CN', '') or _plain(value)}{'' if reply == 'needs-action' else f' ({reply})'}"


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


# Contacts

_CARD = re.compile(r"^BEGIN:VCARD[ \t]*$(.*?)^END:VCARD[ \t]*$", re.IGNORECASE | re.MULTILINE | re.DOTALL)
_PROPERTY = re.compile(r"(?:[\w-]+\.)?([\w-]+)((?:;(?:\"[^\"]*\"|[^:\"])*)?):(.*)", re.DOTALL)
_OF_CARD = {
    "ORG": "organization",
    "TITLE": "title",
    "ROLE": "role",
    "TEL": "telephone",
    "EMAIL": "e-mail",
    "ADR": "address",
    "URL": "web page",
    "BDAY": "birthday",
    "ANNIVERSARY": "anniversary",
    "NICKNAME": "nickname",
    "NOTE": "note",
    "CATEGORIES": "categories",
    "IMPP": "messages",
    "LANG": "language",
    "GEO": "latitude and longitude",
    "TZ": "time zone",
    "RELATED": "related",
    "MEMBER": "member",
    "GENDER": "gender",
    "N": "",
}
_TYPE = re.compile(r"(?:TYPE=)?([\w-]+(?:,[\w-]+)*)", re.IGNORECASE)
_NO_TYPE = frozenset(("pref", "voice", "internet", "x-voice"))


def read_contacts(origin: Origin, data: bytes, *, options: ReadOptions) -> Document:
    """The document of contacts: a table with a row for each.

    Parameters
    ----------
    origin : the file
    data : its bytes
    options : encoding and size limit

    Raises
    ------
    ReadError
        It holds no contact, or one without its end.

    References
    ----------
    RFC 6350.
    """
    text, warnings = decode(origin, data, encoding=options.encoding)
    produced, unread = Produced(origin, len(data), options.max_bytes), Unread()
    whole = "\n".join(_unfolded(text))
    cards = [match[1] for match in _CARD.finditer(whole)]
    if not cards or len(cards) < len(re.findall(r"(?im)^BEGIN:VCARD", whole)):
        raise ReadError(origin.uri, "holds a contact without its end, or none (VCARD)", "export it again")
    rows = [_card(card, unread) for card in cards]
    return document_of(produced, records_table(rows, produced), warnings=(*warnings, *unread.warnings()))


def _unfolded(text: str) -> Iterator[str]:
    """The lines of a file of contacts, each whole; in the oldest version a line that is coded goes on after an equals sign."""
    line = ""
    for each in text.split("\n"):
        is_coded = line.endswith("=") and "QUOTED-PRINTABLE" in line.upper()
        if is_coded or each[:1] in (" ", "\t"):
            line = f"{line[: -1 if is_coded else None]}{each if is_coded else each[1:]}"
        else:
            yield line
            line = each
    yield line


def _card(card: str, unread: Unread) -> _Values:
    values: _Values = {"name": ""}
    for line in card.split("\n"):
        parts = _PROPERTY.fullmatch(line.strip())
        if parts is None or not parts[3].strip():
            continue
        name, parameters, value = parts[1].upper(), [each for each in parts[2].split(";") if each], parts[3]
        if any(each.upper().endswith("QUOTED-PRINTABLE") for each in parameters):
            value = quopri.decodestring(value.encode()).decode("utf-8", "replace")
        shown = ", ".join(filter(None, (_plain(part) for part in re.split(r"(?<!\\)[;]", value))))
        if name == "FN":
            values["name"] = shown
        elif name == "N":
            family, given, *_ = [*(_plain(part) for part in value.split(";")), "", ""]
            values["name"] = values["name"] or f"{given} {family}".strip()
        elif name in _OF_CARD:
            kinds = [
                kind for each in parameters if (match := _TYPE.fullmatch(each)) for kind in match[1].lower().split(",")
            ]
            kind = ", ".join(dict.fromkeys(each for each in kinds if each not in _NO_TYPE and "=" not in each))
            label = f"{_OF_CARD[name]} ({kind})" if kind and name in ("TEL", "ADR", "EMAIL", "URL") else _OF_CARD[name]
            shown = re.sub(r"^(?:tel|mailto):", "", " ".join(shown.split()))
            values[label] = f"{values[label]}, {shown}" if label in values else shown
        elif name not in ("VERSION", "UID", "REV", "PRODID", "SOURCE", "KIND", "XML", "CLIENTPIDMAP"):
            unread["picture, key or property of one program"] += 1
    return values


_FORMATS: tuple[tuple[str, Callable[..., Document]], ...] = (
    ("geojson", read_geojson),
    ("gpx", partial(read_places, kind="gpx")),
    ("ics", read_calendar),
    ("kml", partial(read_places, kind="kml")),
    ("kmz", read_kmz),
    ("vcf", read_contacts),
)
FORMATS = tuple(FileFormat(name, suffixes=(f".{name}",), read=read) for name, read in _FORMATS)
