"""Every reply of a model is checked where the model is called: one clear error, nothing written, and the right model goes on."""

from __future__ import annotations

import errno
import itertools
import shutil
import socket
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import pytest
from numpy.typing import NDArray
from thoroughness import cases

from hlgraph import Answer, HLGraph, connect
from hlgraph.change import Change, ChangeState, VectorBlock
from hlgraph.errors import (
    HLGraphError,
    InputError,
    ModelAnswerError,
    ModelMismatchError,
    ModelUnavailableError,
)
from hlgraph.models import Completion
from hlgraph.models.accounts.ledger import Purpose
from hlgraph.models.checked import CheckedEmbedder, unit_rows
from hlgraph.models.choose import chosen_embedder, chosen_reranker
from hlgraph.models.executor import asking_about
from hlgraph.models.local.reranker import LexicalReranker
from hlgraph.persist.journal import persist
from hlgraph.records import Document, Kind
from hlgraph.settings import ModelSettings
from hlgraph.stores.embedded.vectors import EmbeddedVectorStore
from hlgraph.stores.open import Opened, open_stores
from hlgraph.stores.protocols import VectorBatch
from hlgraph.testing.corpus import CORPUS, DOCUMENTS, change_for, snapshot
from hlgraph.testing.embedder import WordEmbedder

_D = 32
_RIGHT = WordEmbedder(_D)
_FIRST = DOCUMENTS[:2]
_NEXT = (replace(DOCUMENTS[0], text="The Aldane Bridge fell. Ivo Brandt saw it."), DOCUMENTS[3])
_QUESTION = "Who designed the Aldane Bridge?"
Rows = NDArray[np.float32]


def _raising(error: BaseException) -> Callable[[object], NoReturn]:
    def act(_: object) -> NoReturn:
        raise error

    return act


def _broken_off(rows: Rows) -> Iterator[Rows]:
    yield rows[0]
    raise ConnectionResetError("reset")


def _with(value: float, *, at: int = -1) -> Callable[[Rows], Rows]:
    def act(rows: Rows) -> Rows:
        found = rows.copy()
        found[at, 1] = value
        return found

    return act


def _without_direction(rows: Rows) -> Rows:
    found = rows.copy()
    found[-1] = 0
    return found


_FAILURES: dict[str, tuple[Callable[[Any], object], type[HLGraphError], str]] = {
    "reset": (_raising(ConnectionResetError("reset")), ModelUnavailableError, "ConnectionResetError: reset"),
    "timeout": (_raising(TimeoutError("slow")), ModelUnavailableError, "TimeoutError: slow"),
    "pipe": (_raising(BrokenPipeError()), ModelUnavailableError, "BrokenPipeError"),
    "network": (_raising(OSError(errno.ENETUNREACH, "no network")), ModelUnavailableError, "no network"),
    "name": (_raising(socket.gaierror(-2, "no such host")), ModelUnavailableError, "no such host"),
    "file": (_raising(FileNotFoundError("model.bin")), ModelAnswerError, r"FileNotFoundError: model.bin\); check"),
    "bug": (_raising(KeyError("weights")), ModelAnswerError, r"KeyError: 'weights'\); check"),
    "none": (lambda _: None, ModelAnswerError, "returned None, not one .*; correct the model"),
    "text": (lambda _: "vectors", ModelAnswerError, "returned a str, not one .*; correct the model"),
}
_BAD_ROWS: dict[str, tuple[Callable[[Rows], object], type[HLGraphError], str]] = {
    **{name: _FAILURES[name] for name in ("reset", "bug", "none")},
    "nan": (_with(np.nan), ModelAnswerError, "not finite; check the model"),
    "infinite": (_with(-np.inf, at=0), ModelAnswerError, r"vector of text 1 of .* not finite; check the model"),
    "zero": (_without_direction, ModelAnswerError, "is zero, so .*; use a model"),
    "wide": (lambda rows: np.hstack([rows, rows]), ModelMismatchError, "64 dimensions, but 32 .*; correct"),
    "narrow": (lambda rows: _unit(rows[:, :-1]), ModelMismatchError, "31 dimensions, but 32 .*; correct"),
    "empty": (lambda rows: rows[:, :0], ModelAnswerError, r"shape \(\d+, 0\), not one .*; correct"),
    "few": (lambda rows: rows[:-1], ModelAnswerError, r"for \d+ texts .* shape \(\d+, 32\), not one"),
    "extra": (lambda rows: np.vstack([rows, rows[:1]]), ModelAnswerError, r"for \d+ texts .* shape \(\d+, 32\), not"),
    "flat": (lambda rows: rows.ravel(), ModelAnswerError, r"shape \(\d+,\), not one"),
    "deep": (lambda rows: rows[np.newaxis], ModelAnswerError, r"shape \(1, \d+, 32\), not one"),
    "ragged": (lambda rows: [[1.0], *rows.tolist()[1:], [1.0, 2.0]], ModelAnswerError, "a list of .* not one"),
    "words": (lambda rows: rows.astype(str), ModelAnswerError, "not one vector of finite numbers"),
    "complex": (lambda rows: rows.astype(complex), ModelAnswerError, "not one vector of finite numbers"),
    "cut": (_broken_off, ModelUnavailableError, "ConnectionResetError: reset"),
}


