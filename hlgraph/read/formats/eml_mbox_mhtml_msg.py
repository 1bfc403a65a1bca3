"""Readers of mail: one message (EML, Outlook's MSG), or a mailbox (mbox) whose messages are streamed; and of saved pages (MHTML).

A message is a document: its subject is the title, its other headers are metadata. Each attachment with a reader is a document of
its own, ``<uri of the message>/<name>``; other attachments are named in a warning.
"""

from __future__ import annotations

import codecs
import io
import posixpath
import re
import struct
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from email import message_from_bytes
from email.errors import HeaderParseError
from email.message import EmailMessage, Message
from email.parser import HeaderParser
from email.utils import format_datetime, formataddr, getaddresses, parsedate_to_datetime
from urllib.parse import quote

from hlgraph.errors import MissingExtraError, ReadError, needs_extra
from hlgraph.ids import checksum
from hlgraph.read.bounds import Produced, refused
from hlgraph.read.content import (
    Origin,
    ReadFailure,
    bounded_row,
    clean,
    clean_title,
    failure,
    not_installed,
    parser_errors,
    read_bounded,
    without_runs,
)
from hlgraph.read.formats._blocks import Unread
from hlgraph.read.formats._format import FileFormat, Format, RowsFormat
from hlgraph.read.options import ReadOptions
from hlgraph.read.rows import bounded_lines
from hlgraph.records import Document, MetadataValue
from hlgraph.text import ACL

_HEADERS = (
    "From",
    "To",
    "Cc",
    "Date",
    "Subject",
    "Message-ID",
    "MIME-Version",
    "Content-Type",
    "Received",
    "Return-Path",
)
_PEOPLE = {"from": "From", "to": "To", "cc": "Cc", "bcc": "Bcc", "reply_to": "Reply-To"}
_SHOWN = {"message_id": "Message-ID", "in_reply_to": "In-Reply-To", "list": "List-Id", "keywords": "Keywords"}
_SAVED = "save the attachment as a file, and ingest it with the groups that may see it"
_MOST_LEVELS = 8  # of messages attached to messages
_MOST_PARTS = 1_000
_LEAST_HEADERS = 2
_FIELD = re.compile(rb"(?im)^content-(?:type|disposition):[^\n]*+(?:\n[ \t][^\n]*+)*+")
_LONGEST_FIELD = 16_384  # time to parse one grows with its square
_ENCRYPTED = ("multipart/encrypted", "application/pkcs7-mime", "application/x-pkcs7-mime")
_SIGNATURES = ("application/pgp-signature", "application/pkcs7-signature", "application/x-pkcs7-signature")
_BORDER = re.compile(rb"From \S+.*\d{2}:\d{2}")
_HEAD_END = re.compile(rb"\r?\n\r?\n")
_QUOTED_BORDER = re.compile(rb">+From ")
_QUOTE = re.compile(r"((?:>[ \t]?)+)(.*)")
_BLANK_LINES = re.compile(r"\n{3,}")
_BREAKS = re.compile(r"(?:[-*+•]|\(?\w{1,3}[.)])\s")


def read_eml(origin: Origin, stream: io.BufferedReader, *, options: ReadOptions) -> Iterator[Document | ReadFailure]:
    """The document of a message, then those of its attachments.

    Parameters
    ----------
    origin : the file
    stream : its decompressed bytes
    options : the size limit; the attachments are read with the same options

    Returns
    -------
    Iterator[Document | ReadFailure]
        A failure for each attachment that has a reader but cannot be read.

    Raises
    ------
    ReadError
        It has no headers of a mail, is encrypted, too large, or holds no text; raised while iterating.
    """
    data = read_bounded(origin, stream, limit=options.max_bytes)
    message = _parsed(origin, data)
    if sum(message[name] is not None for name in _HEADERS) < _LEAST_HEADERS:
        mend = "add --format mbox for a mailbox, or --format text"
        raise ReadError(origin.uri, "is empty" if not data.strip() else "has no headers of a mail", mend)
    uri = origin.uri if origin.name else f"{origin.uri}#{_key(message, data)}"
    yield from _documents(Origin(uri, origin.name), message, size=len(data), options=options)


