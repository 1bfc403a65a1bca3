"""``graph.evaluate`` over the embedded store: of a set, and of questions about the corpus itself."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

import hlgraph
import hlgraph.models.choose
from hlgraph import (
    Alignment,
    AnswerRequest,
    Answers,
    Document,
    Evaluation,
    HierarchyQuery,
    HLGraph,
    JudgeOptions,
    Progress,
    Question,
    Questions,
    QuestionSet,
    ReaderOptions,
)
from hlgraph.align.make import PairSet
from hlgraph.align.train import TrainSettings
from hlgraph.cli.commands import align as align_command
from hlgraph.cli.commands import evaluate as eval_command
from hlgraph.cli.commands import judge_answers
from hlgraph.cli.commands import questions as questions_command
from hlgraph.errors import InputError, UnknownNameError
from hlgraph.evaluate.answering import Readers
from hlgraph.evaluate.evaluation import EvaluationOptions, run_evaluation
from hlgraph.evaluate.judges.report import CRITERIA
from hlgraph.evaluate.runner import load_run
from hlgraph.retrieve.strategies.chunk import ChunkRetriever
from hlgraph.retrieve.strategies.global_ import GlobalRetriever
from hlgraph.retrieve.strategies.hierarchy import HierarchyRetriever
from hlgraph.settings import ModelSettings, Settings
from hlgraph.testing.chat import ScriptedChat
from hlgraph.testing.embedder import WordEmbedder

PASSAGES = {
    "p1": "Mara Quill built the mill of Tessing.",
    "p2": "Ivo Brandt painted the harbour of Orne.",
    "p3": "Tessing lies on the river Orne.",
}
QUESTIONS = (
    Question("q1", "Who built the mill of Tessing?", frozenset({"p1"}), hops=1, answers=("Mara Quill",)),
    Question("q2", "Who painted the harbour?", frozenset({"p2"}), hops=1),
    Question("q3", "On which river lies the town of the mill?", frozenset({"p1", "p3"}), hops=2),
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    place = tmp_path / "small"
    place.mkdir()
    rows = [{"id": key, "title": "", "text": text} for key, text in PASSAGES.items()]
    asked = [
        {"id": item.id, "question": item.text, "supporting_passage_ids": sorted(item.gold), "answers": item.answers}
        for item in QUESTIONS
    ]
    for name, lines in (("corpus", rows), ("questions", asked)):
        (place / f"{name}.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    return place


def test_a_set_is_ingested_into_its_own_corpus_and_measured(graph: HLGraph, folder: Path) -> None:
    steps: list[Progress] = []
    found = graph.evaluate(folder, strategies=["chunk", "statement"], answers=True, on_progress=steps.append)
    assert list(found.report.strategies) == ["chunk", "statement", "bm25", "rrf"]
    assert found.report.strategies["chunk"].scores.recall[20] == 1
    assert found.ingested is not None
    assert (found.ingested.sources_added, found.is_complete) == (3, True)
    assert found.answers is not None
    assert found.answers.strategies["chunk"].outcomes[0].short == "Mara Quill"
    assert {item.step for item in steps} >= {"warm", "ask chunk", "answer statement", "embed"}
    assert [item.corpus for item in graph.stats(everything=True)] == ["eval-small"]
    assert found.setting.embedder == WordEmbedder().fingerprint
    again = graph.evaluate(str(folder), strategies="chunk", baselines=False)
    assert list(again.report.strategies) == ["chunk"]
    assert again.ingested is not None
    assert (again.ingested.sources_added, again.ingested.sources_unchanged) == (0, 3)
    assert (again.corpus, again.asked) == (found.corpus, found.asked)


def test_the_reader_gets_passages_or_statements_in_the_order_of_the_strategy(graph: HLGraph, folder: Path) -> None:
    readers = {
        "chunk": ReaderOptions(k=2, unit="chunk", diversity=0.0, context_tokens=500),
        "chunk_rerank": ReaderOptions(k=3),
    }
    found = graph.evaluate(folder, strategies=[*readers], baselines=False, answers=True, readers=readers)
    there = graph.in_corpus("eval-small")
    assert found.answers is not None
    for name, unit in (("chunk", "chunk"), ("chunk_rerank", "statement")):
        retrieved = found.answers.strategies[name].outcomes[0].retrieved
        ranked = there.search(QUESTIONS[0].text, strategy=name, k=readers[name].k or 0, unit="chunk").evidence
        assert sorted(piece.text for piece in retrieved) == sorted(piece.text for piece in ranked)
        assert retrieved[0].text == ranked[0].text
        assert (retrieved[0].id == ranked[0].chunk_id) == (unit == "chunk")
    assert found.setting.readers["chunk_rerank"] == {"k": 3}
    again = graph.evaluate(folder, strategies="chunk", baselines=False, answers=True, baseline=found)
    assert "chunk.reader.k: 2 before, None now" in again.changes


@pytest.mark.parametrize(
    ("readers", "answers", "message"),
    [
        (ReaderOptions(k=4), True, "k of chunk is 4, but the corpus 'eval-small' has only 3 statements; give at most"),
        (ReaderOptions(k=4, unit="chunk"), True, "has only 3 chunks"),
        (ReaderOptions(unit="summary"), True, "unit is 'summary', but chunk returns only statement or chunk"),
        (ReaderOptions(style="reason"), True, "style is 'reason', and no chat model is configured"),
        (ReaderOptions(k=2, diversity=0.1), False, "^k: an option of the reader of answers; give answers=True, too"),
        ({"path": ReaderOptions()}, True, "readers names 'path'; the evaluated strategies are chunk"),
        ({"chunk": {"k": 1}}, True, "is {'k': 1} .a dict.; give a ReaderOptions"),
        ("chunk", True, "readers is 'chunk' .a str.; give a ReaderOptions, a mapping or None"),
    ],
)
def test_a_reader_that_cannot_be_is_one_error_before_anything_is_asked(
    graph: HLGraph, folder: Path, readers: Readers, answers: bool, message: str
) -> None:
    with pytest.raises((InputError, UnknownNameError), match=message):
        graph.evaluate(folder, strategies="chunk", baselines=False, answers=answers, readers=readers)


def test_figures_of_the_corpus_stand_beside_the_questions_and_a_reader_can_ask_for_a_report(
    graph: HLGraph, folder: Path
) -> None:
    options = EvaluationOptions(
        strategies="chunk",
        is_alone=True,
        is_answered=True,
        readers=ReaderOptions(mode="report"),
        of_corpus=("chunks", "entities", "input_tokens", "statement_accuracy"),
    )
    found = run_evaluation(graph, folder, options=options)
    assert {name: interval.mean for name, interval in found.of_corpus.items()} == {
        "chunks": 3,
        "entities": 4,
        "statement_accuracy": 1,
    }
    assert found.to_json()["of_corpus"] == {name: list(each) for name, each in found.of_corpus.items()}
    assert found.answers is not None
    assert "Mara Quill" in found.answers.strategies["chunk"].outcomes[0].text
    with pytest.raises(InputError, match="style is 'reason', which does not apply to a report"):
        ReaderOptions(mode="report", style="reason")


def test_a_recipe_gives_its_tables(graph: HLGraph, folder: Path, tmp_path: Path) -> None:
    folder.rename(tmp_path / "popqa")
    for data in (tmp_path, tmp_path / "popqa"):
        found = graph.recipe("proprag-table-1", data, limit=2)
        table, *printed = found.tables()
        assert bool(printed) == (data == tmp_path)  # the sets that were looked for and are not there
        assert table.rows[0][:3] == ("BM25", "bm25", "35.7")
        assert [run.place for run in found.runs] == ["popqa"]
    assert graph.recipe("topg-table-2", tmp_path).tables()[0].rows == (("ToPG", "-", *_COUNTS),)
    with pytest.raises(InputError, match="k of dense is 5, but the corpus 'eval-popqa' has only 3 chunks"):
        graph.recipe("proprag-table-2", tmp_path)
    with pytest.raises(InputError, match="no such folder"):
        graph.recipe("proprag-table-1", tmp_path / "nowhere")


def test_without_a_chat_model_a_recipe_plans_its_tokens(graph: HLGraph, folder: Path, tmp_path: Path) -> None:
    folder.rename(tmp_path / "musique")
    (run,) = graph.recipe("topg-figure-4", tmp_path).runs
    figures = graph.recipe("topg-figure-4", tmp_path)
    rows = {row[0]: row for row in figures.tables()[0].rows}
    planned = run.results.planned["global[candidates=0]"]
    assert run.results.answers is None  # only planned: nothing is answered
    request = AnswerRequest(question=run.results.report.questions[0].text, mode="report")
    plans = [
        graph.in_corpus("eval-musique").answers.plan(
            replace(request, question=question.text), strategy=GlobalRetriever(candidates=0), model="unnamed"
        )
        for question in run.results.report.questions
    ]
    assert planned["answer_input_tokens"] == sum(plan.input_tokens for plan in plans) / len(plans) > 100
    assert rows["ToPG-Global, 200 anchors"][2] == f"{planned['answer_input_tokens']:,.0f} (planned)"
    assert rows["GraphRAG"][2] == "-"
    (extraction,) = graph.recipe("topg-table-3", tmp_path).tables()
    assert [row[3].endswith(" (planned)") for row in extraction.rows] == [True, False, False, False]
    named = Settings(store=f"hlgraph://{tmp_path}/named", models=ModelSettings(chat="openai:gpt-4o-mini"))
    with hlgraph.connect(
        named, embedder=WordEmbedder(), chat=ScriptedChat([])
    ) as other:  # it extracts nothing for eval
        assert other.recipe("topg-table-3", tmp_path).tables()[0].rows == extraction.rows


_COUNTS = ("9,101", "3", "73,023", "3", "79,783", "4")


WORDS = ("mill wheel flour", "harbour ship sail", "comet tail sky")
TOWNS = [f"{words} {town}" for words in WORDS for town in ("Orne", "Velm", "Tessing")]


@pytest.fixture
def towns(tmp_path: Path) -> Path:
    """A set in the folder of a set of GraphMPA, whose passages form three communities."""
    place = tmp_path / "quality"
    place.mkdir()
    rows = [{"id": f"p{at}", "title": "", "text": text} for at, text in enumerate(TOWNS)]
    asked = [
        {
            "id": f"q{at}",
            "question": f"What is the {words}?",
            "supporting_passage_ids": [f"p{3 * at}"],
            "answers": ["Orne"],
        }
        for at, words in enumerate(WORDS)
    ]
    for name, lines in (("corpus", rows), ("questions", asked)):
        (place / f"{name}.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    return place


def test_a_perfect_select_keeps_the_statements_of_the_supporting_passages(graph: HLGraph, folder: Path) -> None:
    result = graph.evaluate(
        folder, strategies="local,chunk", sets=["local.returns=kept"], baselines=False, gold_select=True
    )
    kept = result.report.strategies["local[returns=kept][select=gold]"]
    assert list(result.report.strategies)[:2] == ["local", "local[returns=kept]"]
    assert "chunk[select=gold]" not in result.report.strategies
    for question, outcome in zip(result.report.questions, kept.outcomes, strict=True):
        assert outcome.ids
        assert set(outcome.ids) <= question.gold
    for wrong, says in (
        ({"strategies": "chunk"}, "chunk have no Select step; name local or global"),
        ({"strategies": "local", "answers": True}, "measures passages, not answers"),
    ):
        with pytest.raises(InputError, match=says):
            graph.evaluate(folder, gold_select=True, **wrong)  # type: ignore[arg-type]


def test_layers_are_built_for_the_rows_that_search_them_and_read_as_they_are(graph: HLGraph, towns: Path) -> None:
    layers = {"one": HierarchyQuery(layers=1), "two": HierarchyQuery(layers=2, threshold=0.5)}
    strategies = {name: HierarchyRetriever() for name in layers}
    readers = ReaderOptions(k=4, unit="mixed")
    result = graph.evaluate(
        towns,
        strategies={"chunk": ChunkRetriever(), **strategies},
        baselines=False,
        answers=True,
        readers=dict.fromkeys(layers, readers),
        hierarchy=layers,
        metrics=["summaries_0_2", "summaries_3_5", "chunks_6_8", "chunks_9_10"],
    )
    assert list(result.report.strategies) == ["chunk", "one", "two"]
    assert not result.warnings
    high = graph.evaluate(towns, strategies="hierarchy", baselines=False, hierarchy=HierarchyQuery(threshold=1.0))
    assert high.warnings[0].startswith(
        "no two chunks are similar enough for a summary (layers=3 neighbours=10 threshold=1 "
    )
    assert [result.setting.layers[name].split()[0] for name in layers] == ["layers=1", "layers=2"]
    assert result.answers is not None
    texts = {
        name: {piece.text for outcome in item.outcomes for piece in outcome.retrieved} - set(TOWNS)
        for name, item in result.answers.strategies.items()
    }
    assert not texts["chunk"] | texts["one"]
    assert texts["two"]  # summaries are read as nodes of their own
    (shares,) = (each.section for each in result.sections if each.section.title == "layers of the 10 best nodes")
    assert dict(shares.values) == {"one": ((1.0, 0.0, 0.0, 1.0),) * 3, "two": ((0.0, 1.0, 1.0, 0.0),) * 3}
    again = graph.evaluate(towns, strategies=strategies, baselines=False, baseline=result, hierarchy=layers["two"])
    assert any(change.startswith("one.built: layers=1") for change in again.changes)
    with pytest.raises(
        UnknownNameError, match="hierarchy names 'chunk', which is not an evaluated strategy that searches layers"
    ):
        graph.evaluate(towns, strategies="chunk", hierarchy={"chunk": HierarchyQuery()})


_ABSTRACT = [
    {"id": "a1", "question": "How do rivers shape the towns?"},
    {"id": "a2", "question": "What did people build and paint?", "supporting_passage_ids": []},
]


def _answer_or_judge(system: str, user: str) -> str:
    if "You compare two answers" in system:
        return json.dumps({"reason": "They say the same.", **dict.fromkeys(CRITERIA, "tie")})
    return "###Reason: So it is [1]. ###Answer: Rivers join the towns [1]."


def test_abstract_questions_are_answered_and_judged_without_gold(graph: HLGraph, folder: Path, tmp_path: Path) -> None:
    """What needs gold is undefined, never 0; what was retrieved, what it cost and the judge of pairs need none."""
    asked = folder / "abstract.jsonl"
    asked.write_text("".join(f"{json.dumps(line)}\n" for line in _ABSTRACT))
    result = graph.evaluate(
        folder, questions=asked, strategies="chunk,statement", answers=True, claims="words", metrics=["token_recall"]
    )
    tree = result.to_json()
    chunk = tree["strategies"]["chunk"]  # type: ignore[index]
    assert (chunk["recall@5"], chunk["intervals"], tree["differences"]) == (None, {}, [])
    assert result.coverage["chunk"].passages == 3
    assert result.coverage["chunk"].sources == 1
    retrieval, answers = result.parts()["Retrieval"], result.parts()["Answers"][0]
    assert {row[1:6] for row in retrieval[0].rows} == {("-",) * 5}
    assert [row[0] for row in retrieval[1].rows] == list(result.report.strategies)
    assert answers.title.startswith("answers in per cent, 2 questions without gold answers")
    assert {row[1:7] for row in answers.rows} == {("-",) * 6}
    assert all(len(item.outcomes) == 2 for item in result.answers.strategies.values())  # type: ignore[union-attr]
    notes = "\n".join(result.notes())
    assert "No question has supporting passages: recall and all_gold are undefined." in notes
    assert "EM, F1 and claims: undefined, no question has answers" in notes
    assert "no claims of 2 questions: it has no gold answer" in notes
    result.write(tmp_path / "out")
    result.save(tmp_path / "run.json")
    assert load_run(tmp_path / "run.json").report().strategies.keys() == result.report.strategies.keys()
    assert "nan" not in (tmp_path / "out" / "results.json").read_text().lower()
    again = graph.evaluate(folder, questions=asked, strategies="chunk", baseline=result)
    assert again.earlier == ()
    graph.ingest([Document(key, text) for key, text in PASSAGES.items()])
    own = graph.evaluate([Question("a", "Why?", frozenset())], strategies="chunk", baselines=False)
    assert own.coverage["chunk"].passages == 3
    with pytest.raises(InputError, match="correctness: no question has answers to judge by; judge pairwise"):
        graph.evaluate(folder, questions=asked, answers=True, judging=JudgeOptions(judges=("correctness",)))


def test_pairs_of_answers_to_abstract_questions_are_judged(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The judges that need gold answers are left out, and the report says so."""
    asked = folder / "abstract.jsonl"
    asked.write_text("".join(f"{json.dumps(line)}\n" for line in _ABSTRACT))
    chat = ScriptedChat(_answer_or_judge, name="openai:m")
    monkeypatch.setattr(hlgraph.models.choose, "chosen_chat", lambda given, names: chat)
    options = JudgeOptions(model="openai:m", calibration=0)
    with hlgraph.connect(f"hlgraph://{tmp_path}/chat", embedder=WordEmbedder(), chat=chat) as asking:
        result = asking.evaluate(
            folder, questions=asked, strategies="chunk,path", baselines=False, answers=True, judging=options
        )
    assert result.judged is not None
    assert {item.criterion: (item.wins, item.ties, item.losses) for item in result.judged.pairs} == dict.fromkeys(
        CRITERIA, (0, 2, 0)
    )
    assert result.judged.answers == ()
    assert "correctness: undefined, no question has answers to judge by" in result.warnings
    assert result.answers is not None
    assert {item.outcomes[0].short for item in result.answers.strategies.values()} == {"Rivers join the towns."}


