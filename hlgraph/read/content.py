"""What all readers share: origins, bounded reads, decoding, clean text, and failures.

:func:`decode` turns bytes into clean text and finds their encoding. :func:`inadmissible` checks that a document can be
stored. :class:`ReadFailure` reports a source that could not be read. :func:`without_runs` removes encoded data from a text.
:func:`markdown_rows` writes a table.
"""

from __future__ import annotations

import codecs
import io
import math
import re
from bisect import bisect_right
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import date
from itertools import accumulate, chain, pairwise
from pathlib import PurePath
from typing import NamedTuple

from charset_normalizer import from_bytes

from hlgraph.errors import HLGraphError, InputError, MissingExtraError, ReadError
from hlgraph.records import Detail, Document, MetadataValue
from hlgraph.text import ACL, groups_of

PIECE = 1 << 20


def without_gz(name: str) -> str:
    """The file name without a trailing ``.gz``."""
    return name[:-3] if name.lower().endswith(".gz") else name


@dataclass(frozen=True, slots=True)
class Origin:
    """Where bytes come from.

    Attributes
    ----------
    uri : URI of the source
    name : file name with its suffixes, empty for standard input
    """

    uri: str
    name: str = ""

    @property
    def stem(self) -> str:
        """The file name without its suffixes and the id that Notion adds; the title of a document that states none."""
        return _NOTION_ID.sub("", PurePath(without_gz(self.name)).stem) if self.name else ""


_NOTION_ID = re.compile(r"(?<=\w) [0-9a-f]{32}(?:_all)?\Z")


def is_query(path: str) -> bool:
    """Whether a path is ``sql:NAME``, the result of the query of a mapping of rows."""
    return path.startswith("sql:")


def clean(text: str) -> str:
    r"""Text in the form that documents and metadata values use: lines end in ``\n``, no NUL, no lone surrogate.

    Examples
    --------
    >>> clean("a\r\nb\rc\0")
    'a\nb\nc'
    """
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    if "\0" in text:
        text = text.replace("\0", "")
    try:
        text.encode()
    except UnicodeEncodeError:  # PDF, YAML and some encodings can produce half a surrogate pair
        text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def read_bounded(origin: Origin, stream: io.BufferedIOBase, *, limit: int) -> bytes:
    """All bytes of a stream that holds at most ``limit`` bytes.

    Parameters
    ----------
    origin : the source, named in errors
    stream : the stream to read
    limit : largest size, bytes

    Raises
    ------
    ReadError
        The stream is longer; reading stops one byte past the limit.
    """
    pieces: list[bytes] = []
    size = 0
    while piece := stream.read(min(PIECE, limit + 1 - size)):
        pieces.append(piece)
        size += len(piece)
        if size > limit:
            raise ReadError(origin.uri, f"is larger than {limit:,} bytes", "split it, or raise --max-bytes")
    return b"".join(pieces)


_LARGEST = 2**63


def inadmissible(document: Document) -> ReadError | None:
    """Why a document cannot be stored, or None if it can.

    Every document that a reader yields can be stored; one that a caller of the SDK built may not.

    Examples
    --------
    >>> print(inadmissible(Document("doc:1", "text", metadata={"weight": float("nan")})))
    doc:1: metadata 'weight' is nan; use text, a finite number, a boolean, or leave it out
    """
    uri = document.uri
    wrong = _wrong_kind(document)
    if wrong:
        return ReadError(ascii(uri), wrong, "give texts, and a mapping of names to values")
    if not uri.strip():
        return ReadError(repr(uri), "the uri is empty", "give each document its own uri")
    for name, text in (("uri", uri), ("text", document.text), ("title", document.title)):
        if not _is_clean(text):
            return ReadError(ascii(uri), f"the {name} holds a NUL or half of a surrogate pair", "remove that character")
    if not document.text.strip():
        return ReadError(uri, "the text is empty", "leave the document out")
    try:
        groups_of(document.metadata.get(ACL, "any"))
    except InputError as error:
        return ReadError(uri, *str(error).split("; ", 1))
    return _inadmissible_metadata(document)


_CELL_ACL = re.compile(r"^\|(?:[^\n]*[| ])?acl ?\|", re.MULTILINE | re.IGNORECASE)


def unheard_groups(document: Document) -> tuple[str, ...]:
    """A warning if a document without groups has a field or a table that looks as if it named some.

    Examples
    --------
    >>> unheard_groups(Document("doc:1", "Wages.", metadata={"ACL": "hr"}))
    ("its field 'ACL' names no groups; the field is called 'acl'",)
    """
    if ACL in document.metadata:
        return ()
    for name in document.metadata:
        if name.strip().lower().rpartition(".")[2] == ACL:
            return (f"its field {name!r} names no groups; the field is called {ACL!r}",)
    if ACL in document.text.lower() and _CELL_ACL.search(document.text):
        return (f"a table has a cell {ACL!r}, but a table in a text names no groups; give them with --acl",)
    return ()