def read_mbox(origin: Origin, stream: io.BufferedReader, *, options: ReadOptions) -> Iterator[Document | ReadFailure]:
    """The documents of a mailbox: each message has the uri ``<file>#<message id>``.

    Parameters
    ----------
    origin : the file
    stream : its decompressed bytes; it may be of any length
    options : ``max_bytes`` limits one message

    Returns
    -------
    Iterator[Document | ReadFailure]
        A failure for each message or attachment that cannot be read.

    Raises
    ------
    ReadError
        It does not begin with a line ``From ``, or holds no message.
    """
    head = stream.peek(64)[:64].lstrip()
    if not head.startswith(b"From "):
        raise ReadError(
            origin.uri, "is empty" if not head else "does not begin with a line 'From '", "add --format eml"
        )
    seen: dict[str, set[str]] = {}
    for number, data in enumerate(_messages(stream, options.max_bytes), 1):
        if data is None:
            yield failure(
                origin.uri, f"message {number} is larger than {options.max_bytes:,} bytes", mend="raise --max-bytes"
            )
            continue
        try:
            with parser_errors(origin.uri, "mail", part=f"message {number}"):
                message = _parsed(origin, data)
                uri = _new_uri(f"{origin.uri}#{_key(message, data)}", data, seen)
                if uri:
                    yield from _documents(Origin(uri, origin.name), message, size=len(data), options=options)
        except ReadError as error:
            yield ReadFailure(error.uri, error)
        except MissingExtraError as error:
            yield not_installed(origin.uri, error)


def _new_uri(uri: str, data: bytes, seen: dict[str, set[str]]) -> str:
    """The uri of a message; empty for a copy of an earlier one, such as that of a mailing list.

    A message with the id of an earlier one, but another body, has a checksum of the body in its uri.
    """
    body = checksum(_HEAD_END.split(data, maxsplit=1)[-1].strip().decode("latin-1"))[:16]
    bodies = seen.setdefault(uri, set())
    is_first, is_new = not bodies, body not in bodies
    bodies.add(body)
    return uri if is_first else f"{uri}~{body}" if is_new else ""


def _messages(stream: io.BufferedReader, limit: int) -> Iterator[bytes | None]:
    """The messages of a mailbox, without the lines that separate them; None for one that is too large."""
    lines: list[bytes] = []
    size = 0
    is_open = is_blank = False
    for line in bounded_lines(stream, limit):
        if (
            line is not None
            and line.startswith(b"From ")
            and (is_blank or not is_open)
            and (not is_open or _BORDER.match(line))
        ):
            if is_open:
                yield b"".join(lines) if size <= limit else None
            lines, size, is_open = [], 0, True
            continue
        size += limit + 1 if line is None else len(line)
        if size > limit:
            lines.clear()
        elif line is not None:
            lines.append(line[1:] if _QUOTED_BORDER.match(line) else line)
        is_blank = line is not None and not line.strip()
    if is_open:
        yield b"".join(lines) if size <= limit else None


def _parsed(origin: Origin, data: bytes) -> Message:
    if any(len(match[0]) > _LONGEST_FIELD for match in _FIELD.finditer(data)):
        raise refused(origin, "characters in the header of a part", limit=_LONGEST_FIELD)
    if data.lower().count(b"boundary=") > _MOST_PARTS:
        raise refused(origin, "parts with parts", limit=_MOST_PARTS)
    return message_from_bytes(data)


def _key(message: Message, data: bytes) -> str:
    stated = _header(message, "Message-ID").strip("<>")
    return quote(stated, safe="@!$&'()*+,;=") or checksum(data.decode("latin-1"))[:16]


def _header(message: Message, name: str) -> str:
    """The value of a header on one line; empty if there is none. An encoding that is damaged stays as it is."""
    return ", ".join(_decoded(str(raw)) for key, raw in message.raw_items() if key.lower() == name.lower())


def _decoded(raw: str) -> str:
    """The value of a header or a parameter, with its encoded words decoded."""
    from email.header import decode_header

    stored = raw[:_LONGEST_FIELD].encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    try:
        parts = [
            part.decode(charset or "utf-8", "replace") if isinstance(part, bytes) else part
            for part, charset in decode_header(stored)
        ]
    except (HeaderParseError, LookupError, ValueError):
        parts = [stored]
    return clean_title(clean("".join(parts)))


