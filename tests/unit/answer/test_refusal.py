"""When there is no evidence for a question: the rule by words, its figures by hand, and what the SDK does with it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import hlgraph
from hlgraph.answer.extractive import NOT_FOUND
from hlgraph.answer.verify import LEAST_SUPPORT, is_missing, support
from hlgraph.errors import InputError
from hlgraph.records import Evidence, Source
from hlgraph.testing.chat import ScriptedChat
from hlgraph.testing.corpus import DOCUMENTS
from hlgraph.testing.embedder import WordEmbedder

_SOURCE = Source("s" * 32, "c", "doc:1", "Aldane Bridge", "sum", metadata={"source": "The Valley Post"})


def _evidence(text: str) -> Evidence:
    return Evidence(text, 1.0, "c" * 32, 0, len(text), _SOURCE, "0" * 32)


_OPENED = _evidence("It opened in 1931.")
_QUILL = _evidence("Mara Quill painted the mill.")


@pytest.mark.parametrize(
    ("question", "evidence", "expected"),
    [
        # names (Mara, Quill) all there; of mara, quill, painted, mill the best piece has all
        ("What did Mara Quill paint at the mill?", [_OPENED, _QUILL], 1.0),
        # names Ivo, Brandt nowhere; "opened" in the best piece is one word of three
        ("What has Ivo Brandt opened?", [_OPENED, _QUILL], (0 + 1 / 3) / 2),
        # the names of the title and of the metadata count
        ("Did the Valley Post see the Aldane Bridge?", [_OPENED], (1 + 4 / 5) / 2),
        # no name: content words in all pieces, painted and opened; the best piece has one of three
        ("Who painted what opened yesterday?", [_OPENED, _QUILL], (2 / 3 + 1 / 3) / 2),
        ("What did Mara Quill paint?", [], 0.0),
    ],
)
def test_support_by_hand(question: str, evidence: list[Evidence], expected: float) -> None:
    assert support(question, evidence) == pytest.approx(expected)


def test_closeness_in_meaning_counts_where_it_is_known() -> None:
    question = "What has Ivo Brandt opened?"
    near = [replace(_OPENED, why={"cosine": 0.7}), _QUILL]
    assert support(question, near) == pytest.approx(0.7)
    assert support(question, [replace(_OPENED, why={"vector": 0.1}), _QUILL]) == pytest.approx(1 / 6)
    assert not is_missing(question, near)
    assert is_missing(question, near, least=0.8)
    assert is_missing(question, [replace(_OPENED, why={"cosine": 0.1})])
    # a search by full text says no cosine: then nothing is refused unless it is asked for
    assert not is_missing(question, [replace(_OPENED, why={"text": 0.9})])
    assert is_missing(question, [replace(_OPENED, why={"text": 0.9})], least=LEAST_SUPPORT)
    assert not is_missing(question, [], least=0)


@given(st.text(max_size=60), st.lists(st.text(max_size=60), max_size=4))
def test_support_is_a_share_and_more_evidence_is_never_less(question: str, texts: list[str]) -> None:
    evidence = [replace(_OPENED, text=text) for text in texts]
    found = support(question, evidence)
    assert 0 <= found <= 1
    assert support(question, [*evidence, _QUILL]) >= found
    assert support(question, evidence[::-1]) == found


def test_questions_about_what_is_not_there_are_refused_and_a_parameter_says_when(tmp_path: Path) -> None:
    question = "Which concert did Lorna Hale conduct in Vienna?"
    with hlgraph.connect(f"hlgraph://{tmp_path}/s", embedder=WordEmbedder()) as graph:
        graph.ingest(DOCUMENTS)
        refused = graph.answer(question)
        assert (refused.text, refused.is_supported, refused.citations) == (NOT_FOUND, False, ())
        assert graph.answer(question, mode="report").text == NOT_FOUND
        assert graph.answer("Who designed the Aldane Bridge?").is_supported
        assert not graph.answer("Who designed the Aldane Bridge in Utopia?", least_support=1).is_supported
        for wrong in (-0.1, 1.1):
            with pytest.raises(InputError, match=r"least_support is .*; choose a number from 0"):
                graph.answer(question, least_support=wrong)


def test_with_a_chat_model_the_rule_holds_only_where_it_is_asked_for(tmp_path: Path) -> None:
    question = "Which concert did Lorna Hale conduct in Vienna?"
    chat = ScriptedChat(["NOT IN THE CORPUS"])
    with hlgraph.connect(f"hlgraph://{tmp_path}/s", embedder=WordEmbedder(), chat=chat) as graph:
        graph.ingest(DOCUMENTS)
        assert graph.answer(question, least_support=LEAST_SUPPORT).text == NOT_FOUND
        assert chat.asked == []
        assert graph.answer(question).text == NOT_FOUND
        assert len(chat.asked) == 1
