"""Finds the encoding of bytes and decodes them: by what is given, by the byte order mark, as UTF-8, else by the bytes."""

from __future__ import annotations

import codecs
from itertools import pairwise
from typing import NamedTuple

from charset_normalizer import from_bytes

from hlgraph.errors import ReadError
from hlgraph.read.content import PIECE, Origin, clean

NAME_ENCODING = "give its encoding, for example --encoding latin-1"
# UTF-32 comes first: its little-endian mark begins with the UTF-16 mark.
_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
# The encodings that are looked for. Of those that fit equally well the first is taken: the one that is in use most.
_KNOWN = (
    *("cp1252", "cp1251", "cp1250", "euc_jp", "cp932", "gb18030", "big5", "cp949", "koi8_r", "cp1253", "cp1254"),
    *("cp1255", "cp1256", "iso8859_2", "iso8859_15"),
)
_SAMPLE = 1 << 16
_LEAST_NUL = 0.6  # of every second byte, where a text is UTF-16: its ASCII letters and spaces have one


class Text(NamedTuple):
    """Decoded text.

    Attributes
    ----------
    text : the text, cleaned
    warnings : what the reader of the file should know: an encoding that was found by the bytes
    """

    text: str
    warnings: tuple[str, ...] = ()


def decode(origin: Origin, data: bytes, *, encoding: str | None) -> Text:
    """The text that bytes encode, cleaned.

    Parameters
    ----------
    origin : the source, named in errors
    data : the bytes
    encoding : name of the encoding; None finds it: the byte order mark, else UTF-8, else what the bytes look like

    Raises
    ------
    ReadError
        The bytes are not valid in that encoding, are binary, or hold only white space.
    """
    found = encoding or marked_encoding(data) or found_encoding(data)
    if found is None:
        if b"\0" in data[:PIECE]:
            raise ReadError(origin.uri, "is binary, not text", "give its format with --format, or its --encoding")
        found = "utf-8"
    try:
        text = data.decode(found).lstrip("\ufeff")
    except UnicodeError as error:
        where = f"byte {error.start}" if isinstance(error, UnicodeDecodeError) else str(error)
        mend = f"give another --encoding than {encoding}" if encoding else NAME_ENCODING
        raise ReadError(origin.uri, f"is not {found} text ({where})", mend) from error
    if "\0" in text:
        raise ReadError(origin.uri, "is binary, not text: it holds NUL characters", "give its format with --format")
    if not text or text.isspace():
        raise ReadError(origin.uri, "is empty")
    is_guess = encoding is None and found != "utf-8" and marked_encoding(data) is None
    return Text(clean(text), (guessed(found),) if is_guess else ())


def guessed(encoding: str) -> str:
    """The warning about a file whose encoding was found by its bytes."""
    return f"its encoding is not declared and not UTF-8; read as {encoding}; if that is wrong, name it with --encoding"


def marked_encoding(head: bytes) -> str | None:
    """The encoding that a byte order mark declares; None without a mark."""
    return next((encoding for mark, encoding in _MARKS if head.startswith(mark)), None)


def found_encoding(data: bytes, *, is_cut: bool = False) -> str | None:
    """The encoding of bytes without a mark: UTF-8 where they are that, else the one that fits best; None if none does.

    Fit is judged by charset-normalizer, on 64 KiB of the lines that are not ASCII, among the encodings in use on the web. Of
    those that fit equally well the one with the fewest capitals behind small letters is taken, then the most common one. Bytes
    that are UTF-8 but for some damage count as UTF-8. The same bytes always give the same encoding.

    Parameters
    ----------
    data : the bytes
    is_cut : whether they are the beginning of a longer text, and may end inside a character; default no

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
    if sum(not character.isascii() for character in text) > 2 * broken:  # UTF-8 with some damage, which is told
        return "utf-8"
    sample = _telling(data[: 16 * PIECE])
    matches = from_bytes(sample, cp_isolation=[*_KNOWN], preemptive_behaviour=False)
    ranked = sorted(
        (round(match.chaos, 3), -round(match.coherence, 3), _turned(sample, name), _KNOWN.index(name), name)
        for match in matches
        for name in match.could_be_from_charset
        if name in _KNOWN
    )
    return next((name for *_, name in ranked if _fits(data, name, is_cut=is_cut)), None)


def _telling(data: bytes) -> bytes:
    """The first lines that are not ASCII, some 64 KiB of them; whole, because a cut may divide a character."""
    kept: list[bytes] = []
    size = 0
    for line in data.split(b"\n"):
        if not line.isascii():
            kept.append(line)
            size += len(line)
            if size > _SAMPLE:
                break
    return b"\n".join(kept)


def _turned(sample: bytes, encoding: str) -> int:
    """How many capitals follow a small letter: koi8-r and cp1251 have the cases of Russian letters in reverse."""
    text = sample.decode(encoding, "replace")[:_SAMPLE]
    return sum(left.islower() and right.isupper() for left, right in pairwise(text))


def _fits(data: bytes, encoding: str, *, is_cut: bool) -> bool:
    try:
        codecs.getincrementaldecoder(encoding)().decode(data, final=not is_cut)
    except UnicodeDecodeError:
        return False
    return True


def _utf16(data: bytes) -> str | None:
    """UTF-16 in the byte order in which one byte of most pairs is 0 and the other never is."""
    if len(data) % 2:
        return None
    for name, high in (("utf-16-le", data[1::2]), ("utf-16-be", data[::2])):
        low = data[::2] if name == "utf-16-le" else data[1::2]
        if low.count(0) == 0 and high.count(0) > _LEAST_NUL * len(high):
            return name
    return None