def _documents(
    origin: Origin, message: Message, *, size: int, options: ReadOptions, depth: int = 0
) -> Iterator[Document | ReadFailure]:
    """The document of a message, and those of its attachments."""
    if message.get_content_type() in _ENCRYPTED and "signed-data" not in str(message.get_param("smime-type", "")):
        raise ReadError(origin.uri, "is encrypted", "decrypt it in a mail program and save it again")
    unread = Unread()
    texts, attached = _parts(message, unread)
    produced = Produced(origin, size, options.max_bytes)
    notes: list[str] = []
    blocks = [block for part in texts for block in _blocks(origin, part, produced=produced, notes=notes)]
    names = ", ".join(name for name, _ in attached)
    if names:
        blocks.append(f"Attached: {names}")
    subject = _header(message, "Subject")
    results: list[Document | ReadFailure] = []
    for name, part in attached:
        results += _attachment(origin, name, part, options=options, depth=depth, unread=unread)
    text = "\n\n".join(filter(None, blocks)) or subject
    if not text:
        raise ReadError(origin.uri, "is empty: neither its subject nor its parts hold text")
    metadata = {"filename": origin.name, **_metadata(message)} if origin.name else _metadata(message)
    notes += unread.warnings()
    yield without_runs(
        Document(origin.uri, produced.add(text), subject or clean_title(origin.stem), metadata, warnings=tuple(notes))
    )
    yield from results


def _metadata(message: Message) -> dict[str, MetadataValue]:
    """The headers of a mail that people read; those of its transport are left out."""
    metadata: dict[str, MetadataValue] = {}
    for ours, name in _PEOPLE.items():
        pairs = getaddresses([_header(message, name)])
        people = tuple(f"{who} <{address}>" if who and address else who or address for who, address in pairs)
        people = tuple(filter(None, people))
        if people:
            metadata[ours] = people[0] if len(people) == 1 else people
    for ours, name in _SHOWN.items():
        if value := _header(message, name):
            metadata[ours] = value
    if stated := _header(message, "Date"):
        try:
            date = parsedate_to_datetime(stated)
            metadata["date"] = (date if date.tzinfo else date.replace(tzinfo=UTC)).isoformat()
        except (ValueError, OverflowError, IndexError):
            metadata["date"] = stated
    return metadata


def _parts(message: Message, unread: Unread) -> tuple[list[Message], list[tuple[str, Message]]]:
    """The parts that are the text of a message, and the attachments with their names. Of alternatives the plain text counts."""
    texts: list[Message] = []
    attached: list[tuple[str, Message]] = []
    waiting: list[Message] = [message]
    count = 0
    while waiting:
        part = waiting.pop()
        count += 1
        if count > _MOST_PARTS:
            unread["part"] += 1
            continue
        kind, name = part.get_content_type(), _decoded(part.get_filename() or "")
        if kind == "message/rfc822" or name or part.get_content_disposition() == "attachment":
            attached.append((_attached_name(name, part, {other for other, _ in attached}), part))
        elif part.is_multipart():
            inner = _inner(part)
            if kind == "multipart/alternative":
                inner = _best(inner)
            waiting += reversed(inner)
        elif kind.startswith(("text/", "multipart/")):  # the second: its boundary is missing
            texts.append(part)
        elif kind not in _SIGNATURES:
            unread[f"part of type {kind}"] += 1
    return texts, attached


def _attached_name(name: str, part: Message, taken: set[str]) -> str:
    """A name that no other attachment of the message has: that of the file, else the subject of an attached message."""
    subject = next((_header(inner, "Subject") for inner in _inner(part)), "")
    stated = (name or subject or f"attachment {len(taken) + 1}").replace("/", "_")
    if stated not in taken:
        return stated
    stem, suffix = posixpath.splitext(stated)
    return next(name for number in range(2, len(taken) + 3) if (name := f"{stem} ({number}){suffix}") not in taken)


def _inner(part: Message) -> list[Message]:
    payload = part.get_payload()
    return [each for each in payload if isinstance(each, Message)] if isinstance(payload, list) else []


