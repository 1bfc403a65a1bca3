"""Facts that contradict each other are shown with their sources and dates, to those who may see these, then and now."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from command_line import call
from live_stores import opened, settings_for

import hlgraph
from hlgraph.answer.contradictions import agreements
from hlgraph.errors import AccessError, InputError, WhereError
from hlgraph.records import Document
from hlgraph.sdk.client import HLGraph
from hlgraph.stores.protocols import Scope
from hlgraph.testing.embedder import WordEmbedder

STORE = ("--store", "hlgraph://./store")
QUESTION = "Who leads the Aldane Works?"
SURNAMES = ("Marlow", "Thorn", "Voss", "Brandt", "Quill", "Moss", "Querl", "Castell", "Dray", "Orme", "Vaude")
TOWNS = ("Tessing", "Gannow", "Orle", "Lund", "Velm", "Stennick", "Kestrin", "Mornach", "Haldrey", "Ombry", "Tollen")


def paper(number: int, text: str, **metadata: Any) -> Document:
    return Document(f"doc:{number}", text, f"Paper {number}", metadata)


LEADERS = (
    paper(1, "Mara Quill leads the Aldane Works. Mara Quill visited Tessing.", year=2019),
    paper(2, "Ivo Brandt leads the Aldane Works. Mara Quill visited Gannow.", date="2024-03-05"),
    paper(3, "Ivo Brandt leads the Works of Orle. Ivo Brandt leads the works.", year=2020),
)


@pytest.fixture
def graph(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[HLGraph]:
    monkeypatch.chdir(tmp_path)
    with hlgraph.connect("hlgraph://./store", embedder=WordEmbedder()) as opened:
        yield opened


def listed(
    graph: HLGraph, *predicates: str, **options: Any
) -> list[tuple[str, str, list[tuple[str, list[str | None]]]]]:
    return [
        (one.subject, one.predicate, [(each.name, [said.date for said in each.assertions]) for each in one.objects])
        for one in graph.contradictions(predicates, **options)
    ]


def test_given_predicates_are_shown_with_sources_dates_and_spans(graph: HLGraph) -> None:
    graph.ingest(LEADERS)
    assert listed(graph) == []
    expected = [("Aldane Works", "^leads", [("Ivo Brandt", ["2024-03-05"]), ("Mara Quill", ["2019"])])]
    assert listed(graph, " ^Leads") == expected
    (one,) = graph.contradictions(["^leads"])
    said = one.objects[1].assertions[0]
    assert (said.text, said.source.uri) == ("Paper 1: Mara Quill leads the Aldane Works.", "doc:1")
    assert LEADERS[0].text[said.start : said.end] in said.text
    assert listed(graph, "^leads", where="year < 2021") == []
    for wrong, kind in ((("",), InputError), (("^",), InputError)):
        with pytest.raises(kind):
            graph.contradictions(wrong)
    with pytest.raises(WhereError):
        graph.contradictions(where="nothing = 1")


def test_a_predicate_is_functional_if_sources_agree_about_nearly_all_of_ten_subjects(graph: HLGraph) -> None:
    people = [f"{name} {last}" for name, last in zip(("Ada", "Ben", "Cyril", "Dora") * 3, SURNAMES, strict=False)]
    born = [
        f"{person} was born in {town}. {person} visited {town}." for person, town in zip(people, TOWNS, strict=True)
    ]
    other = [
        f"{person} was born in {town}. {person} visited Pellam."
        for person, town in zip(people[:10], TOWNS, strict=False)
    ]
    graph.ingest([paper(1, " ".join(born)), paper(2, " ".join(other))])
    stores = graph.ingestion.opened.stores
    counts = agreements(stores, Scope("default"))
    assert (counts["was born in"].subjects, counts["was born in"].is_functional) == (10, True)
    assert not any(count.is_functional for name, count in counts.items() if "visited" in name)
    assert listed(graph) == []
    graph.ingest([paper(3, f"{people[0]} was born in Amberlain.")])
    assert [one[:2] for one in listed(graph)] == [(people[0], "was born in")]
    assert "Another source says" in graph.answer(f"Where was {people[0]} born?").text
    assert "Another source says" not in graph.answer(f"Where was {people[1]} born?").text
    graph.ingest([paper(4, f"{people[1]} was born in Amberlain. {people[2]} was born in Amberlain.")])
    assert not any(one[1] == "was born in" for one in listed(graph))  # 3 of 10 differ


def test_an_answer_names_both_sources_and_dates(graph: HLGraph) -> None:
    graph.ingest(LEADERS)
    told = hlgraph.connect(hlgraph.Settings(store="hlgraph://./store", functional=("^leads",)), embedder=WordEmbedder())
    plain = graph.answer(QUESTION)
    assert "Another source" not in plain.text
    with told:
        answer = told.answer(QUESTION)
        pieces = [event.text for event in told.answer_stream(QUESTION) if isinstance(event, hlgraph.AnswerPiece)]
        asked = told.answer("What did Mara Quill visit?")
        ours = told.answer(QUESTION, where="year < 2021")
        found = [one.id for one in told.search(QUESTION).evidence] == [
            one.id for one in graph.search(QUESTION).evidence
        ]
    assert answer.text.startswith(plain.text)
    assert "".join(pieces) == answer.text
    number = answer.citations[-1].number
    assert f"[{number}] (1: Paper" in answer.text or "differ. (1: Paper" in answer.text
    assert {"2019", "2024-03-05"} <= set(answer.text.replace(")", " ").replace(";", " ").replace(",", " ").split())
    assert {citation.evidence.source.uri for citation in answer.citations} == {"doc:1", "doc:2"}
    assert all(sentence.is_supported for sentence in answer.sentences)
    assert not any("differ" in one.text or "Another" in one.text for one in (asked, ours))
    assert found


def test_what_one_statement_says_together_does_not_differ(graph: HLGraph) -> None:
    graph.ingest([paper(1, "Ada Marlow was born in Tessing, Velmod."), paper(2, "Ada Marlow was born in Velmod.")])
    assert {fact.text for fact, _ in graph.facts.read().facts} >= {
        f"Ada Marlow was born in {name}" for name in ("Tessing", "Velmod")
    }
    assert listed(graph, "was born in") == []
    graph.ingest([paper(3, "Ada Marlow was born in Gannow.")])
    assert len(graph.contradictions(["was born in"])[0].objects) == 2


def test_the_command_line_lists_them(graph: HLGraph) -> None:
    graph.ingest(LEADERS)
    assert call(*STORE, "contradictions").out == "no contradictions\n"
    done = call(*STORE, "contradictions", "--predicate", "^leads")
    assert done.out.startswith(
        "Aldane Works: ^leads\n  Ivo Brandt\n    2024-03-05: Paper 2: Ivo Brandt leads the Aldane Works.\n"
    )
    (tree,) = call(*STORE, "contradictions", "--predicate", "^leads", "--json").tree["contradictions"]
    assert [one["assertions"][0]["source"]["uri"] for one in tree["objects"]] == ["doc:2", "doc:1"]


def run(graph: HLGraph) -> list[Any]:
    """What callers see of contradictions, now and then."""
    public, both = {"acl": ["public"]}, {"acl": ["public", "board"]}
    graph.ingest([paper(1, "Mara Quill leads the Aldane Works.", year=2019, **both), *LEADERS[2:]], keep_history=True)
    first = datetime.now(UTC)
    graph.ingest([paper(1, "Ivo Brandt leads the Aldane Works.", year=2024, **both)])
    graph.ingest([paper(4, "Una Moss leads the Aldane Works.", **public)])
    seen: list[Any] = []
    for caller in (
        graph.as_operator(),
        graph.as_caller({"public"}),
        graph.as_caller({"board"}),
    ):
        seen.append(
            [
                listed(caller, "^leads"),
                listed(caller, "^leads", as_of=first),
                listed(caller, "^leads", where="year > 1"),
            ]
        )
    with pytest.raises(AccessError):
        graph.contradictions(["^leads"])
    present = [
        [(each.name, each.is_present) for each in one.objects] for one in graph.as_operator().contradictions(["^leads"])
    ]
    return [*seen, present]


def test_servers_show_callers_the_present_and_the_past_as_the_embedded_store_does(graph: HLGraph, servers: Any) -> None:
    expected = run(graph)
    three = [("Aldane Works", "^leads", [("Ivo Brandt", ["2024"]), ("Una Moss", [None]), ("Mara Quill", ["2019"])])]
    two = [("Aldane Works", "^leads", [("Ivo Brandt", ["2024"]), ("Mara Quill", ["2019"])])]
    assert [[sorted(map(str, one[0][2])) for one in row if one] for row in expected[:2]] == [
        [sorted(map(str, three[0][2])), sorted(map(str, two[0][2]))]
    ] * 2
    assert expected[2] == [two, [], two]
    assert [sorted(each) for each in expected[3]] == [[("Ivo Brandt", True), ("Mara Quill", False), ("Una Moss", True)]]
    settings = settings_for(servers)
    with opened(servers, settings), hlgraph.connect(settings, embedder=WordEmbedder()) as other:
        assert run(other) == expected


def test_an_office_with_its_place_in_one_name_is_filled_by_one_at_a_time(graph: HLGraph) -> None:
    graph.ingest(
        (
            paper(1, "Nell Orrin is CEO of Velm Power. Mornach is the capital of Orle.", year=2019),
            paper(2, "Ivo Brandt became CEO of Velm Power. Gannow is the capital of Orle.", year=2022),
            paper(3, "Ivo Brandt is CEO of Velm Power. Mara Quill is CEO of Haldrey Rail.", year=2023),
        )
    )
    expected = [("Velm Power", "^is ceo of", [("Ivo Brandt", ["2023", "2022"]), ("Nell Orrin", ["2019"])])]
    assert listed(graph, "^is CEO of") == expected
    towns = [("Orle", "^is the capital of", [("Gannow", ["2022"]), ("Mornach", ["2019"])])]
    assert listed(graph, "^is the capital of") == listed(graph, "^is capital of") == towns