def _unit(rows: Rows) -> Rows:
    found: Rows = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    return found


class _Bad:
    """Makes something else of the vectors of the right model."""

    fingerprint = _RIGHT.fingerprint
    dimensions = _D

    def __init__(self, act: Callable[[Any], object]) -> None:
        self._act = act

    def embed(self, texts: Sequence[str]) -> Any:
        return self._act(_RIGHT.embed(texts))

    def forget(self, texts: Sequence[str]) -> None:
        """Nothing is kept."""


class _BadQuestions(_Bad):
    """Embeds texts as the right model does, and something else for a question."""

    def embed(self, texts: Sequence[str]) -> Rows:
        return _RIGHT.embed(texts)

    def embed_question(self, question: str) -> Any:
        return self._act(_RIGHT.embed([question])[0])


def _ingest_first(graph: HLGraph) -> object:
    return graph.in_corpus("new").ingest(_FIRST)


def _repair(graph: HLGraph) -> object:
    found, left = graph.reconcile(repair=True)
    assert not found.is_none
    assert left.is_none
    return left


_CALLS: dict[str, Callable[[HLGraph], object]] = {
    "first ingest": _ingest_first,
    "ingest": lambda graph: graph.ingest(_NEXT),
    "search": lambda graph: graph.search(_QUESTION).evidence,
    "answer": lambda graph: graph.answer(_QUESTION).text,
    "repair": _repair,
}


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store of two sources."""
    folder = tmp_path_factory.mktemp("stored") / "s"
    with _opened(folder) as graph:
        graph.ingest(_FIRST)
    return folder


@pytest.fixture(scope="module")
def state(stored: Path) -> object:
    """All that can be seen of that store."""
    return _state(stored)


def _opened(folder: Path, *, embedder: Any = _RIGHT, **models: Any) -> HLGraph:
    return connect(f"hlgraph://{folder}", corpus=CORPUS, embedder=embedder, **models)


@contextmanager
def _stores(folder: Path) -> Iterator[Opened]:
    opened = open_stores(f"hlgraph://{folder}")
    with opened.closing:
        yield opened


def _copied(stored: Path, folder: Path, *, is_damaged: bool = False) -> Path:
    target = folder / "s"
    shutil.copytree(stored, target)
    if is_damaged:
        with _stores(target) as opened, opened.stores.graph.lock():
            rows = opened.stores.vectors.ids(Kind.STATEMENT, CORPUS)
            opened.stores.vectors.delete(CORPUS, {Kind.STATEMENT.value: sorted(rows)})
    return target


def _state(folder: Path) -> object:
    """All that can be seen of a store, its journal included."""
    with _stores(folder) as opened:
        stores = opened.stores
        with stores.graph.lock() as pending:
            assert not pending
        corpora = stores.graph.stats()
        seen = [(item.corpus, dict(item.records), snapshot(stores, item.corpus)) for item in corpora]
        return seen, [item for item in opened.check() if not item.is_fine]


# Every reply meets one call, and every call meets one reply of each kind of error; all pairs in a thorough run.
_BAD_CALLS = [
    (bad, call)
    for bad, call in itertools.product(_BAD_ROWS, _CALLS)
    if cases(call == "ingest" or bad in {"reset", "nan", "wide"}, True)
]


@pytest.mark.parametrize(("bad", "call"), _BAD_CALLS)
def test_a_bad_reply_of_an_embedder_is_one_error_and_changes_nothing(
    stored: Path, state: object, tmp_path: Path, bad: str, call: str
) -> None:
    act, kind, told = _BAD_ROWS[bad]
    folder = _copied(stored, tmp_path, is_damaged=call == "repair")
    before = _state(folder) if call == "repair" else state
    with (
        _opened(folder, embedder=_Bad(act)) as graph,
        pytest.raises(kind, match=f"^{_RIGHT.fingerprint}: .*{told}") as caught,
    ):
        _CALLS[call](graph)
    assert type(caught.value) is kind
    assert _state(folder) == before
    with _opened(folder) as graph:
        assert _CALLS[call](graph)
        assert [item for item in graph.check() if not item.is_fine] == []


@pytest.mark.parametrize("call", ["search", "answer"])
@pytest.mark.parametrize("bad", [*_FAILURES, "nan", "zero", "wide", "row"])
def test_a_bad_vector_of_a_question_is_refused_before_a_store_is_asked(
    stored: Path, monkeypatch: pytest.MonkeyPatch, bad: str, call: str
) -> None:
    acts: dict[str, Callable[[Rows], object]] = {
        **{name: act for name, (act, _, _) in _FAILURES.items()},
        "nan": lambda row: row * np.nan,
        "zero": lambda row: row * 0,
        "wide": lambda row: np.tile(row, 2),
        "row": lambda row: row[np.newaxis],
    }
    asked: list[object] = []
    for name in ("search", "search_many"):
        monkeypatch.setattr(EmbeddedVectorStore, name, lambda _, *given: asked.append(given))
    bad_questions, told = _BadQuestions(acts[bad]), f"^{_RIGHT.fingerprint}: .*; "
    with _opened(stored, embedder=bad_questions) as graph, pytest.raises(HLGraphError, match=told) as caught:
        _CALLS[call](graph)
    assert isinstance(caught.value, (ModelAnswerError, ModelMismatchError, ModelUnavailableError))
    assert asked == []


_GOOD_ROWS: dict[str, Callable[[Rows], object]] = {
    "float64": lambda rows: rows.astype(np.float64),
    "float16": lambda rows: rows.astype(np.float16),
    "big-endian": lambda rows: rows.astype(">f4"),
    "by columns": np.asfortranarray,
    "integers": lambda rows: np.round(rows * 10_000).astype(np.int32),
    "lists": lambda rows: rows.tolist(),
    "arrays": tuple,
    "generator": iter,
    "not normalised": lambda rows: 7 * rows,
    "huge": lambda rows: rows.astype(np.float64) * 1e300,
    "tiny": lambda rows: rows * np.float32(1e-9),
    "almost": lambda rows: rows * np.float32(1.0003),
}


@pytest.mark.parametrize("form", _GOOD_ROWS)
def test_vectors_of_any_form_and_length_are_stored_as_unit_vectors(tmp_path: Path, form: str) -> None:
    with _opened(tmp_path / "a") as right, _opened(tmp_path / "b", embedder=_Bad(_GOOD_ROWS[form])) as other:
        for graph in (right, other):
            graph.ingest(_FIRST)
            graph.ingest(_NEXT)
        found, wanted = (item.search(_QUESTION, strategy="chunk").evidence for item in (other, right))
        assert [item.text for item in found] == [item.text for item in wanted]
        np.testing.assert_allclose([item.score for item in found], [item.score for item in wanted], atol=2e-3)
        assert [item for item in other.check() if not item.is_fine] == []


def test_unit_vectors_are_not_touched_and_cost_no_copy() -> None:
    rows = _RIGHT.embed([f"text {at}" for at in range(50)])
    assert np.shares_memory(unit_rows("m", rows, texts=["a"] * 50), rows)
    assert unit_rows("m", np.zeros((1, 3)), texts=[" \n"]).tolist() == [[1.0, 0.0, 0.0]]


@pytest.mark.parametrize("declared", [None, 0, -1, 3.5, "32"])
def test_declared_dimensions_must_be_a_positive_integer(tmp_path: Path, declared: object) -> None:
    embedder = _Bad(lambda rows: rows)
    embedder.dimensions = declared  # type: ignore[assignment]
    with _opened(tmp_path / "s", embedder=embedder) as graph:
        with pytest.raises(InputError, match=f"^{_RIGHT.fingerprint}: .*{declared!r} dimensions; let"):
            graph.ingest(_FIRST)
        assert graph.stats() == ()


@pytest.mark.parametrize("name", [None, "", " ", 7])
def test_fingerprint_must_be_a_text(tmp_path: Path, name: object) -> None:
    embedder = _Bad(lambda rows: rows)
    embedder.fingerprint = name  # type: ignore[assignment]
    with _opened(tmp_path / "s", embedder=embedder) as graph:
        with pytest.raises(InputError, match=f"^_Bad: its fingerprint is {name!r}; let"):
            graph.ingest(_FIRST)
        assert graph.stats() == ()


def test_a_model_that_cannot_forget_deletes_nothing_and_one_without_forget_has_nothing_to_forget(
    stored: Path, tmp_path: Path
) -> None:
    folder = _copied(stored, tmp_path)
    before = _state(folder)
    embedder: Any = _Bad(lambda rows: rows)
    embedder.forget = _raising(ConnectionResetError("reset"))
    with _opened(folder, embedder=embedder) as graph, pytest.raises(ModelUnavailableError, match="reset"):
        graph.delete(_FIRST[0].uri)
    assert _state(folder) == before
    embedder.forget = None
    with _opened(folder, embedder=embedder) as graph:
        assert graph.delete(_FIRST[0].uri).sources_removed == 1
        assert [item for item in graph.check() if not item.is_fine] == []


# Rerankers

_BAD_SCORES: dict[str, tuple[Callable[[Rows], object], type[HLGraphError], str]] = {
    **_FAILURES,
    "few": (lambda scores: scores[:-1], ModelAnswerError, r"for \d+ texts .* shape \(\d+,\), not one finite score"),
    "extra": (lambda scores: [*scores, 0.5], ModelAnswerError, "a list of .* not one finite score"),
    "nan": (lambda scores: scores * np.nan, ModelAnswerError, "text 1 of .* nan.*, not one finite score"),
    "infinite": (lambda scores: scores - np.inf, ModelAnswerError, "text 1 of .* not one finite score"),
    "too large": (lambda scores: scores + 1e300, ModelAnswerError, "text 1 of .* not one finite score"),
    "column": (lambda scores: scores[:, np.newaxis], ModelAnswerError, r"shape \(\d+, 1\), not one finite score"),
    "words": (
        lambda scores: [str(score) for score in scores],
        ModelAnswerError,
        "not one finite score per text; correct",
    ),
}


class _BadReranker:
    """Makes something else of lexical scores."""

    fingerprint = "scores/1"

    def __init__(self, act: Callable[[Any], object]) -> None:
        self._act = act

    def rerank(self, question: str, texts: Sequence[str], *, similarities: Rows | None = None) -> Any:
        return self._act(LexicalReranker().rerank(question, texts, similarities=similarities).astype(np.float64))


@pytest.mark.parametrize("bad", _BAD_SCORES)
def test_a_bad_reply_of_a_reranker_is_one_error(stored: Path, bad: str) -> None:
    act, kind, told = _BAD_SCORES[bad]
    with _opened(stored, reranker=_BadReranker(act)) as graph:
        for call in (graph.search, graph.answer):
            with pytest.raises(kind, match=f"^scores/1: .*{told}") as caught:
                call(_QUESTION, strategy="chunk_rerank")
            assert type(caught.value) is kind


@pytest.mark.parametrize("form", [list, tuple, iter, lambda scores: scores.astype(np.float32), lambda scores: scores])
def test_scores_of_any_form_are_taken(stored: Path, form: Callable[[Any], object]) -> None:
    with _opened(stored, reranker=_BadReranker(form)) as graph, _opened(stored) as plain:
        found, wanted = (item.search(_QUESTION, strategy="chunk_rerank").evidence for item in (graph, plain))
        assert [item.text for item in found] == [item.text for item in wanted]


# Chat models

_BAD_REPLIES: dict[str, tuple[Callable[[object], object], type[HLGraphError], str]] = {
    **{name: item for name, item in _FAILURES.items() if name not in ("none", "text")},
    "none": (lambda _: None, ModelAnswerError, "returned None, not a hlgraph.models.Completion; correct"),
    "text": (lambda _: "Yes.", ModelAnswerError, "returned a str, not a hlgraph.models.Completion; correct"),
    "bytes": (lambda _: b"Yes.", ModelAnswerError, "returned a bytes, not a hlgraph.models.Completion; correct"),
    "text of bytes": (lambda _: Completion(b"Yes."), ModelAnswerError, "returned a bytes, not a str; correct"),  # type: ignore[arg-type]
    "no text": (lambda _: Completion(None), ModelAnswerError, "returned None, not a str; correct"),  # type: ignore[arg-type]
    "tokens": (lambda _: Completion("Yes.", -1), ModelAnswerError, "counts -1 tokens; return"),
    "many tokens": (lambda _: Completion("Yes.", 10**30), ModelAnswerError, "counts 1000.* tokens; return"),
    "no tokens": (lambda _: Completion("Yes.", 1, None), ModelAnswerError, "counts None tokens; return"),  # type: ignore[arg-type]
}


class _BadChat:
    fingerprint = "chat/1"

    def __init__(self, act: Callable[[object], object]) -> None:
        self._act = act

    def complete(self, system: str, user: str, *, max_tokens: int) -> Any:
        return self._act((system, user, max_tokens))


class _BadStream(_BadChat):
    def stream(self, system: str, user: str, *, max_tokens: int) -> Any:
        yield "Mara "
        yield self._act((system, user, max_tokens))


@pytest.mark.parametrize("bad", _BAD_REPLIES)
def test_a_bad_reply_of_a_chat_model_is_one_error(stored: Path, bad: str) -> None:
    act, kind, told = _BAD_REPLIES[bad]
    with _opened(stored, chat=_BadChat(act)) as graph:
        calls: list[Callable[[], object]] = [
            lambda: graph.answer(_QUESTION),
            lambda: list(graph.answer_stream(_QUESTION)),
            lambda: asking_about(_BadChat(act), Purpose()).complete("s", "u", max_tokens=5),
        ]
        for call in calls:
            with pytest.raises(kind, match=f"^chat/1: .*{told}") as caught:
                call()
            assert type(caught.value) is kind


@pytest.mark.parametrize("bad", [name for name in _BAD_REPLIES if name != "text"])
def test_a_bad_piece_of_a_stream_is_one_error(stored: Path, bad: str) -> None:
    act, kind, told = _BAD_REPLIES[bad]
    with _opened(stored, chat=_BadStream(act)) as graph, pytest.raises(kind, match=f"^chat/1: .*{told}") as caught:
        list(graph.answer_stream(_QUESTION))
    assert type(caught.value) is kind


@pytest.mark.parametrize("chat", [_BadChat, _BadStream])
def test_characters_that_no_store_holds_are_replaced_in_a_reply(
    stored: Path, tmp_path: Path, chat: type[_BadChat]
) -> None:
    model = chat(lambda _: Completion("Mara \ud800 Quill\0 designed it [1]."))
    with _opened(_copied(stored, tmp_path), chat=model) as graph:
        for answer in (graph.answer(_QUESTION), list(graph.answer_stream(_QUESTION))[-1]):
            assert isinstance(answer, Answer)
            assert answer.text == "Mara \N{REPLACEMENT CHARACTER} Quill\N{REPLACEMENT CHARACTER} designed it [1]."


# Whatever is chosen is checked


def test_chosen_models_are_checked_and_memory_errors_pass_unchanged(tmp_path: Path) -> None:
    names = ModelSettings(cache=str(tmp_path))
    embedder, _ = chosen_embedder(_Bad(lambda rows: rows * np.nan), names)
    with pytest.raises(ModelAnswerError, match="not finite"):
        embedder.embed(["a"])
    with pytest.raises(ModelAnswerError, match="not one finite score"):
        chosen_reranker(_BadReranker(lambda scores: scores * np.nan), names).rerank("a", ["b"])
    with pytest.raises(MemoryError):
        CheckedEmbedder(_Bad(_raising(MemoryError()))).embed(["a"])
    assert CheckedEmbedder(_Bad(_raising(AssertionError()))).embed([]).shape == (0, _D)
    assert chosen_reranker(_BadReranker(_raising(AssertionError())), names).rerank("a", []).shape == (0,)


# Corpora that an earlier version let such vectors into


def _wide(block: VectorBlock) -> VectorBlock:
    rows = np.hstack([block.matrix(), block.matrix()]) / np.float32(2**0.5)
    return replace(block, dimensions=2 * block.dimensions, data=rows.tobytes())


def _poison(change: Change) -> Change:
    names = change.topic_names
    return replace(
        change,
        vectors=tuple(map(_wide, change.vectors)),
        replacements=tuple(map(_wide, change.replacements)),
        topic_names=names and _wide(names),
    )


def _left(folder: Path, documents: Sequence[Document], *, is_done: bool) -> None:
    """Leaves a change with vectors of a wrong length in the journal, or published, as an earlier version did."""
    with _stores(folder) as opened, opened.stores.graph.lock():
        stores = opened.stores
        right = change_for(documents, stores, embedder=_RIGHT)
        assert right is not None
        change = _poison(right)
        stores.graph.stage(change)
        if is_done:
            stores.vectors.upsert(VectorBatch(change.corpus, change.id, change.sources, change.vectors))
            stores.graph.advance(change.id, ChangeState.PUBLISHED)
            stores.graph.advance(change.id, ChangeState.DONE)


_WRITES: dict[str, Callable[[HLGraph], object]] = {
    "ingest": lambda graph: graph.ingest(DOCUMENTS[3]),
    "delete": lambda graph: graph.delete(DOCUMENTS[1].uri),
    "repair": lambda graph: graph.reconcile(repair=True),
}


@pytest.mark.parametrize("write", _WRITES)
@pytest.mark.parametrize("documents", [_NEXT, (replace(DOCUMENTS[0], title="Bridge"),)], ids=["new text", "new title"])
def test_a_journal_with_vectors_of_a_wrong_length_stops_no_write(
    tmp_path: Path, documents: Sequence[Document], write: str
) -> None:
    folder = tmp_path / "s"
    with _stores(folder) as opened, opened.stores.graph.lock():
        change = change_for(_FIRST, opened.stores, embedder=_RIGHT)
        assert change is not None
        persist(change, opened.stores)
    _left(folder, documents, is_done=False)
    with _opened(folder) as graph:
        assert _WRITES[write](graph)
        assert [item for item in graph.check() if not item.is_fine] == []
        graph.ingest(_NEXT)
        assert graph.search(_QUESTION).evidence
    _state(folder)


@pytest.mark.parametrize("write", _WRITES)
def test_published_rows_of_a_wrong_length_are_embedded_again(tmp_path: Path, write: str) -> None:
    """The change moves a source to another title: its chunk has a new row, which only follows once the change is published."""
    folder = tmp_path / "s"
    with _stores(folder) as opened, opened.stores.graph.lock():
        stores = opened.stores
        change = change_for(_FIRST, stores, embedder=_RIGHT)
        assert change is not None
        persist(change, stores)
        edited = change_for([replace(DOCUMENTS[0], title="The bridge")], stores, embedder=_RIGHT)
        assert edited is not None
        poisoned = _poison(replace(edited, vectors=()))
        assert poisoned.replacements or poisoned.topic_names
        stores.graph.stage(poisoned)
        stores.vectors.upsert(VectorBatch(change.corpus, edited.id, (), edited.vectors))
        stores.graph.advance(poisoned.id, ChangeState.PUBLISHED)
    with _opened(folder) as graph:
        assert _WRITES[write](graph)
        graph.reconcile(repair=True)
        assert [item for item in graph.check() if not item.is_fine] == []
        assert graph.search(_QUESTION).evidence
    _state(folder)


def test_a_corpus_whose_vectors_have_another_length_than_it_says_is_repaired(tmp_path: Path) -> None:
    folder = tmp_path / "s"
    _left(folder, _FIRST, is_done=True)
    with _opened(folder) as graph:
        assert [item.check for item in graph.check() if not item.is_fine]
        with pytest.raises(HLGraphError):
            graph.ingest(_NEXT)
        found, left = graph.reconcile(repair=True)
        assert found.altered_vectors.keys() == {"chunk", "statement", "topic", "entity"}
        assert left.is_none
        assert [item for item in graph.check() if not item.is_fine] == []
        graph.ingest(_NEXT)
        assert graph.search(_QUESTION).evidence
    _state(folder)


def test_vectors_of_another_length_than_the_change_says_never_reach_the_journal(tmp_path: Path) -> None:
    with _stores(tmp_path / "s") as opened, opened.stores.graph.lock():
        change = change_for(_FIRST, opened.stores, embedder=_RIGHT)
        assert change is not None
        with pytest.raises(
            ModelMismatchError, match="words/32 has 32 dimensions, but its vectors of chunk have 64; correct"
        ):
            persist(_poison(change), opened.stores)
        assert opened.stores.graph.stats() == ()
        persist(change, opened.stores)
    _state(tmp_path / "s")