def _best(parts: list[Message]) -> list[Message]:
    """Of the forms of one text the plain one, if it has half of the words of the last one, which is the richest; else that."""
    plain = [part for part in parts if part.get_content_type() == "text/plain" and _content(part).strip()]
    rich = next((each for each in parts[-1].walk() if each.get_content_type() == "text/html"), None) if parts else None
    if plain and rich is not None and 2 * len(_content(plain[0]).split()) < len(_TAG.sub(" ", _content(rich)).split()):
        return parts[-1:]
    return plain[:1] or parts[-1:]


_TAG = re.compile(r"<(?:(style|script|title)\b[^<]*</\1|[^<>]*)>|&nbsp;", re.IGNORECASE)


def _content(part: Message) -> str:
    """The text of a part. An unknown or wrong charset is read as UTF-8, else as Windows-1252."""
    data = part.get_payload(decode=True)
    raw = data if isinstance(data, bytes) else str(part.get_payload()).encode("utf-8", "replace")
    for charset in (str(part.get_content_charset() or "utf-8"), "utf-8"):
        try:
            return clean(raw.decode(charset))
        except (LookupError, ValueError):
            continue
    return clean(raw.decode("cp1252", "replace"))


def _blocks(origin: Origin, part: Message, *, produced: Produced, notes: list[str]) -> Iterator[str]:
    text = _content(part)
    if part.get_content_type() == "text/html" and text.strip():
        from hlgraph.read.formats.html import main_text

        with needs_extra("html", "reading mail written in HTML"):
            page = main_text(
                origin, text.encode(), encoding="utf-8", produced=produced, is_whole=True, mark_quotes=True
            )
        notes += page.warnings if page.text else ()
        yield _with_writers(page.text or _plain(text))
    elif part.get_content_type() == "text/calendar":
        yield _event(text)
    elif str(part.get_param("format", "")).lower() == "flowed":
        yield _with_writers(_marked(_unflowed(text)))
    else:
        yield _with_writers(_marked(text))


_QUOTED_FIELD = re.compile(  # of the header above a mail that a program of offices quotes
    r"(?:> )*[*_]*(?:(?P<who>From|Von|De|Van|Da|Från|Fra)"
    r"|(?P<when>Sent|Date|Gesendet|Datum|Envoyé|Enviado|Verzonden|Data|Inviato|Skickat|Sendt)"
    r"|(?P<what>Subject|Betreff|Objet|Asunto|Assunto|Onderwerp|Oggetto|Ämne|Emne)"
    r"|To|An|À|A|Para|Aan|Till|Til|Cc|Bcc|Importance|Reply-To)(?: el| em)? ?:[*_]*(?P<value>[^\n]*)"
)
_HEADER = re.compile(
    rf"^(?:-+ ?[^\W\d_][^\n-]{{4,60}}-+\n+)?(?P<top>(?:{re.sub('[?]P<[a-z]+>', '?:', _QUOTED_FIELD.pattern)}\n{{1,3}}){{3,9}})",
    re.MULTILINE,
)


def _quoted_header(match: re.Match[str]) -> str:
    """Who wrote the mail below a header, and when; empty if it is no header of a mail."""
    fields = [field for line in match["top"].split("\n") if (field := _QUOTED_FIELD.match(line))]
    who, when = (next((each["value"].strip(" *_\\") for each in fields if each[name]), "") for name in ("who", "when"))
    is_mail = any(each["what"] or "@" in each["value"] for each in fields)
    return f"{' '.join(who.split())}, {when}:".replace("\\", "") if who and when and is_mail else ""


def _with_writers(text: str) -> str:
    """The text of a mail with the mails below it, which only a header divides from it, as quotations of their writers."""
    headers = [header for header in _HEADER.finditer(text) if header["top"][0] != ">" and _quoted_header(header)]
    headers = headers[:_MOST_LEVELS]
    parts = [text[: headers[0].start()] if headers else text]
    for depth, header in enumerate(headers):
        end = headers[depth + 1].start() if depth + 1 < len(headers) else len(text)
        above = f"{header['top'].rstrip()}\n\n{_quoted_header(header)}\n\n"
        for level, part in ((depth, above), (depth + 1, text[header.end() : end].lstrip())):
            parts.append(re.sub(r"^(?=[^|\s])", "> " * level, part, flags=re.MULTILINE))
    return "".join(parts)


