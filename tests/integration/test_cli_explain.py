"""What --explain and --picture say on the command line: for people, and as JSON."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import command_line
import pytest
from command_line import Done
from sample_vectors import copied

SAMPLES = Path(__file__).parents[2] / "hlgraph" / "samples"
QUESTION = "Which architect designed the lighthouse at which Emeric Vaude was born?"


def call(*arguments: object) -> Done:
    done = command_line.call(*arguments)
    assert done.code == 0, done.err
    return done


@pytest.fixture(scope="module", autouse=True)
def _store(sample_vectors: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """A store of four documents, which the environment names."""
    place = tmp_path_factory.mktemp("explain")
    (place / "docs").mkdir()
    for name in ("emeric-vaude.html", "gannow-light.md", "candlemas-flood.md", "halfmoon-bridge.md"):
        shutil.copy(SAMPLES / name, place / "docs")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HLGRAPH_STORE", f"hlgraph://{place}/store")
        patch.setenv("HLGRAPH_CACHE", copied(sample_vectors, place / "cache"))
        for name in ("HLGRAPH_CORPUS", "HLGRAPH_CONFIG"):
            patch.delenv(name, raising=False)
        call("ingest", place / "docs")
        yield


def _section(text: str, name: str) -> list[str]:
    """The lines below a heading of the explanation."""
    lines = text.splitlines()
    found = lines[lines.index(f"{name}:") + 1 :]
    return found[: next((at for at, line in enumerate(found) if not line.startswith(" ")), len(found))]


def test_without_explain_it_is_short() -> None:
    done = call("search", QUESTION, "--k", 3)
    assert len(done.out.splitlines()) == 6
    assert done.err == ""


def test_the_explanation_has_every_part() -> None:
    text = call("search", QUESTION, "--k", 5, "--strategy", "chunk_entity", "--explain", "full").out
    assert re.search(r"why: rerank [\d.]+, cosine [\d.]+; (seed \d|not among the seeds; on path \d)", text)
    assert re.match(r"  5 x chunk \(vector\)$", _section(text, "seeds")[0])
    assert re.match(r"    0\.\d{3}  \w+.*", _section(text, "seeds")[1])
    assert re.match(
        r"  1 chunks that share an entity: 5 expanded, \d+ kept.*; best [\d., ]+$", _section(text, "hops")[0]
    )
    assert re.match(r"  3 returned: \d+ expanded, 5 kept, pruned: beyond k \d+; best ", _section(text, "hops")[2])
    paths = _section(text, "paths")
    assert re.match(r"  path 1, [\d.]+$", paths[0])
    assert [line.split(":")[0].strip() for line in (paths[1], paths[3], paths[5])] == ["chunk", "entity", "chunk"]
    assert paths[1].endswith(tuple(f"(seed {at})" for at in range(1, 6)))
    assert re.match(r"  search chunk: 5 in [\d.]+ ms \(k=5, mode=vector\)$", _section(text, "steps")[1])
    assert re.match(r"  embedded: \d+ calls, \d+ round trips, [\d.]+ ms, [\d,]+ rows$", _section(text, "stores")[0])
    queries = _section(text, "queries")
    assert re.match(r"  1\. embedded read corpora \[find corpus\]: [\d.]+ ms, 1 rows$", queries[0])
    assert any('"vector": "<384 numbers>"' in line for line in queries)
    assert not any(re.search(r"\d\.\d{5,}, -?\d\.\d{5,}", line) for line in queries)


def test_by_itself_it_is_said_in_words() -> None:
    """Also before the question, where ``full`` would be its level: seeds, hops and paths, and no query or parameter."""
    text = call("search", "--explain", QUESTION, "--k", 5, "--strategy", "chunk_entity").out
    assert re.search(
        r"why: the search (found it (first|in place \d)|did not find it, the graph led to it).*; "
        r"similarity to the question 0\.\d\d\n",
        text,
    )
    seeds, hops = (
        _section(text, name) for name in ("seeds, where the search began", "hops, from the seeds to the evidence")
    )
    assert seeds[0] == "  5 chunks found by meaning; the best:"
    assert re.match(r"  chunks that share an entity: 5 were looked at, \d+ chunks stayed$", hops[0])
    assert re.match(r"  \d+ chunks were ranked, and the best 5 returned$", hops[-1])
    paths = _section(text, "paths, from one text to the next")
    assert re.match(r"  path \d+, to \[\d\]", paths[0])
    assert [line.startswith("      linked with") for line in paths[1:5]] == [False, True, False, True]
    assert not any(word in text for word in ("SELECT", "chunk (", "round trips", "k=5"))
    assert len(text.splitlines()) < 60
    full = call("search", QUESTION, "--k", 5, "--strategy", "chunk_entity", "--explain", "full").out
    assert "SELECT" in full


def test_the_router_says_what_it_chose_and_why() -> None:
    text = call("search", QUESTION, "--strategy", "auto", "--explain", "full").out
    (line,) = [item for item in _section(text, "steps") if item.startswith("  choose: ")]
    assert "(strategy=fused, because=it names one thing through another ('at which')," in line
    question = "When did the Candlemas Flood begin?"
    told = json.loads(call("search", question, "--strategy", "auto", "--explain", "--json").out)["explain"]
    (step,) = [item for item in told["steps"] if item["name"] == "choose"]
    said = step["details"]
    assert (said["chain"], said["comparison"], said["broad"], said["names"]) == ("no", "no", "no", 1)
    assert (said["one_source_at_least"], said["covered_at_least"]) == (1.0, 0.95)
    is_one = said["one_source"] == 1 and said["covered"] >= 0.95
    assert said["strategy"] == ("statement" if is_one else "fused")
    assert {item["part"] for item in told["seeds"]} >= {"first search"}


def test_the_picture_is_written_and_named_beside_the_result(tmp_path: Path) -> None:
    file = tmp_path / "picture.html"
    done = call("search", QUESTION, "--picture", file)
    assert done.err == f"picture: {file}\n"
    assert "strategy statement" not in done.out
    assert "looked_at=" not in file.read_text(encoding="utf-8").split("<figure>")[0]  # parameters stand at the end
    page = file.read_text(encoding="utf-8")
    assert "<svg" in page
    assert QUESTION in page


def test_json_with_a_picture_says_nothing_else(tmp_path: Path) -> None:
    done = call("search", QUESTION, "--picture", tmp_path / "picture.html", "--json")
    assert done.err == ""
    assert json.loads(done.out)["explain"]["graph"]["nodes"]


def test_json_is_complete_where_the_text_is_shortened() -> None:
    told = json.loads(call("search", QUESTION, "--k", 3, "--explain", "--json").out)["explain"]
    read = next(item for item in told["calls"] if item["name"] == "read statement")
    assert len(read["params"]["ids"]) == read["rows"] == 100
    assert told["results"][0]["node"]["name"]
    text = call("search", QUESTION, "--k", 3, "--explain", "full").out
    assert '"... 92 more"' in text