def _inadmissible_metadata(document: Document) -> ReadError | None:
    for key, value in document.metadata.items():
        for scalar in value if isinstance(value, tuple | list) else (value,):
            problem = (
                _problem(scalar) if isinstance(key, str) and _is_clean(key) else "has a name that is not clean text"
            )
            if problem:
                return ReadError(
                    document.uri, f"metadata {key!r} {problem}", "use text, a finite number, a boolean, or leave it out"
                )
    return None


def _wrong_kind(document: Document) -> str:
    """The first attribute of the wrong type, with its value, or empty. Callers need not be type-checked."""
    for name, kind in (("uri", str), ("text", str), ("title", str), ("metadata", Mapping)):
        value = getattr(document, name)
        if not isinstance(value, kind):
            return f"the {name} is {value!a:.60}"
    return ""


def _is_clean(text: str) -> bool:
    if text.isascii() or "\0" in text:
        return "\0" not in text
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _problem(value: object) -> str:
    if isinstance(value, str):
        return "" if _is_clean(value) else "holds a NUL or half of a surrogate pair"
    if isinstance(value, bool | date):
        return ""
    if isinstance(value, int):
        return "" if -_LARGEST <= value < _LARGEST else "is beyond 64 bits"
    if isinstance(value, float):
        return "" if math.isfinite(value) else f"is {value}"
    return f"is a {type(value).__name__}, not text, a number, a boolean, or a list of these"


def clean_title(title: str) -> str:
    """A title with each run of white space replaced by one space."""
    return " ".join(title.split())


# What programs write when the author gives no title.
_NO_TITLE = re.compile(
    r"paper title \(.*|unknown title"
    r"|\(?(?:untitled|no title|title|anonymous|unknown|document|presentation|slide|layout|print|scan|book|sheet)[ _-]*\d*\)?"
    r"|(?:powerpoint|pdf|word) (?:presentation|document)|microsoft (?:word|excel|powerpoint|office \w+) ?[-–—].*"
    r"|\S*\.(?:docx?|dotx?|dvi|eps|fm|html?|indd|key|md|odp|ods|odt|pages|pdf|pmd|pptx?|ps|pub|qxd|rtf|tex|tiff?|txt|wpd|xlsx?|xml)"
    r"|[\w .,()+-]{1,200}\.(?:docx?|indd|odt|pdf|pptx?|qxd|rtf|xlsx?)|[\d\W]*",
    re.IGNORECASE,
)
# The authors of the templates of libraries, and the times of these, which say nothing of the document.
_LIBRARIES = frozenset(("python-docx", "openpyxl", "Steve Canny", "XlsxWriter", "generated by python-docx"))
_LIBRARIES |= {"anonymous", "(anonymous)", "unspecified", "(unspecified)"}  # of a library that makes PDF files
_TEMPLATES = ("2013-12-23T23:15:00", "2013-01-27T09:14:16")


def given_title(title: str) -> str:
    """The title of a file's properties; empty for one that a program writes when the author gives none.

    Examples
    --------
    >>> [given_title(title) for title in ("Untitled 1", "Unknown Title", "Microsoft Word - a.doc", "Pumps")]
    ['', '', '', 'Pumps']
    """
    return "" if _NO_TITLE.fullmatch(title) else title


def given_properties(properties: Mapping[str, MetadataValue]) -> dict[str, MetadataValue]:
    """The properties of an Office file without those that a library has copied from its template.

    Examples
    --------
    >>> given_properties({"author": "python-docx", "created": "2013-12-23T23:15:00+00:00", "subject": "Pumps"})
    {'subject': 'Pumps'}
    """
    return {
        name: value
        for name, value in properties.items()
        if not (name in ("author", "description", "subject") and value in _LIBRARIES)
        and not (name in ("created", "date") and str(value).startswith(_TEMPLATES))
    }


# Encodings: the declared one, the byte order mark, UTF-8, else a guess from the bytes.


NAME_ENCODING = "give its encoding, for example --encoding latin-1"
# UTF-32 comes first: its little-endian mark begins with the UTF-16 mark.
_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
# The candidate encodings, the most common first. If several fit equally well, the first wins.
_KNOWN = (
    *("cp1252", "cp1251", "cp1250", "euc_jp", "cp932", "gb18030", "big5", "cp949", "koi8_r", "cp1253", "cp1254"),
    *("cp1255", "cp1256", "iso8859_2", "iso8859_15"),
)
_SAMPLE = 1 << 16
_LEAST_NUL = 0.6  # share of NUL among the high bytes of UTF-16 text: its ASCII letters and spaces have one


