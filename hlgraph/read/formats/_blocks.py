"""What readers of marked-up text share: headings, code, a count of what is not read, and the document of a list of blocks."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import chain, pairwise

from hlgraph.errors import ReadError
from hlgraph.read.bounds import Produced
from hlgraph.read.content import clean, clean_title, markdown_rows
from hlgraph.read.print_order import NO_HEADING
from hlgraph.read.rows import groups_of_cell
from hlgraph.read.tables import Cell, Grid, is_datum, is_value
from hlgraph.records import Document, MetadataValue
from hlgraph.text import ACL, words

_DEEPEST = 6
_MOST_SHOWN = 5
_LONGEST_TITLE, _NO_TITLE_END = 80, ".!?…:;,"
_FEWEST_WORDS, _MOST_PARTS = 5, 3  # "Read next" is worth no warning
_LONG = 200  # characters of a description that stands below a table
_NO_TITLE = re.compile(r"^\W|[\d:|]")
_TURN = re.compile(  # who speaks from when, in a line of a transcript or chat: "Jarla Ost  0:03"
    r"^\[?([A-ZÀ-ÖØ-Þ][\w.'’-]{0,30}(?: (?:[A-ZÀ-ÖØ-Þ][\w.'’-]{0,30}|\d{1,2})(?![\w.])){0,3})\]?[ \t]+"
    r"((?:\d{1,4}[-/.]\d\d?[-/.]\d{2,4},? )?\d\d?:\d\d(?::\d\d)?(?: ?[AP]M)?)[ \t]*\n\s*(?=(.*))",
    re.MULTILINE,
)
# Above the name, in old transcripts of Teams.
_TIMED = re.compile(r"^(\d+):(\d\d?):(\d\d?)\.\d+ --> [\d:.]+\n(\w[^\n]{1,80})\n", re.MULTILINE)
_TICKS = re.compile(r"`{3,}")
_ITEM = re.compile(r"\s*(?:-|\(?\w{1,5}[.)]) ")
_RAISED = str.maketrans("0123456789+-=()n", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁼⁽⁾ⁿ")
_LOWERED = str.maketrans("0123456789+-=()", "₀₁₂₃₄₅₆₇₈₉₊₋₌₍₎")


class Unread(Counter[str]):
    """Counts what a reader leaves out, by kind, for one warning."""

    def warnings(self) -> tuple[str, ...]:
        """One warning with all kinds, or none.

        Examples
        --------
        >>> Unread({"image": 2, "chart (a.odc)": 1}).warnings()
        ('not read: image (2), chart (a.odc)',)
        """
        shown = [f"{kind} ({count:,})" if count > 1 else kind for kind, count in self.most_common(_MOST_SHOWN)]
        rest = sum(self.values()) - sum(count for _, count in self.most_common(_MOST_SHOWN))
        return (f"not read: {', '.join([*shown, f'{rest:,} more'] if rest else shown)}",) if self else ()


def with_turns(text: str) -> str:
    """A transcript with who speaks, and from when, in the line of what is said; any other text stays.

    Examples
    --------
    >>> print(with_turns("Ada Bell  0:03\\nThe pump runs.\\n\\nBo Lind  0:11\\nGood."))
    [0:03] Ada Bell: The pump runs.
    <BLANKLINE>
    [0:11] Bo Lind: Good.
    """
    text = _TIMED.sub(lambda cue: f"{cue[4]} {cue[1]}:{cue[2]:0>2}:{cue[3]:0>2}\n", text) if "-->" in text else text
    turns = list(_TURN.finditer(text))
    is_said = len(turns) > 1 and not any(_TURN.match(f"{turn[3]}\n") for turn in turns)
    names = Counter(turn[1] for turn in turns)
    if not is_said or not all(" " in name or names[name] > 1 for name in names):
        return text
    return _TURN.sub(r"[\2] \1: ", text)


def hidden_sheet(name: str) -> str:
    """The warning that a hidden sheet of a workbook was read."""
    return f"the hidden sheet {name!r} was read, too; delete it from the file if nobody is to find it"


def unsaid(parts: Iterable[str], text: str) -> list[str]:
    """The parts of a file of whose words most are not in what was read of it.

    Parameters
    ----------
    parts : texts of the file
    text : what was read
    """
    left = Counter(words(text))
    missed: list[str] = []
    for part in parts:
        own = words(part)
        missing = 0
        for word in own:
            left[word] -= 1
            missing += left[word] < 0
        if missing * 2 > len(own):
            missed.append(part)
    return missed


def count_words(parts: Iterable[str]) -> int:
    """Number of words of some texts."""
    return sum(len(words(part)) for part in parts)


def unsaid_warning(parts: Sequence[str], where: str = "", mend: str = "") -> tuple[str, ...]:
    """A warning that shows the longest parts of a file that were not read, if they have five words or more.

    Parameters
    ----------
    parts : the texts
    where : where in the file they stand, default nowhere in particular
    mend : what reads them, default nothing
    """
    count = count_words(parts)
    if count < _FEWEST_WORDS:
        return ()
    shown = "; ".join(f"{part[:60]!r}" for part in sorted(parts, key=len, reverse=True)[:_MOST_PARTS])
    return (f"{count:,} words {where}were not read, such as {shown}{mend}",)


def heading(text: str, level: int) -> str:
    """A Markdown heading; empty without text.

    Parameters
    ----------
    text : its title
    level : its level; more than 6 counts as 6
    """
    title = clean_title(text)
    return f"{'#' * max(1, min(level, _DEEPEST))} {title}" if title else ""


def is_title_line(text: str) -> bool:
    """Whether a line in bold, with other text below, is a heading rather than a sentence.

    Parameters
    ----------
    text : the line, possibly with the number or sign of an item

    Examples
    --------
    >>> [is_title_line(text) for text in ("2. Opening hours", "Do not open the valve.", "Never:", "Figure 1 Valve")]
    [True, False, False, False]
    """
    bare = text.strip()
    return (
        len(bare) <= _LONGEST_TITLE
        and "\n" not in bare
        and any(map(str.isalpha, bare))
        and bare[-1] not in _NO_TITLE_END
        and NO_HEADING.fullmatch(bare) is None
    )


def title_line(text: str, level: int) -> str:
    """The heading that a line in bold is.

    Parameters
    ----------
    text : the line
    level : the level of the last heading above it
    """
    return heading(text.removeprefix("- "), level + 1)


def slides(pages: Sequence[str]) -> tuple[str, list[str]]:
    """The title of a show, that of its first slide, and the slides, of which none is under the title of the one before.

    One without a title below others has its first line, if that is no sentence, value or item, and no other line is a name above a
    text, or its number.

    Parameters
    ----------
    pages : the slides as Markdown, which begin with their titles

    Examples
    --------
    >>> slides(["## Findings\\n\\nIt grew.", "Costs\\n\\nPlan: 4", "It ended."])[1]
    ['## Findings\\n\\nIt grew.', '## Costs\\n\\nPlan: 4', '## Slide 3\\n\\nIt ended.']
    """
    titled: list[str] = []
    has_titles = False
    for number, page in enumerate(pages, 1):
        first, _, rest = page.partition("\n\n")
        is_lost = has_titles and bool(page) and not page.startswith("## ")
        has_titles = has_titles or page.startswith("## ")
        are_names = [is_title_line(each) and not _NO_TITLE.search(each) for each in (first, *rest.split("\n\n"))]
        # Unlike a name of one of several columns.
        is_title = are_names[0] and bool(rest) and (are_names[1] or (True, False) not in pairwise(are_names[2:]))
        titled.append(f"## {page}" if is_lost and is_title else f"## Slide {number}\n\n{page}" if is_lost else page)
    first = titled[0].partition("\n")[0]
    return first.removeprefix("## ") if first.startswith("## ") else "", titled


def code(text: str, language: str = "") -> str:
    """Fenced code; the fence is longer than any in the text. Empty without text.

    Parameters
    ----------
    text : the lines of code
    language : the language, default none
    """
    body = text.strip("\n")
    fence = "`" * max([3, *(len(ticks) + 1 for ticks in _TICKS.findall(body))])
    return f"{fence}{language}\n{body}\n{fence}" if body.strip() else ""


def only_title(text: str) -> str:
    """The first heading of a text if it is the only one of the highest level, with words; else empty.

    Examples
    --------
    >>> only_title("# Pumps\\n\\nThey run.\\n\\n## Use"), only_title("# A\\n\\n# B"), only_title("## Use\\n\\n# Pumps")
    ('Pumps', '', '')
    """
    first = _ANY_HEADING.search(text)
    if first is None or len(first[1]) > 1 or not any(map(str.isalpha, first[2])):
        return ""
    return clean_title(first[2]) if not _TOP_HEADING.search(text, first.end()) else ""


_ANY_HEADING = re.compile(r"^(#{1,6}) (.+)$", re.MULTILINE)
_TOP_HEADING = re.compile(r"^# (?=.*\w)", re.MULTILINE)


def item(text: str, *, marker: str = "-", depth: int = 0) -> str:
    """An item of a list with its marker; empty without text.

    Parameters
    ----------
    text : what it says
    marker : a dash or a number, default a dash
    depth : how many lists are around its list, default 0
    """
    return f"{'  ' * depth}{marker} {text}" if text else ""


def records_table(rows: Sequence[dict[str, str]], produced: Produced) -> list[str]:
    """The table of some things, and the long texts about them below it, each after the first value of its thing if that is a name.

    Parameters
    ----------
    rows : what is said of each, by label
    produced : counts the cells
    """
    below_table: list[str] = []
    labels: dict[str, None] = {}
    for row in rows:
        first, name = next(iter(row.items()), ("", ""))
        name = f"{name}: " if any(map(str.isalpha, name)) else ""
        for label in [label for label, text in row.items() if len(text) > _LONG and not (label == first and name)]:
            below_table.append(f"{name}{row.pop(label)}")
        labels |= dict.fromkeys(row)
    produced.add_cells(len(labels) * len(rows))
    table = markdown_rows([*labels], ([row.get(label, "") for label in labels] for row in rows)) if labels else ""
    return [table, *below_table]


def joined_items(blocks: Iterable[str]) -> list[str]:
    """The blocks that hold text; items of a list that follow each other become the lines of one block."""
    joined: list[list[str]] = []
    was_item = False
    for block in blocks:
        is_item = _ITEM.match(block) is not None
        if is_item and was_item:
            joined[-1].append(block)
        elif block.strip():
            joined.append([block])
        was_item = is_item or (was_item and not block.strip())
    return ["\n".join(parts) for parts in joined]


def raised(text: str) -> str:
    """An exponent as superscript digits: 10 and 6 must not become 106.

    Examples
    --------
    >>> raised("6"), raised("a)"), raised("th")
    ('⁶', '^a)', 'th')
    """
    shifted = text.translate(_RAISED)
    return shifted if not any(map(str.isascii, shifted)) or text.isalpha() else f"^{text}"


def lowered(text: str) -> str:
    """An index as subscript digits if it has them."""
    shifted = text.translate(_LOWERED)
    return text if any(map(str.isascii, shifted)) else shifted


def document_of(
    produced: Produced,
    blocks: Iterable[str],
    *,
    title: str = "",
    metadata: dict[str, MetadataValue] | None = None,
    warnings: Sequence[str] = (),
    part: str = "it",
) -> Document:
    """The document of a file whose blocks are separated by blank lines.

    Parameters
    ----------
    produced : names the file and counts the text
    blocks : paragraphs, headings, items and tables as Markdown; empty ones are left out
    title : the title that the file declares; default the stem of its name
    metadata : what the file declares; empty values are left out
    warnings : about what was not read
    part : what should hold text, for the error

    Raises
    ------
    ReadError
        There is no text, or more than the limits of :mod:`hlgraph.read.bounds` allow.
    """
    origin = produced.origin
    kept = [produced.add(text) for text in map(clean, blocks) if text.strip()]
    if not kept:
        raise ReadError(origin.uri, f"is empty: {part} holds no text")
    values = {name: value for name, value in (metadata or {}).items() if value not in ("", ())}
    name = clean_title(clean(title)) or clean_title(origin.stem)
    return Document(origin.uri, "\n\n".join(kept), name, values, warnings=tuple(warnings))


_MOST_HEAD_ROWS = 4


def sheet_markdown(rows: Sequence[Sequence[Cell]], produced: Produced) -> str:
    """The tables of neighbouring rows of a sheet, from left to right, with empty lines between; lines if no row has two cells.

    Parameters
    ----------
    rows : the cells with text of each row, with their columns
    produced : counts the cells
    """
    if all(len(cells) < 2 for cells in rows):
        return "\n\n".join(cell.text for cells in rows for cell in cells)
    parts: list[str] = []
    for table in chain.from_iterable(map(_one_below_the_other, side_by_side(rows))):
        first = min(cell.column or 0 for row in table for cell in row)
        moved = [
            [
                cell._replace(column=(cell.column or 0) - first, is_head=cell.is_head and at < _MOST_HEAD_ROWS)
                for cell in row
            ]
            for at, row in enumerate(table)
        ]
        grid = Grid(moved, produced=produced)
        _note_groups(table, produced, has_head=any(grid.head))
        parts.append(grid.markdown())
    return "\n\n".join(parts)


def _note_groups(table: Sequence[Sequence[Cell]], produced: Produced, *, has_head: bool) -> None:
    """Note the groups of the rows below each cell ``acl`` in the header of a table, also one that is not recognised as a header.

    A table without a header that is as wide as the last one continues it.
    """
    places = {cell.column or 0 for row in table for cell in row}
    heads = [[cell.column or 0 for cell in row if cell.text == ACL] for row in table[:_MOST_HEAD_ROWS]]
    at = next((at for at, columns in enumerate(heads) if columns), -1)
    if at >= 0:
        produced.acl_columns = heads[at], max(places)
    elif has_head or max(places) != produced.acl_columns[1]:
        produced.acl_columns = [], -1
    for column in produced.acl_columns[0]:
        text, left = "", 0  # rows that the last cell of the column still covers
        for row in table[at + 1 :]:
            own = next((cell for cell in row if cell.column == column), None)
            text, left = (own.text, own.height) if own else (text, left) if left > 0 else ("", 0)
            left -= 1
            if text or len(row) > 1 or len(places) == 2:  # one cell of a wider table names a section, or is a note
                produced.groups.add(groups_of_cell(produced.origin, text))


def _one_below_the_other(rows: Sequence[Sequence[Cell]]) -> list[Sequence[Sequence[Cell]]]:
    """The tables of neighbouring rows without a blank row between them: one begins with the lines above a row of labels.

    Such a row stands above data, and is marked or begins as the header of the table above does.
    """
    starts = [0]
    header: Sequence[Cell] = ()
    last: Sequence[Cell] = ()
    above = 0  # the first of the lines above a row
    for at, (row, below) in enumerate(pairwise(rows)):
        if len(row) > 1:
            is_marked = all(cell.is_head for cell in row) and not all(cell.is_head for cell in last)
            is_header = len(row) > 2 and not any(map(is_datum, row)) and any(map(is_datum, below))
            if header and is_header and (is_marked or row[0].text == header[0].text):
                starts.append(above)
            if is_header or not header:
                header = row
            last, above = row, at + 1
    return [rows[start:end] for start, end in pairwise([*starts, len(rows)])]


def side_by_side(rows: Sequence[Sequence[Cell]]) -> list[list[list[Cell]]]:
    """The tables of a sheet that stand beside each other, from left to right; one if that is not certain.

    A blank column separates two tables if the right one begins with names, and either ends some rows before the other or a
    label of the left one is one of the right one, too; one that begins with values must have the first label of the left one.

    Parameters
    ----------
    rows : the cells of each row, with their columns

    Examples
    --------
    >>> texts = [["Part", "Count", "", "Sign"], ["P-1", "3", "", "P: pump"], ["P-2", "4"]]
    >>> rows = [[Cell(text, column=at) for at, text in enumerate(row) if text] for row in texts]
    >>> [[[cell.text for cell in row] for row in table] for table in side_by_side(rows)]
    [[['Part', 'Count'], ['P-1', '3'], ['P-2', '4']], [['Sign'], ['P: pump']]]
    """
    taken = {at for row in rows for cell in row for at in range(cell.column or 0, (cell.column or 0) + cell.width)}
    tables = [[list(row) for row in rows]]
    for blank in sorted(set(range(min(taken, default=0), max(taken, default=0))) - taken):
        last = tables[-1]
        left, right = (
            [[cell for cell in row if ((cell.column or 0) > blank) is is_right] for row in last]
            for is_right in (False, True)
        )
        if _are_apart(left, right):
            tables[-1:] = [[row for row in part if row] for part in (left, right)]
    return tables


def _are_apart(left: Sequence[Sequence[Cell]], right: Sequence[Sequence[Cell]]) -> bool:
    filled = [[at for at, row in enumerate(part) if row] for part in (left, right)]
    if not all(filled) or not any(len(row) > 1 for row in left):
        return False
    first = min(cell.column or 0 for row in right for cell in row)
    names = [cell.text for row in right for cell in row if cell.column == first][1:]
    ends = filled[0][-1], filled[1][-1]
    longer = (left if ends[0] > ends[1] else right)[min(ends) + 1 :]
    has_rest = any(len(row) > 1 for row in longer) or (ends[1] > ends[0] and any(longer))
    head = left[filled[1][0]]  # beside the first row of the right one
    labels = {cell.text for cell in right[filled[1][0]]}
    is_named = bool(head) and head[0].text in labels  # what its rows are, too
    has_rest = has_rest or not labels.isdisjoint(cell.text for cell in head)
    is_whole = len(filled[1]) == ends[1] - filled[1][0] + 1
    return bool(names) and is_whole and (is_named or (has_rest and not any(map(is_value, names))))
