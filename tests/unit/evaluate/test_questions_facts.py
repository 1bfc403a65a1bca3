"""Questions from paths of facts: a named corpus whose questions are known by hand, and what is refused."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from question_corpus import BRIDGE, BRIDGES, DOCUMENTS, INTERSECTION, NULL

import hlgraph
from hlgraph.errors import InputError, ReadError, UnknownNameError
from hlgraph.evaluate.datasets import load
from hlgraph.evaluate.questions import askable, making
from hlgraph.evaluate.questions.askable import clause_of
from hlgraph.evaluate.questions.checking import check, export
from hlgraph.evaluate.questions.making import answers_alone, make, quotas, words_of
from hlgraph.evaluate.questions.record import QuestionSet, check_target, read_questions, write_questions
from hlgraph.records import Document, Entity, Fact, Kind, Source, Statement
from hlgraph.sdk.client import HLGraph
from hlgraph.testing.embedder import WordEmbedder


def graph_of(path: Path, documents: tuple[Document, ...], corpus: str = "named") -> HLGraph:
    graph = hlgraph.connect(f"hlgraph://{path}/store", corpus=corpus, embedder=WordEmbedder(16))
    graph.ingest(list(documents))
    return graph


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HLGraph]:
    with graph_of(tmp_path_factory.mktemp("questions"), DOCUMENTS) as opened:
        yield opened


@pytest.fixture(scope="module")
def made(graph: HLGraph) -> QuestionSet:
    return make(graph, quotas(20))


def asked(made: QuestionSet, kind: str) -> set[str]:
    return {item.question for item in made.questions if item.type == kind}


def test_the_questions_of_the_named_corpus(made: QuestionSet) -> None:
    assert asked(made, "bridge") == BRIDGES
    assert asked(made, "intersection") == {INTERSECTION}
    assert asked(made, "null") == {NULL}
    assert asked(made, "comparison") == set()  # no two documents with the same predicate speak of one thing
    assert made.lacking == {"bridge": 3, "comparison": 5, "intersection": 5, "null": 2}
    found = {item.question: item for item in made.questions}
    assert found[BRIDGE].answers == ("Kestrel Works",)
    assert (found[NULL].answers, found[NULL].supporting_passage_ids) == (("no answer",), ())


def test_gold_exists_and_holds_the_answer(graph: HLGraph, made: QuestionSet) -> None:
    for item in (each for each in made.questions if not each.is_null):
        assert len(item.source_ids) == item.hops == 2
        statements = graph.facts.records(Kind.STATEMENT, item.statement_ids)
        chunks = graph.facts.records(Kind.CHUNK, item.chunk_ids)
        assert list(statements) == sorted(item.statement_ids)
        assert any(item.answers[0] in each.text for each in statements.values() if isinstance(each, Statement))
        held = [source for found in graph.facts.chunks(graph.facts.sources()) for source in words_of(found)]
        assert not [each for each in held if answers_alone(each, item.question, answers=item.answers)]
        assert item.supporting_passage_ids == tuple(name for name in item.chunk_ids if name in chunks)


def test_the_same_seed_gives_the_same_questions(graph: HLGraph, made: QuestionSet) -> None:
    assert make(graph, quotas(20)).questions == made.questions
    other = make(graph, quotas(20), seed=3)
    assert asked(other, "bridge") <= BRIDGES
    assert {item.id for item in other.questions} != {item.id for item in made.questions}


def test_documents_that_share_nothing_are_not_compared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    compared, split = [], []
    real, words = making.Paths.are_comparable, askable.words
    monkeypatch.setattr(making.Paths, "are_comparable", lambda *those: compared.append(those) or real(*those))
    monkeypatch.setattr(askable, "words", lambda text: split.append(text) or words(text))
    names = [
        f"{first}{last}" for first in ("Ad", "Bel", "Cor", "Dun", "El") for last in ("ra", "mo", "ket", "vin", "sa")
    ]
    documents = tuple(
        Document(f"{name}.txt", f"{name} Hale built the {name} Mill in {name}ton.", f"The {name} notes")
        for name in names
    )
    with graph_of(tmp_path, documents) as opened:
        make(opened, quotas(5, ["null"]))
    assert not compared
    assert 0 < len(split) < 4 * len(names)  # not each name once for each title


def test_what_is_made_is_found_good_and_what_is_spoilt_is_found(graph: HLGraph, made: QuestionSet) -> None:
    assert check(graph, made.questions).findings == ()
    first = next(item for item in made.questions if item.question == BRIDGE)
    spoilt = [
        replace(first, answers=("Lorne Shipping",)),
        replace(first, id="copy"),
        replace(first, id="gone", question="Who left?", statement_ids=("0" * 32,)),
        replace(first, id="leak", question="Who sued Ambrose Motors?"),
    ]
    found = check(graph, spoilt)
    assert [(item.question_id, item.what) for item in found.findings] == [
        (first.id, "answer"),
        ("copy", "duplicate"),
        ("gone", "gold"),
        ("leak", "leak"),
    ]


def test_a_path_with_two_answers_is_refused(tmp_path: Path) -> None:
    second = Document("doc:second", "Halden Group sued Ambrose Motors over a boiler.", "Second")
    with graph_of(tmp_path, (*DOCUMENTS, second)) as graph:
        found = make(graph, quotas(20, ["bridge"]))
    assert BRIDGE not in [item.question for item in found.questions]
    assert found.dropped["the path has two answers"] >= 1


def test_one_source_that_answers_alone_is_refused(tmp_path: Path) -> None:
    tells = "Kestrel Works sued Ambrose Motors, the firm that bought the Orne Foundry, a person of Tessing in this organization."
    with graph_of(tmp_path, (*DOCUMENTS, Document("doc:tells", tells, "Tells"))) as graph:
        found = make(graph, quotas(20, ["bridge"]))
    assert BRIDGE not in [item.question for item in found.questions]


def test_a_document_in_two_sources_is_one(tmp_path: Path) -> None:
    parts = tuple(replace(item, metadata={"book": "one"}) for item in DOCUMENTS)
    with graph_of(tmp_path, parts) as graph:
        assert asked(make(graph, quotas(20)), "bridge") == BRIDGES
        assert make(graph, quotas(20), by="book").questions == ()
        with pytest.raises(InputError, match="has the metadata field 'bok'; there are: book"):
            make(graph, quotas(20), by="bok")


def test_a_set_is_exported_as_eval_reads_it(graph: HLGraph, made: QuestionSet, tmp_path: Path) -> None:
    found = export(graph, made.questions, folder=tmp_path / "set")
    assert (found.passages, found.questions, found.nulls) == (5, len(made.questions) - 1, 1)
    read = load(tmp_path / "set")
    assert {item.text: item.answers for item in read.questions}[BRIDGE] == ("Kestrel Works",)
    write_questions([item for item in made.questions if not item.is_null], tmp_path / "asked.jsonl")
    assert load(tmp_path / "set", questions=tmp_path / "asked.jsonl").questions == read.questions


def test_questions_of_another_corpus_are_refused(graph: HLGraph, made: QuestionSet, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="made from corpus 'other', not from 'named'"):
        check(graph, [replace(made.questions[0], corpus="other")])
    foreign = replace(made.questions[0], source_ids=("0" * 32,))
    with pytest.raises(InputError, match="another corpus of that name"):
        check(graph, [foreign])
    with pytest.raises(UnknownNameError, match="there is no corpus 'empty'"):
        make(graph.in_corpus("empty"), quotas(1))
    with pytest.raises(InputError, match="all questions are null or abstract"):
        export(graph, [item for item in made.questions if item.is_null], folder=tmp_path)


def test_bad_numbers_kinds_and_files(tmp_path: Path) -> None:
    assert quotas(3, ["null", "bridge"]) == {"null": 1, "bridge": 2}
    for count, kinds, reason in ((0, ["null"], "at least one"), (1, ["abstract"], "no questions of kind abstract")):
        with pytest.raises(InputError, match=reason):
            quotas(count, kinds)  # type: ignore[arg-type]
    for text, reason in (("", "holds no question"), ('{"id": "a"}\n', "line 1"), ("\xff", "line 1")):
        (tmp_path / "bad.jsonl").write_text(text, encoding="latin-1")
        with pytest.raises(ReadError, match=reason):
            read_questions(tmp_path / "bad.jsonl")
    with pytest.raises(InputError, match="something else than questions"):
        check_target(tmp_path / "bad.jsonl")
    with pytest.raises(InputError, match="does not exist"):
        check_target(tmp_path / "no" / "asked.jsonl")


@pytest.mark.parametrize(
    ("sentence", "predicate", "literal", "clause"),
    [
        ("Kea sued Tern Air and Orne Rail in Tessing.", "sued", "Tern Air", "sued Tern Air and Orne Rail in Tessing"),
        ("Kea, a bank, owns two mills in Orne.", "owns", "two mills", "owns two mills in Orne"),
        ("Kea met Ivo and founded the Orne Rail firm.", "founded", "the Orne Rail firm", "founded the Orne Rail firm"),
        ("If Kea sued Tern Air, it won.", "sued", "Tern Air", "the subject does not begin its clause"),
        ("Ivo said Kea sued Tern Air.", "sued", "Tern Air", "the subject does not begin its clause"),
        ("Kea gave him the Orne mill.", "gave", "the Orne mill", "the clause does not stand alone"),
        ("Kea might sue Tern Air.", "might sue", "Tern Air", "the clause is a guess"),
        ("Kea updates from the Orne.", "updates", "from the Orne", "no finite verb follows the subject"),
        ("Kea lost its Orne, Tern and Rail mills.", "lost", "its Orne", "the clause is cut off"),
    ],
)
def test_a_clause_has_the_words_of_its_sentence(sentence: str, predicate: str, literal: str, clause: str) -> None:
    fact = Fact("f", "c", "e", predicate, None, f"Kea {predicate} {literal}")
    statement, source = Statement("s", "d", f"Birds: {sentence}"), Source("d", "c", "u", "Birds", "")
    found = clause_of(fact, statement, source=source, entities={"e": Entity("e", "c", "Kea")})
    assert (found if isinstance(found, str) else found.text) == clause
