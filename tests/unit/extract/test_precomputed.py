"""Records of other extractors: their three forms, what is put together, where it is placed, and what is reported."""

from __future__ import annotations

import gzip
import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from hlgraph.errors import ExtractionError, InputError
from hlgraph.extract import ChunkInput, LocalExtractor, PrecomputedExtractor
from hlgraph.ingest.options import IngestOptions
from hlgraph.records import Extraction, Mention, Triple

OWN = {
    "id": "doc-1",
    "statements": [
        {
            "text": "Ada Lovelace wrote the first program.",
            "entities": ["Ada Lovelace", {"name": "first program", "kind": "Work"}],
            "topics": ["computing"],
            "facts": [
                ["Ada Lovelace", "wrote", "first program"],
                {"subject": "Ada Lovelace", "predicate": "was", "complement": "a countess"},
                {"subject": "Ada Lovelace", "predicate": "knew", "object": "Charles Babbage"},
            ],
            "details": ["in 1843"],
        }
    ],
    "topics": ["history"],
    "model": "anything",
}
PASSAGE = "The Real L Word is a series by Ilene Chaiken. It was first shown in\nLos Angeles. It ended."
PROPOSITIONS = {
    "passage_id": "p",
    "propositions": [
        {"text": "The Real L Word is a series by Ilene Chaiken.", "entities": ["the real l word", "ilene chaiken"]},
        {"text": "It was first shown in Los Angeles.", "entities": ["the real l word"]},
    ],
}
TRIPLES = {
    "passage_id": "p",
    "entities": ["the real l word", "ilene chaiken", "los angeles"],
    "triples": [
        ["the real l word", "created by", "ilene chaiken"],
        ["the real l word", "shown in", "los angeles"],
        ["ilene chaiken", "is", "producer"],
        ["somebody", "is", "ilene chaiken"],
    ],
    "llm": "some model",
}


def write(path: Path, *records: object) -> Path:
    path.write_text("\n".join(record if isinstance(record, str) else json.dumps(record) for record in records))
    return path


def one(extractor: PrecomputedExtractor, chunk: ChunkInput) -> Extraction:
    return extractor.extract([chunk])[0]


def chunks(key: str, *texts: str) -> list[ChunkInput]:
    return [ChunkInput(text, key=key, position=i, chunk_count=len(texts)) for i, text in enumerate(texts)]


def texts(extractions: Sequence[Extraction]) -> list[list[str]]:
    return [[proposition.text for proposition in extraction.propositions] for extraction in extractions]


class TestForms:
    def test_own_form_of_a_record(self, tmp_path: Path) -> None:
        extractor = PrecomputedExtractor(write(tmp_path / "a.jsonl", OWN))
        text = "Once, Ada  LOVELACE wrote the first program. More."
        found = one(extractor, ChunkInput(text, key="doc-1"))
        (proposition,) = found.propositions
        assert proposition.text == "Ada Lovelace wrote the first program."
        assert text[proposition.start : proposition.end] == "Ada  LOVELACE wrote the first program."
        assert proposition.mentions == (
            Mention("Ada Lovelace"),
            Mention("first program", "work"),
            Mention("Charles Babbage"),
        )
        assert proposition.triples == (
            Triple("Ada Lovelace", "wrote", "first program"),
            Triple("Ada Lovelace", "was", "a countess", is_literal=True),
            Triple("Ada Lovelace", "knew", "Charles Babbage"),
        )
        assert (proposition.topics, proposition.details, found.problem) == (("computing",), ("in 1843",), "")
        assert found.topics == ("history", "computing")
        assert extractor.problems == ()

    def test_propositions_and_triples_of_two_files_are_put_together(self, tmp_path: Path) -> None:
        files = [write(tmp_path / "t.jsonl", TRIPLES), write(tmp_path / "p.jsonl", PROPOSITIONS)]
        first, second = one(PrecomputedExtractor(files), ChunkInput(PASSAGE, title="T", key="p")).propositions
        assert PASSAGE[second.start : second.end] == "It was first shown in\nLos Angeles."
        assert [t.predicate for t in first.triples] == ["created by", "is", "is"]
        assert [t.predicate for t in second.triples] == ["shown in"]
        assert Triple("ilene chaiken", "is", "producer", is_literal=True) in first.triples
        assert [m.name for m in first.mentions] == ["The Real L Word", "Ilene Chaiken", "somebody"]
        assert [m.name for m in second.mentions] == ["The Real L Word", "Los Angeles"]
        assert first.topics == ("T",)

    def test_triples_alone_become_statements(self, tmp_path: Path) -> None:
        extractor = PrecomputedExtractor(write(tmp_path / "t.jsonl", TRIPLES))
        found = one(extractor, ChunkInput(PASSAGE, key="p", headings=("Top", "Deep")))
        first, shown, producer, somebody = found.propositions
        assert first.text == "the real l word created by ilene chaiken"
        assert PASSAGE[first.start : first.end] == "The Real L Word is a series by Ilene Chaiken."
        assert (shown.start, shown.end) == (producer.start, producer.end) == (0, len(PASSAGE))
        assert [m.name for m in producer.mentions] == ["Ilene Chaiken"]
        assert [m.name for m in somebody.mentions] == ["Ilene Chaiken", "somebody"]
        assert found.topics == ("Deep",)

    def test_entities_without_a_statement_of_their_own_go_where_they_stand(self, tmp_path: Path) -> None:
        record = {"id": "p", "statements": [{"text": "It was first shown in Los Angeles."}, {"text": "A paraphrase."}]}
        record["entities"] = ["los angeles", "it ended", "nowhere"]
        found = one(PrecomputedExtractor(write(tmp_path / "o.jsonl", record)), ChunkInput(PASSAGE, key="p"))
        assert [[m.name for m in p.mentions] for p in found.propositions] == [["Los Angeles", "nowhere"], ["It ended"]]

    def test_gzip_blank_lines_windows_line_ends_byte_order_mark_and_numbers_as_ids(self, tmp_path: Path) -> None:
        path = tmp_path / "a.jsonl.gz"
        path.write_bytes(gzip.compress(b"\xef\xbb\xbf" + json.dumps({**OWN, "id": 7}).encode() + b"\r\n\r\n"))
        assert one(PrecomputedExtractor(str(path)), ChunkInput("text", key="7")).propositions

    def test_spans_are_used_where_they_fit(self, tmp_path: Path) -> None:
        record = {"id": "a", "statements": [{"text": "x y", "span": [2, 5]}, {"text": "z w", "span": [3, 900]}]}
        found = one(PrecomputedExtractor(write(tmp_path / "a.jsonl", record)), ChunkInput("0123456 z w", key="a"))
        assert [(p.start, p.end) for p in found.propositions] == [(2, 5), (8, 11)]