def test_the_model_alone_is_a_row_and_without_one_the_cell_says_so(graph: HLGraph, towns: Path, tmp_path: Path) -> None:
    rows = {row[0]: row for row in graph.recipe("graphmpa-table-7", towns).tables()[0].rows}
    assert rows["only the model, without the graph"][1:4] == ("-", "32.1", "no chat model: set HLGRAPH_CHAT")
    assert [rows[name][1] for name in ("only layer 2", "both layers")] == ["hierarchy[layers=summaries]", "hierarchy"]
    with pytest.raises(InputError, match="closed_book=True asks a chat model without evidence, and none is configured"):
        graph.evaluate(towns, strategies="chunk", answers=True, closed_book=True)
    with pytest.raises(InputError, match="closed_book=True answers without evidence; give answers=True, too"):
        graph.evaluate(towns, strategies="chunk", closed_book=True)
    with pytest.raises(InputError, match="an answer without evidence needs a chat model"):
        graph.answers.closed_book("Who?")
    chat = ScriptedChat(lambda system, user: "###Reason: So it is. ###Answer: Orne", name="openai:m")
    with hlgraph.connect(f"hlgraph://{tmp_path}/chat", embedder=WordEmbedder(), chat=chat) as asking:
        result = asking.evaluate(
            towns, strategies="chunk", baselines=False, answers=True, closed_book=True, claims="words"
        )
        assert result.answers is not None
        assert list(result.answers.strategies) == ["chunk", "closed_book"]
        assert result.answers.intervals["closed_book"]["EM"].mean == 1
        alone = result.answers.strategies["closed_book"].outcomes[0]
        assert (alone.evidence, alone.retrieved, alone.is_refused) == ((), (), False)
        assert [user for _, user, _ in chat.asked if "Context:\n(none)\n\nQuestion: What is the mill" in user]
        claims = next(item.section for item in result.sections if item.section.title.startswith("claims"))
        assert claims.columns("self_knowledge")["closed_book"][0] > 0  # what it says is split into claims, cited or not
        assert list(result.report.strategies) == ["chunk"]  # there is nothing to measure of a retrieval
        recipe = asking.recipe("graphmpa-table-7", towns)
        rows = {row[0]: row for row in recipe.tables()[0].rows}
        assert rows["only the model, without the graph"][1] == "closed_book"


