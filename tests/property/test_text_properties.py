"""Words of plain ASCII text are found by a pattern of their own: it must agree with the one for all scripts."""

from __future__ import annotations

import string

from hypothesis import example, given
from hypothesis import strategies as st

from hlgraph.text import words

_PIECE = st.sampled_from(
    ("'s", "u.s", "1,000.50", "a.b", "o'neil", "don't", "_", "3.", ".5", "x.y_", "1.a", "a.1", "''")
)
_TEXT = st.lists(st.one_of(_PIECE, st.text(string.printable, max_size=8)), max_size=12).map("".join)


@given(_TEXT)
@example("The U.S. spent $1,000.50 on Ada's a.b.c1 and x_y's.")
@example("A.B_ 1.2.3 I'M 5,000,x rock'n'roll's")
def test_words_of_ascii_text_are_those_of_the_general_pattern(text: str) -> None:
    assert [*words(text), "é"] == words(f"{text} é")
