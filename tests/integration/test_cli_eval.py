"""The bake-off by the command line: runs that are kept and compared, folders, subsets, strategies that fail; bench."""

from __future__ import annotations

import json
import re
import shutil
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, ClassVar

import pytest
from command_line import call
from live_stores import opened, settings_for

from hlgraph.errors import ModelError
from hlgraph.evaluate.bench import BenchPlan, ask, corpus_name, ingest_size, measure, questions_for
from hlgraph.evaluate.claims import ClaimScores
from hlgraph.evaluate.metrics import read_run
from hlgraph.records import Kind
from hlgraph.retrieve import STRATEGIES
from hlgraph.retrieve.request import Unit
from hlgraph.retrieve.retriever import Ranked, as_searched
from hlgraph.retrieve.session import Session
from hlgraph.sdk.client import connect
from hlgraph.settings import Settings

PASSAGES = {
    "p1": "Mara Quill built the mill of Tessing.",
    "p2": "Ivo Brandt painted the harbour of Orne.",
    "p3": "Tessing lies on the river Orne.",
    "p4": "The poet Lene Voss wrote about the mill.",
}
QUESTIONS = (
    ("q1", "Who built the mill of Tessing?", ["p1"], "dev", 1),
    ("q2", "Who painted the harbour?", ["p2"], "dev", 1),
    ("q3", "On which river lies the town of the mill?", ["p1", "p3"], "train", 2),
)


@dataclass(frozen=True)
class Flaky:
    """Finds chunks, but for questions about rivers."""

    unit: ClassVar[Unit] = "chunk"

    def rank(self, session: Session, k: int) -> Ranked:
        if "river" in session.request.question:
            raise ModelError("rivers are too deep")
        return as_searched(Kind.CHUNK, session.seeds(Kind.CHUNK, k), session=session)


@dataclass(frozen=True)
class Talking(Flaky):
    """Would ask a chat model."""

    needs: ClassVar[tuple[str, ...]] = ("chat",)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    found = tmp_path_factory.mktemp("bakeoff")
    folder = found / "small"
    folder.mkdir()
    passages = [{"id": key, "title": "", "text": text} for key, text in PASSAGES.items()]
    asked = [
        {
            "id": key,
            "question": text,
            "supporting_passage_ids": gold,
            "subset": subset,
            "hops": hops,
            "answers": ["Mara Quill"] if key == "q1" else [],
        }
        for key, text, gold, subset, hops in QUESTIONS
    ]
    for name, rows in (("corpus", passages), ("questions", asked)):
        (folder / f"{name}.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HLGRAPH_STORE", f"hlgraph://{found}/store")
        patch.setenv("HLGRAPH_CACHE", str(found / "cache"))
        for name in ("HLGRAPH_CORPUS", "HLGRAPH_CONFIG"):
            patch.delenv(name, raising=False)
        yield found


