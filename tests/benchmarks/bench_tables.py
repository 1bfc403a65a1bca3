"""How many numeric statements get the right labels of their table (HLG 4.3.2), for each format of a document.

The tables are made up, like those of quarterly reports: a caption with a unit ("in millions, except per share data"), labels
that span columns ("Three Months Ended June 30," over two years), sections, totals, dollar signs, losses in brackets, and in
some a row that lacks its last cell. Every value is unique. Two kinds of statements are asked for, each about one cell:

- of a row: it stands on the row of the table, as the statements of an extractor do;
- of prose: it stands below the table and says the value in another scale ("$5.23 billion" for 5,234 in millions).

``right`` has the row, all labels above the column, and the unit; ``part`` lacks a label and has no foreign one; ``wrong`` has the
labels of another cell; ``none`` has no label.

    python tests/benchmarks/bench_tables.py [--tables 60]
"""

from __future__ import annotations

import argparse
import io
import random
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import NamedTuple

from measure import say, table

from hlgraph.read.content import Origin
from hlgraph.read.formats.docx import read_docx
from hlgraph.read.formats.html import read_html
from hlgraph.read.formats.log_text import read_text
from hlgraph.read.formats.pdf import read_pdf
from hlgraph.read.options import ReadOptions
from hlgraph.retrieve.evidence.tables import cells, labels

PERIODS = ("Three Months Ended June 30,", "Six Months Ended June 30,", "Year Ended December 31,")
ROWS = (
    "Product sales", "Service revenue", "Licences and fees", "Cost of products", "Cost of services", "Research costs",
    "Marketing expenses", "Administrative expenses", "Interest income", "Interest expense", "Income taxes", "Rent paid",
)  # fmt: skip
SCALES = {"thousands": 3, "millions": 6, "billions": 9}
WORDS = {6: "million", 9: "billion", 12: "trillion"}
OUTCOMES = ("right", "part", "wrong", "none")
INTRO = "The statements below are those of the company and of all that it owns."


class Truth(NamedTuple):
    """A cell: its labels, its text, and the sentence about it below the table."""

    row: str
    column: tuple[str, ...]
    value: str
    prose: str


@dataclass(frozen=True)
class Made:
    """A table. ``spans`` are the labels of the upper head with their widths; empty where there is one head."""

    caption: str
    spans: tuple[tuple[str, int], ...]
    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    truths: tuple[Truth, ...]

    @property
    def prose(self) -> str:
        """The text below the table."""
        return " ".join(truth.prose for truth in self.truths if truth.prose)


