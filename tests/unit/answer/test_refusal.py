"""When there is no evidence for a question: the rule by words, its figures by hand, and what the SDK does with it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import hlgraph
from hlgraph.answer.constraints import constraints_of, in_conversation, unbound
from hlgraph.answer.extractive import NOT_FOUND
from hlgraph.answer.forms import is_yes_no
from hlgraph.answer.verify import LEAST_SUPPORT, is_missing, support
from hlgraph.errors import InputError
from hlgraph.records import Document, Evidence, Source
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


@pytest.mark.parametrize(
    ("question", "pronoun"),
    [
        ("When was it built?", "it"),
        ("And when did he die?", "he"),
        ("In which year did she retire?", "she"),
        ("How many pages does it have?", "it"),
        ("Who was her teacher?", "her"),
        ("Who designed it?", "it"),
        ("Which company bought it?", "it"),
        ("What is its height?", "its"),
        ("Is it waterproof?", "it"),
        ("WHEN WAS IT BUILT?", "it"),
        ("DID ADA ROE PUBLISH HER NOTES?", ""),
        ("Where did the designer of the bridge spend his youth?", ""),
        ("Did Ada Roe publish her notes?", ""),
        ("Who lost his hat?", ""),
        ("If he is ill, what must an employee do?", ""),
        ("ada lovelace: when was she born?", ""),
        ("What happens to the deposit if it is damaged?", ""),
        ("Is it allowed to swim?", ""),
        ("Was it Ada Roe who built the bridge?", ""),
        ("How far is it from the station?", ""),
        ("How cold does it get in winter?", ""),
        ("Who leads IT?", ""),
        ("it " * 40_000, ""),
    ],
)
def test_a_pronoun_is_unbound_if_its_question_names_nothing_that_it_may_mean(question: str, pronoun: str) -> None:
    match = unbound(question)
    assert (match[0] if match else "") == pronoun


def test_a_question_that_does_not_say_who_it_asks_about_is_not_answered_by_one_of_two(tmp_path: Path) -> None:
    question = "Where was she born?"
    with hlgraph.connect(f"hlgraph://{tmp_path}/s", embedder=WordEmbedder()) as graph:
        graph.ingest(DOCUMENTS)
        only = graph.answer(question)
        assert (only.is_supported, only.text) == (True, "Mara Quill was born in Tessing. [1]")
        graph.ingest([Document("doc:painter", "Ada Roe was born in Sarn.", "Ada Roe")])
        answer = graph.answer(question)
        assert (answer.is_supported, answer.reason) == (False, "The question does not say who *she* is.")
        assert answer.text in (f"{answer.reason} {text}" for text in (only.text, "Ada Roe was born in Sarn. [1]"))


BRIDGE = [("user", "Who designed the Halfmoon Bridge?"), ("assistant", "Jonas Querl designed the Halfmoon Bridge. [1]")]
BORN = [("user", "Where was he born?"), ("assistant", "Origin: Jonas Querl was born in Lisk. [1]")]


@pytest.mark.parametrize(
    ("question", "before", "expected"),
    [
        ("Where was he born?", BRIDGE, "Where was Jonas Querl born?"),
        ("And when did he die?", [*BRIDGE, *BORN], "And when did Jonas Querl die?"),
        ("When was it built?", [*BRIDGE, *BORN], "When was the Halfmoon Bridge built?"),
        ("What is its length?", BRIDGE, "What is the Halfmoon Bridge's length?"),
        ("Who taught her?", [("user", "Who was Ada Roe?")], "Who taught Ada Roe?"),
        ("Who was her teacher?", [("user", "Who was Ada Roe?")], "Who was Ada Roe's teacher?"),
        ("Was she there?", [("assistant", "Mornach Expedition, Results: One of them was new. [1]")], "Was she there?"),
        (
            "Where did he go?",
            [("assistant", "Ruben Lee, The tour: Lee led the Mornach Tour. [1]")],
            "Where did Ruben Lee go?",
        ),
        ("Was he ill?", [("user", "Who wrote The Water Came at Four?")], "Was he ill?"),
        ("WHEN WAS IT BUILT?", BRIDGE, "when was the Halfmoon Bridge built?"),
        ("WHEN WAS IT BUILT?", [], "WHEN WAS IT BUILT?"),
        ("Where was he born?", [("user", "What is Jonas Querl's job?")], "Where was Jonas Querl born?"),
        ("Where was he born?", [("user", "Who founded Acme Software?")], "Where was he born?"),
        ("Where was he born?", [("user", "Who wrote Moby Dick?")], "Where was he born?"),
        ("Where was he born?", [("user", "When did Stenning United win?")], "Where was he born?"),
        ("Where was he born?", [("user", "What is Amber Road?")], "Where was he born?"),
        ("Where was he born?", [("user", "Who is the coach of Tarn Hollow?")], "Where was he born?"),
        (
            "Where was he born?",
            [("assistant", "Acme Software was founded by Jonas Querl. [1]")],
            "Where was Jonas Querl born?",
        ),
        # one of two, nobody, and what its own question names
        ("Where was she born?", [("assistant", "Ann Lee and Bob Ray run Acme.")], "Where was she born?"),
        ("Where was she born?", [("user", "hello")], "Where was she born?"),
        ("Where was he born?", [("system", "You are Chat Bot.")], "Where was he born?"),
        ("Did Ada Roe like his bridge?", BRIDGE, "Did Ada Roe like his bridge?"),
    ],
)
def test_the_messages_before_a_question_say_whom_it_asks_about(
    question: str, before: list[tuple[str, str]], expected: str
) -> None:
    assert in_conversation(question, before) == expected


@pytest.mark.timeout(120)  # in square time a million characters take half an hour, in linear time two seconds
@pytest.mark.parametrize("filler", [" ", "- ", "A-"])
def test_a_padded_question_is_read_in_linear_time(filler: str) -> None:
    question = f"When was {filler * (1_000_000 // len(filler))} built?"

    assert not is_yes_no(question)
    assert constraints_of(question).is_english
