"""Readers of subtitles and transcripts, WebVTT and SubRip: paragraphs of one speaker, with each minute as a page.

Cues are cut for a screen, not by sentence. So the cues of a speaker are joined until the speaker changes, a pause follows, or a
paragraph is long and its sentence complete.
"""

from __future__ import annotations

import html
import re
from collections import Counter
from collections.abc import Iterator
from functools import partial
from itertools import pairwise
from typing import NamedTuple

from hlgraph.errors import ReadError
from hlgraph.read.bounds import Produced
from hlgraph.read.content import Origin, clean_title, decode
from hlgraph.read.formats._blocks import Unread
from hlgraph.read.formats._format import FileFormat
from hlgraph.read.options import ReadOptions
from hlgraph.records import Document, MetadataValue

_CLOCK = r"(?:(\d{1,5}):)?(\d{1,2}):(\d{1,2})[.,](\d{1,3})"
_TIMING = re.compile(rf"\s*{_CLOCK}\s*-->\s*{_CLOCK}.*")
_VOICE = re.compile(r"<v(?:\.[^\s>]*)?\s+([^>]{1,200})>")
_TAG = re.compile(r"<[^<>\n]{0,500}>|\{\\[^{}\n]{0,200}\}")
_NAMED = re.compile(r"(?:>>\s*)?([A-Z][\w.'’ -]{0,38}[\w.]):\s+(?=\S)")
_FULL_NAME = re.compile(r"[A-Z][\w.'’-]*(?: [A-Z\d][\w.'’-]*){1,3}")
_DASH = re.compile(r"^\s*(?:[-–—]|>>+)\s*(?=\S)")
_SOUND = re.compile(r"(?:<[^<>]*>|\{[^{}]*\})?\s*[♪♫].*")  # music, which has no speaker
_PAUSE = 4.0  # seconds
_LONG = 600  # characters
_MOST_MINUTES = 10_000  # a week; more is a damaged clock


class Cue(NamedTuple):
    """A line of a subtitle.

    Attributes
    ----------
    start, end : seconds from the beginning
    speaker : name of the speaker, if the cue states it
    text : what is said
    is_turn : whether a dash or ``>>`` says that another person speaks
    is_guess : whether the name of the speaker is the text before a colon
    """

    start: float
    end: float
    speaker: str
    text: str
    is_turn: bool = False
    is_guess: bool = False