def test_all_asks_every_strategy_that_needs_no_chat_model(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(STRATEGIES, "talking", Talking)  # type: ignore[arg-type]
    code, out, _ = call("eval", place / "small", "--json")
    tree = json.loads(out)
    assert code == 0
    assert set(tree["strategies"]) == (set(STRATEGIES) - {"talking"}) | {"bm25", "rrf"}  # chunk is the dense one
    for figures in tree["strategies"].values():
        assert figures["rows"] > 0
        assert figures["bytes"] > 0
        assert figures["p50_ms"] <= figures["p95_ms"] <= figures["p99_ms"]
    assert tree["setting"]["extraction"] == "local"
    assert tree["setting"]["parameters"]["statement"]["candidates"] == 100


def test_a_run_is_kept_compared_and_written(place: Path) -> None:
    run, out_folder = place / "run.json", place / "tables"
    base = ("eval", place / "small", "--strategies", "chunk,statement")
    code, out, _ = call(*base, "--save", run, "--out", out_folder, "--metrics", "nDCG@10, RR,RR")
    assert code == 0
    assert "further measures, by ir-measures" in out
    assert out.count("  RR ") == 4  # the plain baselines stand in every table
    assert "recall@5 against bm25: paired permutation test" in out
    assert "extraction: local; preset: paper; embedder: all-MiniLM-L6-v2" in out
    assert "recall@5 by hops (questions)" in out
    assert "noise" in out
    assert sorted(path.name for path in out_folder.iterdir()) == [
        *("figures.csv", "qrels.trec", "recall_latency.svg", "report.html", "results.json"),
        *("run.bm25.trec", "run.chunk.trec", "run.rrf.trec", "run.statement.trec", "table.md"),
    ]
    assert "p1" in read_run(out_folder / "run.chunk.trec")["q1"]
    ET.parse(out_folder / "recall_latency.svg")  # noqa: S314 - made here
    assert json.loads((out_folder / "results.json").read_text())["questions"] == 3
    code, out, _ = call(
        *("eval", place / "small", "--strategies", "statement,topic", "--baseline", run, "--answers", "--alone"),
        *("--save", place / "answered.json", "--json"),
    )
    tree = json.loads(out)
    assert (tree["answers"]["by_chat"], tree["answers"]["questions"]) == (False, 1)
    assert tree["answers"]["strategies"]["statement"]["EM"] == 100
    assert code == 0
    assert {item["a"] for item in tree["earlier"]} == {"statement"}
    assert all(item["difference"] == 0 and item["is_noise"] for item in tree["earlier"])
    only = "only one of the two runs has it"
    assert tree["changes"] == [f"answers (extractive): {only}", f"further measures, by ir-measures: {only}"]
    assert [item["measure"] for item in tree["sections"][0]["differences"]][:2] == ["EM", "F1"]
    again = ("eval", place / "small", "--strategies", "statement", "--answers", "--alone", "--json")
    tree = json.loads(call(*again, "--baseline", place / "answered.json")[1])
    assert {"recall@5", "EM", "F1", "answer_recall"} <= {item["measure"] for item in tree["earlier"]}
    assert all(item["difference"] == 0 for item in tree["earlier"])
    (place / "small" / "others.jsonl").write_text(
        (place / "small" / "questions.jsonl").read_text().replace('["Mara Quill"]', '["Ivo Brandt"]')
    )
    code, _, err = call(*again, "--baseline", place / "answered.json", "--questions", place / "small" / "others.jsonl")
    assert code == 2
    assert "measured 1 answers against other gold answers: q1; compare runs with the same gold answers" in err


def test_claims_of_answers_are_checked_by_words_and_wrong_calls_are_refused_first(place: Path) -> None:
    base = ("eval", place / "small", "--strategies", "chunk", "--alone", "--claims")
    code, out, _ = call(*base, "words", "--answers")
    assert code == 0
    assert "claims, split and checked by words/2: paired" in out
    measures = re.findall(r"^chunk +(\w+) +1 +\d+\.\d\d ", out.partition("claims, split")[2], flags=re.MULTILINE)
    assert measures == [item.name for item in fields(ClaimScores)]
    for way, options, reason in (
        ("words", (), "--claims: only answers have claims to check; give --answers, too"),
        ("chat", ("--answers",), "--claims chat needs a chat model; name it in HLGRAPH_CHAT"),
        ("guess", ("--answers",), "--claims is 'guess'; choose 'words' or 'chat'"),
    ):
        code, out, err = call(*base, way, *options)
        assert (code, out) == (2, "")
        assert reason in err


def test_the_reader_of_answers_is_given_what_the_options_say(place: Path) -> None:
    base = ("eval", place / "small", "--strategies", "chunk,path", "--alone", "--json")
    reader = {"k": 2, "unit": "chunk", "diversity": 0.0, "style": "plain", "context_tokens": 300}
    options = [part for name, value in reader.items() for part in (f"--{name.replace('_', '-')}", str(value))]
    tree = json.loads(call(*base, "--answers", *options)[1])
    assert tree["setting"]["readers"] == {"chunk": reader, "path": reader}
    code, out, err = call(*base, "--answers", "--k", 99, "--unit", "chunk")
    assert (code, out) == (2, "")
    assert "k of chunk is 99, but the corpus 'eval-small' has only 4 chunks; give at most that many" in err


def test_a_recipe_runs_what_can_be_run_and_says_what_is_missing(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(place / "small", place / "sets" / "musique")
    with (place / "sets" / "musique" / "corpus.jsonl").open("a") as file:
        rows = ({"id": f"more{at}", "title": "", "text": f"Mara{at} mowed meadow {at}."} for at in range(100))
        file.writelines(f"{json.dumps(row)}\n" for row in rows)
    monkeypatch.setenv("HLGRAPH_DATA", str(place / "sets"))
    code, out, _ = call("eval", "--recipe", "proprag-table-2", "--out", place / "recipe", "--preset", "tuned")
    assert code == 0
    assert "proprag-table-2: PropRAG, Table 2: Answers, F1; MuSiQue (musique, 3 questions)" in out
    assert re.search(r"PropRAG, L_max = 3 +path +53\.9 +\d+\.\d\d", out)
    assert "missing: set HotpotQA: not there; looked for the folder hotpotqa" in out
    assert re.search(r"as printed, sets that are not there\nrow +NQ: F1 +PopQA: F1 ", out)
    assert re.search(r"without retrieval +- +26\.1 +no chat model: set HLGRAPH_CHAT", out)
    assert "missing: reader: no chat model is configured (HLGRAPH_CHAT); EM and F1 are of the best span" in out
    assert "the models differ, so compare directions and not levels: paper: extraction Llama-3.3-70B" in out
    assert "/musique --strategies dense,path --set path.max_length=1,2,4 --preset tuned --answers" in out
    assert sorted(path.name for path in (place / "recipe").iterdir()) == ["musique", "recipe.json", "recipe.md"]
    assert (place / "recipe" / "musique" / "report.html").is_file()
    tree = json.loads((place / "recipe" / "recipe.json").read_text())
    cell = next(row for row in tree["sets"][0]["rows"] if row["strategy"] == "path")["metrics"]["F1"]
    assert (cell["published"], cell["measured"] is None) == (53.9, False)
    readers = tree["sets"][0]["results"]["setting"]["readers"]
    assert readers["bm25"] == readers["path"] == {"k": 5, "unit": "chunk"}
    shutil.copytree(place / "sets" / "musique", place / "sets" / "multihop_rag_70")
    code, out, _ = call("eval", place / "sets" / "multihop_rag_70", "--recipe", "hlg-table-4", "--limit", 1)
    assert code == 0
    assert re.search(r"^SGRAG +statement_graph +50\.8 +\d+\.\d\d ", out, flags=re.MULTILINE)
    assert re.search(r"^B0 +chunk +51\.2 +\d+\.\d\d ", out, flags=re.MULTILINE)  # precision of claims
    assert "missing: checker: claims are split and checked by words; give --claims chat for a chat model" in out
    one = ("eval", place / "sets" / "musique", "--recipe")
    assert "no set of this recipe; its folders are called: multihop_rag," in call(*one, "hlg-table-2")[2]
    assert "leave out --set" in call(*one, "proprag-table-1", "--set", "path.max_length=1")[2]
    assert "no recipe 'proprag'; did you mean" in call(*one, "proprag")[2]
    monkeypatch.delenv("HLGRAPH_DATA")
    assert "give the folder that holds them with --data" in call("eval", "--recipe", "proprag-table-1")[2]
    assert "no evaluation set is given; give its folder DIR" in call("eval")[2]
    code, out, _ = call("eval", "--recipe", "list")
    assert (code, out.splitlines()[0]) == (
        0,
        "graphmpa-figure-4  GraphMPA, Figure 4: Number of layers; one layer is basic RAG",
    )
    assert len(json.loads(call("eval", "--recipe", "list", "--json")[1])["recipes"]) == len(out.splitlines())


def test_files_of_trec_come_back_beside_the_strategies_and_answers_have_more_measures(place: Path) -> None:
    base = ("eval", place / "small", "--strategies", "chunk", "--alone")
    assert call(*base, "--out", place / "trec")[0] == 0
    (place / "trec" / "worse.trec").write_text("q1 Q0 p2 1 1 x\nq1 Q0 p1 2 0 x\n")
    code, out, _ = call(
        *(*base, "--qrels", place / "trec" / "qrels.trec", "--metrics", "RR,ROUGE-L,accuracy", "--answers", "--json"),
        *("--run", f"again={place / 'trec' / 'run.chunk.trec'}", "--run", f"worse={place / 'trec' / 'worse.trec'}"),
    )
    tree = json.loads(out)
    assert (code, tree["against"]) == (0, "chunk")
    same = ("recall@2", "recall@20", "all_gold@5", "by_type")
    assert [tree["strategies"]["again"][key] for key in same] == [tree["strategies"]["chunk"][key] for key in same]
    assert (tree["strategies"]["again"]["p50_ms"], tree["strategies"]["again"]["rows"]) == (None, None)
    further, answers, texts = tree["sections"]
    assert further["title"] == "further measures, by ir-measures"
    assert [item["a"] for item in further["differences"]] == ["again", "worse"]
    assert all(item["p_holm"] >= item["p"] for item in further["differences"])
    assert list(answers["strategies"]) == list(texts["strategies"]) == ["chunk"]
    assert texts["strategies"]["chunk"]["ROUGE-L"]["mean"] > 0
    assert texts["strategies"]["chunk"]["accuracy"]["questions"] == 0
    assert tree["warnings"] == ["the run worse has no passage for 2 of 3 questions; they count as nothing found"]
    for options, reason in (
        (("--metrics", "BLEU"), "BLEU: a measure of answers; give --answers, too"),
        (("--metrics", "METEOR"), "no measure 'METEOR'; give one such as nDCG@10"),
        (("--run", "chunk=x"), "the name 'chunk' is taken"),
        (("--qrels", place / "small" / "corpus.jsonl"), "a line is: question 0 document relevance"),
        (("--recipe", "topg-table-1", "--run", "a=b"), "leave out --run"),
    ):
        code, out, err = call(*base[:2], *options)
        assert (code, out) == (2, "")
        assert reason in err


def test_other_questions_are_refused_before_anything_is_asked(place: Path) -> None:
    run = place / "first.json"
    assert call("eval", place / "small", "--strategies", "chunk", "--limit", 2, "--save", run)[0] == 0
    base = ("eval", place / "small", "--baseline", run)
    code, out, err = call(*base, "--strategies", "chunk")
    assert (code, out) == (2, "")
    assert "asked 2 questions and this one 3, 1 of them are in only one run: q3" in err
    assert "name at least one strategy of the earlier run" in call(*base, "--limit", 2, "--strategies", "topic")[2]
    assert (
        "--against is 'topic', which is not evaluated; give one of"
        in call(*base, "--limit", 2, "--strategies", "chunk", "--against", "topic")[2]
    )
    assert "no measure 'ndcg@10'" in call("eval", place / "small", "--metrics", "ndcg@10")[2]
    assert "is not a saved run" in call("eval", place / "small", "--baseline", place / "small" / "corpus.jsonl")[2]


def test_a_sweep_compares_every_variant_with_the_strategy_itself(place: Path) -> None:
    code, out, _ = call(
        "eval",
        place / "small",
        "--set",
        "statement.candidates=1,100",
        "--set",
        "statement.text_candidates=5",
        "--alone",
        "--json",
    )
    tree = json.loads(out)
    assert code == 0
    assert list(tree["strategies"]) == [
        "statement",
        "statement[candidates=1,text_candidates=5]",
        "statement[text_candidates=5]",
    ]
    assert tree["against"] == "statement"
    assert tree["setting"]["parameters"]["statement[text_candidates=5]"] == {
        "candidates": 100,
        "has_rerank": True,
        "text_candidates": 5,
    }
    code, out, _ = call("eval", place / "small", "--strategies", "chunk,path", "--set", "path.jump_points=0,1")
    assert code == 0
    assert "minus path" in out
    assert "path[jump_points=0]" in out
    code, out, err = call("eval", place / "small", "--set", "path.jump_point=0")
    assert (code, out) == (2, "")
    assert "has no parameter 'jump_point'; did you mean 'jump_points'?" in err
    code, out, err = call("eval", place / "small", "--set", "path.beam_width=0", "--set", "path.max_length=2")
    assert (code, out) == (2, "")
    assert "max_length is 2, but beam_width is 0, so there is no beam search; leave max_length out, or set" in err


def test_subsets(place: Path) -> None:
    code, out, _ = call("eval", place / "small", "--strategies", "chunk", "--subset", "dev", "--json")
    assert (code, json.loads(out)["questions"]) == (0, 2)
    code, _, err = call("eval", place / "small", "--subset", "test")
    assert code == 2
    assert "choose from: dev, train" in err


def test_a_strategy_that_fails_is_counted_and_the_exit_code_says_so(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(STRATEGIES, "flaky", Flaky)  # type: ignore[arg-type]
    code, out, _ = call("eval", place / "small", "--strategies", "chunk,flaky")
    assert code == 1
    assert "flaky failed on 1 questions: ModelError: rivers are too deep" in out
    code, out, _ = call("eval", place / "small", "--strategies", "chunk,flaky", "--json")
    figures = json.loads(out)["strategies"]
    assert code == 1
    assert (figures["flaky"]["failed"], figures["chunk"]["failed"]) == (1, 0)
    assert figures["flaky"]["recall@5"] < figures["chunk"]["recall@5"]


# bench


def test_bench_keeps_its_store_where_it_is_told(place: Path) -> None:
    words = ("bench", "--statements", "100,300", "--questions", 3, "--strategies", "statement")
    kept = ("--folder", place / "kept", "--out", place / "growth")
    code, out, _ = call(*words, *kept)
    assert code == 0
    assert "made up by a seeded embedder" in out
    assert "growth exponents" in out
    assert sorted(path.name for path in (place / "growth").iterdir()) == ["growth.svg", "results.json", "table.md"]
    again = json.loads(call(*words, *kept, "--json")[1])
    assert [size["seconds"] for size in again["sizes"]] == [{}] * 2
    assert [size["statements"] for size in again["sizes"]] == [100, 300]
    assert all(cell["failed"] == 0 and cell["p50_ms"] > 0 and cell["rows"] > 0 for cell in again["cells"])
    assert {name: set(found) for name, found in again["growth"].items()} == {"statement": {"p50", "p95", "cpu", "own"}}
    with connect(f"hlgraph://{place}/kept") as graph:
        counts = {item.corpus: item.records[Kind.STATEMENT] for item in graph.stats(everything=True)}
    assert counts == {corpus_name(size): size for size in (100, 300)}


def test_bench_leaves_the_store_of_the_settings_alone(place: Path) -> None:
    code, out, _ = call("bench", "--statements", "100", "--questions", 2, "--strategies", "chunk", "--json")
    assert (code, json.loads(out)["store"]) == (0, "hlgraph")
    with connect() as graph:
        assert not [item.corpus for item in graph.stats(everything=True) if item.corpus.startswith("bench")]
    code, _, err = call("--store", "neo4j://localhost", "--vectors", "http://localhost", "bench", "--folder", "x")
    assert code == 2
    assert "--folder x needs the embedded store" in err


def test_bench_counts_what_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings, size = ingest_size(100, Settings(store=f"hlgraph://{tmp_path}"), embedder="made-up")
    assert size.seconds > 0
    assert (size.statements, size.skew.entities > 5) == (100, True)
    monkeypatch.setitem(STRATEGIES, "flaky", Flaky)  # type: ignore[arg-type]
    questions = (*questions_for(100, 3)[:-1], "Which river?")
    plan = BenchPlan(settings=settings, strategy="flaky", preset="paper", questions=questions, embedder="made-up")
    cell = ask(plan, 100)
    assert (cell.figures.failed, dict(cell.errors)) == (1, {"ModelError: rivers are too deep": 1})
    assert cell.figures.round_trips == 4
    assert cell.first_ms > 0


def test_bench_on_the_servers(servers: Any) -> None:
    settings = settings_for(servers)
    with opened(servers, settings):
        chosen, size = ingest_size(100, settings, embedder="made-up")
        plan = BenchPlan(
            settings=chosen, strategy="chunk", preset="paper", questions=questions_for(100, 2), embedder="made-up"
        )
        cell = measure(plan, size=100)
        again = ingest_size(100, settings, embedder="made-up")[1]
    assert (size.steps != {}, again.steps) == (True, {})
    assert (cell.figures.failed, cell.figures.round_trips) == (0, 4)
    assert cell.figures.rows is not None
    assert cell.figures.rows >= 20  # the ten chunks there are, found and read