class Text(NamedTuple):
    """Decoded text.

    Attributes
    ----------
    text : the text, cleaned
    warnings : a note that the encoding was guessed from the bytes
    """

    text: str
    warnings: tuple[str, ...] = ()


def decode(origin: Origin, data: bytes, *, encoding: str | None) -> Text:
    """The text that bytes encode, cleaned.

    Parameters
    ----------
    origin : the source, named in errors
    data : the bytes
    encoding : name of the encoding; None detects it: the byte order mark, else UTF-8, else a guess from the bytes

    Raises
    ------
    ReadError
        The bytes are not valid in that encoding, are binary, or hold only white space.
    """
    codec = encoding or marked_encoding(data) or found_encoding(data)
    if codec is None:
        if b"\0" in data[:PIECE]:
            raise ReadError(origin.uri, "is binary, not text", "give its format with --format, or its --encoding")
        codec = "utf-8"
    try:
        text = data.decode(codec).lstrip("\ufeff")
    except UnicodeError as error:
        where = f"byte {error.start}" if isinstance(error, UnicodeDecodeError) else str(error)
        mend = f"give another --encoding than {encoding}" if encoding else NAME_ENCODING
        raise ReadError(origin.uri, f"is not {codec} text ({where})", mend) from error
    if "\0" in text:
        raise ReadError(origin.uri, "is binary, not text: it holds NUL characters", "give its format with --format")
    if not text or text.isspace():
        raise ReadError(origin.uri, "is empty")
    is_guess = encoding is None and codec != "utf-8" and marked_encoding(data) is None
    return Text(clean(text), (guessed(codec),) if is_guess else ())


def guessed(encoding: str) -> str:
    """The warning about a file whose encoding was guessed from its bytes."""
    return f"its encoding is not declared and not UTF-8; read as {encoding}; if that is wrong, name it with --encoding"


def marked_encoding(head: bytes) -> str | None:
    """The encoding that a byte order mark declares; None without a mark."""
    return next((encoding for mark, encoding in _MARKS if head.startswith(mark)), None)


def found_encoding(data: bytes, *, is_cut: bool = False) -> str | None:
    """The encoding of bytes without a mark: UTF-8 if they are valid UTF-8, else the best fit, or None if none fits.

    charset-normalizer judges the fit on 64 KiB of the lines that are not ASCII, among the encodings in use on the web. If
    several fit equally well, the one with the fewest capitals after small letters wins, then the most common one. Slightly
    damaged UTF-8 counts as UTF-8. The same bytes always give the same encoding.

    Parameters
    ----------
    data : the bytes
    is_cut : whether they are the beginning of a longer text and may end inside a character, default False

    Examples
    --------
    >>> found_encoding("Größe".encode()), found_encoding("Größe".encode("latin-1")), found_encoding(b"\\x89PNG\\r\\n\\x1a\\n\\0\\0")
    ('utf-8', 'cp1252', None)
    """
    if b"\0" in data[:PIECE]:
        return _utf16(data[:PIECE])
    try:
        codecs.getincrementaldecoder("utf-8")().decode(data, final=not is_cut)
    except UnicodeDecodeError:
        pass
    else:
        return "utf-8"
    text = data.decode("utf-8", "replace")
    broken = text.count("\ufffd")
    if sum(not character.isascii() for character in text) > 2 * broken:  # damaged UTF-8; decoding reports it
        return "utf-8"
    sample = _sample_of(data[: 16 * PIECE])
    matches = from_bytes(sample, cp_isolation=[*_KNOWN], preemptive_behaviour=False)
    ranked = sorted(
        (round(match.chaos, 3), -round(match.coherence, 3), _capitals_inside(sample, name), _KNOWN.index(name), name)
        for match in matches
        for name in match.could_be_from_charset
        if name in _KNOWN
    )
    return next((name for *_, name in ranked if _fits(data, name, is_cut=is_cut)), None)


def _sample_of(data: bytes) -> bytes:
    """About 64 KiB of the first lines that are not ASCII. Lines stay whole, because a cut may divide a character."""
    kept: list[bytes] = []
    size = 0
    for line in data.split(b"\n"):
        if not line.isascii():
            kept.append(line)
            size += len(line)
            if size > _SAMPLE:
                break
    return b"\n".join(kept)