class TestLookup:
    @pytest.mark.parametrize(
        "chunk",
        [
            ChunkInput("t", key="doc-1", uri="elsewhere"),
            ChunkInput("t", uri="doc-1"),
            ChunkInput("t", uri="rows.jsonl#doc-1"),
            ChunkInput("t", uri="rows.jsonl#doc-1", key="unknown"),
        ],
    )
    def test_records_are_looked_up_by_key_uri_or_fragment(self, tmp_path: Path, chunk: ChunkInput) -> None:
        assert one(PrecomputedExtractor(write(tmp_path / "a.jsonl", OWN)), chunk).propositions

    def test_no_record_is_a_problem_that_names_the_document_and_the_file(self, tmp_path: Path) -> None:
        path = write(tmp_path / "a.jsonl", OWN)
        found = one(PrecomputedExtractor(path), ChunkInput("t", key="other"))
        assert found.propositions == ()
        assert "no record for 'other'" in found.problem
        assert str(path) in found.problem

    def test_a_record_of_entities_alone_is_a_problem(self, tmp_path: Path) -> None:
        extractor = PrecomputedExtractor(
            write(tmp_path / "a.jsonl", {"passage_id": "p", "entities": ["x"], "triples": []})
        )
        assert "neither statements nor triples" in one(extractor, ChunkInput("x", key="p")).problem


class TestMissing:
    def test_another_extractor_takes_the_chunks_without_a_record(self, tmp_path: Path) -> None:
        file = write(tmp_path / "e.jsonl", OWN)
        there, gone = (
            ChunkInput("Ada Lovelace wrote it.", key="doc-1"),
            ChunkInput("Ivo Brandt built Orne.", key="doc-2"),
        )
        local = LocalExtractor()
        extractor = PrecomputedExtractor(file, missing=local)
        plain = PrecomputedExtractor(file)
        assert extractor.extract([gone, there, gone]) == [
            *local.extract([gone]),
            *plain.extract([there]),
            *local.extract([gone]),
        ]
        assert local.extract([gone])[0].propositions
        assert extractor.input_fingerprint(there) == plain.input_fingerprint(there)
        assert extractor.input_fingerprint(gone) == local.input_fingerprint(gone)
        assert extractor.fingerprint == f"{plain.fingerprint}+{local.fingerprint}"

    def test_a_broken_line_about_a_chunk_stays_a_problem(self, tmp_path: Path) -> None:
        file = write(tmp_path / "e.jsonl", OWN, {"id": "doc-2", "statements": 3})
        extractor = PrecomputedExtractor(file, missing=LocalExtractor())
        found = one(extractor, ChunkInput("Ivo Brandt built Orne.", key="doc-2"))
        assert "no record for 'doc-2'" in (found.problem or "")
        assert not found.propositions

    def test_an_unknown_name_is_refused(self) -> None:
        with pytest.raises(InputError, match="missing is 'rules'; choose nothing or local"):
            IngestOptions(extract="precomputed", missing="rules")  # type: ignore[arg-type]