_EVENT = re.compile(r"(SUMMARY|DTSTART|DTEND|LOCATION|ORGANIZER|ATTENDEE|STATUS|DESCRIPTION)(?:;[^:\n]*)?:(.*)")
_TIME = re.compile(r"(\d{4})(\d\d)(\d\d)(?:T(\d\d)(\d\d)(\d\d)(Z?))?")


def _event(text: str) -> str:
    """The events of a calendar, a line for each property that people read.

    References
    ----------
    RFC 5545, "Internet Calendaring and Scheduling Core Object Specification", 3.1 and 3.6.1.
    """
    lines: list[str] = []
    for match in map(_EVENT.fullmatch, re.sub(r"\r?\n[ \t]", "", text).splitlines()):
        if match is None:
            continue
        value = re.sub(r"\\([,;\\])", r"\1", match[2].replace("\\n", " ").replace("\\N", " ")).removeprefix("mailto:")
        if match[1].startswith("DT") and (time := _TIME.fullmatch(value)):
            value = f"{time[1]}-{time[2]}-{time[3]}" + (f"T{time[4]}:{time[5]}:{time[6]}{time[7]}" if time[4] else "")
        lines.append(
            f"{_PROPERTY.get(match[1], match[1].capitalize())}: {' '.join(value.split())}" if value.strip() else ""
        )
    return "\n".join(filter(None, lines))


_PROPERTY = {"SUMMARY": "Event", "DTSTART": "Start", "DTEND": "End"}


def _plain(page: str) -> str:
    """All text of a page that is too short to have a main text."""
    from lxml import html

    tree = html.document_fromstring(page.encode(), parser=html.HTMLParser(encoding="utf-8"))
    for element in list(tree.iter("script", "style", "title")):
        element.drop_tree()
    for element in tree.iter("br", "p", "div", "tr", "li"):
        element.tail = f"\n{element.tail or ''}"
    return "\n".join(filter(None, (" ".join(line.split()) for line in str(tree.text_content()).split("\n"))))


def _unflowed(text: str) -> str:
    """Text of ``format=flowed`` with its soft line breaks removed (RFC 3676)."""
    lines: list[str] = []
    is_soft = False
    for line in text.split("\n"):
        quotes = len(line) - len(line.lstrip(">"))
        words = line[quotes:].removeprefix(" ")
        if is_soft and lines and len(lines[-1]) - len(lines[-1].lstrip(">")) == quotes and words != "-- ":
            lines[-1] += words
        else:
            lines.append(f"{'>' * quotes}{' ' if quotes else ''}{words}")
        is_soft = words.endswith(" ") and words != "-- "
    return "\n".join(lines)


def _marked(text: str) -> str:
    """The text of a mail with each quoted paragraph on one line after ``> ``, and its signature named."""
    lines: list[str] = []
    depth = 0
    text = _HEADER.sub(
        lambda each: f"{_quoted_header(each) if each[0][0] == '>' else ''}\n{each[0]}".lstrip("\n"), text
    )
    for line in text.rstrip().split("\n"):
        quoted = _QUOTE.fullmatch(line)
        words = quoted[2].strip() if quoted else line
        before, depth = depth, quoted[1].count(">") if quoted else 0
        mark = "> " * depth
        if not depth and line.rstrip() == "--":
            lines += ["", "Signature:", ""]
        elif not depth:
            lines += ["", line] if before and line.strip() else [line]
        elif not words:
            lines.append("")
        elif depth == before and lines[-1].strip() and not _BREAKS.match(words) and not _QUOTED_FIELD.match(words):
            lines[-1] += f" {words}"
        else:
            lines += ["", f"{mark}{words}"] if depth != before and lines and lines[-1] else [f"{mark}{words}"]
    return _BLANK_LINES.sub("\n\n", "\n".join(lines)).strip("\n")