def made(rng: random.Random) -> Made:
    """A table with its truths."""
    scale = rng.choice(list(SCALES))
    has_spans = rng.random() < 0.6
    periods = rng.sample(PERIODS, 2)
    spans = tuple((period, 2) for period in periods) if has_spans else ()
    heads = ("2023", "2022", "2023", "2022") if has_spans else ("2023", "2022", "2021")
    columns = [(periods[at // 2], year) for at, year in enumerate(heads)] if has_spans else [(year,) for year in heads]
    taken: set[str] = set()
    rows: list[tuple[str, ...]] = []
    truths: list[Truth] = []
    is_ragged = rng.random() < 0.3
    names = rng.sample(ROWS, rng.randint(4, 8))
    for at, name in enumerate(names):
        if at in (0, len(names) // 2):
            rows.append(("Revenue:" if at == 0 else "Expenses:", *[""] * len(heads)))
        values = []
        for column in columns:
            value = f"{_unique(rng, taken):,}"
            prose = _prose(name, column, value, scale) if rng.random() < 0.3 else ""
            truths.append(Truth(name, column, value, prose))
            values.append(f"({value})" if rng.random() < 0.15 else f"$ {value}" if at == 0 else value)
        if is_ragged and at == len(names) - 1:
            values.pop()
            truths.pop()
        rows.append((name, *values))
    caption = f"Statements of operations (in {scale}, except per share data)"
    return Made(caption, spans, heads, tuple(rows), tuple(truths))


def _unique(rng: random.Random, taken: set[str]) -> int:
    while True:
        value = rng.randint(1001, 99_999)
        # Two digits after the point of the larger scale tell the values of a table apart.
        if not taken & {str(value)[:3], str(value)}:
            taken |= {str(value)[:3], str(value)}
            return value


def _prose(name: str, column: Sequence[str], value: str, scale: str) -> str:
    power = SCALES[scale] + 3
    amount = Decimal(value.replace(",", "")).scaleb(-3)
    return f"{name} came to ${amount.normalize():f} {WORDS[power]} in the {' '.join(column).lower()}."


def lines_of(item: Made) -> list[list[str]]:
    """All lines as cells: the upper head with a label over the first of its columns, the head, the rows."""
    upper = [part for label, width in item.spans for part in (label, *[""] * (width - 1))]
    return [*([["", *upper]] if upper else []), ["", *item.heads], *[list(row) for row in item.rows]]


def as_markdown(item: Made) -> str:
    """Markdown, as the readers of HTML and DOCX make it."""
    first, *rest = [f"| {' | '.join(line)} |" for line in lines_of(item)]
    rule = f"|{' --- |' * (len(item.heads) + 1)}"
    return "\n".join((INTRO, "", item.caption, "", first, rule, *rest, "", item.prose))


def as_spaced(item: Made) -> str:
    """Plain text, aligned with spaces; a label that spans columns is centred above them."""
    widths = [
        28,
        *[max(16, max(len(label) for label, _ in item.spans) // 2 + 3 if item.spans else 0)] * len(item.heads),
    ]
    found = [INTRO, "", item.caption.center(sum(widths)).rstrip(), ""]
    if item.spans:
        upper = "".join(label.center(widths[1] * width) for label, width in item.spans)
        found.append(" " * widths[0] + upper.rstrip())
    for name, *parts in [["", *item.heads], *item.rows]:
        line = [name, *(f"${part[2:].rjust(10)}" if part.startswith("$") else part for part in parts)]
        found.append((line[0].ljust(widths[0]) + "".join(part.rjust(widths[1]) for part in line[1:])).rstrip())
    return _plain("\n".join((*found, "", item.prose)))


def as_delimited(item: Made) -> str:
    """Rows with tabs; two heads are one, because delimited text has no spans."""
    rows = [
        ["Item", *[" ".join(column) for column in _columns(item)]],
        *[list(row) for row in item.rows if any(row[1:])],
    ]
    return _plain("\n".join((INTRO, "", item.caption, *("\t".join(row) for row in rows), "", item.prose)))


def _plain(text: str) -> str:
    return read_text(Origin("x.txt"), text.encode(), options=ReadOptions()).text


def _columns(item: Made) -> list[tuple[str, ...]]:
    over = [label for label, width in item.spans for _ in range(width)]
    return [(over[at], head) if over else (head,) for at, head in enumerate(item.heads)]


def as_html(item: Made) -> str:
    """A page; spans are cells with ``colspan``."""
    body = []
    if item.spans:
        body.append("<tr><th></th>" + "".join(f'<th colspan="{n}">{label}</th>' for label, n in item.spans) + "</tr>")
    body.append("<tr><th></th>" + "".join(f"<th>{head}</th>" for head in item.heads) + "</tr>")
    body += ["<tr>" + "".join(f"<td>{part}</td>" for part in row) + "</tr>" for row in item.rows]
    page = f"<p>{INTRO}</p><p>{item.caption}</p><table>{''.join(body)}</table><p>{item.prose or INTRO}</p>"
    return _page(page)


def as_filing(item: Made) -> str:
    """A page as filings to the SEC are: signs in cells of their own, and heads that span them."""
    body = []
    if item.spans:
        spans = "".join(f'<td colspan="{3 * n}">{label}</td>' for label, n in item.spans)
        body.append(f"<tr><td></td>{spans}</tr>")
    body.append("<tr><td></td>" + "".join(f'<td colspan="3">{head}</td>' for head in item.heads) + "</tr>")
    for label, *values in item.rows:
        row = f"<td>{label}</td>"
        for part in values:
            before, behind = "$" if "$" in part else "(" if "(" in part else "", ")" if ")" in part else ""
            row += f"<td>{before}</td><td>{part.strip('$() ')}</td><td>{behind}</td>"
        body.append(f"<tr>{row}</tr>")
    return _page(f"<p>{INTRO}</p><p>{item.caption}</p><table>{''.join(body)}</table><p>{item.prose or INTRO}</p>")


def _page(page: str) -> str:
    text = f"<html><head><title>Report</title></head><body><article><h1>Report</h1>{page}</article></body></html>"
    return read_html(Origin("x.html"), text.encode(), options=ReadOptions()).text


def as_docx(item: Made) -> str:
    """A document of Word; spans are merged cells."""
    import docx

    word = docx.Document()
    word.add_paragraph(INTRO)
    word.add_paragraph(item.caption)
    lines = lines_of(item)
    grid = word.add_table(rows=len(lines), cols=len(item.heads) + 1)
    for at, line in enumerate(lines):
        for column, part in enumerate(line):
            if part:
                grid.cell(at, column).text = part
    at = 1
    for _, width in item.spans:
        grid.cell(0, at).merge(grid.cell(0, at + width - 1))
        at += width
    word.add_paragraph(item.prose)
    data = io.BytesIO()
    word.save(data)
    return read_docx(Origin("x.docx"), data.getvalue(), options=ReadOptions()).text


def as_pdf(item: Made) -> str:
    """A PDF page without rules between its cells: text at places, as filings have it."""
    from reportlab.lib.pagesizes import letter
    from reportlab.pdfgen.canvas import Canvas

    data = io.BytesIO()
    page = Canvas(data, pagesize=letter)
    font, size = ("Helvetica", "Times-Roman", "Courier")[len(item.rows) % 3], 8 + len(item.truths) % 3
    page.setFont(font, size)
    height, rights = 740.0, [300 + 75 * at for at in range(len(item.heads))]

    def down(step: float = 13.0) -> float:
        nonlocal height
        height -= step
        return height

    page.drawString(50, down(), INTRO)
    page.drawCentredString(306, down(26), item.caption)
    down(13)
    if item.spans:
        y, at = down(), 0
        page.setFont(font, min(size, *(size * 130 / page.stringWidth(label, font, size) for label, _ in item.spans)))
        for label, width in item.spans:
            page.drawCentredString((rights[at] + rights[at + width - 1]) / 2 - 15, y, label)
            at += width
        page.setFont(font, size)
    y = down()
    for right, head in zip(rights, item.heads, strict=True):
        page.drawRightString(right, y, head)
    for row in item.rows:
        y = down()
        page.drawString(50, y, row[0])
        for right, part in zip(rights, row[1:], strict=False):
            page.drawRightString(right, y, part.removeprefix("$ "))
            if part.startswith("$"):
                page.drawString(right - 50, y, "$")
    down(13)
    words: list[str] = []
    for word in item.prose.split():
        if len(" ".join([*words, word])) > 100:
            page.drawString(50, down(), " ".join(words))
            words = []
        words.append(word)
    page.drawString(50, down(), " ".join(words))
    page.save()
    return read_pdf(Origin("x.pdf"), data.getvalue(), options=ReadOptions()).text


FORMATS: Mapping[str, Callable[[Made], str]] = {
    "Markdown": as_markdown,
    "HTML": as_html,
    "HTML, as filings": as_filing,
    "DOCX": as_docx,
    "tab-separated text": as_delimited,
    "space-aligned text": as_spaced,
    "PDF": as_pdf,
}


def outcome(item: Made, truth: Truth, found: Sequence[str]) -> str:
    """How the labels of a statement about one cell are."""
    mine = [label for label in found if label.endswith(f" {truth.value}") or truth.value in label.rpartition(": ")[2]]
    if len(mine) < len(found):
        return "wrong"
    if not mine:
        return "none"
    said = " ".join(mine[0].split())
    others = {part for column in _columns(item) for part in column} - set(truth.column)
    if truth.row not in said or any(part in said for part in others):
        return "wrong"
    unit = item.caption.partition("(")[2].partition(",")[0]
    return "right" if all(part in said for part in (*truth.column, unit)) else "part"


def measured(name: str, items: Sequence[Made]) -> list[list[str]]:
    """The rows of a format: statements of rows, statements of prose."""
    counts: dict[str, Counter[str]] = {"of a row": Counter(), "of prose": Counter()}
    for item in items:
        text = FORMATS[name](item)
        there = cells(text)
        for truth in item.truths:
            at = text.find(truth.value)
            span = (text.rfind("\n", 0, at) + 1, text.find("\n", at) % (len(text) + 1)) if at >= 0 else (0, 0)
            counts["of a row"][outcome(item, truth, labels(f"{truth.row} was {truth.value}.", span, cells=there))] += 1
            if truth.prose:
                begin = len(text) - 1
                counts["of prose"][outcome(item, truth, labels(truth.prose, (begin, begin + 1), cells=there))] += 1
    return [
        [name, kind, str(total := sum(found.values())), *(f"{100 * found[each] / total:.1f} %" for each in OUTCOMES)]
        for kind, found in counts.items()
    ]


def main() -> None:
    """Run it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tables", type=int, default=60)
    chosen = parser.parse_args()
    rng = random.Random(7)
    items = [made(rng) for _ in range(chosen.tables)]
    say(f"{chosen.tables} tables, {sum(len(item.truths) for item in items)} values")
    table(("format", "statements", "count", *OUTCOMES), [row for name in FORMATS for row in measured(name, items)])


if __name__ == "__main__":
    main()