class TestSeveralChunks:
    def test_a_statement_goes_to_the_chunks_that_hold_its_words(self, tmp_path: Path) -> None:
        record = {
            "id": "d",
            "statements": [
                {"text": "Cats sleep a lot."},
                {"text": "Dogs run quickly through the big forest."},
                {"text": "Shared sentence."},
            ],
        }
        extractor = PrecomputedExtractor(write(tmp_path / "a.jsonl", record))
        given = chunks(
            "d", "cats\nsleep a lot. Shared sentence.", "Shared sentence. The dogs run in a forest, big.", "Birds."
        )
        found = extractor.extract(given)
        assert texts(found) == [
            ["Cats sleep a lot.", "Shared sentence."],
            ["Dogs run quickly through the big forest.", "Shared sentence."],
            [],
        ]
        assert [e.problem for e in found] == ["", "", ""]
        assert [extractor.extract([chunk])[0] for chunk in given] == found

    def test_statements_that_no_chunk_takes_are_reported_when_all_chunks_are_there(self, tmp_path: Path) -> None:
        record = {"id": "d", "statements": [{"text": "Cats sleep."}, {"text": "Unrelated paraphrase elsewhere."}]}
        extractor = PrecomputedExtractor(write(tmp_path / "a.jsonl", record))
        given = chunks("d", "Cats sleep.", "Birds sing.")
        problems = [extraction.problem for extraction in extractor.extract(given)]
        assert "Unrelated paraphrase" in problems[0]
        assert problems[1] == ""
        assert extractor.extract(given[:1])[0].problem == ""

    def test_a_record_with_a_chunk_index_is_for_that_chunk_only(self, tmp_path: Path) -> None:
        records = [{"id": "d", "chunk": i, "statements": [{"text": f"Paraphrase {i}."}]} for i in (0, 1)]
        extractor = PrecomputedExtractor(write(tmp_path / "a.jsonl", *records))
        found = extractor.extract(chunks("d", "aaa", "bbb", "ccc"))
        assert texts(found) == [["Paraphrase 0."], ["Paraphrase 1."], []]
        assert "no record for chunk 2 of 'd'" in found[2].problem

    def test_triples_alone_go_to_the_chunk_that_names_them(self, tmp_path: Path) -> None:
        record = {"passage_id": "d", "triples": [["cats", "chase", "mice"], ["dogs", "chase", "cars"]]}
        extractor = PrecomputedExtractor(write(tmp_path / "a.jsonl", record))
        assert texts(extractor.extract(chunks("d", "Cats chase mice.", "Dogs do chase cars."))) == [
            ["cats chase mice"],
            ["dogs chase cars"],
        ]