def _attachment(
    origin: Origin, name: str, part: Message, *, options: ReadOptions, depth: int, unread: Unread
) -> Iterator[Document | ReadFailure]:
    """The documents of an attachment."""
    uri = f"{origin.uri}{'/' if '#' in origin.uri else '#'}{quote(name, safe='@!$&()*+,;=')}"
    own = Origin(uri, name)
    if part.get_content_type() == "message/rfc822":
        inner = next(iter(_inner(part)), None)
        if inner is None or depth >= _MOST_LEVELS:
            unread[f"attached message {name}"] += 1
            return
        try:
            yield from _documents(Origin(uri, name), inner, size=len(bytes(inner)), options=options, depth=depth + 1)
        except ReadError as error:
            if error.reason.startswith("is empty"):
                unread[f"empty message {name}"] += 1
            else:
                yield ReadFailure(error.uri, error)
        return
    data = part.get_payload(decode=True)
    reader = _reader_of(name, data, kind=part.get_content_type()) if isinstance(data, bytes) else None
    if reader is None or not isinstance(data, bytes):
        unread[f"attachment {name} ({part.get_content_type()})"] += 1
        return
    about: dict[str, MetadataValue] = {"filename": name, "attached_to": origin.uri}
    try:
        with parser_errors(uri, reader.name.upper(), mend=reader.mend):
            if isinstance(reader, RowsFormat):
                results = reader.read(own, io.BufferedReader(io.BytesIO(data)), options=options)
            else:
                results = iter([reader.read(own, data, options=options)])
            for result in results:
                row = bounded_row(result)
                if isinstance(row, Document) and ACL in row.metadata:
                    yield ReadFailure(uri, ReadError(uri, "names its groups (acl), which its sender chose", _SAVED))
                    return
                yield replace(row, metadata={**about, **row.metadata}) if isinstance(row, Document) else row
    except ReadError as error:
        yield ReadFailure(error.uri, error)
    except MissingExtraError as error:
        yield not_installed(uri, error)


def _reader_of(name: str, data: bytes, *, kind: str) -> Format | None:
    """The reader of an attachment by its suffix, else by its content or type; mail may hold mail, but no further mailbox."""
    from hlgraph.read.discover import HEAD, format_by_content, format_of, may_be_text
    from hlgraph.read.formats import FORMATS

    named = format_of(name) or (format_by_content(data[:HEAD]) if may_be_text(name) else None)
    if named is None and kind.startswith("text/") and data.strip():
        named = "html" if kind == "text/html" else "text"
    return FORMATS[named] if named and named not in ("mbox", "eml") else None


# Pages that a browser saved, with their pictures, as the parts of a mail.


def read_mhtml(origin: Origin, data: bytes, *, options: ReadOptions) -> Document:
    """The main text of a page that a browser saved as one file.

    Parameters
    ----------
    origin : the file
    data : its bytes
    options : the size limit

    Raises
    ------
    MissingExtraError
        trafilatura is not installed.
    ReadError
        It holds no page, or no main text was found in it.
    """
    with needs_extra("html", "reading saved pages"):
        from hlgraph.read.formats.html import main_text
    message = _parsed(origin, data)
    pages = [part for part in message.walk() if part.get_content_type() in ("text/html", "application/xhtml+xml")]
    if not pages:
        raise ReadError(origin.uri, "holds no page", "check its suffix")
    produced = Produced(origin, len(data), options.max_bytes)
    content = _content(pages[0]).encode()
    page = main_text(origin, content, encoding="utf-8", produced=produced)
    if not page.text:
        raise ReadError(origin.uri, "no main text was found in the page", "save it as HTML")
    address = _header(message, "Snapshot-Content-Location") or _header(pages[0], "Content-Location")
    metadata: dict[str, MetadataValue] = {"url": address} if address else {}
    if date := _metadata(message).get("date"):
        metadata["saved"] = date
    unread = Unread({"page in a frame": len(pages) - 1} if len(pages) > 1 else {}).warnings()
    title = page.title or _header(message, "Subject") or clean_title(origin.stem)
    return Document(origin.uri, page.text, title, {**metadata, **page.metadata}, warnings=(*page.warnings, *unread))


# Messages of Outlook: a file system (OLE) whose streams are the properties of the message.

_PROPERTIES = "__properties_version1.0"
_MOST_STREAMS = 10_000
_ANSI, _UNICODE, _BINARY, _OBJECT, _TIME_OF = 0x001E, 0x001F, 0x0102, 0x000D, 0x0040
_EPOCH = datetime(1601, 1, 1, tzinfo=UTC)


