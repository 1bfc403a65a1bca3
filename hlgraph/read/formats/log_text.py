"""Readers of plain text, titled by its first lines or its file name, and of logs and exported chats, whose entries are paragraphs.

An entry of a log is a line with the lines that go on with it, such as a traceback. Its instant and its level are details of its
statements. Marks of Markdown and bars in it are escaped: an entry is no heading, no item and no row of a table.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, NamedTuple

import msgspec

from hlgraph.errors import ReadError
from hlgraph.ids import checksum
from hlgraph.read.bounds import Produced
from hlgraph.read.content import Origin, clean, clean_title, decode
from hlgraph.read.formats._blocks import Unread, with_turns
from hlgraph.read.formats._format import FileFormat
from hlgraph.read.formats.ipynb_markdown import with_definitions, with_drawn_tables
from hlgraph.read.options import ReadOptions
from hlgraph.read.rows import cell_text, groups_of_cell, groups_of_object, groups_of_rows, leaves
from hlgraph.read.tables import table_markdown, tables_in
from hlgraph.records import PAGE_BREAK, Detail, Document, MetadataValue
from hlgraph.text import ACL, BlockKind, blocks, canonical_time, plain

_LEVELS = (
    "TRACE|DEBUG|VERBOSE|INFO|NOTICE|WARN(?:ING)?|ERR(?:OR)?|SEVERE|CRIT(?:ICAL)?|FATAL|ALERT|EMERG(?:ENCY)?|PANIC"
)
_MONTH = "(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)"
_CLF = rf"(?P<clf>\d\d/{_MONTH}/\d{{4}}:\d\d:\d\d:\d\d [+-]\d{{4}})"  # common log format, of web servers
_INSTANT = (
    r"(?:(?P<iso>\d{4}[-/]\d\d[-/]\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?: ?(?:Z|UTC|[+-]\d\d:?\d\d))?)"
    rf"|(?P<syslog>{_MONTH} [ \d]\d \d\d:\d\d:\d\d)"
    rf"|(?P<asctime>[A-Z][a-z]{{2}} {_MONTH} [ \d]\d \d\d:\d\d:\d\d(?:\.\d{{1,9}})? \d{{4}})"
    rf"|(?P<java>{_MONTH} \d{{1,2}}, \d{{4}} \d{{1,2}}:\d\d:\d\d [AP]M)"
    r"|(?P<clock>\d\d:\d\d:\d\d[.,]\d{3}))"
)
_BEGINS = re.compile(
    r"(?:[\w.-]{1,60} +\| +)?(?:<\d{1,3}>(?:1 )?)?"  # the service of docker compose; the priority of syslog
    rf"(?:(?:\[?(?:{_LEVELS})\]?:? +)?[\[(]?(?:(?:time|ts|timestamp|t)=\"?)?{_INSTANT}"
    rf"|(?:\S{{1,100}} ){{3,4}}\[{_CLF}\]"
    rf"|[\[(<]?(?P<level>{_LEVELS})[\])>]?[: ])"
)
_LEVEL = re.compile(
    rf"(?<![\w.-])(?P<plain>{_LEVELS})(?![\w.-])|\[(?:[\w-]{{1,40}}:)?(?P<inner>(?i:{_LEVELS}))\]|\b(?:level|lvl)=\"?(?P<named>\w{{1,12}})"
)
_COLOURS = re.compile(r"\x1b\[[\d;]{0,20}m")
_FEWEST_PAGES, _WIDEST = 3, 120  # characters at the end of a page in which its number stands
_NUMBERED = re.compile(r"(?i:\bpage \d{1,4}\]?|\n\s*-? ?\d{1,4} ?-?)\Z")
_BEGINNING, _MOST_ABOVE = 4000, 12  # characters, and blocks above the title
_CENTRED, _LONGEST_TITLE = 8, 120  # blanks before a title, and its characters
_PART = re.compile(r"\d|§|[A-Z][a-z]+ \d")
_CLIPPING = re.compile(r"^(\S[^\n]*)\n- ([^\n|]*\|[^\n]*)\n\n?([^\n]*)\n={10}$\n?", re.MULTILINE)  # of a Kindle
_SECTION = re.compile(r"^([A-Z][A-Z /-]{2,59})$(?=\n[ \t]+\S)", re.MULTILINE)  # of a printed manual page: "OPTIONS"
_FEWEST_SECTIONS = 3
_OUTLINE = re.compile(
    r"([^\n]{0,200}?)[ \t]*-\*-[ \t]*(?:mode:[ \t]*)?outline;?[ \t]*-\*-[^\n]{0,200}\n", re.IGNORECASE
)
_STARS = re.compile(r"^(\*{1,5})(?= \S)", re.MULTILINE)  # of the headings of an outline of Emacs, such as NEWS of GNU
_CHAPTER = re.compile(  # alone between blank lines, with the line of its name: "CHAPTER II."
    r"(?<=\n\n)((?:CHAPTER|Chapter|BOOK|Book|PART|Part|ACT|LETTER) (?:[IVXLC]+|\d{1,3})\.?)(?:\n(\S[^\n]{0,79}))?(?=\n\n)"
)
_BOOK = re.compile(r"The Project Gutenberg eBook.{0,3000}?\nTitle: ([^\n]{1,300})", re.DOTALL)
_SENT_OUT = ("for immediate release", "press release", "news release")
_HEAD = 400  # characters of a line that are searched for its instant and its level
_LEAST_STARTS = 0.1  # share of the lines that begin at the margin
_TIMES = ("@timestamp", "timestamp", "time", "ts", "datetime", "date", "asctime", "eventTime")
_SAID = ("message", "msg", "event", "text", "@message")
_GRADES = ("level", "severity", "levelname", "lvl", "log.level", "@level")


class _Entry(NamedTuple):
    """An entry of a log: its text, its instant in canonical form or as it is written, and its level; both may be empty."""

    text: str
    instant: str = ""
    level: str = ""


def read_text(origin: Origin, data: bytes, *, options: ReadOptions) -> Document:
    """The document of a text file.

    Parameters
    ----------
    origin : the file
    data : its bytes
    options : the encoding

    Raises
    ------
    ReadError
        The bytes are not text in that encoding, or hold only white space.
    """
    text, warnings = decode(origin, data, encoding=options.encoding)
    text = _with_nicks(text)
    text, count = _CLIPPING.subn(r"## \1\n\n\3 (\2)\n\n", text)
    text = f"# {clean_title(origin.stem)}\n\n{text}" if count else text
    if outline := _OUTLINE.match(text):
        text = f"# {outline[1] or clean_title(origin.stem)}\n{_STARS.sub(_outlined, text[outline.end() :])}"
    if "\u200e[" in text:  # marks of direction in a chat of WhatsApp
        text = text.replace("\u200e", "")
    text = _with_aligned_tables(with_drawn_tables(_with_bullets(_without_pages(text))))
    text = with_turns(with_definitions(text))
    title = _title(text) or clean_title(origin.stem)
    text = _CHAPTER.sub(lambda part: f"## {part[1]}{f' {part[2]}' if part[2] else ''}", text)
    names = _SECTION.findall(text)
    if len(names) == len({*names}) >= _FEWEST_SECTIONS:  # the speakers of a play come again
        text = _SECTION.sub(r"## \1\n", text)
    return Document(origin.uri, text, title, warnings=warnings)


def _with_nicks(text: str) -> str:
    """A chat of IRC with who writes as in others; any other text stays.

    Examples
    --------
    >>> _with_nicks("[09:02] <@marta> Is it out?\\n[09:03] <lin> No.")
    '[09:02] marta: Is it out?\\n[09:03] lin: No.'
    """
    shown, count = _NICK.subn(r"\1\2: ", text)
    return shown if count > 1 else text


_NICK = re.compile(
    r"^(\[?(?:\d{4}-\d\d-\d\d[T ])?\d\d:\d\d(?::\d\d)?\]?[ \t]+)<[@+%&~ ]?([^\W\d][\w\[\]{}^|`-]{0,30})>[ \t]+(?=\S)",
    re.MULTILINE,
)


def _without_pages(text: str) -> str:
    """A text without the lines that run over its pages, if most of these end with their number, as those of RFCs do."""
    pages = text.split(PAGE_BREAK)
    if len(pages) < _FEWEST_PAGES or 2 * sum(
        _NUMBERED.search(page.rstrip()[-_WIDEST:]) is not None for page in pages
    ) < len(pages):
        return text
    from hlgraph.read.print_order import without_running_lines

    return f"\n{PAGE_BREAK}\n".join(without_running_lines([page.rstrip() for page in pages if page.strip()]))


_MOST_LINES = 200  # of a paragraph with tables
_PARAGRAPH = re.compile(r"(?:^[ \t]*+\S[^\n]*+(?:\n|\Z)){3,}", re.MULTILINE)


def _with_aligned_tables(text: str) -> str:
    """A text whose tables of numbers under labels, aligned with spaces, are those of Markdown; fenced code stays as it is.

    Examples
    --------
    >>> print(_with_aligned_tables("Figures:\\n          2023   2024\\nShips      295    302\\nCranes      12     14"))
    Figures:
    <BLANKLINE>
    |  | 2023 | 2024 |
    | --- | --- | --- |
    | Ships | 295 | 302 |
    | Cranes | 12 | 14 |
    """
    if "```" in text or "~~~" in text:
        return text

    def woven(match: re.Match[str]) -> str:
        if "  " not in match[0]:
            return match[0]
        lines = match[0].rstrip("\n").split("\n")
        has_columns = "|" not in match[0] and len(lines) <= _MOST_LINES
        tables = [each for each in tables_in(lines) if each.is_certain] if has_columns else []
        for each in reversed(tables):
            below = lines[each.first + each.size :]
            lines[each.first :] = ["", table_markdown(each), *([""] if below and below[0] else []), *below]
        return "\n".join(lines).strip("\n") + "\n" * match[0].endswith("\n") if tables else match[0]

    return _PARAGRAPH.sub(woven, text)


_INDENT = re.compile(r"^[ \t]+(?=\S)", re.MULTILINE)
_O = re.compile(r"^([ \t]+)[oO](?=[ \t]+\S)", re.MULTILINE)
_FEWEST_ITEMS = 3


def _with_bullets(text: str) -> str:
    """A text with bullets in place of the indented "o" that begin its items; where other lines are so indented, nothing changes.

    Examples
    --------
    >>> print(_with_bullets("2.1\\n  o pumps\\n  o seals\\n    and rings\\n  o belts"))
    2.1
      • pumps
      • seals
        and rings
      • belts
    """
    items = Counter(match[1] for match in _O.finditer(text))
    if not any(count >= _FEWEST_ITEMS for count in items.values()):
        return text
    lines = Counter(_INDENT.findall(text))
    marked = {indent for indent, count in items.items() if count >= _FEWEST_ITEMS and 2 * count > lines[indent]}
    return _O.sub(lambda match: f"{match[1]}•" if match[1] in marked else match[0], text)


def _outlined(stars: re.Match[str]) -> str:
    return "#" * (len(stars[1]) + 1)


def _title(text: str) -> str:
    """The heading or the centred line above the first sentence, or the first line in capitals or above indented text."""
    text = text[: _BEGINNING if not text.startswith("---") else 0]  # no front matter
    if book := _BOOK.match(text):
        return clean_title(book[1])
    title, above = "", 0
    for number, block in enumerate(blocks(text)):
        column = block.start - 1 - text.rfind("\n", 0, block.start)
        shown = text[block.start : block.end]
        if number == 1 and title.casefold() in _SENT_OUT and block.kind is BlockKind.PROSE and shown[-1] not in ".:":
            return clean_title(shown) if len(shown) <= _LONGEST_TITLE else ""
        if (
            title
            and (block.is_loose or column >= _CENTRED)
            and (above >= _CENTRED or (number == 1 and column != above))
        ):
            return title
        if number == 1 and block.is_loose and title.isupper() and " " in title and title[0].isalpha():
            return title
        if block.kind is BlockKind.HEADING:
            is_part = shown == block.title and _PART.match(block.title)  # "1. Deposit"
            return "" if is_part else clean_title(plain(block.title))
        title, above = clean_title(shown), column
        if number > _MOST_ABOVE or title[-1] == ".":
            break
        if block.kind is not BlockKind.PROSE or title[-1] in ":;,!" or len(title) > _LONGEST_TITLE:
            title = ""
    return ""


def read_log(origin: Origin, data: bytes, *, options: ReadOptions) -> Document:
    """The document of a log: a paragraph an entry, and the number, first and last instant of these as metadata.

    Parameters
    ----------
    origin : the file
    data : its bytes
    options : the encoding and the size limit

    Raises
    ------
    ReadError
        The bytes are not text in that encoding, or hold only white space.
    """
    text, warnings = decode(origin, data, encoding=options.encoding)
    lines = [line for line in map(str.rstrip, _with_nicks(_COLOURS.sub("", text)).split("\n")) if line]
    produced = Produced(origin, len(data), options.max_bytes)
    parts: list[str] = []
    details: list[Detail] = []
    instants: list[str] = []
    size = 0
    for entry in _entries(lines):
        shown = produced.add(_escaped(entry.text))
        details += [Detail(size, size + len(shown), each) for each in (entry.instant, entry.level) if each]
        instants += [entry.instant] if entry.instant[:4].isdigit() else []
        parts.append(shown)
        size += len(shown) + 2
    if not parts:
        raise ReadError(origin.uri, "is empty")
    metadata: dict[str, MetadataValue] = {"entries": len(parts)}
    if instants:
        metadata |= {"start": instants[0], "end": instants[-1]}
    title = clean_title(origin.stem)
    return Document(origin.uri, "\n\n".join(parts), title, metadata, warnings=warnings, details=tuple(details))


def _escaped(text: str) -> str:
    """A line of text without meaning in Markdown: a no-break space before a bar between spaces, a backslash before a mark."""
    line = " ".join(text.split()).replace(" | ", "\u00a0| ")
    return f"\\{line}" if line[:1] in ("#", "|", "-", "*", "+", ">", "`", "~") else line


def _entries(lines: list[str]) -> Iterator[_Entry]:
    starts = [_BEGINS.match(line[:_HEAD]) for line in lines]
    at_margin = sum(not line[0].isspace() for line in lines)
    has_starts = sum(map(bool, starts)) >= max(1, _LEAST_STARTS * at_margin)
    entry: list[str] = []
    begin: re.Match[str] | None = None
    for line, start in zip(lines, starts, strict=True):
        values = _object(line)
        is_second = start is not None and start["level"] and len(entry) == 1 and begin is not None and begin["java"]
        is_new = (
            values is not None or (start is not None and not is_second) or (not has_starts and not line[0].isspace())
        )
        if is_new and entry:
            yield _entry(entry, begin)
            entry = []
        if values is not None:
            yield _of_object(values)
        else:
            begin = start if is_new else begin
            entry.append(line)
    if entry:
        yield _entry(entry, begin)


def _entry(lines: list[str], begin: re.Match[str] | None) -> _Entry:
    head = " ".join(lines[:2])[:_HEAD]
    level = _LEVEL.search(head)
    grade = next(filter(None, level.groups()), "").upper() if level else ""
    return _Entry(" ".join(lines), _instant(begin) if begin else "", grade)


def _instant(begin: re.Match[str]) -> str:
    """The instant at the beginning of an entry in canonical form, or as it is written if it lacks its day or year."""
    kind = next((name for name, value in begin.groupdict().items() if value and name != "level"), "")
    text = " ".join(begin[kind].split()) if kind else ""
    if kind == "iso":
        return _canonical(re.sub(r" ?UTC$", "Z", text.replace("/", "-").replace(",", ".")))
    form = {"clf": "%d/%b/%Y:%H:%M:%S %z", "asctime": "%a %b %d %H:%M:%S %Y", "java": "%b %d, %Y %I:%M:%S %p"}.get(kind)
    if form is None:
        return text
    try:
        instant = datetime.strptime(re.sub(r"\.\d+", "", text), form)  # noqa: DTZ007 - without a zone it counts as UTC
        return _canonical(instant.isoformat())
    except ValueError:
        return text


def _canonical(text: str) -> str:
    return str(canonical_time(text))


def _object(line: str) -> dict[str, object] | None:
    """The JSON object that a line is; None for any other line."""
    if line[0] != "{" or line[-1] != "}":
        return None
    try:
        value = msgspec.json.decode(line)
        return dict(leaves(value)) if isinstance(value, Mapping) and value else None
    except (msgspec.DecodeError, RecursionError, ValueError):
        return None


def _of_object(values: dict[str, object]) -> _Entry:
    time = next((name for name in _TIMES if _when(values.get(name))), "")
    grade = next((name for name in _GRADES if isinstance(values.get(name), str)), "")
    said = next((name for name in _SAID if isinstance(values.get(name), str)), "")
    instant, written = _when(values.get(time)), values.pop(time, None)
    level, message = (cell_text(values.pop(name, "")) for name in (grade, said))
    head = " ".join(filter(None, (written if isinstance(written, str) else instant, level, message)))
    rest = "; ".join(f"{name}: {text}" for name, value in values.items() if (text := cell_text(value)))
    return _Entry(f"{head} ({rest})" if head and rest else head or rest, instant, level.upper())


def _when(value: object) -> str:
    """An instant in canonical form: ISO 8601, or seconds or milliseconds since 1970; empty for any other value."""
    if isinstance(value, str):
        match = _BEGINS.match(value[:_HEAD])
        return _instant(match) if match and match["iso"] == value else ""
    if isinstance(value, int | float) and not isinstance(value, bool):
        seconds = value / 1000 if value > 1e11 else value
        return _canonical(datetime.fromtimestamp(seconds, UTC).isoformat()) if 1e9 <= seconds < 4e9 else ""
    return ""


# Exported chats.


def text_document(origin: Origin, blocks: Sequence[str], *, warnings: tuple[str, ...]) -> Document:
    """A document of blocks, titled by its file name; without a file its content names it.

    Parameters
    ----------
    origin : the file
    blocks : its paragraphs, as Markdown
    warnings : about what was not read
    """
    text = "\n\n".join(filter(None, blocks))
    uri = origin.uri if origin.name else f"{origin.uri}#{checksum(text)[:16]}"
    metadata = {"filename": origin.name} if origin.name else {}
    return Document(uri, text, clean_title(origin.stem), metadata, warnings=warnings)


# The name of the writer, the time and the text of a message, as Telegram, Facebook and Slack export them.
_SLACK = re.compile(r"<[@#!]?([^<>|\s]{1,500})(?:\|([^<>]{1,300}))?>")  # "<@U02>", "<https://example.org|the list>"
_CHATS = (("from", "date", "text"), ("sender_name", "timestamp_ms", "content"), ("user", "ts", "text"))


def chat_of(origin: Origin, value: object, *, warnings: tuple[str, ...]) -> Document | None:
    """The document of an exported chat, each message a paragraph with its time and its writer; None for anything else.

    Parameters
    ----------
    origin : the file
    value : its JSON
    warnings : about what was not read
    """
    about = value if isinstance(value, dict) else {}
    messages = about.get("messages") if about else value
    entries = [entry for entry in messages if isinstance(entry, dict)] if isinstance(messages, list) else []
    names = next(
        (each for each in _CHATS if sum(name in entry for entry in entries for name in each) > 2 * len(entries)), None
    )
    if names is None or (names[0] == "from" and not about):
        return None
    unread = Unread()
    lines: list[tuple[str, str]] = []
    profiles = [(str(entry.get("user")), entry.get("user_profile")) for entry in entries]
    people = {
        each: str(profile["real_name"])
        for each, profile in profiles
        if isinstance(profile, dict) and profile.get("real_name")
    }
    for entry in entries:
        writer = people.get(str(entry.get(names[0]))) or entry.get(names[0]) or "?"
        parts = entry.get(names[2]) or ""
        parts = parts if isinstance(parts, list) else [parts]
        text = cell_text("".join(str(part.get("text", "")) if isinstance(part, dict) else str(part) for part in parts))
        text = _SLACK.sub(lambda mark: mark[2] or people.get(mark[1], mark[1]), text) if names[0] == "user" else text
        if names[0] == "sender_name":  # Facebook writes the bytes of UTF-8 as characters
            text, writer = _rejoined(text), _rejoined(str(writer))
        if text:
            when = _written_at(str(entry.get(names[1]) or ""))
            lines.append((when, f"[{when}] {cell_text(writer)}: {text}"))
        else:
            unread["message without text"] += 1
    order = sorted(lines, key=lambda line: line[0]) if names[0] == "sender_name" else lines  # the newest stand first
    document = text_document(origin, [line for _, line in order], warnings=(*warnings, *unread.warnings()))
    title = clean_title(_rejoined(cell_text(about.get("name") or about.get("title") or "")))
    named = {groups_of_cell(origin, entry.get(ACL)) for entry in entries}
    metadata = {**document.metadata, **groups_of_rows(origin, named)}
    return replace(document, title=title or document.title, metadata=metadata) if lines else None


def _rejoined(text: str) -> str:
    """The text whose characters are bytes of UTF-8; any other text as it is."""
    try:
        return text.encode("latin-1").decode()
    except UnicodeError:
        return text


def dialogues(origin: Origin, value: object, *, warnings: tuple[str, ...]) -> list[Document]:
    """The conversations that a service of a chat model exported, each a document of paragraphs with writers and times; else none.

    Parameters
    ----------
    origin : the file
    value : its JSON
    warnings : about what was not read
    """
    entries = value if isinstance(value, list) else [value]
    if not all(
        isinstance(entry, dict) and any(isinstance(entry.get(name), kind) for name, kind in _HOLDERS)
        for entry in entries
    ):
        return []
    documents: list[Document] = []
    for number, entry in enumerate(entries, 1):
        blocks = [f"[{when}] {who.capitalize()}: {text}" for who, when, text in _said(entry)]
        unread = Unread(["message of a tool or of another branch"] * (_count_said(entry) - len(blocks)))
        document = text_document(origin, blocks, warnings=(*warnings, *unread.warnings()))
        title = clean_title(cell_text(entry.get("title") or entry.get("name") or "")) or document.title
        uri = f"{origin.uri}#{number}" if isinstance(value, list) else document.uri
        metadata = {**document.metadata, **groups_of_object(entry)}
        documents += [replace(document, title=title, uri=uri, metadata=metadata)] if blocks else []
    return documents


def _said(entry: dict[str, Any]) -> Iterator[tuple[str, str, str]]:
    """Who wrote each message of a conversation, when, and what: the branch that is shown, without those of tools."""
    nodes, seen = entry.get("mapping"), list[Any]()
    if isinstance(nodes, dict):
        node = nodes.get(str(entry.get("current_node")))
        while isinstance(node, dict) and len(seen) < len(nodes):
            seen.append(node.get("message"))
            node = nodes.get(str(node.get("parent")))
    else:
        seen = [*entry["chat_messages"]][::-1]
    for message in reversed(seen):
        if isinstance(message, dict):
            author, text = message.get("author"), _text_of(message)
            who = author.get("role") if isinstance(author, dict) else message.get("sender")
            if text and who in _SPEAKERS:
                yield who, _written_at(str(message.get("create_time") or message.get("created_at") or "?")), text


def _count_said(entry: dict[str, Any]) -> int:
    """The number of messages with text of all branches of a conversation."""
    nodes = entry.get("mapping")
    each = [node.get("message") for node in nodes.values() if isinstance(node, dict)] if isinstance(nodes, dict) else []
    each = each if isinstance(nodes, dict) else entry["chat_messages"]
    return sum(isinstance(message, dict) and bool(_text_of(message)) for message in each)


def _text_of(message: dict[str, Any]) -> str:
    content = message.get("content")
    parts = content.get("parts") if isinstance(content, dict) else content
    parts = parts if isinstance(parts, list) and parts else [message.get("text")]
    texts = [part.get("text") if isinstance(part, dict) else part for part in parts]
    return clean("\n\n".join(part for part in texts if isinstance(part, str))).strip()


_HOLDERS: tuple[tuple[str, type], ...] = (("mapping", dict), ("chat_messages", list))
_SPEAKERS = ("assistant", "human", "user")


def _written_at(text: str) -> str:
    """A time as people write it; seconds or milliseconds since 1970 are UTC."""
    if re.fullmatch(r"\d{10,13}(?:\.\d+)?", text):
        seconds = float(text) / (1_000 if len(text.partition(".")[0]) > 11 else 1)
        return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M:%S}"
    return text.replace("T", " ")


FORMATS = (
    FileFormat("log", suffixes=(".log",), read=read_log),
    FileFormat("text", suffixes=(".text", ".txt"), read=read_text),
)