class TestProblems:
    @pytest.mark.parametrize(
        ("line", "reason"),
        [
            ("{nonsense", "JSON is malformed"),
            ("[1, 2]", "Expected `object`"),
            ('{"text": "x"}', "neither id nor passage_id"),
            ('{"id": "b"}', "neither statements nor triples nor entities"),
            ('{"id": "b", "statements": [{"text": 3}]}', "$.statements[0].text"),
            ('{"id": "b", "statements": [{"txt": "x"}]}', "txt"),
            ('{"id": "b", "statements": [{"text": " "}]}', "no text"),
            ('{"id": "b", "statements": [{"text": "x", "facts": [["s", "p"]]}]}', "length 3"),
            ('{"id": "b", "statements": [{"text": "x", "facts": [{"subject": "s", "predicate": "p"}]}]}', "complement"),
            ('{"passage_id": "b", "entities": "x"}', "$.entities"),
            ('{"passage_id": "b", "propositions": [{}]}', "text"),
            ("[" * 100_000, "line 7"),
            ('{"id": "b", "statements": ' + "[" * 100_000, "line 7"),
        ],
    )
    def test_a_bad_line_is_kept_as_a_problem_and_the_rest_is_used(self, tmp_path: Path, line: str, reason: str) -> None:
        records: list[object] = [{**OWN, "id": str(i)} for i in range(10)]
        records[6] = line
        path = write(tmp_path / "ten.jsonl", *records)
        extractor = PrecomputedExtractor(path)
        (problem,) = extractor.problems
        assert str(path) in problem
        assert "line 7" in problem
        assert reason in problem
        assert all(one(extractor, ChunkInput("t", key=str(i))).propositions for i in range(10) if i != 6)

    def test_the_chunk_of_a_bad_line_says_why(self, tmp_path: Path) -> None:
        extractor = PrecomputedExtractor(write(tmp_path / "a.jsonl", OWN, '{"id": "b", "statements": [{"text": 3}]}'))
        problem = one(extractor, ChunkInput("t", key="b")).problem
        assert "no record for 'b'" in problem
        assert "line 2" in problem

    def test_equal_records_are_one_and_different_ones_a_problem(self, tmp_path: Path) -> None:
        other = {**OWN, "statements": [{"text": "Something else."}]}
        extractor = PrecomputedExtractor(write(tmp_path / "a.jsonl", OWN, {**OWN, "model": "x"}, other))
        assert len(one(extractor, ChunkInput("t", key="doc-1")).propositions) == 1
        (problem,) = extractor.problems
        assert "line 3" in problem
        assert "'doc-1'" in problem

    def test_different_records_in_two_files_are_put_together(self, tmp_path: Path) -> None:
        other = {**OWN, "statements": [{"text": "Something else."}]}
        files = [write(tmp_path / f"{i}.jsonl", record) for i, record in enumerate((OWN, other, OWN))]
        extractor = PrecomputedExtractor(files)
        assert len(one(extractor, ChunkInput("t", key="doc-1")).propositions) == 2
        assert extractor.problems == ()

    def test_a_file_that_is_missing_empty_or_no_records_at_all_is_an_error(self, tmp_path: Path) -> None:
        for path in (
            tmp_path / "missing.jsonl",
            tmp_path,
            write(tmp_path / "empty.jsonl"),
            write(tmp_path / "no.jsonl", "x"),
        ):
            with pytest.raises(ExtractionError, match=path.name):
                PrecomputedExtractor([path])

    def test_a_broken_gzip_stream_is_used_up_to_the_break(self, tmp_path: Path) -> None:
        lines = "\n".join(json.dumps({**OWN, "id": f"{i}-{i * 7919 % 1000003}"}) for i in range(2000)).encode()
        path = tmp_path / "cut.jsonl.gz"
        path.write_bytes(gzip.compress(lines)[:-2000])
        extractor = PrecomputedExtractor(path)
        assert one(extractor, ChunkInput("t", key="0-0")).propositions
        assert "is cut off" in extractor.problems[-1]


class TestFingerprints:
    def test_a_changed_record_changes_its_own_chunks_only(self, tmp_path: Path) -> None:
        records = [{**OWN, "id": name} for name in ("a", "b")]
        before = PrecomputedExtractor(write(tmp_path / "x.jsonl", *records))
        same = PrecomputedExtractor(write(tmp_path / "y.jsonl", *records))
        changed = {**OWN, "id": "b", "topics": ["else"]}
        after = PrecomputedExtractor(write(tmp_path / "z.jsonl", records[0], changed))
        a, b = (ChunkInput("t", key=name) for name in ("a", "b"))
        assert before.fingerprint == same.fingerprint != after.fingerprint
        assert before.input_fingerprint(a) == after.input_fingerprint(a)
        assert before.input_fingerprint(b) != after.input_fingerprint(b)
        assert before.input_fingerprint(a) != before.input_fingerprint(ChunkInput("u", key="a"))

    def test_the_number_of_chunks_counts_and_their_position_where_records_name_it(self, tmp_path: Path) -> None:
        plain = PrecomputedExtractor(write(tmp_path / "x.jsonl", OWN))
        first, second = chunks("doc-1", "t", "t")
        assert plain.input_fingerprint(first) == plain.input_fingerprint(second)
        assert plain.input_fingerprint(first) != plain.input_fingerprint(ChunkInput("t", key="doc-1"))
        placed = PrecomputedExtractor(write(tmp_path / "y.jsonl", {**OWN, "chunk": 0}))
        assert placed.input_fingerprint(first) != placed.input_fingerprint(second)


def test_the_statements_that_no_chunk_took_are_named_once_the_last_chunk_is_given(tmp_path: Path) -> None:
    """A large document comes in consecutive calls; its statements may lie in any of its chunks."""
    record = {
        "id": "d",
        "statements": [{"text": "The mill burned."}, {"text": "The bridge fell."}, {"text": "Snow lay."}],
    }
    given = chunks("d", "The mill burned.", "The bridge fell.", "It rained.")
    extractor = PrecomputedExtractor(write(tmp_path / "a.jsonl", record))
    whole = [found.problem for found in extractor.extract(given)]
    assert [bool(problem) for problem in whole] == [True, False, False]
    assert "1 statements of 'd' match none of its chunks" in whole[0]
    assert [one(extractor, chunk).problem for chunk in given] == ["", "", whole[0]]