def read_cues(origin: Origin, data: bytes, *, options: ReadOptions, kind: str) -> Document:
    """The document of a file of subtitles: ``Speaker: text`` in paragraphs; ``page`` N of a chunk is the Nth minute.

    Parameters
    ----------
    origin : the file; its stem is the title unless the header of WebVTT names one
    data : its bytes
    options : the encoding and the size limit
    kind : ``vtt`` or ``srt``

    Raises
    ------
    ReadError
        It is not text, has no timings, or holds nothing between them.
    """
    text, warnings = decode(origin, data, encoding=options.encoding)
    is_vtt = text.startswith("WEBVTT")
    if is_vtt != (kind == "vtt"):
        reason = "does not begin with WEBVTT" if kind == "vtt" else "is WebVTT, not SubRip"
        raise ReadError(origin.uri, reason, f"add --format {'srt' if kind == 'vtt' else 'vtt'}, or --format text")
    unread = Unread()
    cues = _without_labels([cue for block in _cue_blocks(text) for cue in _cues(block, unread)])
    if not cues:
        raise ReadError(origin.uri, "is empty: no line follows a timing such as 00:00:01.000 --> 00:00:04.000")
    produced = Produced(origin, len(data), options.max_bytes)
    body, starts = _paragraphs(cues)
    produced.add(body)
    minutes = int(max(cue.start for cue in cues) // 60) + 1
    pages: tuple[int, ...] = ()
    if minutes > _MOST_MINUTES:
        warnings += (f"its clock reaches minute {minutes:,}: chunks have no minute",)
    elif all(before.start <= after.start for before, after in pairwise(cues)):
        pages = _minutes(cues, starts, minutes)
    else:
        warnings += ("its cues are not in the order of their times: chunks have no minute",)
    speakers = tuple(dict.fromkeys(cue.speaker for cue in cues if cue.speaker))
    metadata: dict[str, MetadataValue] = {"minutes": minutes}
    metadata |= {"speaker": speakers} if speakers else {}
    title = clean_title(text.partition("\n")[0].removeprefix("WEBVTT").lstrip(" \t-")) if is_vtt else ""
    return Document(
        origin.uri,
        body,
        title or clean_title(origin.stem),
        metadata,
        page_starts=pages,
        warnings=(*warnings, *unread.warnings()),
    )


def _cue_blocks(text: str) -> Iterator[list[str]]:
    """The lines between blank lines; a timing also begins a block, as files without blank lines exist."""
    block: list[str] = []
    for line in text.split("\n"):
        if "-->" in line and any("-->" in before for before in block):
            counter = [block.pop()] if block[-1].strip().isdigit() else []
            yield block
            block = counter
        if line.strip():
            block.append(line)
        elif block:
            yield block
            block = []
    if block:
        yield block


def _cues(block: list[str], unread: Unread) -> Iterator[Cue]:
    at = next((at for at, line in enumerate(block[:2]) if "-->" in line), None)
    if at is None:
        kind = block[0].split(maxsplit=1)[0].rstrip(":")
        if kind in ("NOTE", "STYLE", "REGION"):
            unread[f"{kind} block"] += 1
        elif kind != "WEBVTT":
            unread[f"lines without a timing, such as {block[0].strip()[:40]!r}"] += 1
        elif len(block) > 1:
            unread[f"header {block[1].strip()[:40]!r}"] += 1
        return
    timing = _TIMING.fullmatch(block[at])
    if timing is None:
        unread[f"cue with the timing {block[at].strip()[:40]!r}"] += 1
        return
    parts = timing.groups()
    start, end = _seconds(parts[:4]), _seconds(parts[4:])
    if at and not block[0].strip().isdigit() and " " in block[0].strip():
        unread[f"name of a cue {block[0].strip()[:40]!r}"] += 1
    cue = Cue(start, end, "", "")
    for line in block[at + 1 :]:
        for voice, part in _voices(line):
            is_turn = _DASH.search(part) is not None or _SOUND.fullmatch(part) is not None
            said = " ".join(html.unescape(_TAG.sub("", _DASH.sub("", part))).split())
            named = _NAMED.match(said) if not voice else None
            name = named[1] if named else voice
            said = said[named.end() :] if named else said
            if (name and name != cue.speaker) or is_turn:
                if cue.text:
                    yield cue
                cue = Cue(start, end, name, "", is_turn, is_guess=named is not None)
            cue = cue._replace(text=f"{cue.text} {said}".strip())
    if cue.text:
        yield cue


def _without_labels(cues: list[Cue]) -> list[Cue]:
    """The cues with the speaker in the text where it is no name: not in capitals, and before one colon of the file only.

    Beside other names, two words with capitals are one, too.
    """
    names = Counter(cue.speaker for cue in cues if cue.is_guess)
    has_names = any(count > 1 for count in names.values())
    return [
        cue._replace(speaker="", text=f"{cue.speaker}: {cue.text}")
        if cue.is_guess
        and names[cue.speaker] == 1
        and not (cue.speaker.isupper() or (has_names and _FULL_NAME.fullmatch(cue.speaker)))
        else cue
        for cue in cues
    ]


def _seconds(parts: tuple[str | None, ...]) -> float:
    hours, minutes, seconds = (int(part or 0) for part in parts[:3])
    return hours * 3600 + minutes * 60 + seconds + float(f"0.{parts[3]}")


def _voices(line: str) -> Iterator[tuple[str, str]]:
    """The parts of a line with their ``<v Name>``; the name is empty before the first one."""
    at, name = 0, ""
    for voice in _VOICE.finditer(line):
        if line[at : voice.start()].strip(" \t-–—>"):
            yield name, line[at : voice.start()]
        name, at = clean_title(html.unescape(voice[1])), voice.end()
    if line[at:].strip():
        yield name, line[at:]


def _paragraphs(cues: list[Cue]) -> tuple[str, list[int]]:
    """The text, and the offset in it at which each cue begins. A cue that repeats the one before adds its new words only."""
    parts: list[str] = []
    starts: list[int] = []
    size = length = 0  # of the text, and of the paragraph
    before: Cue | None = None
    for cue in cues:
        said = cue.text
        is_new = before is None or cue.is_turn or bool(cue.speaker and cue.speaker != before.speaker)
        if before is not None and not is_new:
            said = _fresh(before.text, said)
            pause = cue.start - before.end
            is_new = pause >= _PAUSE or (length >= _LONG and before.text.rstrip("\"'”’")[-1:] in ".!?。")
        speaker = cue.speaker or (before.speaker if before and not cue.is_turn else "")
        lead = f"{speaker}: " if is_new and speaker else ""
        gap = "" if not parts else "\n\n" if is_new else " "
        starts.append(size + (len(gap) if said else 0))
        if said:
            parts.append(f"{gap}{lead}{said}")
            size += len(parts[-1])
            length = len(said) if is_new else length + len(said) + 1
        before = cue._replace(speaker=speaker)
    return "".join(parts), [min(start, max(0, size - 1)) for start in starts]


def _fresh(before: str, said: str) -> str:
    """The words of a cue that the one before did not show yet: rolled-up captions repeat their last line."""
    if said == before:
        return ""
    words, last = said.split(), before.split()
    most = min(len(words), len(last), 30)
    same = next((count for count in range(most, 2, -1) if last[-count:] == words[:count]), 0)
    return " ".join(words[same:])


def _minutes(cues: list[Cue], starts: list[int], count: int) -> tuple[int, ...]:
    """The offset of the first cue of each minute; a minute without a cue begins where the next one does."""
    pages: list[int] = []
    for cue, start in zip(cues, starts, strict=True):
        if int(cue.start // 60) >= len(pages):
            pages += [start] * (int(cue.start // 60) + 1 - len(pages))
    return (0, *pages[1:count]) if pages else ()


FORMATS = (
    FileFormat("srt", suffixes=(".srt",), read=partial(read_cues, kind="srt")),
    FileFormat("vtt", suffixes=(".vtt",), read=partial(read_cues, kind="vtt")),
)