def _capitals_inside(sample: bytes, encoding: str) -> int:
    """Number of capitals after a small letter: koi8-r and cp1251 have the cases of Russian letters in reverse."""
    text = sample.decode(encoding, "replace")[:_SAMPLE]
    return sum(left.islower() and right.isupper() for left, right in pairwise(text))


def _fits(data: bytes, encoding: str, *, is_cut: bool) -> bool:
    try:
        codecs.getincrementaldecoder(encoding)().decode(data, final=not is_cut)
    except UnicodeDecodeError:
        return False
    return True


def _utf16(data: bytes) -> str | None:
    """UTF-16 in the byte order in which the high byte of most pairs is 0 and the low byte never is, or None."""
    if len(data) % 2:
        return None
    for name, high in (("utf-16-le", data[1::2]), ("utf-16-be", data[::2])):
        low = data[::2] if name == "utf-16-le" else data[1::2]
        if low.count(0) == 0 and high.count(0) > _LEAST_NUL * len(high):
            return name
    return None


# Failures, and the stored sources that they protect from deletion.


_MOST_SHOWN = 300  # characters of a parser's message, which may quote its input


def is_covered(uri: str, names: Collection[str]) -> bool:
    """Whether a source is one of these names, a row of one (``name#...``), or inside a folder among them (``name/``).

    Parameters
    ----------
    uri : URI of a source
    names : URIs of sources and files, of folders (ending in ``/``), or of all rows of a file (ending in ``#``). With a
        set, the time depends only on the length of ``uri``.

    Examples
    --------
    >>> is_covered("file:///d/a.csv#7", {"file:///d/a.csv"}), is_covered("file:///d/a.csv2", {"file:///d/a.csv"})
    (True, False)
    >>> is_covered("file:///d/e/f.md", {"file:///d/"})
    True
    """
    return any(map(names.__contains__, covering(uri)))


def covering(uri: str) -> Iterator[str]:
    """The names that cover a source: its uri, the file of a row, and the folders above it; see :func:`is_covered`.

    Examples
    --------
    >>> list(covering("file:///d/a.csv#7"))[:3]
    ['file:///d/a.csv#7', 'file:///d/a.csv', 'file:///d/a.csv#']
    """
    yield uri
    file, mark, _ = uri.partition("#")
    if mark:
        yield from (file, file + mark)
    yield from (file[: slash.end()] for slash in re.finditer("/", file))


@dataclass(frozen=True, slots=True)
class ReadFailure:
    """One source, row, file or folder that could not be read.

    Sources stored under its URI may still exist, so they must not be deleted as missing.

    Attributes
    ----------
    uri : URI of the smallest unit known to have failed: a row that has an id, else its file; a folder that cannot be
        listed ends in ``/``
    error : the reason
    """

    uri: str
    error: ReadError


@contextmanager
def parser_errors(uri: str, kind: str, *, part: str = "", mend: str = "") -> Iterator[None]:
    """Turn whatever a reader raises on a broken file into a ReadError, so that one broken file does not stop the others.

    Third-party parsers raise more than they document, so no list of classes is complete. Errors of hlgraph pass, and so does
    MemoryError, which says nothing about the file.

    Parameters
    ----------
    uri : URI of the file
    kind : what it should be ("XLSX")
    part : the part of it that is being read, default all of it
    mend : what the user can do about it, default empty
    """
    try:
        yield
    except (HLGraphError, MemoryError):
        raise
    except Exception as error:
        said = " ".join(clean(str(error)).split())[:_MOST_SHOWN] or type(error).__name__
        raise ReadError(uri, f"{part} cannot be read as {kind} ({said})".lstrip(), mend) from error


@contextmanager
def tolerated() -> Iterator[None]:
    """Ignore what a parser cannot read, for optional parts of a file. Errors of hlgraph pass."""
    try:
        with parser_errors("", ""):
            yield
    except ReadError as error:
        if error.__cause__ is None:
            raise


def failure(uri: str, reason: str, *, mend: str = "") -> ReadFailure:
    """A :class:`ReadFailure` with its :class:`~hlgraph.errors.ReadError`.

    Parameters
    ----------
    uri : URI of what failed
    reason : why, as a predicate of the URI ("is empty")
    mend : what the user can do about it, default empty
    """
    return ReadFailure(uri, ReadError(uri, reason, mend))


def not_installed(uri: str, missing: MissingExtraError) -> ReadFailure:
    """A :class:`ReadFailure` of a source whose reader needs an extra.

    Parameters
    ----------
    uri : URI of the source
    missing : what is not installed
    """
    error = ReadError(uri, str(missing))
    error.extra = missing.extra
    return ReadFailure(uri, error)


