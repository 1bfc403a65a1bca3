"""Citations while a text arrives: what is given out never changes, and is in the end the text of the answer."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from streamed_chat import StreamedChat

from hlgraph.answer import chat_answer
from hlgraph.answer.citations import Arriving, checked, said
from hlgraph.answer.extractive import NOT_FOUND
from hlgraph.answer.writer import Writer, telling_answer
from hlgraph.records import Evidence, Source
from hlgraph.testing.chat import ScriptedChat

_SOURCE = Source("s" * 32, "c", "doc:1", "Title", "sum")
_EVIDENCE = [Evidence(f"Piece {at}.", 1.0, "c" * 32, 0, 8, _SOURCE, f"{at:032x}") for at in range(5)]


def _told(pieces: list[str]) -> list[str]:
    """What is given out for each piece, and what the answer adds."""
    telling = telling_answer("Who?", _EVIDENCE, writer=Writer(model=StreamedChat([pieces]), is_streamed=True))
    return [*telling]


@pytest.mark.parametrize(
    ("pieces", "told"),
    [
        (["Quill ", "did", " [5]", ".", " [5][1]"], ["Quill", " did", " [1]", ".", " [1] [2]"]),
        (["<thi", "nk>no [1]", "</th", "ink> Yes", " [2]."], ["Yes", " [1]."]),
        (["It < ", "that", " [x] [2]"], ["It <", " that", " [x] [1]"]),
        (["NOT ", "IN THE", " CORPUS"], [NOT_FOUND]),
        (
            ["NOT ", "IN THE", " CORPUS", " is who, but Quill did [3]."],
            ["NOT IN THE CORPUS is who, but Quill did [1]."],
        ),
        (["Nothing [9", "9", "] else", " [1]"], ["Nothing", " else", " [1]"]),
        (["One.\r", "\n\r\nTwo [1]"], ["One.", "\n\nTwo [1]"]),
    ],
)
def test_pieces(pieces: list[str], told: list[str]) -> None:
    assert [piece for piece in _told(pieces) if piece] == told


@given(st.lists(st.text(alphabet="ab. []1239,-\n<think>/", max_size=12), max_size=12))
def test_pieces_are_in_the_end_the_text_of_the_answer(pieces: list[str]) -> None:
    whole = "Yes " + "".join(pieces)
    if not said(whole):
        return
    answer = chat_answer("Who?", _EVIDENCE, model=ScriptedChat([whole]))
    assert "".join(_told(["Yes ", *pieces])) == answer.text


@given(st.text(alphabet="ab. []1239,-\n", max_size=60), st.integers(0, 60))
def test_what_was_given_out_is_the_beginning_of_what_comes(text: str, cut: int) -> None:
    arriving = Arriving(range(5))
    first = arriving.add(text[:cut])
    whole = checked("Who?", said(text), evidence=_EVIDENCE).text
    assert whole.startswith(first)


def test_a_model_that_gives_no_pieces_is_asked_once() -> None:
    chat = ScriptedChat(["Quill did [1]."])
    telling = telling_answer("Who?", _EVIDENCE, writer=Writer(model=chat, is_streamed=True))
    assert [*telling] == ["Quill did [1]."]
    assert len(chat.asked) == 1