def _streams(data: bytes) -> dict[str, bytes]:
    """The streams of an OLE file by their paths; none of another file. Raises OSError if it is damaged."""
    with needs_extra("outlook", "reading messages of Outlook"):
        import olefile
    if not data.startswith(olefile.MAGIC[:4]):
        return {}
    streams: dict[str, bytes] = {}
    left = 2 * len(data)
    with olefile.OleFileIO(io.BytesIO(data)) as ole:
        for path in ole.listdir():
            left -= ole.get_size(path)
            if left < 0 or len(streams) >= _MOST_STREAMS:
                raise OSError("its streams overlap")
            streams["/".join(path)] = ole.openstream(path).read()
    return streams


def read_msg(origin: Origin, stream: io.BufferedReader, *, options: ReadOptions) -> Iterator[Document | ReadFailure]:
    """The document of a message that Outlook saved, then those of its attachments, as of the same mail in EML.

    Parameters
    ----------
    origin : the file
    stream : its decompressed bytes
    options : the size limit; the attachments are read with the same options

    Raises
    ------
    ReadError
        It is no message, is damaged, too large, or holds no text; raised while iterating.
    MissingExtraError
        olefile is not installed.

    References
    ----------
    [MS-OXMSG], Outlook Item (.msg) File Format.
    """
    data = read_bounded(origin, stream, limit=options.max_bytes)
    try:
        streams = _streams(data)
    except (OSError, ValueError, IndexError, struct.error) as error:
        raise ReadError(origin.uri, "is a damaged file of Outlook", "save it again in Outlook") from error
    if _PROPERTIES not in streams:
        raise ReadError(origin.uri, "is empty" if not data.strip() else "is no message of Outlook", "check its suffix")
    mail = _mail_of(streams, "", depth=0).as_bytes()
    message = message_from_bytes(mail)
    uri = origin.uri if origin.name else f"{origin.uri}#{_key(message, mail)}"
    yield from _documents(Origin(uri, origin.name), message, size=len(data), options=options)


def _mail_of(streams: dict[str, bytes], folder: str, *, depth: int) -> EmailMessage:
    """The message in a folder of an OLE file as a mail."""
    values = _Properties(streams, folder)
    mail = EmailMessage()
    sent = HeaderParser().parsestr(values.text(0x007D))
    people: dict[int, list[str]] = {}
    inner = sorted({path[len(folder) :].partition("/")[0] for path in streams if path.startswith(f"{folder}__")})
    for name in inner:
        if name.startswith("__recip_version1.0_#"):
            person = _Properties(streams, f"{folder}{name}/")
            people.setdefault(person.number(0x0C15), []).append(_person(person, 0x3001, 0x39FE, 0x3003))
    headers = {
        "From": _person(values, 0x0C1A, 0x5D01, 0x0C1F),
        "To": ", ".join(people.get(1, [])) or values.text(0x0E04),
        "Cc": ", ".join(people.get(2, [])) or values.text(0x0E03),
        "Subject": values.text(0x0037),
        "Message-ID": values.text(0x1035),
        "In-Reply-To": values.text(0x1042),
    }
    when = values.time(0x0039) or values.time(0x0E06)
    headers["Date"] = str(sent["Date"] or (format_datetime(when) if when else ""))
    for name, value in headers.items():
        if text := " ".join(clean(str(value)).split()):
            mail[name] = text
    page, rich = values.bytes(0x1013), values.bytes(0x1009)
    mail.set_content(values.text(0x1000) or ("" if page or not rich else _of_rtf(rich)))
    if page:
        encoding = _codec(values.number(0x3FDE) or 65001)
        mail.add_alternative(page.decode(encoding, "replace"), subtype="html")
    for name in inner:
        if name.startswith("__attach_version1.0_#") and depth < _MOST_LEVELS:
            _attach(mail, streams, f"{folder}{name}/", depth=depth)
    return mail


def _person(values: _Properties, name: int, *addresses: int) -> str:
    """A person as mail writes one, without an address of Exchange, which has no "@"."""
    address = next((text for text in map(values.text, addresses) if "@" in text), "")
    return formataddr((values.text(name), address)) if address else values.text(name)


def _attach(mail: EmailMessage, streams: dict[str, bytes], folder: str, *, depth: int) -> None:
    values = _Properties(streams, folder)
    if any(path.startswith(f"{folder}__substg1.0_3701000D/{_PROPERTIES}") for path in streams):
        mail.add_attachment(_mail_of(streams, f"{folder}__substg1.0_3701000D/", depth=depth + 1))
        return
    name = values.text(0x3707) or values.text(0x3704) or values.text(0x3001)
    kind, _, sub = (values.text(0x370E) or "application/octet-stream").partition("/")
    if kind == "multipart":  # the signed form of the message itself
        return
    mail.add_attachment(values.bytes(0x3701), maintype=kind, subtype=sub or "octet-stream", filename=name)