def test_options_of_a_reader_are_checked() -> None:
    for options in (
        {"k": 0},
        {"k": 10_001},
        {"unit": "page"},
        {"diversity": 2},
        {"style": "x"},
        {"context_tokens": 1},
        {"k": "3"},
        {"k": True},
    ):
        with pytest.raises(InputError, match=f"{next(iter(options))} is "):
            ReaderOptions(**options)


def test_an_evaluation_is_shown_written_and_compared_with_a_later_one(
    graph: HLGraph, folder: Path, tmp_path: Path
) -> None:
    first = graph.evaluate(folder, strategies={"mine": ChunkRetriever()}, against="mine", metrics=["RR"])
    assert first.against == "mine"
    page = first._repr_html_()
    assert page.count("<table>") == len(first.tables())
    assert "recall@5" in page
    assert "<svg" in page
    assert all(f"{table.title}\nstrategy " in str(first) for table in first.tables())
    assert str(first).endswith(first.notes()[-1])
    assert "report.html" in {path.name for path in first.write(tmp_path / "out")}
    assert first.to_json() == json.loads((tmp_path / "out" / "results.json").read_text())
    first.save(tmp_path / "run.json")
    saved, held = (
        graph.evaluate(folder, strategies={"mine": ChunkRetriever()}, metrics=["RR"], baseline=baseline)
        for baseline in (tmp_path / "run.json", first)
    )
    assert {item.measure for item in saved.earlier} >= {"recall@5", "RR"}
    assert saved.earlier == held.earlier
    assert all(item.difference.mean == 0 for item in saved.earlier)
    assert saved.changes == ()


