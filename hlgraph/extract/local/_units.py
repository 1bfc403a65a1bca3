"""Split a chunk into units, the spans that become one proposition each, and find dates, numbers and quotes in them.

:func:`units` removes layout. :func:`values` and :func:`quoted` find mentions, and :func:`without_overlaps` merges them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import zip_longest
from typing import NamedTuple

from hlgraph.extract.local._lexicon import LISTS, MONTHS, ORDINARY
from hlgraph.extract.wording import MONTH_PATTERN
from hlgraph.read.print_order import CAPTION, CONTENTS
from hlgraph.text import (
    BOXES,
    ITEM,
    LETTERED,
    STRUCK,
    Block,
    BlockKind,
    Context,
    block_sentences,
    blocks,
    is_lead,
    is_separator,
    plain,
    speaker,
)


class Unit(NamedTuple):
    """A span of a chunk that becomes one proposition.

    Attributes
    ----------
    start, end : span in the chunk
    text : its words without layout
    heading : the deepest heading above it
    kind : kind of the block that it comes from
    is_open : its first pronoun refers to another thing than the title, or may do so; it states no fact about the title
    bracket : span in ``text`` of the antecedent that it does not have in the chunk; empty if there is none
    edition : the deepest heading above it that is a version or a date; empty if there is none
    own : offset in ``text`` of the words of an item, after the lead-in of its list and the items above it
    """

    start: int
    end: int
    text: str
    heading: str
    kind: BlockKind = BlockKind.PROSE
    is_open: bool = False
    bracket: tuple[int, int] = (0, 0)
    edition: str = ""
    own: int = 0


_HAS_WORD = re.compile(r"[^\W_]")
_ONLY_REMARK = re.compile(r"(?:\[[ xX]\] )?[(\[][^()\[\]]*[)\]][.:;,]?")
_HAS_LETTER = re.compile(r"[^\W\d_]{2}")
_LEADER = re.compile(r"[ \t]?(?:\.[ \t]?){6,}+")  # the dots between a heading and its page, or a thing and its price
_ENTRY = re.compile(rf"{_LEADER.pattern}\s*(?:\d{{1,4}}|[ivxlcIVXLC]{{1,7}})?[ \t]*(?:\n|\Z)")
_LISTED = re.compile(r"(?:\A|[^:\s]\s+)(?:\d{1,4}|[ivxlc]{1,7})\Z")
# A tick or a cross is one of the words.
_MARKER = re.compile(rf"(?![✅✓-✘❌])(?:{ITEM.pattern}|{LETTERED.pattern})\s*")
# Of an item, before what it says of it.
_TERM = re.compile(r"\s*([^\s.:;!?][^.:;!?\n]{0,60}):[*_`]{0,3}\s+(?![a-zß-öø-ÿ])")
_MOST_TERM = 5  # words
_REFERENCES = re.compile(rf"(?:\W|\d)*(?:{'|'.join(LISTS['references'])})\W*", re.IGNORECASE)
_OPEN = re.compile(rf"\b(?:{'|'.join(LISTS['open_ends'])})$", re.IGNORECASE)
_QUOTED_ITEM = re.compile(rf"^[> \t]*>[> \t]*(?![✅✓-✘❌]){ITEM.pattern}\s*", re.MULTILINE)
_UNTICKED = re.compile(r"[☐□] ?[^☐☒☑□■.;:?!|\n]{1,60}(?=[☐□☒☑]|\Z)")  # of a form, beside what is ticked
_TICK = re.compile("[☒☑] ?")
_REPLY = re.compile(r"(?:.{0,90}?: )?(?:Yes|No|Nope|Ja|Nein|Nee|Oui|Non|Sí)\b(?:[,.!;]|\Z| (?!one|longer|more)[a-z])")
_QUOTE_MARK = re.compile(r"(?:^|\n)[ \t]*>[ \t>]*")
# A compound after its hyphen, but not "pre-\\nand"
_DIVIDED = re.compile(r"(?<=[^\W\d_])-\n[ \t>]*(?=[^\W\d_])(?!(?:and|or|to|und|oder|bis|et|ou|y|o|en|of)\b)")
_FENCE_LINE = re.compile(r"^[ \t]*(`{3,}|~{3,})[ \t]*([^`\n]*)$", re.MULTILINE)
_BLANK_LINE = re.compile(r"\n\s*\n")
_ANSWER = re.compile(r"\W*(?:A|Answer|Antwort|Respuesta)\s?\d{0,3}\s?[:.)]", re.IGNORECASE)
_QUESTION = re.compile(r"\W*(?:Q|Question|Frage|Pregunta)\s?\d{0,3}\s?[:.)]", re.IGNORECASE)
# A short heading at the beginning of a paragraph, in emphasis: "**File size.** A file has ..."
_RUN_IN = re.compile(
    r"(\*{1,3}|_{1,2})(?!(?i:yes|no)\b)(?P<name>[^\W\d_](?:(?!\b(?:is|are|was|were|has|have|will|must|may|can|do|does|not)\b)"
    r"[^*_\n.:?!]){1,50})(?:[.:]\1|\1[.:])(?=\s)"
)
_MOST_WORDS = 5  # of such a heading
# The same without emphasis.
_WORD_RUN_IN = re.compile(r"(?!(?:Yes|No)\b)(?P<name>[^\W\d_a-zß-öø-ÿ][^\W\d_]{2,})\.(?=\s)")
_WORD_BEGINS = re.compile(rf"(?:\A|\n\s*\n){_WORD_RUN_IN.pattern}")
_BEFORE = re.compile(r"(?:^|\n)[ \t>*_#-]*\Z")  # between the start of a line and its first word
_AFTER = re.compile(r"[ \t*_]*(?:\n|\Z)")
_NEAR = 500  # characters before and after a line, in which the lines of other speakers are looked for
_TOTAL = re.compile(r"(?:grand )?total\b", re.IGNORECASE)
_DAY = rf"(?:\d{{1,2}} )?(?:(?:{'|'.join(MONTHS)}) (?:\d{{1,2}}, )?)?(?:19|20)\d\d|(?:19|20)\d\d(?:[-/.]\d\d?){{2}}"
_VERSION = r"\[?(?:[Vv]ersion |[Rr]elease |[vV])?\d+(?:\.\w+)+(?:[-+]\w+(?:\.\w+)*)?\]?"
# A heading that is a version or a date: "[1.4.0] - 2024-05-02", "Flask 2.3.1 (3 May 2024)", "Q3 2024".
_EDITION = re.compile(
    r"(?:(?:[A-Za-z'’-]+ )?(?:[Cc]hanges|[Nn]ews|NEWS|[Nn]ew|[Nn]otes) (?:in|of|for|since) )?"  # "Changes in 1.2"
    rf"(?:[A-Za-z][\w.-]* )?(?:{_VERSION}(?:[ ,:/–—-]+\(?(?:[Rr]eleased )?(?:{_DAY})\)?)?|{_DAY})"
    r"(?: \[[A-Za-z]+\])?|\[?Unreleased\]?"
)
_CODE = re.compile(r"(`{1,3})(?!`)[^`\n]{1,500}\1")
_BAR = "\ue001"  # stands for a bar in code
_CELL = re.compile(r"(?<!\\)\||\t")


def units(text: str, headings: tuple[str, ...], *, above: str = "") -> Iterator[Unit]:
    """The units of a chunk, in order: headings, sentences, table rows with their column labels, blocks of code.

    A list item has the lead-in of its list and the items above it in its words, a block of code or an indented line the sentence
    above it that ends in a colon, an answer its question. Rules, fences, headers and
    separator rows of tables, lead-ins, and text without letters or digits are not units.

    Parameters
    ----------
    text : text of the chunk
    headings : headings above its first character, outermost first
    above : what its first block rests on, see :class:`hlgraph.text.Context`

    Returns
    -------
    Iterator
        The units.
    """
    heading = " ".join(plain(headings[-1]).split()) if headings else ""
    edition = next((each for each in reversed(headings) if _EDITION.fullmatch(each)), "")
    size = len(above)
    whole = _closed(above + text)
    for unit in _with_questions(_without_lead_ins(_units(whole, heading, edition)), whole):
        if unit.start >= size:
            yield unit._replace(start=unit.start - size, end=unit.end - size)


def _closed(text: str) -> str:
    """The text of a chunk with the end of the code that goes on in the next chunk."""
    fence = ""
    for match in _FENCE_LINE.finditer(text):
        if not fence:
            fence = match[1]
        elif not match[2] and match[1].startswith(fence):
            fence = ""
    return f"{text}\n{fence}" if fence else text


def _without_lead_ins(parts: Iterable[tuple[Unit, str]]) -> Iterator[Unit]:
    """The units except those that the next one repeats as its lead-in."""
    last: Unit | None = None
    for unit, lead in parts:
        if last is not None:
            is_sentence = last.kind is BlockKind.PROSE or _OPEN.search(last.text) is not None
            is_repeated = is_lead(last.text) and lead.startswith(last.text)
            if not is_repeated and not (is_sentence and lead == f"{last.text}:"):
                yield last
        last = unit
    if last is not None:
        yield last


def _with_questions(parts: Iterable[Unit], text: str) -> Iterator[Unit]:
    """The units, with a question in front of its reply, and of what goes on with it: one sentence if the question is not marked."""
    question: Unit | None = None
    end, is_open = 0, False
    for unit in parts:
        if question is not None:
            if text[unit.start] in BOXES or _is_option(text, unit):
                yield unit._replace(text=f"{question.text} {unit.text}")
                is_open = False
                continue
            if is_open and question.kind is BlockKind.ITEM and unit.text[0] + unit.text[-1] == "()":
                question = question._replace(text=f"{question.text} {unit.text}")
                continue
            is_reply = _ANSWER.match(unit.text) or (question.text[-1:] == "?" and _REPLY.match(unit.text))
            if is_reply if is_open else goes_on(text, end, unit):
                said = unit.text.removeprefix(question.text[: question.own])  # without the lead-in of both
                yield unit._replace(start=question.start if is_open else unit.start, text=f"{question.text} {said}")
                is_short = len(unit.text.rpartition(": ")[2].split()) == 1
                is_last = not _QUESTION.match(question.text) and not (is_open and is_short)
                question, end, is_open = (None if is_last else question), unit.end, False
                continue
            if is_open:
                yield question
            question = None
        if _QUESTION.match(unit.text) or (unit.text[-1:] == "?" and unit.kind in (BlockKind.ITEM, BlockKind.PROSE)):
            question, end, is_open = unit, unit.end, True
        else:
            yield unit
    if question is not None and is_open:
        yield question


def _is_option(text: str, unit: Unit) -> bool:
    """Whether a unit is one of several answers to choose from, whose letters follow each other: "A. Butane"."""
    letter = unit.text[0]
    if unit.text[1:3] not in (". ", ") ") or not "A" <= letter <= "H":
        return False
    near = text[unit.end : unit.end + _NEAR] if letter == "A" else text[max(0, unit.start - _NEAR) : unit.start]
    return re.search(rf"^\s*{'B' if letter == 'A' else chr(ord(letter) - 1)}[.)] ", near, re.MULTILINE) is not None


def goes_on(text: str, end: int, unit: Unit) -> bool:
    """Whether a unit belongs to the paragraph of an answer, and no other speaker begins.

    Parameters
    ----------
    text : text of the chunk
    end : offset at which the answer ends so far
    unit : the next unit
    """
    is_other = _BEFORE.search(text, end, unit.start) and speaker(text, unit.start)
    return not is_other and not _BLANK_LINE.search(text, end, unit.start)


def stands_alone(text: str, unit: Unit) -> bool:
    """Whether a unit is all of its paragraph, but for marks of Markdown.

    Parameters
    ----------
    text : text of the chunk
    unit : one of its units
    """
    before = _BEFORE.search(text, max(0, unit.start - 20), unit.start)
    return before is not None and _AFTER.match(text, unit.end) is not None


def _units(text: str, heading: str, edition: str) -> Iterator[tuple[Unit, str]]:
    """The units, each with the lead-in that its words begin with."""
    level = 0  # of the heading that is the edition; 0 above the chunk
    for unit, lead, own in _of_blocks(text, heading):
        if own and _EDITION.fullmatch(unit.text):
            edition, level = unit.text, own
        elif own and (own <= level or own == 1):
            edition = ""
        if unit.kind is BlockKind.PROSE and _LISTED.search(unit.text) and CONTENTS.fullmatch(unit.heading):
            continue
        yield unit._replace(edition=edition), lead


def _of_blocks(text: str, heading: str) -> Iterator[tuple[Unit, str, int]]:
    """The units, each with the lead-in that its words begin with, and its level if it is a heading, else 0."""
    rows: list[Block] = []
    code: list[Block] = []
    above = ""  # the last sentence of the block above
    caption = ""
    context = Context(text)
    has_words = len(_WORD_BEGINS.findall(text)) > 1
    for block in blocks(text):
        lead = context.above(block)
        is_row = block.kind is BlockKind.ROW or (bool(rows) and is_separator(text[block.start : block.end]))
        if rows and (not is_row or block.is_loose):
            yield from ((unit, "", 0) for unit in _table(text, rows, caption or heading))
            rows, caption = [], ""
        if code and block.kind is not BlockKind.CODE:
            yield from _code(text, code, heading, above)
            code, above = [], ""
        if block.kind is BlockKind.HEADING:
            title = " ".join(plain(block.title).split())
            yield Unit(block.start, block.end, title, heading, BlockKind.HEADING), "", block.level
            heading, above = title, ""
        elif is_row:
            rows.append(block)
            above = ""
        elif block.kind is BlockKind.CODE:
            code.append(block)
        elif block.kind is not BlockKind.RULE:
            lead = " ".join(_lead(line) for line in lead.splitlines() if _HAS_WORD.search(line))
            for unit in _prose(text, block, heading, lead, has_words=has_words):
                is_led = is_lead(above) and not unit.text.startswith(above) and _is_indented(text, unit.start)
                if is_led and block.kind is BlockKind.PROSE:
                    words = unit.text.removeprefix(lead).lstrip()
                    yield unit._replace(text=f"{above} {words}", own=len(above) + 1), above, 0
                else:
                    yield unit, lead, 0
                above = unit.text
            written = text[block.start : block.end]
            if CAPTION.fullmatch(written.strip("*_ ")):
                caption = " ".join(plain(written).split())
            elif written[:1] not in {*"[("}:  # a remark between the caption and the table
                caption = ""
    yield from ((unit, "", 0) for unit in _table(text, rows, caption or heading))
    yield from _code(text, code, heading, above)


def _is_indented(text: str, start: int) -> bool:
    """Whether two blanks or a tab stand between the start of a line and its first word."""
    before = text[text.rfind("\n", 0, start) + 1 : start]
    return before.isspace() and len(before.expandtabs()) > 1


def _lead(line: str) -> str:
    """The words of a lead-in, or of an item above, with the colon that divides them from those of the item."""
    marker = _MARKER.match(line.strip())
    words = _words(line.strip()[marker.end() :] if marker else line)
    return words if not words or words[-1] in ".:：—!?,;" else f"{words}:"


def _chosen(text: str) -> str:
    """A text without the answers of a form that are not ticked, beside those that are: "Smoker? ☐ Yes ☒ No"."""
    bare = _UNTICKED.sub("", text) if "☒" in text or "☑" in text else text
    return text if bare == text else _TICK.sub("", bare)


def _words(text: str) -> str:
    if "-\n" in text:
        text = _DIVIDED.sub("-", text)
    if text[:1] == ">":
        text = _QUOTED_ITEM.sub("", text)
    text = _chosen(text)
    if "...." in text or ". . ." in text:
        text = _LEADER.sub(": ", text)
    return " ".join(plain(_QUOTE_MARK.sub(" ", text) if ">" in text else text).split())


def _prose(text: str, block: Block, heading: str, lead: str, *, has_words: bool) -> Iterator[Unit]:
    """The sentences of a block, each with the heading or the speaker of its line. Tables of contents have no sentences.

    ``has_words``: single words at the beginning of paragraphs are headings.
    """
    marker = _MARKER.match(text, block.start, block.end) if block.kind is BlockKind.ITEM else None
    first = marker.end() if marker else block.start
    rules = (_RUN_IN, _WORD_RUN_IN) if has_words else (_RUN_IN,)
    run_in = next(filter(None, (rule.match(text, first, block.end) for rule in rules)), None)
    if run_in and len(run_in["name"].split()) > _MOST_WORDS:
        run_in = None
    label = f"{_words(run_in['name'])}: " if run_in else _label(text, block)
    is_contents = _ENTRY.search(text, block.start, block.end) is not None
    is_whole = heading != "" and _REFERENCES.fullmatch(heading) is not None
    for start, end in [(block.start, block.end)] if is_whole else block_sentences(text, block):
        if is_contents and (_LEADER.search(text, start, end) or not _HAS_LETTER.search(text, start, end)):
            continue
        if run_in and end <= run_in.end() < block.end:
            continue
        begin = first if start == block.start else start
        words = _words(text[begin:end])
        is_struck = len(words) < end - begin and STRUCK.search(text, begin, end) is not None
        is_remark = _ONLY_REMARK.fullmatch(words) and (is_struck or not _HAS_LETTER.search(words))
        if _HAS_WORD.search(words) and not is_remark:
            kind = BlockKind.ITEM if block.kind is BlockKind.ITEM else BlockKind.PROSE
            whole = f"{lead} {label if start > block.start else ''}{words}".lstrip()
            yield Unit(begin, end, whole, heading, kind, own=len(whole) - len(words) if kind is BlockKind.ITEM else 0)


def _label(text: str, block: Block) -> str:
    """The label of a line, as "BEN: ": the term of an item; a speaker in capitals, or if the line before or after has one."""
    if block.kind is BlockKind.ITEM and (marker := _MARKER.match(text, block.start, block.end)):
        term = _TERM.match(text, marker.end(), block.end)
        words = _words(term[1]).strip("*_") if term else ""
        return f"{words}: " if 0 < len(words.split()) <= _MOST_TERM else ""
    name = speaker(text, block.start)
    if not name or _QUESTION.match(f"{name}:") or _ANSWER.match(f"{name}:"):
        return ""
    before = text[max(0, block.start - _NEAR) : block.start].rstrip().rpartition("\n")[2].lstrip()
    after = text[block.end : block.end + _NEAR].lstrip()
    return f"{name}: " if name.isupper() or speaker(before) or speaker(after) else ""


def _cells(line: str, *, count: int = 0) -> list[str]:
    """The texts of a row; bars in code do not divide it if it has the given number of cells then, and another one otherwise."""
    parts = _CELL.split(line) if "|" in line or "\t" in line else [line]
    if "`" in line and count and len(parts) != count:
        bare = _CODE.sub(lambda code: code[0].replace("|", _BAR), line)
        whole = [part.replace(_BAR, "|") for part in _CELL.split(bare)]
        parts = whole if len(whole) == count else parts
    return [" ".join(plain(_chosen(part).replace("\\|", "|")).split()) for part in parts]


def _table(text: str, rows: list[Block], heading: str) -> Iterator[Unit]:
    """One unit per row, without the header above a separator row, even where a chunk ends below it.

    A row with a first cell alone names the section of those below it, until the next one or a total.
    """
    labels: list[str] = []
    if len(rows) > 1 and is_separator(text[rows[1].start : rows[1].end]):
        labels = _cells(text[rows[0].start : rows[0].end])
        rows = rows[2:]
    section: list[str] = []
    for number, row in enumerate(rows):
        if is_separator(text[row.start : row.end]):
            continue
        cells = _cells(text[row.start : row.end], count=len(labels))
        inner = cells[1:-1] if len(labels) > 3 else []
        if number + 1 < len(rows) and len(inner) > 1 and inner[0] and not any(inner[1:]):
            section = [inner[0].rstrip(":")]
            continue
        pairs = [pair for pair in zip_longest(labels, cells, fillvalue="") if pair[1]]
        named = [f"{label}: {cell}" if label else cell for label, cell in pairs]
        is_pair = not any(labels) and len(named) == 2
        between = " " if is_pair and named[0].endswith(":") else ": " if is_pair and labels else "; "
        words = "; ".join([*section, between.join(named)])
        section = [] if inner and _TOTAL.match(inner[0]) else section
        if _HAS_WORD.search(words):
            yield Unit(row.start, row.end, words, heading, BlockKind.ROW)


def _code(text: str, lines: list[Block], heading: str, above: str) -> Iterator[tuple[Unit, str, int]]:
    """One unit for a block of code without its fences, after the sentence above it if that ends in a colon."""
    lead = f"{above} " if is_lead(above) else ""
    body = [line for line in lines if not text.startswith(("```", "~~~"), line.start)]
    words = " ".join(text[line.start : line.end] for line in body)
    if body and _HAS_WORD.search(words):
        whole = f"{lead}{' '.join(words.split())}"
        yield Unit(body[0].start, body[-1].end, whole, heading, BlockKind.CODE, own=len(lead)), lead.rstrip(), 0


class MentionSpan(NamedTuple):
    """A mention with its span in a sentence."""

    start: int
    end: int
    name: str
    kind: str


def without_overlaps(first: Sequence[MentionSpan], more: Sequence[MentionSpan]) -> list[MentionSpan]:
    """Both lists merged and sorted, without the mentions of ``more`` that overlap one of ``first``.

    Parameters
    ----------
    first : mentions to keep, sorted, without overlaps
    more : mentions to add, sorted, without overlaps

    Returns
    -------
    list
        The mentions, sorted, without overlaps.

    Examples
    --------
    >>> first, more = [MentionSpan(0, 4, "a", "")], [MentionSpan(3, 5, "b", ""), MentionSpan(5, 6, "c", "")]
    >>> [mention.name for mention in without_overlaps(first, more)]
    ['a', 'c']
    """
    merged: list[MentionSpan] = []
    position = 0
    for new in more:
        while position < len(first) and first[position].end <= new.start:
            merged.append(first[position])
            position += 1
        if position == len(first) or new.end <= first[position].start:
            merged.append(new)
    merged.extend(first[position:])
    return merged


_OTHER_MONTHS = "|".join(LISTS["other_months"])
_YEAR = r"(?:1\d{3}|20\d\d)"
_UNITS = "|".join(LISTS["units"])
_SCALE = r"(?:\s(?:thousand|million|billion|trillion)|\s?(?:bn|m|k)\b)?"
# First characters of values: a plain character set is much faster to search for than the pattern itself.
_START = re.compile(r"[\d$€£¥₹]|Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec|AD\s")
_VALUE = re.compile(
    rf"(?<![\w.,/$€£-])(?P<day_first>(?P<d1>\d{{1,2}})(?:st|nd|rd|th)?\.?\s(?:of\s|de\s)?(?P<m1>{MONTH_PATTERN})\b\.?"
    rf"(?:,?\s(?P<y1>{_YEAR})\b)?)"
    rf"|(?<![\w-])(?P<month_first>(?P<m2>{MONTH_PATTERN})\.?\s(?:(?P<d2>\d{{1,2}})(?:st|nd|rd|th)?\b(?!\d)"
    rf"(?:,?\s(?P<y2>{_YEAR})\b)?|(?:of\s)?(?P<y3>{_YEAR})\b))"
    rf"|(?<!\w)(?P<other>\d{{1,2}}\.?\s(?:de\s)?(?:{_OTHER_MONTHS})\s(?:de\s)?{_YEAR})\b"
    rf"|(?<![\w.-])(?P<digits>{_YEAR}-\d\d-\d\d|\d{{1,2}}/\d{{1,2}}/\d{{4}}|\d{{1,2}}\.\d{{1,2}}\.\d{{4}})(?![\w-])"
    r"|(?<!\d)(?P<cjk>\d{2,4}年(?:\d{1,2}月(?:\d{1,2}日)?)?)"
    rf"|(?<![\w.])(?P<number>[$€£¥₹]\s?\d[\d,.]{{0,20}}(?<![,.]){_SCALE}"
    rf"|\d[\d,.]{{0,20}}(?<![,.])(?:\s(?:million|billion|trillion))?[\s-]?(?:{_UNITS})(?![\w/]))"
    r"|(?<![\w.,-])(?P<era>\d{1,4}\s(?:BCE?|CE|AD)\b|AD\s\d{1,4}\b|\d{1,2}(?:st|nd|rd|th)[\s-]century(?:\sBCE?)?|(?:1\d|20)\d0s\b)"
    rf"|(?<![\w.,$€£#:/+])(?P<year>{_YEAR})(?![\w:/%]|[.,]\d)"
)
_COUNTS = re.compile(r"(?:^|[ ;])(?!Years|Dates|Seasons|Series)[^\W\d_]{2,}[^\Wisu]s: $")  # Ferries: 1200
_LONGEST_COUNTS = 40
_SIGN = re.compile(r"(?:^|[ (])([-−])$")
_COUNTED = re.compile(r"\s(?:[a-z]+[a-rt-z]s|people|men|women|children)\b")
_YEAR_CUE = re.compile(
    r"(?:\b(?:in|since|from|until|till|by|of|to|and|during|before|after|early|late|mid|circa|year|around|the|between)|[(–,—-]|\bc\.)\s?$",
    re.IGNORECASE,
)
_QUOTED = re.compile(
    r"“\s?(?P<a>[^“”]{1,90})\s?”|\"\s?(?P<b>[^\"]{1,90}?)\s?\"|``\s?(?P<c>[^`']{1,90}(?:'[^`']{1,60})?)\s?''"
    r"|«\s?(?P<d>[^«»]{1,90}?)\s?»|„(?P<e>[^„“”]{1,90})[“”]|‘(?P<f>[A-Z][^‘’]{1,60})’(?!\w)"
    r"|《(?P<g>[^《》]{1,60})》|〈(?P<h>[^〈〉]{1,60})〉|『(?P<i>[^『』]{1,60})』|「(?P<j>[^「」]{1,30})」"
)
_QUOTES = re.compile('[“"`«„‘《〈『「]')
_DIGIT = re.compile(r"\d")
_LETTER = re.compile(r"[^\W\d_]")
_EDGE = " \t,.;:"


def values(text: str) -> list[MentionSpan]:
    """Dates, years and numbers with a unit, in order.

    English dates with a month name are normalised (``20 June 2010``), so that texts with different notations mention the
    same entity. A month without a day or a year is not a mention.

    Examples
    --------
    >>> [(value.name, value.kind) for value in values("On June 20, 2010 it had 1500 seats and cost $2.5 million.")]
    [('20 June 2010', 'date'), ('$2.5 million', 'number')]
    """
    if not _DIGIT.search(text):
        return []
    result = []
    for match in _matches(text):
        group = match.lastgroup or ""
        name = match.group()
        if match["day_first"]:
            name = _date(match["d1"], match["m1"], match["y1"])
        elif match["month_first"]:
            name = _date(match["d2"], match["m2"], match["y2"] or match["y3"])
        elif match["year"] and _is_count(text, match):
            continue
        kind = "number" if group == "number" else "date"
        sign = _SIGN.search(text, max(0, match.start() - 2), match.start()) if kind == "number" else None
        start = sign.start(1) if sign else match.start()
        result.append(MentionSpan(start, match.end(), " ".join(f"{text[start : match.start()]}{name}".split()), kind))
    return result


def _matches(text: str) -> Iterator[re.Match[str]]:
    start = _START.search(text)
    while start:
        match = _VALUE.match(text, start.start())
        if match:
            yield match
        start = _START.search(text, match.end() if match else start.end())


def _date(day: str | None, month: str, year: str | None) -> str:
    full = next(name for name in MONTHS if name.startswith(month[:3]))
    return " ".join(part for part in (str(int(day)) if day else "", full, year or "") if part)


def _is_count(text: str, match: re.Match[str]) -> bool:
    """Whether a number between 1000 and 2099 counts things: "1500 people"."""
    is_labelled = _COUNTS.search(text, max(0, match.start() - _LONGEST_COUNTS), match.start())
    if is_labelled and text[match.end() : match.end() + 1] in ("", ";"):
        return True  # the label of a cell
    if not _COUNTED.match(text, match.end()):
        return False
    return not _YEAR_CUE.search(text, max(0, match.start() - 12), match.start())


def quoted(text: str) -> list[MentionSpan]:
    """Quoted or bracketed titles, in order: short, written like a name, not a sentence.

    Examples
    --------
    >>> [mention.name for mention in quoted('He wrote "The Bourne Betrayal," said "no" and read 《红楼梦》.')]
    ['The Bourne Betrayal', '红楼梦']
    """
    if not _QUOTES.search(text):
        return []
    titles = []
    for match in _QUOTED.finditer(text):
        name = " ".join(match[match.lastgroup or 0].split()).strip(_EDGE)
        if _is_title(name, is_bracketed=match.lastgroup in ("g", "h", "i", "j")):
            kind = "work" if " " in name or match.lastgroup in ("g", "h", "i") else ""
            titles.append(MentionSpan(match.start(), match.end(), name, kind))
    return titles


def _is_title(name: str, *, is_bracketed: bool) -> bool:
    """Whether quoted words are written like a name: most long words have a capital, and there is no sentence inside."""
    if not _LETTER.search(name) or any(stop in name for stop in "。！？!?;"):
        return is_bracketed and bool(name) and name[-1] in "！？!?" and "。" not in name and len(name) > 1
    parts = name.split()
    if len(parts) > 10 or (len(parts) == 1 and name.lower() in ORDINARY):
        return False
    first = parts[0][0]
    if first.islower():
        return False
    if not first.isupper() and not first.isdigit():
        return len(name) <= 20  # no capitals in this script
    long_words = [part for part in parts if len(part) > 3 and part[0].isalpha()]
    return 2 * sum(part[0].isupper() for part in long_words) > len(long_words) or (not long_words and len(parts) < 5)
