"""The page of an evaluation: what stands in it, in which order, and that texts of people are only texts."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from dataclasses import replace
from html.parser import HTMLParser

from reports import hostile_results

from hlgraph.evaluate.plots import Column, forest
from hlgraph.evaluate.report import report_page
from hlgraph.evaluate.statistics import Interval, losses, passages_of, uncertainty
from hlgraph.models.accounts.ledger import Spent

_VOID = {"meta", "link", "br"}


class _Balance(HTMLParser):
    """The elements of a page, and those that are not closed in their order."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: list[str] = []
        self.links: list[str | None] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append(tag)
        self.links += [value for name, value in attrs if name in ("src", "href")]
        if tag not in _VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag, (tag, self.open)


def test_the_page_is_whole_and_texts_are_only_texts() -> None:
    page = report_page(hostile_results())
    found = _Balance()
    found.feed(page)
    assert found.open == []
    assert "script" not in found.seen
    assert "img" not in found.seen
    assert all(str(link).startswith(("#", "data:,")) for link in found.links)
    assert "default-src 'none'" in page
    assert "script-src" not in page
    titles = re.findall(r'<h2 id="([\w-]+)">([^<]+)', page)
    assert [title for _, title in titles] == [
        *("What was run", "Retrieval", "Answers", "Correctness, judged by a scripted model", "By kind of question"),
        *("Against the earlier run", "Largest losses"),
    ]
    assert all(f'href="#{anchor}"' in page for anchor, _ in titles)


def test_the_page_says_what_was_run_and_found() -> None:
    results = hostile_results()
    page = report_page(results)
    assert "recall@5 of <bdi>good</bdi> is 100.0 %." in page
    assert "bad</bdi> -100.0 (p below 0.001)" in page
    assert "corpus-fingerprint (fingerprint)" in page
    assert "2 replies could not be read" in page
    assert page.count("<svg") == 2 + 1 + 2 + 6
    assert "p (Holm)" in page
    lost = losses(results.report, "good")
    assert list(lost) == ["bad"]
    assert [item.question.id for item in lost["bad"]] == ["q0", "q1", "q10", "q11", "q12"]
    assert passages_of(lost["bad"]) == {"g", "x"}
    assert '<mark><bdi title="g">The &lt;b&gt;gold&lt;/b&gt; passage</bdi></mark>' in page
    assert "answered: <bdi>wrong</bdi>" in page


def test_a_run_of_another_system_has_no_answers() -> None:
    results = hostile_results()
    report = results.report
    report = replace(report, strategies={**report.strategies, "colbert": next(iter(report.strategies.values()))})
    page = report_page(replace(results, report=report, uncertainty=uncertainty(report)))
    assert page.count("<svg") == 2 + 1 + 2 + 6
    assert page.count('<th scope="row"><bdi>colbert</bdi></th>') > 3


def test_the_cost_of_answers_is_said() -> None:
    results = hostile_results()
    assert results.answers is not None
    assert "cost of answers" not in report_page(results)
    spent = Spent(name="answers", calls=2, input_tokens=1500, output_tokens=20, usd=0.25)
    answered = {name: replace(item, spent=spent) for name, item in results.answers.strategies.items()}
    answers = results.answers._replace(by_chat=True, strategies=answered)
    assert "4 calls, 3,000 tokens in, 40 out, 0.5000 USD" in report_page(replace(results, answers=answers))


def test_a_forest_is_drawn_to_scale() -> None:
    drawn = forest(
        ["a", "b<"],
        [Column("EM", (Interval(-8.0, -10.0, -6.0), None)), Column("F1", (None, Interval(1, -1, 3)))],
        title="t",
        is_difference=True,
    )
    tree = ET.fromstring(drawn)  # noqa: S314 - made here
    marks = list(tree.iter("g"))
    assert [group.get("class") for group in marks] == ["told", "noise"]
    assert [group.findtext("title") for group in marks] == [
        "a, EM: -8.00, -10.00 to -6.00",
        "b<, F1: 1.00, -1.00 to 3.00",
    ]
    line, circle = marks[0].find("line"), marks[0].find("circle")
    assert line is not None
    assert circle is not None
    low, mean, high = (float(str(value)) for value in (line.get("x1"), circle.get("cx"), line.get("x2")))
    assert mean - low == high - mean > 0
    ends = {text.text for text in tree.iter("text")}
    assert {"-10", "0", "10"} <= ends
