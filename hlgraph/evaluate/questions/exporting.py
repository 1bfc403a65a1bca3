"""Writes questions and their corpus as an evaluation set that ``hlgraph eval`` reads."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from hlgraph.errors import InputError
from hlgraph.evaluate.questions.checking import check_corpus
from hlgraph.evaluate.questions.making import passage_of
from hlgraph.evaluate.questions.record import MadeQuestion
from hlgraph.records import Kind, Source

if TYPE_CHECKING:
    from hlgraph.sdk.client import HLGraph

_OWN = frozenset({"id", "title", "text"})
_FIELDS = (
    *("id", "question", "answers", "supporting_passage_ids", "type", "hops"),
    *("source_ids", "chunk_ids", "statement_ids", "made_by"),
)


@dataclass(frozen=True, slots=True)
class Exported:
    """What was written.

    Attributes
    ----------
    folder : the evaluation set
    passages : number of passages, the chunks of the corpus
    questions : number of questions in ``questions.jsonl``
    nulls : number of null questions in ``null_questions.jsonl``: they have no supporting passage, and recall has no sense for them
    abstracts : number of abstract questions in ``abstract_questions.jsonl``, which have neither passages nor answers: judges
        compare what strategies answer
    """

    folder: Path
    passages: int
    questions: int
    nulls: int
    abstracts: int


def export(graph: HLGraph, questions: Sequence[MadeQuestion], *, folder: str | Path) -> Exported:
    """Write an evaluation set: ``corpus.jsonl`` with the chunks as passages, and ``questions.jsonl``.

    Parameters
    ----------
    graph : the corpus of the questions
    questions : the questions
    folder : created if it does not exist; files of the same names are replaced

    Returns
    -------
    Exported

    Raises
    ------
    InputError
        The questions are of another corpus, none has a gold passage, or the folder cannot be written.
    """
    check_corpus(questions, graph.corpus)
    files = {
        "questions": [item for item in questions if item.has_gold],
        "null_questions": [item for item in questions if item.is_null],
        "abstract_questions": [item for item in questions if item.type == "abstract"],
    }
    if not files["questions"]:
        raise InputError(
            "all questions are null or abstract questions, which have no supporting passage to find; make others beside them"
        )
    root = Path(folder)
    try:
        root.mkdir(parents=True, exist_ok=True)
        with (root / "corpus.jsonl").open("w", encoding="utf-8") as file:
            passages = 0
            for row in _passages(graph):
                file.write(f"{json.dumps(row, ensure_ascii=False)}\n")
                passages += 1
        for name, items in files.items():
            rows = ({field: getattr(item, field) for field in _FIELDS} for item in items)
            lines = (f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows)
            (root / f"{name}.jsonl").write_text("".join(lines), encoding="utf-8")
    except OSError as error:
        raise InputError(f"{folder}: cannot be written: {error.strerror}; give a writable folder") from error
    asked, nulls, abstracts = map(len, files.values())
    return Exported(root, passages, asked, nulls, abstracts)


def _passages(graph: HLGraph) -> Iterator[dict[str, object]]:
    ids = graph.facts.sources()
    sources = {name: item for name, item in graph.facts.records(Kind.SOURCE, ids).items() if isinstance(item, Source)}
    for chunks in graph.facts.chunks(ids):
        for chunk in chunks:
            source = sources.get(chunk.source_id)
            if source is None:  # removed in between
                continue
            rest = {key: value for key, value in source.metadata.items() if key not in _OWN}
            yield {"id": passage_of(source, chunk.id), "title": source.title, "text": chunk.text, **rest}