def test_gold_that_the_corpus_lacks_is_said(graph: HLGraph, folder: Path) -> None:
    with (folder / "questions.jsonl").open("a") as file:
        file.write(json.dumps({"id": "q4", "question": "Who?", "supporting_passage_ids": ["p1", "p9"]}))
    found = graph.evaluate(folder, strategies="chunk", baselines=False)
    line = "1 supporting passages of 1 questions are not in the corpus, such as p9; they count as not found"
    assert found.warnings == (line,)
    assert line in str(found)


def test_questions_are_asked_of_the_corpus_as_it_is(graph: HLGraph) -> None:
    long = " ".join(f"The mill had {count} sails in the year {1700 + count}." for count in range(200))
    graph.ingest([Document(key, text) for key, text in PASSAGES.items()])
    graph.ingest([Document("p4", long)])
    found = graph.evaluate(QUESTIONS, strategies="chunk")
    assert found.ingested is None
    assert found.report.strategies["chunk"].scores.recall[20] == 1
    for outcome in found.report.strategies["chunk"].outcomes:
        assert sorted(outcome.ids) == ["p1", "p2", "p3", "p4"]  # each source once, however many chunks it has
    assert len(graph.evaluate(QUESTIONS, strategies="chunk", limit=1).report.questions) == 1
    graph.ingest([Document("p5", "Orne is a town.")])
    with pytest.raises(InputError, match="another corpus"):
        graph.evaluate(QUESTIONS, strategies="chunk", baseline=found)