# Long runs without a space: encoded images, keys, minified code, a megabyte of one letter. They cannot be found or cited,
# and would be cut into thousands of chunks.


LONGEST = 4096
# ASCII and Latin letters: other scripts may do without spaces. The look-behind keeps the time linear.
_RUN = re.compile(rf"(?<![!-~\u00a1-\u024f])[!-~\u00a1-\u024f]{{{LONGEST + 1},}}")


def without_runs(document: Document) -> Document:
    """A document without its runs of more than 4,096 characters without a space, with one warning that counts them.

    Parameters
    ----------
    document : as it was read

    Returns
    -------
    Document
        The same document if there is no such run. Page starts move with the text.

    Raises
    ------
    ReadError
        The document holds nothing else.

    Examples
    --------
    >>> document = without_runs(Document("doc:1", "A picture: " + "x" * 5000 + " of a pump."))
    >>> document.text, document.warnings
    ('A picture:  of a pump.', ('left out 1 run without a space, 5,000 characters: encoded data is no text',))
    """
    text = document.text
    spans = [match.span() for match in _RUN.finditer(text)] if len(text) > LONGEST else []
    if not spans:
        return document
    cut = [0, *accumulate(end - start for start, end in spans)]
    kept: list[str] = []
    at = 0
    for start, end in spans:
        kept.append(text[at:start])
        at = end
    kept.append(text[at:])
    rest = "".join(kept)
    runs = f"{len(spans)} run{'s' if len(spans) > 1 else ''} without a space, {cut[-1]:,} characters"
    if not rest.strip():
        raise ReadError(document.uri, f"holds nothing but {runs}: encoded data is no text", "leave it out")
    starts = [start for start, _ in spans]
    pages = tuple(page - cut[bisect_right(starts, page - 1)] for page in document.page_starts)
    warning = f"left out {runs}: encoded data is no text"
    moved = (cut[bisect_right(starts, detail.start)] for detail in document.details)
    details = tuple(
        Detail(each.start - by, each.end - by, each.text) for each, by in zip(document.details, moved, strict=True)
    )
    return replace(document, text=rest, page_starts=pages, warnings=(*document.warnings, warning), details=details)


def bounded_row(row: Document | ReadFailure) -> Document | ReadFailure:
    """The document of a row as :func:`without_runs` gives it; a failure if it holds nothing else.

    Parameters
    ----------
    row : a document, or a failure, which is returned unchanged
    """
    if isinstance(row, ReadFailure):
        return row
    try:
        return without_runs(row)
    except ReadError as error:
        return ReadFailure(error.uri, error)


# Tables as Markdown.


def markdown_rows(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table of rows that are data, one line each: no row is taken for a title, a section or a total.

    Columns that make a line longer than a chunk become several tables below each other, each with the first column.

    Parameters
    ----------
    head : the label of each column
    rows : the texts of each row, without line breaks

    Examples
    --------
    >>> print(markdown_rows(["part", "count"], [["bolt", "3"]]))
    | part | count |
    | --- | --- |
    | bolt | 3 |
    """
    every = [head, *rows]
    parts = _parts(every)
    if len(parts) == 1:
        return _table_of(every)
    shown = ([[row[at] for at in part] for row in every if any(row[at] for at in part[1:])] for part in parts)
    return "\n\n".join(map(_table_of, shown))


def _table_of(rows: Sequence[Sequence[str]]) -> str:
    return "\n".join([barred(rows[0]), "|" + " --- |" * len(rows[0]), *map(barred, rows[1:])])


_LONGEST_ROW = 900  # characters; a chunk has 300 tokens
_FEWEST_DIVIDED = 8  # of a table that is divided


def _parts(table: Sequence[Sequence[str]]) -> list[list[int]]:
    """The columns of each part of a table, the first one in all of them; one part if lines are short or most cells are empty."""
    count = len(table[0])
    is_long = count >= _FEWEST_DIVIDED and max(sum(map(len, row)) + 3 * count for row in table) > _LONGEST_ROW
    if not is_long or 2 * sum(map(bool, chain.from_iterable(table))) < count * len(table):
        return [[*range(count)]]
    widths = [max(map(len, column)) + 3 for column in zip(*table, strict=True)]
    parts, size = [[0]], widths[0] + 1
    for at in range(1, count):
        if size + widths[at] > _LONGEST_ROW and len(parts[-1]) > 1:
            parts.append([0])
            size = widths[0] + 1
        parts[-1].append(at)
        size += widths[at]
    return parts


def barred(texts: Iterable[str]) -> str:
    """A row of a Markdown table."""
    return "| " + " | ".join(text.replace("|", "\\|") for text in texts) + " |"