class _Properties:
    """The properties of a message, a recipient or an attachment, by their numbers."""

    def __init__(self, streams: dict[str, bytes], folder: str) -> None:
        self._streams, self._folder = streams, folder
        data = streams.get(f"{folder}{_PROPERTIES}", b"")
        first = 32 if not folder else 24 if folder.endswith("000D/") else 8  # a message, one in it, a part
        data = data[first:]
        entries = struct.iter_unpack("<II8s", data[: len(data) // 16 * 16])
        self._fixed = {tag >> 16: value for tag, _, value in entries}

    def bytes(self, number: int) -> bytes:
        """A binary value; text is encoded."""
        data = self._streams.get(f"{self._folder}__substg1.0_{number:04X}{_BINARY:04X}")
        return self.text(number).encode() if data is None else data

    def text(self, number: int) -> str:
        """A text; empty if there is none."""
        name = f"{self._folder}__substg1.0_{number:04X}"
        if (data := self._streams.get(f"{name}{_UNICODE:04X}")) is not None:
            return clean(data.decode("utf-16-le", "replace"))
        return clean(self._streams.get(f"{name}{_ANSI:04X}", b"").decode(_codec(self.number(0x3FFD)), "replace"))

    def number(self, number: int) -> int:
        """An integer; 0 if there is none."""
        return int.from_bytes(self._fixed.get(number, b"")[:4], "little")

    def time(self, number: int) -> datetime | None:
        """A time; None if there is none."""
        ticks = int.from_bytes(self._fixed.get(number, b""), "little")
        return _EPOCH + timedelta(microseconds=ticks // 10) if 0 < ticks < 1 << 61 else None


def _codec(page: int) -> str:
    """The codec of a code page of Windows."""
    name = {65001: "utf-8", 20127: "ascii", 28591: "latin-1", 0: "cp1252"}.get(page, f"cp{page}")
    try:
        codecs.lookup(name)
    except LookupError:
        return "cp1252"
    return name


_LZ_WORDS = (
    rb"{\rtf1\ansi\mac\deff0\deftab720{\fonttbl;}{\f0\fnil \froman \fswiss \fmodern \fscript \fdecor MS Sans SerifSymbolArial"
    rb"Times New RomanCourier{\colortbl\red0\green0\blue0"
    b"\r\n"
    rb"\par \pard\plain\f0\fs20\b\i\u\tab\tx"
)


def _of_rtf(packed: bytes) -> str:
    """The text of a packed RTF body ([MS-OXRTFCP])."""
    from hlgraph.read.formats.rtf import read_rtf

    size, kind = struct.unpack_from("<I4s", packed, 4)
    data = packed[16:]
    if kind == b"LZFu":
        words = bytearray(_LZ_WORDS)
        at = 0
        while at < len(data) and len(words) < size + len(_LZ_WORDS):
            control, at = data[at], at + 1
            for bit in range(8):
                if at >= len(data):
                    break
                if not control >> bit & 1:
                    words.append(data[at])
                    at += 1
                    continue
                place, count = data[at] << 4 | data[at + 1] >> 4, (data[at + 1] & 15) + 2
                at += 2
                here = len(words) - ((len(words) - place) % 4096 or 4096)
                for step in range(count if here >= 0 else 0):
                    words.append(words[here + step])
        data = bytes(words[len(_LZ_WORDS) :])
    return read_rtf(Origin("msg:"), data[:size], options=ReadOptions()).text


FORMATS = (
    RowsFormat("eml", suffixes=(".eml",), read=read_eml, mend="save it again in a mail program"),
    RowsFormat("mbox", suffixes=(".mbox",), read=read_mbox, mend="export the mailbox again"),
    FileFormat("mhtml", suffixes=(".mht", ".mhtml"), read=read_mhtml, mend="save the page again"),
    RowsFormat("msg", suffixes=(".msg", ".oft"), read=read_msg, mend="save it again in Outlook"),
)
