"""Counting the words of a question in texts: the same as listing all content words."""

import re
import unicodedata
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hlgraph import text as text_module
from hlgraph.algorithms import word_counts
from hlgraph.algorithms.word_counts import CountedTexts, count_words
from hlgraph.text import STOP_WORDS, content_words, words

TEXTS = [
    "",
    "   ",
    "The U.S. spent $1,000.50 on Ada's café; it's let's cats's.",
    "Ada’s – the “first” programmer—met Ben’s 1990–1995 team.",
    "a.b_ a.b a.b's x_y _z 3.5% 3.5. 3,5, end.",
    "東京都 is 東京 in 日本; กรุงเทพ. Ⅻ ﬁne ½",
    "naïve naïve, NAÏVE's e\u0301te e\u0301te\u2019s",
    "it's its it’s whose who's who's's",
    "ourselves themselves yourselves yourself internationalisations internationalisationz pneumonoultra ourselve",
    "tab\tand\u00a0no-break\u2003em\u2028line\x1cfile",
]
_CHARACTERS = st.sampled_from(list("abzéÉs'’ʼ._,-–—“” \t\n015東กא\u0301\u200d\u00a0İßﬁ"))
_TEXT = st.text(_CHARACTERS, max_size=40) | st.text(max_size=30)


def slow_words(text: str) -> list[str]:
    """What a word is, by the one expression that knows all scripts, without any of the short cuts."""
    found: list[str] = []
    for word in text_module._WORD.findall(unicodedata.normalize("NFKC", text).casefold()):
        if text_module._RUN.fullmatch(word):
            found.extend(word[i : i + 2] for i in range(max(1, len(word) - 1)))
        else:
            found.append(re.sub("'s$", "", word.replace("’", "'")))
    return found


def slow_counts(terms: Sequence[str], texts: Sequence[str]) -> tuple[list[list[int]], list[int]]:
    """Every content word of every text, one by one."""
    listed = [[word for word in slow_words(text) if word not in STOP_WORDS] for text in texts]
    return [[found.count(term) for term in terms] for found in listed], [len(found) for found in listed]


def check(terms: Sequence[str], texts: Sequence[str]) -> None:
    """Compare with the slow ones."""
    counts, lengths = slow_counts(terms, texts)
    found = count_words(terms, texts)
    assert found.counts.tolist() == np.array(counts, dtype=float).reshape(len(texts), len(terms)).tolist()
    assert found.lengths.tolist() == lengths


@pytest.mark.parametrize("text", TEXTS)
def test_each_of_its_own_words_is_counted(text: str) -> None:
    check(list(dict.fromkeys(content_words(text))), [text])


def test_long_words_are_told_apart() -> None:
    terms = ["internationalisations", "internationalisat", "electroencephalogram", "pneumono", "pneumonoultra"]
    check(
        terms,
        ["internationalisations internationalisat pneumono", "Internationalisations, electroencephalogrammes", *TEXTS],
    )


def test_many_texts_are_counted_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(word_counts, "_PART", 50)
    terms = list(dict.fromkeys(term for text in TEXTS for term in content_words(text)))
    check(terms, [*TEXTS, "café " * 40, *TEXTS])


def test_words_of_another_text_are_counted() -> None:
    terms = list(dict.fromkeys(term for text in TEXTS for term in content_words(text)))
    check(terms, TEXTS)
    check([], TEXTS)
    check(terms, [])


@given(st.lists(_TEXT, max_size=4))
def test_counts_are_those_of_all_words(texts: list[str]) -> None:
    check(list(dict.fromkeys(term for text in texts for term in content_words(text))), texts)


@given(st.lists(_TEXT, min_size=1, max_size=4), st.data())
def test_texts_counted_once_or_joined_have_the_counts_of_the_texts(texts: list[str], data: st.DataObject) -> None:
    terms = list(dict.fromkeys(term for text in texts[:2] for term in content_words(text)))
    counted = CountedTexts(terms)
    one = st.integers(0, len(texts) - 1)
    for some in data.draw(st.lists(st.lists(one, max_size=5), max_size=3)):
        found, wanted = counted.of([texts[at] for at in some]), count_words(terms, [texts[at] for at in some])
        assert [each.tolist() for each in found] == [each.tolist() for each in wanted]
    groups = data.draw(st.lists(st.lists(one, min_size=1, max_size=3), max_size=4))
    joined = counted.of(texts).joined(groups)
    wanted = count_words(terms, [" ".join(texts[at] for at in group) for group in groups])
    assert [each.tolist() for each in joined] == [each.tolist() for each in wanted]


@given(_TEXT)
def test_words_are_those_of_the_one_expression(text: str) -> None:
    assert words(text) == slow_words(text)


@given(st.lists(_TEXT, max_size=6), st.lists(_TEXT, max_size=3))
def test_the_parts_of_a_question_share_its_counts(texts: list[str], more: list[str]) -> None:
    terms = list(dict.fromkeys(word for text in [*texts, *TEXTS] for word in content_words(text)))
    whole, part = CountedTexts(terms), terms[::-2]
    narrowed = whole.narrowed(part)
    assert narrowed is not None
    for some in (texts, [*more, *texts]):
        found, alone = narrowed.of(some), count_words(part, some)
        assert found.counts.tolist() == alone.counts.tolist()
        assert found.lengths.tolist() == alone.lengths.tolist()
    assert len(whole._rows) == len({*texts, *more})  # each text was counted once, for the question too
    assert whole.narrowed(["nowhere-else"]) is None
