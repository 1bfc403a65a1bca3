"""Undoes what printing does to a text: words divided at the ends of lines, headings and paragraphs that only their looks tell, and
right-to-left text in the order of its places."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import groupby, pairwise
from typing import NamedTuple, TypeAlias

CELL_BREAK = "\ue000"
"""Stands for a line break in a table cell after a hyphen, until :func:`rejoined` has seen the whole document."""

CAPTION = re.compile(
    r"(?:table|figure|fig\.|tab\.|tabelle|abbildung|abb\.|tableau|tabla|cuadro|figura|tabella|tabela|tabel|figuur|chart)"
    r"\s\d+(?:[.-]\d+)*[.:]?(?:\s.{0,200})?",
    re.IGNORECASE | re.DOTALL,
)
"""What stands above a table or below a picture: its number and what it shows."""

CONTENTS = re.compile(
    r"(?i:(?:table of )?contents|inhalt(?:sverzeichnis|sübersicht)?|table des matières|sommaire|índice|indice|sommario|sumário"
    r"|inhoud(?:sopgave)?|spis treści|содержание|оглавление|目次|目录)\W*"
)
"""The heading of a table of contents, whose lines end with the numbers of pages."""

_SPLIT = re.compile(
    rf"([^\W_]+)([-\u2010\u2011\u00ad])(?:\n[^\S\n]*|{CELL_BREAK})([^\W_]+)((?:(?!-\n)[^\s|])*)[^\S\n]?"
)
_END = re.compile(f"[-\u2010\u2011\u00ad][\n{CELL_BREAK}]")
_TOKEN = re.compile(r"[^\W_]++(?:[-\u2010\u2011][^\W_]++)*+")
_HYPHEN = re.compile("[-\u2010\u2011]")
# After these a hyphen stands for a part that follows later: pre- and post-war.
_JOINS = frozenset(["and", "or", "nor", "und", "oder", "bzw", "et", "ou", "y", "o", "e", "en", "of", "og", "och"])
_SOFT = "\u00ad"


def rejoined(pages: Sequence[str]) -> list[str]:
    """Pages whose words that are divided at the end of a line are whole again, in time linear in their length.

    The document itself is the lexicon. A hyphen goes if the joined word occurs elsewhere, or if one part occurs nowhere else as a
    word. It stays if the word occurs elsewhere with it, if both parts occur as words, and before capitals and digits.

    Parameters
    ----------
    pages : texts with line breaks

    Examples
    --------
    >>> rejoined(["Its capa-\\nbilities set a price-\\ndetermining limit. The price is a determining factor."])
    ['Its capabilities\\nset a price-determining\\nlimit. The price is a determining factor.']
    """
    pages = [*pages]
    for at, (page, after) in enumerate(pairwise(pages)):
        rest = re.match(r"[^\W\d_A-Z]\S*\s?", after)
        if rest and page.endswith(("-", _SOFT)) and page[-2:-1].isalpha():  # a word that is divided between the pages
            pages[at : at + 2] = f"{page}\n{rest[0].rstrip()}", after[rest.end() :]
    divided = [at for at, page in enumerate(pages) if _END.search(page)]
    if not divided:
        return [page.replace(_SOFT, "") for page in pages]
    words: Counter[str] = Counter()
    compounds: set[str] = set()
    for page in pages:
        words.update(_TOKEN.findall(page.casefold()))
    for token in [token for token in words if not token.isalnum()]:
        parts = _HYPHEN.split(token)
        for part in parts:
            words[part] += words[token]
        compounds.update(f"{left}-{right}" for left, right in pairwise(parts))
    for at in divided:
        for match in _SPLIT.finditer(pages[at]):
            words[match[1].casefold()] -= 1
            words[match[3].casefold()] -= 1

    def whole(match: re.Match[str]) -> str:
        left, mark, right, rest = match.groups()
        first, second = left.casefold(), right.casefold()
        is_cell = match[0][len(left) + 1] == CELL_BREAK
        if second in _JOINS and mark != _SOFT and not rest.strip(",;"):
            return match[0].replace(CELL_BREAK, " ")
        is_compound = f"{first}-{second}" in compounds or (words[first] > 0 and words[second] > 0)
        is_number = left[-1].isdigit() and right[0].isdigit()
        mark = "-" if mark == _SOFT and is_number else mark
        is_joined = mark == _SOFT or words[first + second] > 0 or not (is_compound or _keeps_hyphen(left, right))
        end = match[0][-1] if match[0][-1].isspace() else ""
        return f"{left}{'' if is_joined else mark}{right}{rest}{end if is_cell or not end else chr(10)}"

    for at in divided * 2:  # a word may be divided twice
        pages[at] = _SPLIT.sub(whole, pages[at])
    return [page.replace(CELL_BREAK, " ").replace(_SOFT, "") for page in pages]


_MOST_ROUNDS = 4
_SIGN = re.compile(r"^[^\S\n]*[\uf020-\uf0ff][^\S\n]+(?=\S)|^[^\S\n]*[\uf020-\uf0ff][^\S\n]*\n(?=\S)", re.MULTILINE)


def with_bullets(page: str) -> str:
    """A page whose bullets of symbol fonts are those of Unicode, and whose bullets of the second level are "o" no longer.

    Examples
    --------
    >>> with_bullets("It has:\\n\uf0b7 pumps:\\no Two of them\\nin red\\no One spare")
    'It has:\\n• pumps:\\n  ◦ Two of them\\nin red\\n  ◦ One spare'
    """
    lines = _SIGN.sub("• ", page).split("\n")
    above, is_inner = "", False
    for at, line in enumerate(lines):
        if line[:2] == "o " and (
            is_inner or above[-1:] in {*".:;)"} or above[:1] == "•" or (not above and line[2:3].isupper())
        ):
            lines[at], is_inner = f"  ◦ {line[2:].lstrip()}", True
        elif not line or line[0] in "•#":
            is_inner = False
        above = line
    return "\n".join(lines)


_EDGE = 3  # lines at the top and at the bottom of a page
_NUMBER = re.compile(r"\d{1,5}|\b[ivx]{1,7}\b")
_MOST_NUMBERS = 6  # in a line
_OFTEN = 3  # pages
_FEWEST = 3  # words of a running line with a number that grows: "Step 2" is a heading
_BESIDE_NUMBER = re.compile(r"(\d{1,4}) ([^\W\d_].{3,80})|([^\W\d_].{3,80}) (\d{1,4})")
_LOOKED_AT = 5  # pages on which a title is looked for
_WORDS = re.compile(r"[^\W\d_]+")
_PAGE_WORDS = frozenset(
    re.findall(r"\w+", "page pages seite p pp pg pág página páginas pagina sida side strona of von de sur di van av z")
)


def without_running_lines(pages: Sequence[str]) -> list[str]:
    """Pages with each line that runs along their tops or bottoms once, as a paragraph, and without the numbers of pages.

    Such a line is the same on at least two pages, and on three or a third of them, but for a number that grows as the pages do.
    One with the number of its page beside words that stand on another page, such as the title, runs, too.

    Parameters
    ----------
    pages : texts with line breaks; rows of tables do not count

    Examples
    --------
    >>> without_running_lines(["Annual report\\nIt was dry.\\nPage 1 of 2", "Annual report\\nIt was wet.\\nPage 2 of 2"])
    ['Annual report\\n\\nIt was dry.', 'It was wet.']
    """
    known: set[_Sign] = set()
    for number in range(_MOST_ROUNDS):  # a header that is drawn after the footer is farther from the edge
        before, pages = pages, _without_outermost(pages, known, is_first=not number)
        if [*before] == pages:
            break
    return [*pages]


_Sign: TypeAlias = tuple[str, int | None]
"""A line that may run, or one without a number that grows as the pages do, and the difference between them."""


def _without_outermost(pages: Sequence[str], known: set[_Sign], *, is_first: bool) -> list[str]:
    """Pages without those of their outermost lines that run; later ones are numbers of pages, or among those ``known`` to run."""
    edges = [dict(_edges(page.split("\n"), at)) for at, page in enumerate(pages)]
    counts = Counter(sign for signs in edges for sign in {sign for each in signs.values() for sign in each})
    running = {sign for sign, count in counts.items() if count > 1 and count >= min(_OFTEN, len(pages) / 3)}
    numbers = {sign for sign in counts if _is_number_of_page(*sign)}
    titled = _titled(pages, edges, {offset for _, offset in numbers}) if numbers else {}
    running.update(sign for sign in numbers if sign[1] in titled.values())
    named = {line for line, _ in running & numbers if line != "#"}  # "page #", by Roman numerals on the first pages
    running.update(sign for sign in numbers if sign[0] in named)
    running = running if is_first else running & numbers | known & counts.keys()
    known |= running
    if not running:
        return [*pages]
    seen: set[_Sign] = set()
    kept, above = list[str](), list[str]()
    for at, (page, signs) in enumerate(zip(pages, edges, strict=True)):
        lines = page.split("\n")
        for place, each in signs.items():
            own = running.intersection(each)
            if (at, place) in titled or (own and (own & seen or any(_is_number_of_page(*sign) for sign in own))):
                lines[place] = ""
            elif own and (_ends_open(lines, place) or (kept and _parts_sentence(kept[-1], lines, place))):
                above.append(lines[place])
                lines[place] = ""
            elif own:
                lines[place] = f"\n{lines[place]}\n"
            seen |= own
        kept.append(re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip("\n"))
    return ["\n\n".join([*above, kept[0]]), *kept[1:]]


def _parts_sentence(before: str, lines: Sequence[str], place: int) -> bool:
    """Whether the first line of a page stands between the two parts of a sentence that begins on the page before."""
    is_first = not any(line.strip() for line in lines[:place])
    rest = next((line.strip() for line in lines[place + 1 :] if line.strip()), "")
    return is_first and rest[:1].islower() and before[-1:] not in {*".!?:|"}


def _ends_open(lines: Sequence[str], place: int) -> bool:
    """Whether the last line of a page stands below a sentence that goes on on the next page."""
    before = next((line.strip() for line in reversed(lines[:place]) if line.strip()), ".")
    is_last = not any(line.strip() for line in lines[place + 1 :])
    return is_last and (before[-1].isalpha() or before[-1] == ",") and len(before) > _NARROW


_NARROW = 32  # characters; a shorter line is no part of a paragraph


def _edges(lines: Sequence[str], page: int) -> Iterator[tuple[int, list[_Sign]]]:
    """The lines at the edges of a page and of its tables: the place of each, with the forms in which it may run over pages.

    These are the line, if it is at an edge of the page, and the line without a number that may grow as the pages do, with their
    difference. A line that is a sentence does not run.
    """
    shown = [place for place, line in enumerate(lines) if line.strip()]
    parts = [list(part) for is_row, part in groupby(shown, key=lambda place: "|" in lines[place]) if not is_row]
    outer = {*parts[0][:_EDGE], *parts[-1][-_EDGE:]} if parts else set()
    for place in sorted({place for part in parts for place in (*part[:_EDGE], *part[-_EDGE:])}):
        line = " ".join(lines[place].split())
        words = _WORDS.findall(line.casefold())
        if len(words) >= _FEWEST and line[-1] in ".!?;,:":
            continue
        numbers = list(_NUMBER.finditer(line))[:_MOST_NUMBERS]
        own = [(f"{line[: each.start()]}#{line[each.end() :]}", _number(each[0]) - page) for each in numbers]
        is_title = len(words) >= _FEWEST
        yield (
            place,
            [
                *([(line, None)] if words and place in outer else []),
                *(sign for sign in own if is_title or _is_number_of_page(*sign)),
            ],
        )


def _number(text: str) -> int:
    """The value of digits or of a Roman numeral."""
    if text.isdecimal():
        return int(text)
    values = [_ROMAN[sign] for sign in text]
    return sum(-value if value < after else value for value, after in pairwise([*values, 0]))


_ROMAN = {"i": 1, "v": 5, "x": 10}


def _titled(
    pages: Sequence[str], edges: Sequence[dict[int, list[_Sign]]], offsets: set[int | None]
) -> dict[tuple[int, int], int]:
    """The first and last lines that have the number of their page beside words of another page: by page and line, the offset.

    ``offsets`` are those of numbers of pages that stand alone. A line that another page has with its number is a numbered heading.
    """
    wholes: list[str] = []
    titled: dict[tuple[int, int], int] = {}
    for at, signs in enumerate(edges):
        for place in {*list(signs)[:1], *list(signs)[-1:]}:
            line = _BESIDE_NUMBER.fullmatch(" ".join(pages[at].split("\n")[place].split()).casefold())
            offset = int(line[1] or line[4]) - at if line else None
            if line is None or offset is None or offset not in offsets:
                continue
            wholes = wholes or [" ".join(page.split()).casefold() for page in pages[:_LOOKED_AT]]
            others = [whole for number, whole in enumerate(wholes) if number != at]
            if any((line[2] or line[3]) in whole for whole in others) and not any(line[0] in whole for whole in others):
                titled[at, place] = offset
    return titled


def _is_number_of_page(line: str, offset: int | None) -> bool:
    return offset is not None and is_page_word(line)


def is_page_word(text: str) -> bool:
    """Whether the words of a text stand beside the number of a page, and nothing else: "Page 3 of 9", "Seite".

    Parameters
    ----------
    text : a line at the edge of a page
    """
    return _PAGE_WORDS.issuperset(_WORDS.findall(text.casefold()))


def _keeps_hyphen(left: str, right: str) -> bool:
    return left[-1].isdigit() or right[0].isdigit() or (right[0].isupper() and not left.isupper())


# Headings and paragraphs.


class PrintedLine(NamedTuple):
    """A line as it is printed.

    Attributes
    ----------
    text : its words
    height : of its characters, in points; the smaller one of its first and its last
    is_bold : whether its first and its last character are bold
    top : its distance from the bottom of the page
    parts : the two texts that a wide gap parts, such as the sender and the date of a letter; none if it is one text
    is_apart : whether it has such a gap, as the header of a table has, too
    """

    text: str
    height: float
    is_bold: bool
    top: float
    parts: tuple[str, ...] = ()
    is_apart: bool = False


_LARGER = 1.12  # of a heading, beside the text
_WIDER = 0.35  # of the height of a line: what a gap between paragraphs is wider than one between lines
_LEAST_USUAL = 0.15  # of all gaps
_LONGEST_HEADING, _MOST_IN_HEADING = 100, 14  # characters, words
_NUMBERED = re.compile(
    r"(?:(?i:chapter|section|part|appendix|annex|article|kapitel|teil|anlage) )?\d{1,2}((?:\.\d{1,2}){0,4})\.?\s+\S"
)
_ROMAN_TITLE = re.compile(r"[IVX]{1,5}\. (?=.*[A-ZÀ-ÖØ-Þ]{4})[^a-zß-öø-ÿ.;]{4,80}")  # of a paper: "IV. RESULTS"
_BULLETED = re.compile("[•▪◦‣●✓✔✗✘\uf020-\uf0ff]")
NO_HEADING = re.compile(
    rf"{CAPTION.pattern}|.*\S :\s.*\d.*|.*:\s.*:\s.*|[^\d:]{{2,40}}: \W?\d[\d.,]*[.,]\d\d\d?\b.{{0,4}}"
    "|note|tip|warning|caution|important|attention|hinweis|tipp|achtung|warnung|vorsicht|wichtig|remarque|astuce|avertissement"
    "|nota|aviso|consejo|advertencia|attenzione|avvertenza|suggerimento|opmerking|waarschuwing",
    re.IGNORECASE,
)
"""What stands beside a picture or heads a box of one paragraph, and not the text below it; and names with their values."""

_FINISHED = (".", "!", ":", ";", ",", "-", "…")
_MOST_LINES = 3  # of a heading
_MOST_OF_TITLE, _LARGE = 5, 1.5  # lines of one in characters that are so much larger than the text
_DEEPEST = 6


def with_headings(pages: Sequence[str], printed: Sequence[Sequence[PrintedLine]]) -> list[str]:
    """Pages whose headings are those of Markdown, and whose paragraphs have blank lines between them.

    A heading is a short line in larger or bold characters that does not end as a sentence does. Its level is the rank of its
    characters among those of all headings, and the depth of its number. Rows of tables stay.

    Parameters
    ----------
    pages : texts with line breaks
    printed : how the lines of each page look, in any order

    Examples
    --------
    >>> lines = [PrintedLine("2 Use", 14, True, 700), PrintedLine("It runs.", 10, False, 684)]
    >>> with_headings(["2 Use\\nIt runs."], [lines])
    ['# 2 Use\\n\\nIt runs.']
    """
    drawn = Counter(text for lines in printed for text in {_letters(line.text) for line in lines})
    shown = Counter(_letters(line) for page in pages for line in page.split("\n"))
    running = {text for text, count in drawn.items() if count >= _OFTEN > shown[text]}  # shown once, on the first page
    heads = {
        line.text for lines in printed for line in lines if line.is_apart and drawn[_letters(line.text)] > 1
    }  # of tables
    printed = [
        [
            line._replace(is_bold=line.is_bold and line.text not in heads)
            for line in lines
            if _letters(line.text) not in running
        ]
        for lines in printed
    ]
    every = [line for lines in printed for line in lines]
    if not every:
        return [*pages]
    looks = Counter[tuple[float, bool]]()
    for line in every:
        looks[_size(line), line.is_bold] += len(line.text)
    sizes = Counter[float]()
    for (size, _), count in looks.items():
        sizes[size] += count
    body = (
        max(sizes, key=lambda size: (sizes[size], size)),
        sum(looks[look] for look in looks if look[1]) * 2 > looks.total(),
    )
    ranks = sorted({(-_size(line), not line.is_bold) for line in every if _is_heading(line, body)})
    gaps = Counter(
        round((above.top - line.top) / line.height, 1)
        for lines in printed
        for above, line in pairwise(lines)
        if _size(above) == _size(line) and 0 < above.top - line.top < 3 * line.height
    )
    usual = min((gap for gap, count in gaps.items() if count >= _LEAST_USUAL * gaps.total()), default=1.2)
    return [
        _with_headings(page, lines, body, ranks, usual) if lines else page
        for page, lines in zip(pages, printed, strict=True)
    ]


def with_own_numbers(pages: Sequence[str], printed: Sequence[Sequence[PrintedLine]]) -> list[str]:
    """Pages whose number stands on a line of its own, where one of their first or last lines has it beside a running word.

    Parameters
    ----------
    pages : texts with line breaks
    printed : how the lines of each page look
    """
    beside = [
        {"".join(line.text.split()): line.parts for line in lines if any(map(is_page_number, line.parts))}
        for lines in printed
    ]
    counts = Counter(part for own in beside for parts in own.values() for part in {*parts} if not is_page_number(part))
    parted = []
    for page, own in zip(pages, beside, strict=True):
        lines = page.split("\n")
        for at in {*range(len(lines))[:_EDGE], *range(len(lines))[-_EDGE:]} if own else ():
            parts = own.get("".join(lines[at].split()), ())
            if any(counts[part] > 1 for part in parts):
                lines[at] = "\n".join(parts)
        parted.append("\n".join(lines))
    return parted


_PAGE = re.compile(r"(?:(?:[^\W\d_]{1,6}\.? )?\d{1,4}(?: ?(?:/|of|von|de|sur|van) ?\d{1,4})?)")


def is_page_number(text: str) -> bool:
    """Whether a text is the number of a page, such as "Page 3 of 9".

    Parameters
    ----------
    text : words at a side of a page

    Examples
    --------
    >>> [is_page_number(text) for text in ("3", "Page 3 of 9", "Balance 1,204.11")]
    [True, True, False]
    """
    return _PAGE.fullmatch(text) is not None


def _size(line: PrintedLine) -> float:
    return round(line.height * 2) / 2


def _is_heading(line: PrintedLine, body: tuple[float, bool]) -> bool:
    """Whether a line is a heading beside text of a size that is bold or not."""
    is_other = _size(line) >= _LARGER * body[0] or (line.is_bold and not body[1] and _size(line) >= body[0])
    words = line.text.split()
    is_short = len(line.text) <= _LONGEST_HEADING and len(words) <= _MOST_IN_HEADING
    has_word = _WORDS.search(line.text) is not None and sum(map(str.isalpha, line.text)) > 2
    is_title = (is_other and has_word and not line.text.endswith(_FINISHED)) or _ROMAN_TITLE.fullmatch(line.text)
    is_one = not line.parts or (is_page_number(line.parts[0]) and not is_page_number(line.parts[1]))  # "3    Finance"
    return bool(is_title) and is_short and is_one and not NO_HEADING.fullmatch(line.text)


def _with_headings(
    page: str,
    printed: Sequence[PrintedLine],
    body: tuple[float, bool],
    ranks: Sequence[tuple[float, bool]],
    usual: float,
) -> str:
    places: dict[str, list[int]] = {}
    for number, each in enumerate(printed):
        places.setdefault(_letters(each.text), []).append(number)
    blocks = _blocks(printed, body, usual)
    shown: list[str] = []
    last = -2  # the printed line of the last one, and its level as a heading
    level, rank = 0, -1
    item: tuple[float, bool] | None = None  # how the item of a list looks that the last line is part of
    for text in page.split("\n"):
        own = places.get(_letters(text)) if text[:1] != "|" else None
        at = own.pop(0) if own else -2
        line = printed[at] if own is not None and at >= 0 else None
        before, level = rank if level else -1, 0
        look = (_size(line), line.is_bold) if line is not None else None
        if line is not None and _BULLETED.match(line.text):
            item = look
        elif at != last + 1 or look != item or _gap(printed, at) >= usual + _WIDER:
            item = None
        is_heading = at not in blocks and item is None and not _goes_on(printed, at, body, usual)
        if line is not None and is_heading and _is_heading(line, body):
            numbered = _NUMBERED.match(line.text)
            rank = ranks.index((-_size(line), not line.is_bold))
            level = min(_DEEPEST, 1 + rank + (numbered[1].removesuffix(".0").count(".") if numbered else 0))
            is_rest = before == rank and at == last + 1 and not numbered and _gap(printed, at) < usual + _WIDER
            shown[-1 - is_rest :] = [f"{shown[-2]} {text}"] if is_rest else [*shown[-1:], "", f"{'#' * level} {text}"]
            shown.append("")
        else:
            is_new = (
                line is not None and at == last + 1 and _gap(printed, at) > usual + _WIDER and not text[:1].islower()
            )
            shown += ["", *_parted(line, text)] if is_new or (line and line.parts) else [text]
        last = at
    return re.sub(r"\n{3,}", "\n\n", "\n".join(shown)).strip("\n")


def _blocks(printed: Sequence[PrintedLine], body: tuple[float, bool], usual: float) -> set[int]:
    """The lines that look like headings of more than three lines: an address or a list of values in bold."""
    blocks: list[list[int]] = [[]]
    for at, line in enumerate(printed):
        is_rest = at > 0 and _size(line) == _size(printed[at - 1]) and _gap(printed, at) < usual + _WIDER
        if not is_rest or not _is_heading(line, body):
            blocks.append([])
        if _is_heading(line, body):
            blocks[-1].append(at)
    limit = [_MOST_LINES, _MOST_OF_TITLE]
    return {at for block in blocks for at in block if len(block) > limit[printed[at].height > _LARGE * body[0]]}


def _goes_on(printed: Sequence[PrintedLine], at: int, body: tuple[float, bool], usual: float) -> bool:
    """Whether the next line goes on with the sentence of a line, as after bold words in a paragraph."""
    rest = printed[at + 1] if at + 1 < len(printed) else None
    if rest is None or rest.is_bold or not rest.text[:1].islower() or _size(rest) >= _LARGER * body[0]:
        return False
    return rest.height * _LARGER > printed[at].height and 0 < _gap(printed, at + 1) < usual + _WIDER


def _letters(text: str) -> str:
    """A line without spaces and hyphens: where words are divided, the page and its text differ in these."""
    return _HYPHEN.sub("", "".join(text.split()))


def _parted(line: PrintedLine | None, text: str) -> list[str]:
    is_row = line is None or not line.parts or any(map(is_page_number, line.parts))  # a thing and its price
    return [text] if is_row or line is None else [line.parts[0], "", line.parts[1], ""]


def _gap(printed: Sequence[PrintedLine], at: int) -> float:
    """The distance of a line from the one above, in heights of its characters; 0 for the first."""
    return (printed[at - 1].top - printed[at].top) / printed[at].height if at else 0.0


# Right-to-left text.


_RTL = "\u0590-\u065f\u066a-\u06ef\u06fa-\u08ff\ufb1d-\ufdff\ufe70-\ufefe"
_HAS_RTL = re.compile(f"[{_RTL}]")
_LTR = rf"(?:(?![{_RTL}_])\w)"
_PHRASE = re.compile(rf"[$€£]?{_LTR}(?:[^{_RTL}\n]*{_LTR})?[%$€£]?")
_RTL_RUN = re.compile(rf"[{_RTL}](?:(?:(?!{_LTR})[^\n]|\d)*[{_RTL}])?")
_MIRRORED = str.maketrans("()[]{}<>«»‹›", ")(][}{><»«›‹")
_SHAPED = re.compile("[\ufb1d-\ufdff\ufe70-\ufefe]")


def has_rtl(text: str) -> bool:
    """Whether a text has a letter of a script that is written from right to left."""
    return _HAS_RTL.search(text) is not None


def is_rtl(text: str) -> bool:
    """Whether at least half of the letters of a text are written from right to left."""
    count = len(_HAS_RTL.findall(text))
    return count > 0 and 2 * count >= sum(map(str.isalpha, text))


def in_reading_order(text: str) -> str:
    """Lines of a page, whose characters stand in the order of their places from left to right, in the order of reading.

    The direction of a line with letters of both kinds is that of most letters of the page or of the line. In a line of
    right-to-left text, numbers and words of other scripts keep their direction. Ligatures become letters.

    Examples
    --------
    >>> in_reading_order("\u05d4\u05e0\u05e9 1953 \u05ea\u05e0\u05e9\u05d1") == "\u05d1\u05e9\u05e0\u05ea 1953 \u05e9\u05e0\u05d4"
    True
    """
    if not has_rtl(text):
        return text
    is_page_rtl = is_rtl(text)
    return "\n".join(_line_in_order(line, is_page_rtl=is_page_rtl) for line in text.split("\n"))


def _line_in_order(line: str, *, is_page_rtl: bool) -> str:
    if not has_rtl(line):
        return line
    line = _SHAPED.sub(lambda match: unicodedata.normalize("NFKC", match[0])[::-1], line)
    return _turned(line) if is_page_rtl or is_rtl(line) else _RTL_RUN.sub(lambda match: _turned(match[0]), line)


def _turned(text: str) -> str:
    return _PHRASE.sub(lambda match: _phrase(match[0]), text[::-1].translate(_MIRRORED))


def _phrase(text: str) -> str:
    """A run from left to right, after its line was turned; the order of separate numbers is right already."""
    if any(map(str.isalpha, text)):
        return text[::-1].translate(_MIRRORED)
    return re.sub(r"\S+", lambda match: match[0][::-1], text)
