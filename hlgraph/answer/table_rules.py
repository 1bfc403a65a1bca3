"""Numbers over the rows of a table by a rule that the answer states: count, sum, mean, min, max, groups, and lists of rows.

A rule applies only if the question's own words name all that it takes: the rows (by the label of their first column, the title,
a heading or the line above the table), the column, the groups, and each filter (a value of a column, or a limit of a named
column). Every row of the table that the filter of the search admits is read; rows of totals are left out. All cells that the
rule reads must be numbers of one unit, or dates. Otherwise there is a reason instead of a number. Only English is understood.

The parts, in order: the words of a question, the rule (:func:`computed`), the answer (:func:`table_answer`). The cells are read by
:class:`hlgraph.answer.tables.Columns`.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from decimal import Decimal
from functools import lru_cache
from itertools import chain
from typing import NamedTuple

from hlgraph.answer.constraints import LISTS, words_of
from hlgraph.answer.tables import (
    CROSS,
    MOST_ROWS,
    MOSTLY,
    TOKEN,
    YEAR,
    YES,
    Bound,
    Columns,
    ObstacleError,
    Row,
    Table,
    TableReader,
    base_of,
    counted,
    key,
    parted,
    time_of,
    tokens_of,
    written,
)
from hlgraph.extract.wording import MONTH_PATTERN, telling_words
from hlgraph.read.table_mapping import number
from hlgraph.records import Answer, AnswerSentence, Citation, Evidence
from hlgraph.stores.terms import stem
from hlgraph.text import STOP_WORDS, cached_by_text, fold, numbers, spelled, word_set

MOST_SHOWN = 20
"""Maximum number of rows that an answer lists and cites."""
_CACHED = 1 << 16  # cells that are read once
_MOST_FILES = 3  # files of the evidence whose tables are read
_LABELS = re.compile(r"(?:^|[:;] )([^:;]{1,80})(?=: )")
_LABELLED = re.compile(r"[^:;]{1,80}: [^;]*; [^:;]{1,80}: ")

# The words of a question


_NOT = word_set("not no never without except excluding besides neither nor other outside but unlike")
_PART = word_set("share percentage percent proportion fraction")
_SUM = word_set("total sum combined altogether overall together")
_MEAN = word_set("mean average")
_FIRST, _LAST = word_set("first earliest oldest"), word_set("last latest newest youngest recent recently")
_MOST, _LEAST = word_set("most greatest maximum max"), word_set("least fewest minimum min")
_ROWS = word_set("row rows entry entries record records line lines")
_EMPTY = STOP_WORDS | _ROWS | words_of("empty")
_JOINS = re.compile(r"\band\b|[&,/]", re.IGNORECASE)
_SLIGHT = words_of("slight")
_FORMS = [
    (forms, sign_and_nouns[2:], sign_and_nouns[0] == "+")
    for forms, _, sign_and_nouns in (line.partition(": ") for line in LISTS["measures"])
]
MEASURES = {form: (nouns, is_greater) for forms, nouns, is_greater in _FORMS for form in forms.split()}
"""For each form of an adjective the nouns of its measure, and whether it is of the greater value."""
_NUMBER = r"\d(?:[\d.,]*\d)?"
_LIMIT = re.compile(
    rf"\b(?:(?:between|from)\s+(?P<low>{_NUMBER})\s+(?:and|to|until)\s+(?P<high>{_NUMBER})"
    r"|(?P<word>more than|greater than|over|above|at least|no less than|less than|fewer than|under|below|at most|up to|no more than"
    rf"|exactly|before|after|since|until|till|in|during|by|(?:[^\W\d_]+er|more [^\W\d_]+) than)\s+[$€£]?\s?(?P<value>{_NUMBER}))"
)
_WHEN = re.compile(
    r"\b(before|after|since|until|till|in|during|by|on)\s+(?:(?P<quarter>q[1-4]) (?:of )?(?P<of>[12]\d{3})"
    rf"|(?P<date>[12]\d{{3}}-\d\d(?:-\d\d)?|\d{{1,2}}\.\d{{1,2}}\.[12]\d{{3}}|"
    rf"(?:\d{{1,2}} )?(?:{MONTH_PATTERN})(?: \d{{1,2}},)? (?:of )?[12]\d{{3}}))(?![\w-])",
    re.IGNORECASE,
)
_OF_TIME = word_set("before after since until till in during by on")
_PLACED, _DATED = words_of("placed"), words_of("dated")
_DATED_LABEL = word_set("date year day time month ordered placed timestamp")
_VERBS = {"cost": "price cost", "weigh": "weight mass", "earn": "salary wage pay income"}
_BY_VERB = _VERBS | {f"{verb}s": nouns for verb, nouns in _VERBS.items()}
"""For each verb with "the most" or a limit the nouns of what it measures."""
_OF_LABEL = word_set("in for of during per by")
_PEOPLE = word_set("people persons staff employees colleagues members")
_OF_PEOPLE = word_set("name person employee member")
_COMPARING = re.compile(r"\b(?:more|less|fewer)\b")
_LISTS = re.compile(r"\W*(?:(?:list|name|show)\b|(?:who|which|what)\b)", re.IGNORECASE)
_AT = re.compile(r"(?:in|on|at|off|out|over|under|above|below|within|with|by|for|up)\b")
_AMOUNTS = word_set("quantity qty pieces pcs units stock amount")
_BIRTH = word_set("born birth birthday birthdate")
_CELL = re.compile(r"\W*what(?: is| was|['’]s)\b", re.IGNORECASE)
_PERIODS = {"year": 1, "month": 2, "day": 3}  # for each the parts of a date that tell it
_SIDES = [word_set(line) for line in LISTS["sides"]]
_PAID, _PAYMENTS = word_set("pay pays paid"), word_set("rent fee price cost salary wage premium")
_SOLD = word_set("sell sells sold offer offers offered")


def _denies(word: str) -> bool:
    return word in _NOT or word.endswith(("n't", "n’t"))


def _is_plural(tokens: Sequence[str], word: str) -> bool:
    """Whether one of some words is the plural of a word: "Nights" of "night"."""
    return any(token != word and token.endswith("s") and token.startswith(word[:-1]) for token in tokens)


def _having(label: str, cells: Iterable[str]) -> Callable[[Row], bool]:
    """Whether a row has one of some folded values in a column; without a label in its section."""
    wanted = frozenset(cells)
    return lambda row: any(fold(cell) in wanted for cell in (row.cells.get(label, ()) if label else (row.section,)))


class _Asked:
    """The words of a question, and which of them the rule has explained."""

    def __init__(self, question: str) -> None:
        self.text = fold(question)
        matches = list(TOKEN.finditer(self.text))
        self.words = [match[0].removesuffix("'s") for match in matches]
        self.starts = [match.start() for match in matches]
        self.stems = [key(word) for word in self.words]
        self.known = frozenset(self.stems)
        self.used = {at for at, word in enumerate(self.words) if word in _EMPTY}

    def spans(self, text: str) -> Iterator[range]:
        """Where the words of a text stand together, the last one in any form."""
        words = tokens_of(text)
        if not words or (words[-1] not in self.known and key(words[-1]) not in self.known):
            return
        for at in range(len(self.words) - len(words) + 1):
            end = at + len(words)
            if self.words[at : end - 1] == words[:-1] and self.stems[end - 1] == key(words[-1]):
                yield range(at, end)

    def naming(self, label: str) -> set[int]:
        """Places of the words that name a column; empty if one of its telling words is missing."""
        words = tokens_of(parted(label)[0])
        content = [word for word in words if word not in STOP_WORDS]
        if words and (not content or (len(words) > 1 and len(words[-1]) == 1)):  # "May", "Workshop A"
            spans = [
                span for span in self.spans(parted(label)[0]) if content or _OF_LABEL & {*self.words[: span.start][-1:]}
            ]
            return {at for span in spans for at in span}
        telling = [word for word in content if word not in _SLIGHT] or content
        stems = {key(word) for word in telling}
        if not stems or not stems <= set(self.stems):
            return set()
        wanted = {key(word) for word in content}
        return {at for at, each in enumerate(self.stems) if each in wanted}

    def within(self, start: int, end: int) -> set[int]:
        """Places of the words between two offsets."""
        return {at for at, each in enumerate(self.starts) if start <= each < end}

    def unexplained(self) -> list[str]:
        """The words that nothing has explained."""
        return [word for at, word in enumerate(self.words) if at not in self.used]


# The rule


class Computed(NamedTuple):
    """A number over rows.

    Attributes
    ----------
    head : the number of rows, the filter, the rule and its result
    rows : the rows that it rests on, at most 20, each with what the answer shows of it
    notes : what was left out
    is_lookup : whether the filters leave one row, and the question asks for one of its cells: "the count of Part 150"
    """

    head: str
    rows: tuple[tuple[Row, str], ...]
    notes: str = ""
    is_lookup: bool = False


class _Kind(NamedTuple):
    """The rule that the words of a question name.

    Attributes
    ----------
    inner : ``number`` (how many, how much), ``sum``, ``mean``, or empty
    extreme : 1 for the greatest value, -1 for the least, 0 for neither
    measure : nouns that name the column of an adjective, such as "length" for "longest"
    time : 1 for the latest, -1 for the earliest, 0 for neither
    at : place of the word for the extreme, or of "many"
    """

    inner: str
    extreme: int = 0
    measure: str = ""
    time: int = 0
    at: int = -1


def _kind(asked: _Asked) -> _Kind | None:
    """The rule that a question names; its words count as explained."""
    words, inner, at = asked.words, "", -1
    kind = _Kind("")
    for place, word in enumerate(words):
        before = words[place - 1] if place else ""
        is_number = (word in ("many", "much") and before == "how") or (word == "of" and before in ("number", "count"))
        if is_number:
            inner, at = "number", place
        elif word in _PART and words[place + 1 : place + 2] == ["of"]:
            inner, at, is_number = "share", place + 1, True
            asked.used.add(place)
        elif (word in _MEAN or word in _SUM) and inner != "number":
            inner = "mean" if word in _MEAN else inner or "sum"
        measure, sign = MEASURES.get(word, ("", True))
        is_most, is_least = word in _MOST and before != "at", word in _LEAST and before != "at"
        is_superlative = bool(measure) and (word.endswith("est") or before in ("most", "least"))
        if is_most or is_least or is_superlative or word in _FIRST | _LAST:
            greatest = 1 if is_most or (sign if measure else word in _LAST) else -1  # the youngest has the least age
            greatest = -greatest if before == "least" else greatest
            measure = next((_BY_VERB[each] for each in words if (is_most or is_least) and each in _BY_VERB), measure)
            time = -1 if word in _FIRST else 1 if word in _LAST else 0
            kind = _Kind("", greatest, measure, -time if before == "least" else time, place)
        if is_number or word in _MEAN | _SUM or is_superlative or is_most or is_least or word in _FIRST | _LAST:
            asked.used.add(place)
    if not kind.extreme and not inner:
        return None
    return kind._replace(inner=inner, at=kind.at if kind.extreme else at)


def _context_stems(table: Table, asked: _Asked) -> set[str]:
    """The words of the title, the headings and the line above; of one that joins several names, only if all are asked for."""
    stems: set[str] = set()
    for part in table.context:
        own = {key(word) for word in tokens_of(part.replace("-", " ")) if word not in STOP_WORDS}
        if own <= set(asked.stems) or not _JOINS.search(part):
            stems |= own
    return stems


def _people(label: str) -> frozenset[str]:
    """Words for the rows of a table whose first column names people."""
    return _PEOPLE if _OF_PEOPLE.intersection(tokens_of(label)) else frozenset()


def _kind_over(asked: _Asked, table: Table) -> _Kind:
    """The rule that a question names over a table: a list if none; "max" of the column "Max. depth", "First aid" name none."""
    kind = _kind(asked) or _Kind("list")
    if kind.inner == "share":  # "the share of the Reds" may be a column, unlike "the share of the votes"
        naming = set[int]().union(*map(asked.naming, table.labels))
        return _Kind("list") if kind.at - 1 in naming and naming.isdisjoint((kind.at + 1, kind.at + 2)) else kind
    cells = chain.from_iterable(chain.from_iterable(row.cells.values()) for row in table.rows) if kind.extreme else ()
    names = dict.fromkeys(chain((parted(label)[0] for label in table.labels), cells))
    named = [span for name in names for span in asked.spans(name) if len(span) > 1]
    if not kind.extreme or not any(kind.at in span for span in named):
        return kind
    counting = (at for at, word in enumerate(asked.words) if at in asked.used and word in ("many", "much", "of"))
    return _Kind(kind.inner or "list", at=next(counting, kind.at))


class _Filter(NamedTuple):
    """A condition on rows.

    Attributes
    ----------
    text : the condition in words
    label : its column; empty for a section
    admits : whether a row meets it
    """

    text: str
    label: str
    admits: Callable[[Row], bool]


class _Filters:
    """The columns, the groups and the filters that a question names over one table.

    Parameters
    ----------
    question : text of the question
    table : the table

    Raises
    ------
    ObstacleError : the rule does not apply
    """

    def __init__(self, question: str, table: Table) -> None:
        self.asked, self.table = _Asked(question), table
        kind = _kind_over(self.asked, table)
        if kind.inner == "list" and not _LISTS.match(question):
            raise ObstacleError("the question asks for no number", most_rank=-1)
        # Up to which rank an answer says what is unclear.
        self.kind, self.doubt = kind, 0 if kind.inner not in ("", "list") else -1
        self.columns = Columns(table)
        self.labels, self.rows = self.columns.labels, self.columns.rows
        if not self.labels:
            raise ObstacleError("the table has no labels", most_rank=-1)
        self.inner, self.target, self.shown, self.denied = kind.inner, "", list[str](), set[int]()
        # The first column, if it names what is counted; the column of numbers that the value which is counted may mean.
        self.counted, self.beside = "", ""
        flags = [*self._flags()]
        if any(_denies(word) and at not in self.denied for at, word in enumerate(self.asked.words)):
            raise ObstacleError("the question excludes something", most_rank=self.doubt)
        self.group, self.period = self._grouping()
        self.filters = [*self._dates(), *self._limits(), *flags, *self._values()]

    def _use(self, label: str) -> None:
        self.asked.used |= self.asked.naming(label)

    def _grouping(self) -> tuple[str, int]:
        """The column of "by region", "per region", "each region", empty if none; of "per month", how much of its dates tells it."""
        asked = self.asked
        for label in self.labels:
            for span in asked.spans(parted(label)[0]):
                before = [word for word in asked.words[max(0, span.start - 2) : span.start] if word != "the"]
                if before and before[-1] in ("by", "per", "each", "every"):
                    if _is_plural(tokens_of(label), asked.words[span.stop - 1]) and self.columns.share(label) >= MOSTLY:
                        raise ObstacleError(f"the question asks for a part of each of {label}", most_rank=0)
                    asked.used |= {*span, span.start - 1}
                    return label, 0
        for at, word in enumerate(asked.words):
            if word in _PERIODS and asked.words[at - 1 : at] in (["by"], ["per"], ["each"], ["every"]):
                asked.used |= {at - 1, at}
                return self._column_of_time(word), _PERIODS[word]
        return "", 0

    def _dates(self) -> Iterator[_Filter]:
        """The filters on months, days and quarters: "in March 2024", "since 2024-03-05", "in Q1 2024"."""
        for match in _WHEN.finditer(self.asked.text):
            said = time_of((match["date"] or "").replace(" of ", " ").title())
            low = said or (int(match["of"] or 0), 3 * int((match["quarter"] or "q0")[1]) - 2)
            label = self._column_of_time(match[1])
            yield self._limit(label, match[1], limits=(low, said or (low[0], low[1] + 2)), unit="")
            self._use(label)
            self.asked.used |= self.asked.within(match.start(), match.end())

    def _limits(self) -> Iterator[_Filter]:
        """The filters on numbers and years: "before 1900", "between 1850 and 1900", "more than 100 m"."""
        places = {match.start() for match in _WHEN.finditer(self.asked.text)}
        for match in (each for each in _LIMIT.finditer(self.asked.text) if each.start() not in places):
            word, high = match["word"] or "between", match["high"]
            written = (match["low"] or match["value"], high or match["value"])
            values = [Decimal(str(each)) for each in (number(each) for each in written) if each is not None]
            if len(values) < 2:
                continue
            low, top = values
            is_year = all(map(YEAR.fullmatch, written))
            if word in _OF_TIME or (word == "between" and is_year):
                of_label = self.asked.within(match.start("value"), match.end()) if match["value"] else set[int]()
                if not is_year or any(of_label & self.asked.naming(label) for label in self.labels):
                    continue  # "in 5 towns": the number stays unexplained; a column may be called "Loans in 2023"
                label = self._column_of_time(word)
                yield self._limit(label, word, limits=((int(low),), (int(top),)), unit="")
            else:
                label, unit = self._column_of_limit(match)
                yield self._limit(label, word, limits=(low, top), unit=unit)
            self._use(label)
            self.asked.used |= self.asked.within(match.start(), match.end())

    def _flags(self) -> Iterator[_Filter]:
        """The filters on columns of yes and no, and on what is there or not: "not paid", "unpaid", "in stock", "out of stock"."""
        words = self.asked.words
        for label in self.labels[1:]:
            name = fold(parted(label)[0])
            there = re.search(rf"\b(in|out of) {re.escape(name)}\b", self.asked.text)
            named = self.asked.naming(label)
            opposite = {at for at, word in enumerate(words) if word == f"un{name}"}
            if (named or opposite) and (cells := self.columns.flags(label)):
                if _AT.match(name) and not any(self.asked.spans(name)):  # out of stock, of "In stock"
                    raise ObstacleError(f"the question does not say *{name}*", most_rank=0)
                if cells & {"x"} and cells - CROSS:
                    raise ObstacleError(f"{label} has {', '.join(sorted(cells))}", most_rank=0)
                if named and opposite:
                    raise ObstacleError(f"the question names {label} and its opposite", most_rank=0)
                start = min(named | opposite)
                denying = {at for at in range(max(0, start - 2), max(named | opposite)) if _denies(words[at])}
                self.denied |= denying
                is_no = bool(denying) is not bool(opposite)
                if is_no and not cells & CROSS and any(label not in row.cells for row in self.rows):
                    raise ObstacleError(f"a row has no {label}", most_rank=0)
                wanted = _having(label, YES)
                admits = (lambda row, wanted=wanted: not wanted(row)) if is_no else wanted
                self.asked.used |= opposite
                yield _Filter(f"{label} is {'no' if is_no else 'yes'}", label, admits)
            elif there and self.inner == "list":
                values = zip(self.rows, self.columns.quantities(label, self.rows), strict=True)
                stocked = {id(row) for row, of in values if bool(of.value) is (there[1] == "in")}
                self.shown.append(label)
                yield _Filter(there[0], label, lambda row, stocked=stocked: id(row) in stocked)  # type: ignore[misc]
            else:
                continue
            self._use(label)

    def _column_of_time(self, word: str) -> str:
        times = [label for label in self.labels if self.columns.share(label, is_time=True) >= MOSTLY]
        times = times[len(times) > 1 and times[0] == self.labels[0] :]
        wanted = [label for label in times if self.asked.naming(label) or fold(label) == word]
        wanted = (
            wanted or [label for label in times if set(tokens_of(parted(label)[0])) <= word_set("year date")] or times
        )
        if len(wanted) == 1 and _DATED_LABEL.intersection(tokens_of(wanted[0])):
            self.asked.used |= {at for at, each in enumerate(self.asked.words) if each in _DATED}
        if len(wanted) != 1:
            some = " and ".join(wanted)
            reason = f"the question fits the columns {some}" if some else "the question names no column of dates"
            raise ObstacleError(reason, most_rank=self.doubt)
        return wanted[0]

    def _column_of_limit(self, match: re.Match[str]) -> tuple[str, str]:
        """The column of a limit, and the unit that the question gives with it."""
        asked, end = self.asked, match.end()
        unit = next(iter(asked.text[end:].split()), "").strip(".,;?!")
        after = sum(start < end for start in asked.starts)
        first = sum(start < match.start() for start in asked.starts)
        compared = (match["word"] or "").removesuffix(" than").rpartition(" ")[2]
        verb = asked.words[first - 1] if first else ""
        measures = word_set(MEASURES.get(compared, ("", True))[0] or _BY_VERB.get(verb, ""))
        with_unit = asked.within(end, end + 1 + asked.text[end:].find(unit) + len(unit))
        fitting = [label for label in self.labels if measures & set(tokens_of(parted(label)[0]))]
        measured = fitting[0] if len(fitting) == 1 else ""
        for label in self.labels:
            name, of_label = parted(label)
            is_near = any(span.start - after in (0, 1) or first - span.stop in (0, 1) for span in asked.spans(name))
            if (is_near or label == measured) and self.columns.share(label) >= MOSTLY:
                units = {each.unit or of_label for each in self.columns.quantities(label, self.rows)} - {""}
                around = [word for part in self.table.context for word in tokens_of(part)]
                is_unit = key(unit) in map(key, map(fold, units) if units else around)
                asked.used |= with_unit if is_unit else set()
                return label, unit if is_unit else ""
        of_unit = [label for label in self.labels if unit and key(unit) == key(fold(parted(label)[1]))]
        if len(of_unit) == 1 and self.columns.share(of_unit[0]) >= MOSTLY:
            asked.used |= with_unit
            return of_unit[0], unit
        raise ObstacleError(f"the question names no column of numbers for *{match[0]}*", most_rank=self.doubt)

    def _limit(self, label: str, word: str, *, limits: tuple[Bound, Bound], unit: str) -> _Filter:
        low, top = limits
        compared = word.removesuffix(" than").rpartition(" ")[2]
        is_less = compared in ("less", "fewer", "under", "below", "before") or not MEASURES.get(compared, ("", True))[1]
        tests: dict[str, Callable[[Bound], bool]] = {
            **dict.fromkeys(("between", "in", "during", "exactly", "from", "on"), lambda value: low <= value <= top),  # type: ignore[operator]
            **dict.fromkeys(("at least", "no less than", "since"), lambda value: value >= low),  # type: ignore[operator]
            **dict.fromkeys(("at most", "up to", "no more than", "until", "till", "by"), lambda value: value <= top),  # type: ignore[operator]
        }
        test = tests.get(word) or ((lambda value: value < low) if is_less else (lambda value: value > top))  # type: ignore[operator]
        values: list[Bound]
        if isinstance(low, tuple):
            values = [value[: len(low)] for value in self.columns.times(label, self.rows)]
            if any(isinstance(value, tuple) and len(value) < len(low) for value in values):
                raise ObstacleError(f"{label} is less exact than the question")
        else:
            values = [each.value for each in self.columns.quantities(label, self.rows)]
        known = {id(row): value for row, value in zip(self.rows, values, strict=True)}
        said = f"{written(low)} to {written(top)}" if low != top else f"{word} {written(low)}"
        self.shown.append(label)
        text = f"{label} is {said}{f' {unit}' if unit else ''}"
        return _Filter(text, label, lambda row: test(known[id(row)]))

    def _values(self) -> Iterator[_Filter]:
        """The filters on values that the question names: "in Sarn" where the column Town has Sarn."""
        options: defaultdict[tuple[int, int], dict[tuple[str, str], str]] = defaultdict(dict)
        asked = self.asked
        texts = {label for label in self.labels if label == self.labels[0] or self.columns.share(label) < MOSTLY}
        cells_of = ((label, row.cells[label]) for row in self.rows for label in texts & row.cells.keys())
        pairs = dict.fromkeys((label, cell) for label, cells in cells_of for cell in cells)
        pairs.update(dict.fromkeys(("", row.section) for row in self.rows if row.section))
        for label, cell in pairs:
            if (not cell.isdigit() or self._is_code(label, cell)) and not all(
                token in _EMPTY or len(token) == 1 for token in tokens_of(cell)
            ):
                for span in asked.spans(cell):
                    options[span.start, span.stop][label, fold(cell)] = cell
        chosen: defaultdict[str, dict[str, str]] = defaultdict(dict)
        for start, stop in sorted(options, key=lambda span: (span[0] - span[1], span)):
            columns = {label for label, _ in options[start, stop]}
            if set(range(start, stop)) <= asked.used:
                continue
            if len(columns) > 1:  # Engineering is a department, an engineer a role
                exact = {label for label, cell in options[start, stop] if asked.words[start:stop] == tokens_of(cell)}
                columns = exact if len(exact) == 1 else {each for each in columns if each and asked.naming(each)}
            if len(columns) != 1:
                several = " and ".join(sorted({label or "a section" for label, _ in options[start, stop]}))
                reason = f"*{' '.join(asked.words[start:stop])}* is a value of {several}"
                raise ObstacleError(reason, most_rank=0 if self.inner in ("sum", "mean") else -1)
            (label,) = columns
            chosen[label].update((key, cell) for (of, key), cell in options[start, stop].items() if of == label)
            asked.used |= set(range(start, stop))
        for label, cells in chosen.items():
            if label == self.labels[0] and any(label not in row.cells for row in self.rows):
                raise ObstacleError(f"a row has no {label}, and may belong to the one above", most_rank=0)
            self._use(label)
            yield _Filter(f"{label or 'the section'} is {' or '.join(cells.values())}", label, _having(label, cells))

    def _is_code(self, label: str, cell: str) -> bool:
        """Whether digits are a code that the question names with their column: "account 0000476000"."""
        spans, naming = self.asked.spans(cell), self.asked.naming(label) if label else set[int]()
        return (cell[0] == "0" and len(cell) > 1) or any(naming & {span.start - 1, span.start - 2} for span in spans)


class _Rule(_Filters):
    """What a question asks of one table.

    Parameters
    ----------
    question : text of the question
    table : the table

    Raises
    ------
    ObstacleError : the rule does not apply
    """

    def __init__(self, question: str, table: Table) -> None:
        super().__init__(question, table)
        # "What was the population of Norland in 2022?" asks for a cell, "What are the bridges in Sarn?" for a list.
        self.is_cell = self.inner == "list" and _CELL.match(question) and not self.asked.naming(self.labels[0])
        if self.inner == "list" and _COMPARING.search(_LIMIT.sub("", self.asked.text)):
            raise ObstacleError("the question compares", most_rank=-1)
        if self.inner == "list" and not self.filters:
            raise ObstacleError("the question limits no column", most_rank=-1)
        self._resolve()
        self._explain()

    def _resolve(self) -> None:
        """Find the column of the numbers, and what is counted."""
        asked, kind = self.asked, self.kind
        taken = {self.group, *(each.label for each in self.filters)}
        if self.inner == "share" and len(self.filters) != 1:
            raise ObstacleError("the question does not name one part of all rows", most_rank=0)
        if self.inner == "list":
            near = set(range(1, 4))  # "Which tasks ...", of a table whose first column is "Phase"
            self.target = next((each for each in self.labels if asked.naming(each) & near), self.labels[0])
        elif self.inner in ("number", "share"):
            self._resolve_number(taken)
        elif kind.extreme:
            self._resolve_extreme()
        if self.target or self.inner in ("count", "distinct"):
            return
        wanted = [label for label in self.labels if label not in taken - {*self.shown} and asked.naming(label)]
        wanted = [label for label in wanted if self.columns.share(label, is_time=bool(kind.time)) >= MOSTLY]
        wanted = [label for label in wanted if label not in self.shown] or wanted
        if self.columns.numbers_rows(self.labels[0]) or len(wanted) > 1:
            wanted = [label for label in wanted if label != self.labels[0]]
        if not wanted and kind.measure:
            nouns = word_set(kind.measure)
            wanted = [label for label in self.labels if nouns & set(tokens_of(parted(label)[0]))]
        if not wanted and kind.time:
            wanted = [label for label in self.labels if set(tokens_of(parted(label)[0])) <= word_set("year date")]
            wanted = wanted or [each for each in self.labels if self.columns.share(each, is_time=True) >= MOSTLY]
            if kind.measure == "age" and ("who" in asked.words or _people(self.labels[0])):
                wanted = [each for each in self.labels if not _BIRTH.isdisjoint(tokens_of(each))]
        # Of "Length" and "Length of the span", the question that names the second means it.
        most = max((len(asked.naming(label)) for label in wanted), default=0)
        wanted = [label for label in wanted if len(asked.naming(label)) == most]
        if len(wanted) != 1:
            some = " and ".join(wanted)
            reason = f"the question fits the columns {some}" if some else "the question names no column of numbers"
            raise ObstacleError(reason, most_rank=0 if some else -1)
        self.target = wanted[0]

    def _resolve_number(self, taken: set[str]) -> None:
        """What "how many" counts: rows, the numbers of a column, or the different values of a column."""
        is_mean = not _MEAN.isdisjoint(self.asked.words)
        asked, at = self.asked, self.kind.at
        if self.kind.extreme:
            at = next((place for place, word in enumerate(asked.words) if word in ("many", "much", "of")), at)
        at += asked.words[at + 1 : at + 2] in (["the"], ["all"])
        places = range(at + 1, min(at + 5, len(asked.words)))
        end = next((place for place in places if asked.words[place] in STOP_WORDS - {"of"}), places.stop)
        near = set(range(at + 1, end))
        labels = [label for label in self.labels if (naming := asked.naming(label)) and naming & near]
        labels = sorted(labels, key=lambda label: -len(asked.naming(label) & near))
        if not labels and "much" in asked.words[at : at + 1]:
            labels = [each for each in self.labels if asked.naming(each) and self.columns.share(each) >= MOSTLY][:1]
        different = {place for place in near if asked.words[place] in ("different", "distinct")}
        if labels and (different or labels[0] != self.labels[0]) and labels[0] not in taken:
            asked.used |= different
            is_sum = not different and self.columns.share(labels[0]) >= MOSTLY
            if is_sum and any(
                _is_plural([asked.words[place]], word) for word in tokens_of(labels[0]) for place in near
            ):
                raise ObstacleError(f"the question may count rows, or values of {labels[0]}", most_rank=0)
            self.inner, self.target = ("sum" if is_sum else "distinct"), labels[0]
            if is_sum and is_mean and not self.group:  # "the average number of spans"
                self.inner = "mean"
            elif is_mean:
                raise ObstacleError("the question asks for the mean of other numbers", most_rank=0)
            of_target = {key(word) for word in tokens_of(labels[0])}
            is_other = self.kind.measure and of_target.isdisjoint(map(key, self.kind.measure.split()))
            if self.kind.time or (
                is_other and self.kind.measure != "size"
            ):  # the seats of the last, or the cheapest, flight
                raise ObstacleError(f"the question asks for {labels[0]} of one row", most_rank=0)
            return
        is_row = labels or any(asked.words[place] in _ROWS | _people(self.labels[0]) for place in near)
        stems = {asked.stems[place] for place in near if asked.words[place] not in _EMPTY}
        is_named = not stems.isdisjoint(_context_stems(self.table, asked))
        if not (is_row or is_named or (near and near & asked.used - {at})):
            raise ObstacleError("the question does not say what is counted", most_rank=-1)
        if is_mean:
            raise ObstacleError("the question asks for the mean of other numbers", most_rank=0)
        self.inner, self.counted = "count", self.labels[0] if labels else ""
        if not is_row and not is_named and self.kind.inner == "number":  # bolts, or rows of bolts
            amounts = (each for each in self.labels[1:] if not _AMOUNTS.isdisjoint(tokens_of(each)))
            self.beside = next((each for each in amounts if self.columns.share(each) >= MOSTLY), "")

    def _repeats(self, label: str, rows: Sequence[Row]) -> bool:
        """Whether different rows have the same value in a column: "Fair" of two years."""
        cells = {tuple(row.cells.items()): row.cells.get(label) for row in rows if label in row.cells}
        return len({*cells.values()}) < len(cells)

    def _resolve_extreme(self) -> None:
        """The groups of "which region has the most stations", and what is compared in them."""
        asked, kind = self.asked, self.kind
        asking = next((at for at, word in enumerate(asked.words) if word in ("which", "what", "who")), len(asked.words))
        near = set(range(asking + 1, asking + 4))
        wanted = [label for label in self.labels if asked.naming(label) & near and kind.at not in asked.naming(label)]
        if asked.words[asking : asking + 1] == ["who"]:
            wanted = [each for each in wanted if self.columns.share(each) < MOSTLY]
        label = next((each for each in wanted if min(asked.naming(each)) < kind.at), "")
        if not label or (label == self.labels[0] and not self._repeats(label, self.rows)):
            return
        self._use(label)
        word = asked.words[kind.at]
        if self.inner:
            self.group = self.group or label
        elif word in ("most", "fewest", "least") and not kind.measure and not kind.time:
            named = [each for each in self.labels if asked.naming(each) & {kind.at + 1, kind.at + 2}]
            named = [each for each in named if each != self.labels[0] or not self.columns.numbers_rows(each)]
            is_sum = any(self.columns.share(each) >= MOSTLY for each in named)
            self.group, self.inner = label, "sum" if is_sum else "count"
        else:
            self.shown.append(label)

    def _explain(self) -> None:
        """Raise ObstacleError for words of the question that no part of the rule explains."""
        asked, kind = self.asked, self.kind
        for label in filter(None, (self.labels[0], self.target, self.group)):
            self._use(label)
        stems = _context_stems(self.table, self.asked)
        asked.used |= {at for at, each in enumerate(asked.stems) if each in stems}
        longer = [(at, word) for at, word in enumerate(asked.words) if len(word) > 3]
        # To bake, of bakeries.
        asked.used |= {at for at, word in longer if any(each.startswith(word) for each in stems)}
        of_label = {token for label in self.labels for token in tokens_of(label)}
        slight = _SOLD if not of_label.isdisjoint(("price", "cost")) else frozenset[str]()
        slight |= (_PLACED if self.filters else frozenset()) | _people(self.labels[0])
        slight |= _PAID if not of_label.isdisjoint(_PAYMENTS) else frozenset()
        slight |= {verb for verb, nouns in _BY_VERB.items() if not of_label.isdisjoint(nouns.split())}
        read = {key(token) for label in (self.target, *self.shown) for token in tokens_of(label)}
        asked.used |= {at for at, word in enumerate(asked.words) if word in slight or asked.stems[at] in read}
        named = asked.naming(self.target) if self.target else set[int]()
        worth = {at for at in named if asked.words[at + 1 : at + 2] in (["value"], ["values"]) and at + 1 not in named}
        rest = asked.unexplained() + [asked.words[at + 1] for at in worth]  # of "Stock", "stock value"
        if rest:
            is_clear = kind.inner in ("sum", "mean") or self.inner in ("count", "distinct")
            reason = f"no column or value of the table is *{'*, *'.join(rest)}*"
            raise ObstacleError(reason, most_rank=0 if is_clear else -1)

    # The result

    def result(self) -> Computed:
        """The number over the rows that the filters admit. Raises ObstacleError if they do not allow the rule."""
        rows = [row for row in self.rows if all(each.admits(row) for each in self.filters)]
        where = " and ".join(each.text for each in self.filters)
        rows, aside = self._of_side(rows)
        head = f"{counted(len(rows))}{f' where {where}' if where else ''}"
        notes = f"; {counted(len(self.columns.totals))} of totals left out" if self.columns.totals else ""
        notes += f"; {counted(aside)} without {self.target} left out" if aside else ""
        for label in dict.fromkeys(
            each.label for each in self.filters if each.label and not self.columns.flags(each.label)
        ):
            empty = sum(label not in row.cells for row in self.rows)
            notes += f"; {counted(empty)} without {label} left out" if empty else ""
        if self.inner == "mean" and len(rows) == 1 and any(each.label == self.labels[0] for each in self.filters):
            raise ObstacleError("one row has no mean")
        if self.counted and not self.group and self._repeats(self.counted, rows):
            raise ObstacleError(
                f"several rows have the same {self.counted}, and the question may mean each once", most_rank=0
            )
        if self.beside and len(rows) > 1:
            raise ObstacleError(f"the question may count rows, or {self.beside}", most_rank=0)
        if not rows and self.inner != "count":
            raise ObstacleError(f"there is no row where {where}")
        if self.group:
            said, rows = self._by_group(rows)
        elif self.kind.extreme:
            said, rows = _extreme(self.kind, self.target, columns=self.columns, rows=rows)
        elif self.inner == "list":
            said = ""
        elif self.kind.inner == "share":
            said = self._share(rows)
        else:
            said = f"{_rule(self.inner, self.target)} = {self.columns.over(self.inner, self.target, rows=rows)}"
        shown = [(row, self._shown(row)) for row in rows[:MOST_SHOWN]]
        notes += f"; {MOST_SHOWN} of them listed" if len(rows) > MOST_SHOWN else ""
        is_share = self.kind.inner == "share"
        is_rule = any((self.group, self.kind.extreme, is_share, (_SUM | _MEAN).intersection(self.asked.words)))
        is_rule |= (self.inner in ("count", "distinct") and "many" in self.asked.words) or (
            self.inner == "list" and bool(self.shown)
        )
        if self.is_cell and not any(self.target in row.cells for row in rows):
            raise ObstacleError(f"the row has no {self.target}", most_rank=0)
        if self.is_cell and len(rows) > 1:
            raise ObstacleError(f"{counted(len(rows))} have what the question names", most_rank=0)
        is_lookup = len(rows) == 1 and bool(where) and (not is_rule or bool(self.is_cell) or bool(self.beside))
        return Computed(f"{head}: {said}" if said else head, tuple(shown), notes, is_lookup)

    def _of_side(self, rows: list[Row]) -> tuple[list[Row], int]:
        """The rows that have a number in "Debit", if no row has one in "Credit", too; and the number of the others."""
        words = {label: set(tokens_of(label)) for label in self.labels}
        own = words.get(self.target, set[str]())
        others = [each for each, of in words.items() for side in _SIDES if side & own and of & side - own]
        kept = [row for row in rows if self.target in row.cells]
        if len(others) != 1 or any(others[0] in row.cells for row in kept):
            return rows, 0
        return kept, len(rows) - len(kept)

    def _share(self, rows: list[Row]) -> str:
        """What part of all rows, or of the sum over them, the filtered ones are."""
        if self.inner not in ("count", "sum"):
            raise ObstacleError("the question does not say what is shared", most_rank=0)
        part, whole = (self.columns.value(self.inner, self.target, rows=each) for each in (rows, self.rows))
        if whole <= 0 or not 0 <= part <= whole:
            raise ObstacleError("the rows give no share")
        said = f"{spelled(part) if part else 0} of {spelled(whole)}"
        name = "share" if self.inner == "count" else f"share of {_rule(self.inner, self.target)}"
        return f"{name} = {spelled(round(100 * part / whole, 2)) if part else 0}% ({said})"

    def _by_group(self, rows: list[Row]) -> tuple[str, list[Row]]:
        """The result for each value of a column; the best group first, and its rows alone, if an extreme is asked for."""
        groups: dict[str, tuple[str, list[Row]]] = {}
        cells = self.columns.cells(self.group, rows)
        if self.period:
            times = self.columns.times(self.group, rows)
            if any(len(time) < self.period for time in times):
                raise ObstacleError(f"{self.group} is less exact than the question")
            cells = [written(time[: self.period]) for time in times]
        for row, cell in zip(rows, cells, strict=True):
            groups.setdefault(fold(cell), (cell, []))[1].append(row)
        if self.target and self.columns.share(self.target) >= MOSTLY:  # of one unit over all groups, or in each
            self.columns.quantities(self.target, rows, group="" if self.kind.extreme else self.group)
        order_of = sorted(groups) if self.period else list(groups)
        name = self.inner or ("max" if self.kind.extreme > 0 else "min")
        order = [groups[each] for each in order_of]
        if self.kind.extreme:
            values = {cell: self.columns.value(name, self.target, rows=own) for cell, own in order}
            order.sort(key=lambda group: -self.kind.extreme * values[group[0]])
            rows = [row for cell, own in order if values[cell] == values[order[0][0]] for row in own]
        listed = [f"{cell} = {self.columns.over(name, self.target, rows=own)}" for cell, own in order[:MOST_SHOWN]]
        more = f"; {len(order) - MOST_SHOWN} more" if len(order) > MOST_SHOWN else ""
        first = {1: ", greatest first", -1: ", least first"}.get(self.kind.extreme, "")
        return f"{_rule(name, self.target)} by {self.group}{first}: {'; '.join(listed)}{more}", rows

    def _shown(self, row: Row) -> str:
        """What an answer shows of a row: its first cell, and those that the rule read."""
        name = [each for each in self.labels[:3] if {"name", "title"} & {*tokens_of(each)}][:1]
        labels = dict.fromkeys((self.labels[0], *name, *self.shown, *filter(None, (self.group, self.target))))
        return ", ".join(" and ".join(row.cells[label]) for label in labels if label in row.cells) or row.section


def _rule(name: str, target: str) -> str:
    """A rule in words."""
    if name == "count":
        return name
    return f"different values of {target}" if name == "distinct" else f"{name} of {target}"


def _extreme(kind: _Kind, target: str, *, columns: Columns, rows: list[Row]) -> tuple[str, list[Row]]:
    """The greatest or least number or date of a column, and all rows that have it."""
    name = "max" if kind.extreme > 0 else "min"
    if kind.time and columns.share(target, is_time=True) >= MOSTLY:
        name = "max" if kind.time > 0 else "min"
        times = columns.times(target, rows)
        best = max(times) if kind.time > 0 else min(times)
        said = written(best)
        kept = [row for row, each in zip(rows, times, strict=True) if each == best]
    else:
        values = [each.value for each in columns.quantities(target, rows)]
        value, said = columns.value(name, target, rows=rows), columns.over(name, target, rows=rows)
        kept = [row for row, each in zip(rows, values, strict=True) if each == value]
    return f"{name} of {target} = {said}", kept


def asks_for_number(question: str) -> bool:
    """Whether a question names a rule: "how many", "total", "average", "most", "longest", "first" and so on.

    Examples
    --------
    >>> [asks_for_number(text) for text in ("How many stations opened?", "Who built it?", "Which depot has the most wagons?")]
    [True, False, True]
    """
    return _kind(_Asked(question)) is not None


def computed(question: str, table: Table) -> Computed:
    """The number that a question asks for over the rows of a table.

    Parameters
    ----------
    question : text of the question
    table : the table

    Returns
    -------
    Computed
        Its head states the number of rows, the filter, the rule and the result.

    Raises
    ------
    ValueError : the rule does not apply; the message says why

    Examples
    --------
    >>> from hlgraph.answer.tables import tables_of
    >>> from hlgraph.records import Chunk, Source
    >>> text = chr(10).join(("| Bridge | Length, m |", "| --- | --- |", "| Old | 120 |", "| New | 84.5 |"))
    >>> chunk = Chunk("c", "s", text, 0, len(text), 0, 9)
    >>> (table,) = tables_of([chunk], {"s": Source("s", "corpus", "file:///bridges.md", "Bridges", "")})
    >>> computed("What is the total length of the bridges?", table).head
    '2 rows: sum of Length, m = 204.5'
    """
    return _Rule(question, table).result()


# Rows of ranges

_BOUND = r"(?:[$€£¥] ?)?\d[\d.,]{0,30}"  # a longer run is no quantity
_RANGE = re.compile(
    rf"between (?P<begin>{_BOUND}) and (?P<finish>{_BOUND})"
    rf"|(?:from )?(?P<low>{_BOUND})[^\d,;]{{0,12}}?\s?(?:to|until|[-–])\s?(?P<high>{_BOUND})"
    rf"|(?:up to|at most|max\w*\.?|<=|≤) ?(?P<most>{_BOUND})"
    rf"|(?:under|below|(?:less|younger|shorter|smaller|lower) than|<) ?(?P<end>{_BOUND})"
    rf"|(?:from|at least|min\w*\.?|>=|≥) ?(?P<least>{_BOUND})"
    rf"|(?:over|above|(?:more|older|longer|larger|higher) than|>) ?(?P<start>{_BOUND})"
    rf"|(?P<first>{_BOUND})[^\d,;]{{0,12}}?(?:(?:and|or) (?:more|over|above|older|longer)|\+)",
    re.IGNORECASE,
)


class Range(NamedTuple):
    """The values that a text states: one, or a range of which an end may be open or missing.

    Attributes
    ----------
    low, high : the least and the greatest value; None without a limit
    is_open : whether the limit itself is left out: "over 5", "below 5"
    start, end : the span in the text
    """

    low: Decimal | None
    high: Decimal | None
    is_open: bool
    start: int
    end: int

    def has(self, value: Decimal) -> bool:
        """Whether a value lies in the range.

        Parameters
        ----------
        value : any value
        """
        is_above = self.low is None or self.low < value or (self.low == value and not self.is_open)
        return is_above and (self.high is None or value < self.high or (value == self.high and not self.is_open))

    def is_beyond(self, value: Decimal, *, is_strict: bool) -> bool | None:
        """Whether all of it is greater than a value; None if only a part is.

        Parameters
        ----------
        value : any value
        is_strict : whether the value itself is not beyond it
        """
        is_low_open, is_high_open = self.is_open and self.low is not None, self.is_open and self.high is not None
        if self.low is not None and (self.low > value or (self.low == value and (is_low_open or not is_strict))):
            return True
        is_below = self.high is not None and (self.high < value or (self.high == value and (is_high_open or is_strict)))
        return False if is_below else None


def ranges(text: str) -> list[Range]:
    """The ranges that a text states: "up to 23 kg", "3 to 4 days"; none with a limit that is no quantity, such as a version.

    Parameters
    ----------
    text : such as "at least 2,190 °F", "0 to 112 mph"
    """
    stated = map(_range, _RANGE.finditer(text))
    return [each for each in stated if each is not None]


def _range(match: re.Match[str]) -> Range | None:
    written = {name: _first_value(text) for name, text in match.groupdict().items() if text}
    at = {name: bound for name, bound in written.items() if bound is not None}
    if not at or len(at) < len(written):
        return None
    low = next((at[name] for name in ("low", "least", "first", "start", "begin") if name in at), None)
    high = next((at[name] for name in ("high", "most", "end", "finish") if name in at), None)
    return Range(low, high, "start" in at or "end" in at, *match.span())


def _has(cell: str, value: Decimal) -> bool | None:
    """Whether the range that a cell states has a value; None if it states none."""
    match = _RANGE.search(cell)
    stated = _range(match) if match else None
    return stated.has(value) if stated else None


def range_has(text: str, value: str) -> bool | None:
    """Whether the one range that a text states has a number; None if it states none or several.

    Parameters
    ----------
    text : such as "at least 2,190 °F", "0 to 112 mph"
    value : the number in digits

    Examples
    --------
    >>> range_has("fired to at least 2,190 °F", "2,200"), range_has("0 to 112 mph", "120"), range_has("fired twice", "120")
    (True, False, None)
    >>> range_has("from 2.0.1 to 2.4.0", "3"), range_has("0 to 112 mph", "1.2.3"), range_has("from 6 to 12 cm", "20")
    (None, None, False)
    """
    number = _first_value(value)
    return _has(text, number) if number is not None and len(_RANGE.findall(text)) == 1 else None


def _first_value(text: str) -> Decimal | None:
    """The value of the first number of a text; None without one, and for what is no quantity, such as a version."""
    written = next(iter(numbers(text)), None)
    return Decimal(written.value) if written and _DECIMAL.fullmatch(written.value) else None


_DECIMAL = re.compile(r"-?\d+(?:\.\d+)?")


_OF_RANGES = words_of("of_ranges")


def ranged_row(question: str, table: Table) -> Row | None:
    """The one row of a table whose range has the one number of a question, which names its unit and another column.

    The table, its headings or its title have the other words of the question.

    Parameters
    ----------
    question : text of the question
    table : the table

    Examples
    --------
    >>> from hlgraph.answer.tables import tables_of
    >>> from hlgraph.records import Chunk, Source
    >>> text = chr(10).join(("| Weight | Price |", "| --- | --- |", "| up to 2 kg | 4.90 |", "| over 2 kg | 7.90 |"))
    >>> chunk = Chunk("c", "s", text, 0, len(text), 0, 9)
    >>> (table,) = tables_of([chunk], {"s": Source("s", "corpus", "file:///post.md", "Post", "")})
    >>> ranged_row("What is the price for 3 kg?", table).cells["Price"]
    ('7.90',)
    """
    asked = _Asked(question)
    said = {at: each for at, word in enumerate(asked.words) for each in numbers(" ".join(telling_words(word)[1]))}
    if len(said) != 1 or YEAR.fullmatch(min(said.values()).value):
        return None
    ((at, only),) = said.items()
    value, beside = _first_value(only.value), {*asked.stems[max(0, at - 1) : at + 2]} - {*map(stem, STOP_WORDS)}
    if value is None:
        return None
    fitting: list[Row] = []
    for label in table.labels:
        cells = [row.cells.get(label, ("",))[0] for row in table.rows]
        inside = [_has(cell, value) for cell in cells]
        units = {key(word) for text in (label, *cells) for word in tokens_of(text) if word.isalpha()}
        is_named = any(asked.naming(other) for other in table.labels if other != label)
        if None not in inside and len(cells) > 1 and is_named and not units.isdisjoint(beside):
            fitting += [row for row, has in zip(table.rows, inside, strict=True) if has]
    around = (*table.context, *table.labels, *(row.text for row in fitting))
    known = {key(word) for text in around for word in tokens_of(text)}
    rest = (word for place, word in enumerate(asked.words) if place not in (*asked.used, at))
    is_told = all(key(word) in known for word in rest if word not in STOP_WORDS | _OF_RANGES)
    return fitting[0] if len(fitting) == 1 and is_told else None


# The answer

BY_ROWS = "rows"
"""``Answer.checked_by`` of a number over the rows of a table."""
_SEMICOLON = "; "


def table_answer(question: str, evidence: Sequence[Evidence], *, reader: TableReader) -> Answer | str:
    """The answer by a rule over the rows of a table of the evidence, with its rows as citations; else the reason why there is none.

    Reads nothing unless the question names a rule and the evidence has a row, or a number and a row with a range, which answers
    by :func:`ranged_row`. If the rule applies to several tables of the evidence, with different results, none is taken.

    Parameters
    ----------
    question : text of the question
    evidence : best first
    reader : reads the rows

    Returns
    -------
    Answer | str
        The reason is empty if the question does not ask for a number over a table, if the table is not what the best piece of
        evidence comes from, or if one row of it answers alone.
    """
    rows = [piece for piece in evidence if piece.statement_id and is_row(piece.text)]
    has_number = any(map(str.isdigit, "".join(telling_words(question)[1])))
    is_ranged = has_number and any(_RANGE.search(row.text) for row in rows)
    if not rows:
        return ""
    is_ruled = asks_for_number(question) or (_LISTS.match(question) is not None and rows[0] is evidence[0])
    if not (is_ranged or is_ruled):
        return ""
    files = list(dict.fromkeys(base_of(piece.source.uri) for piece in rows))[:_MOST_FILES]
    tables = reader.tables(files)
    if tables is None:
        return f"it has more than {MOST_ROWS:,} rows"
    places = {(piece.source.id, piece.start): rank for rank, piece in reversed([*enumerate(evidence)])}
    ranked = [
        (min(ranks), at, table)
        for at, table in enumerate(tables)
        if (ranks := [places[key] for row in table.rows if (key := (row.chunk.source_id, row.start)) in places])
    ]
    ranges = [row for _, _, table in ranked if is_ranged and (row := ranged_row(question, table))]
    if len(ranges) == 1:
        return _of_row(question, reader.evidence(ranges))
    ranked.sort(key=lambda each: each[:2])
    return _ruled(question, ranked, reader, first=(evidence[0].source.id, evidence[0].start)) if is_ruled else ""


def _ruled(
    question: str, ranked: Sequence[tuple[int, int, Table]], reader: TableReader, *, first: tuple[str, int]
) -> Answer | str:
    results: dict[str, tuple[Table, Computed]] = {}
    reason, row = "", None
    for rank, _, table in ranked:
        try:
            result = computed(question, table)
        except ObstacleError as obstacle:
            if rank <= obstacle.most_rank and not reason:
                reason, row = str(obstacle), answering_row(question, table)
            continue
        results.setdefault(result.head, (table, result))
    if len(results) > 1:
        names = "; ".join(f"{table.name}: {result.head}" for table, result in results.values())
        return f"several tables fit ({names})"
    if not results and not reason and row is None and asks_for_number(question):
        best = next((table for rank, _, table in ranked if rank == 0), None)
        count = _rows_like(question, first, best.rows) if best else 0
        return OneOfRows(f"{counted(count)} have what the question names") if count > 1 else ""
    if not results:
        return reason if row is None else ""
    ((table, result),) = results.values()
    if result.is_lookup:
        return _of_row(question, reader.evidence([result.rows[0][0]]))
    return _answer(question, result, pieces=reader.evidence([row for row, _ in result.rows]))


class OneOfRows(str):
    """A reason against an answer that begins with a row of a table, which is one of several."""

    __slots__ = ()


def _rows_like(question: str, first: tuple[str, int], rows: Sequence[Row]) -> int:
    """The number of rows whose cells have all words of a question that those of the first one have, but limits."""
    asked = _Asked(_LIMIT.sub(" ", fold(question))).known - {*map(stem, STOP_WORDS)}
    cells = ((row, " ".join(chain.from_iterable(row.cells.values()))) for row in rows)
    said = {(row.chunk.source_id, row.start): asked.intersection(map(key, tokens_of(text))) for row, text in cells}
    return sum(said[first] <= words for words in said.values()) if first in said else 0


def answering_row(question: str, table: Table) -> Row | None:
    """The one row of a table that has all values which a question names, and a cell in a column that it names; None if several do.

    A word for a rule, such as "total" or "most", must be one of that row or of its labels. A limit has no such row: "over 5".

    Parameters
    ----------
    question : text of the question
    table : the table, with the rows of its totals
    """
    asked = _Asked(question)
    kind = _kind(asked)
    named: defaultdict[str, set[str]] = defaultdict(set)
    cells_of = ((label, cell) for row in table.rows for label, cells in row.cells.items() for cell in cells)
    for label, cell in cells_of:
        if any(asked.spans(cell)):
            named[label].add(cell)
    wanted = [label for label in table.labels if label not in named and asked.naming(label)]
    if not named or not wanted or any(match["word"] not in _OF_TIME for match in _LIMIT.finditer(asked.text)):
        return None
    rows = table.rows
    for label, cells in named.items():
        rows = [row for row in rows if not cells.isdisjoint(row.cells.get(label, ()))]
    if len(rows) != 1 or not any(row.cells.get(label) for row in rows for label in wanted):
        return None
    texts = (*rows[0].cells, *chain.from_iterable(rows[0].cells.values()))
    own = {stem(word) for text in texts for word in tokens_of(text)}
    words = [word for word in asked.words if word in _SUM | _MEAN]
    words += [asked.words[kind.at]] if kind and kind.extreme else []
    return rows[0] if all(stem(word) in own for word in words) else None


def unlike_rows(question: str, text: str) -> str:
    """Why one row is no answer to a question for a total, a mean or an extreme; empty if it is, or if the text is no row.

    It is if it says the word itself, and one of its columns is meant.

    Parameters
    ----------
    question : text of the question
    text : text of a statement

    Examples
    --------
    >>> row = "Part: Bolt; Net mass: 3 kg; Gross mass: 4 kg"
    >>> unlike_rows("What is the mass of the bolt?", row)
    ''
    >>> unlike_rows("What is the total mass?", row)
    'the first statement is one row, and the question asks for more'
    >>> unlike_rows("What is the total mass?", row.replace("Bolt", "Total"))
    'the question fits the columns Net mass and Gross mass'
    """
    if not is_row(text):
        return ""
    asked = _Asked(question)
    kind = _kind(asked)
    totals = {word for word in asked.words if word in _SUM | _MEAN}
    words = totals | ({asked.words[kind.at]} if kind and kind.extreme else set())
    if not {*map(stem, words)} <= {stem(word) for word in tokens_of(text)}:
        return "the first statement is one row, and the question asks for more"
    stems = asked.known - {stem(word) for word in chain(words, STOP_WORDS)}
    labels = {label: {*map(key, tokens_of(parted(label)[0]))} for label in _LABELS.findall(text)}
    most = max((len(stems & own) for own in labels.values()), default=0)
    fitting = [label for label, own in labels.items() if most and len(stems & own) == most]
    is_one = len(fitting) < 2 or not totals or any(labels[label] <= stems for label in fitting)
    return "" if is_one else f"the question fits the columns {' and '.join(fitting)}"


@lru_cache(_CACHED)
def measured_by(adjective: str) -> tuple[str, ...]:
    """The words that state the measure of an adjective: its nouns, and the adjectives of the same nouns.

    Examples
    --------
    >>> measured_by("deeper"), measured_by("red")
    (('depth', 'deep', 'shallow'), ())
    """
    nouns = MEASURES.get(adjective, ("", True))[0].split()
    alike = (forms.split()[0] for forms, of, _ in _FORMS if not word_set(of).isdisjoint(nouns))
    return (*nouns, *alike)


@cached_by_text(2_048)
def is_row(text: str) -> bool:
    """Whether a statement may be the row of a table: "Label: value; Label: value"."""
    return _LABELLED.search(text) is not None


def _of_row(question: str, pieces: Sequence[Evidence]) -> Answer:
    sentence = AnswerSentence(f"{pieces[0].text} [1]", (1,), is_supported=True)
    cited = (Citation(1, pieces[0]),)
    return Answer(question, sentence.text, cited, is_supported=True, sentences=(sentence,), checked_by=BY_ROWS)


def _answer(question: str, result: Computed, *, pieces: Sequence[Evidence]) -> Answer:
    numbers_of = {piece.id: number for number, piece in enumerate({piece.id: piece for piece in pieces}.values(), 1)}
    cited = tuple(Citation(numbers_of[each], piece) for each, piece in {piece.id: piece for piece in pieces}.items())
    rows = [f"{shown} [{numbers_of[piece.id]}]" for (_, shown), piece in zip(result.rows, pieces, strict=True)]
    text = f"{result.head}{f': {_SEMICOLON.join(rows)}' if rows else ''}{result.notes}"
    sentence = AnswerSentence(text, tuple(each.number for each in cited), is_supported=True)
    return Answer(
        question, text, cited, is_supported=bool(cited) or not rows, sentences=(sentence,), checked_by=BY_ROWS
    )