def test_questions_that_cannot_be_asked_are_refused(graph: HLGraph) -> None:
    with pytest.raises(UnknownNameError, match="no corpus"):
        graph.evaluate(QUESTIONS)
    graph.ingest([Document(key, text) for key, text in PASSAGES.items()])
    for questions, message in (
        ([], "no questions"),
        ([QUESTIONS[0], QUESTIONS[0]], "several questions have the id 'q1'"),
        *(
            (
                [QUESTIONS[0], replace(QUESTIONS[0], **{name: value})],
                r"data\[1\] is Question\(.*; give texts as id and text",
            )
            for name, value in (
                *(("id", 5), ("text", None), ("gold", None), ("gold", "doc:1"), ("answers", "Mara Quill")),
                *(("answers", ("Mara Quill", None)), ("options", (1, 2)), ("assertions", {"a": 1}.items())),
            )
        ),
        ([QUESTIONS[0], Question("q", "Who?", frozenset())], "the question q has no gold, but others have"),
        ([Question("q", " ", frozenset({"p1"}))], "question q has no text"),
        ([Question("q", "Who?", frozenset({"p9"}))], "'p9', which is not a source"),
    ):
        with pytest.raises(InputError, match=message):
            graph.evaluate(questions)
    with pytest.raises(InputError, match="subsets: only valid with the folder"):
        graph.evaluate(QUESTIONS, subsets=["dev"])
    with pytest.raises(InputError, match="no answers to judge; give answers=True"):
        graph.evaluate(QUESTIONS, judging=JudgeOptions(judges=("correctness",)))
    with pytest.raises(UnknownNameError):
        graph.evaluate(QUESTIONS, strategies="no such")
    with pytest.raises(InputError, match="limit is 'x'"):
        graph.evaluate(QUESTIONS, limit="x")  # type: ignore[arg-type]


def test_a_warning_says_which_passages_were_not_ingested(
    graph: HLGraph, folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with (folder / "corpus.jsonl").open("a") as out:
        out.write(json.dumps({"id": "p9", "title": "", "text": " "}) + "\n")
    found: Evaluation = graph.evaluate(folder, strategies="chunk", baselines=False)
    assert found.ingested is not None
    assert len(found.ingested.failed) == 1
    assert not found.is_complete
    assert [record.message.partition(":")[0] for record in caplog.records] == ["not ingested"]


# The command line and the SDK offer the same.


@pytest.mark.parametrize(
    ("command", "calls", "renamed"),
    [
        (
            eval_command.evaluate,
            [HLGraph.evaluate, HLGraph.recipe, Evaluation, ReaderOptions, JudgeOptions],
            {
                "folder": "data",
                "subset": "subsets",
                "alone": "baselines",
                "judge_model": "model",
                "out": "write",
                "recipe": "name",
            },
        ),
        (
            judge_answers.judge,
            [Answers.judge, Answers.judging_cost, JudgeOptions],
            {"judge_model": "model", "plan": "judging_cost", "corpus": ""},
        ),
        (
            questions_command.make,
            [Questions.make, Questions.plan, QuestionSet],
            {"out": "write", "plan": "plan"},
        ),
        (questions_command.check, [Questions.check], {"file": "questions", "out": ""}),
        (questions_command.export, [Questions.export], {"file": "questions", "to": "folder"}),
        (
            align_command.make,
            [Alignment.make, Alignment.plan, PairSet],
            {"subset": "subsets", "chat": "chats", "out": "write", "plan": "plan"},
        ),
        (align_command.audit, [Alignment.audit], {}),
        (align_command.train, [Alignment.train, TrainSettings], {"out": "folder"}),
        (align_command.compare, [Alignment.compare], {"adapter": "adapters", "out": ""}),
    ],
)
def test_every_option_of_a_command_is_one_of_the_sdk(
    command: Callable[..., object], calls: list[Callable[..., object]], renamed: dict[str, str]
) -> None:
    offered = {name for call in calls for name in inspect.signature(call).parameters}
    offered |= {call.__name__ for call in calls} | {name for call in calls for name in vars(call)}
    offered |= {"max_tokens", "max_usd"} if "budget" in offered else set()
    wanted = {renamed.get(name, name) for name in inspect.signature(command).parameters} - {"cli", ""}
    assert not wanted - offered


def test_saved_answers_are_judged_as_by_the_command(
    graph: HLGraph, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    result = graph.evaluate(folder, strategies="chunk", baselines=False, answers=True)
    result.write(tmp_path / "out")
    options = JudgeOptions(judges=("correctness",), model="openai:judge")
    cost = graph.answers.judging_cost(result, options)
    assert cost.calls == graph.answers.judging_cost(tmp_path / "out" / "answers.jsonl", options).calls > 0
    chat = ScriptedChat(lambda system, user: '{"reason": "It is.", "verdict": "correct"}', name="openai:judge")
    monkeypatch.setattr(hlgraph.models.choose, "chosen_chat", lambda given, names: chat)
    reports = [
        graph.answers.judge(given, options, out=tmp_path / "judged")
        for given in (result, tmp_path / "out" / "answers.jsonl")
    ]
    first, second = (report.to_json() for report in reports)
    assert (first["calls"], second["calls"], reports[0].missing) == (1, 0, 0)  # replies are kept
    for name in ("calls", "input_tokens", "output_tokens", "usd"):
        first.pop(name), second.pop(name)
    assert first == second
    assert (tmp_path / "judged" / "judged.json").is_file()
    with pytest.raises(InputError, match="the evaluation has no answers to judge"):
        graph.answers.judge(graph.evaluate(folder, strategies="chunk", baselines=False), options)
