"""The terms that near-duplicates are found by: numbers in one spelling, never dropped; what turns a meaning stays."""

from __future__ import annotations

import re
import sys
import unicodedata
from decimal import Decimal
from itertools import combinations

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from hlgraph import text as numbers_module
from hlgraph.algorithms.diversity import retain, tf_idf
from hlgraph.retrieve.evidence import tables as terms_module
from hlgraph.retrieve.evidence.tables import _lemma, has_lemmas, may_repeat, says_the_same_order, terms
from hlgraph.text import Number, numbers, words


def _is_duplicate(one: str, other: str) -> bool:
    """As the search decides it, among a few other texts."""
    found = [terms(text) for text in (one, other, "Nothing of the kind.", "A bridge over the Velm.")]
    result = retain(
        tf_idf([item.words for item in found]),
        np.array([4.0, 3.0, 2.0, 1.0]),
        ids=list("abcd"),
        agrees=lambda a, b: says_the_same_order(found[a], found[b]),
    )
    return 1 not in result


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("The fleet had 1,000 ships.", "The fleet had 1000 ships"),
        ("The fleet had 1,000,000 ships.", "The fleet had 1.000.000 ships"),
        ("The fleet had 12\u00a0000 ships.", "The fleet had 12,000 ships."),
        ("The fleet had three ships.", "The fleet had 3 ships."),
        ("It cost $3.5 million.", "It cost $3,500,000."),
        ("The debt is 2 trillion.", "The debt is 2,000,000,000,000."),
        ("It cost 3.50 crowns.", "It cost 3.5 crowns."),
        ("It cost 5 €.", "It costs €5."),
        ("It rose by 5 percent.", "It rose by 5%."),
        ("It rose by five percent.", "It rose by 5%."),
        ("It had three million stones.", "It had 3,000,000 stones."),
        ("It was \u22125 degrees.", "It was -5 degrees."),
        ("The year \u0661\u0669\u0665\u0663 was wet.", "The year 1953 was wet."),
        ("Ships carry crates.", "The ship carried a crate."),
        ("In 1953 a flood hit Ombry.", "A flood hit Ombry in 1953."),
        ("The bridge was not rebuilt.", "The bridge wasn't rebuilt."),
        ("It cannot float.", "It can't float!"),
        ("To be.", "to be"),
    ],
)
def test_the_same_in_other_words(one: str, other: str) -> None:
    assert _is_duplicate(one, other)
    assert _is_duplicate(other, one)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("The fleet had 12 ships.", "The fleet had 13 ships."),
        ("The fleet had 1,000 ships.", "The fleet had 1 ship."),
        ("The fleet had 1.5 ships.", "The fleet had 15 ships."),
        ("The code is 007.", "The code is 7."),
        ("Version 1.2.3 came out.", "Version 12.3 came out."),
        ("The field has 10² stones.", "The field has 102 stones."),
        ("It needs 1½ cups.", "It needs 11 2 cups."),
        ("It cost $5.", "It cost €5."),
        ("It cost $-5.", "It cost €-5."),
        ("It rose by 5%.", "It rose by 5."),
        ("It was -5 degrees.", "It was 5 degrees."),
        ("It cost 3 million.", "It cost 3 billion."),
        ("It rose from 12 to 13 crowns.", "It rose from 13 to 12 crowns."),
        ("The bridge was rebuilt.", "The bridge was not rebuilt."),
        ("It was rebuilt before the flood.", "It was rebuilt after the flood."),
        ("She came to Ombry.", "She came from Ombry."),
        ("Ada praised Ben.", "Ben praised Ada."),
        ("Ben praised Ada.", "Ben was praised by Ada."),
        ("He may leave.", "He will leave."),
        ("Ships with sails.", "Ships without sails."),
    ],
)
def test_not_the_same(one: str, other: str) -> None:
    assert not _is_duplicate(one, other)
    assert not _is_duplicate(other, one)


def test_a_number_counts_in_a_long_text_too() -> None:
    """Among six hundred words the cosine alone does not see it."""
    words = [f"{a}{b}word" for a in "abcdefghijklmnopqrst" for b in "abcdefghijklmno"]
    one, other = (f"{' '.join(words * 2)} in {year}" for year in (2022, 2023))
    rows = tf_idf([terms(one).words, terms(other).words])
    assert (rows @ rows.T).toarray()[0, 1] > 0.995
    assert not _is_duplicate(one, other)
    assert _is_duplicate(one, one.upper())


def test_names_are_not_lemmatised() -> None:
    assert terms("He met Jobs about jobs.").words[-1] == terms("He met Jobs").words[-1] == "jobs"
    assert "job" in terms("He had jobs.").words


def test_number_values_exclude_sign_and_unit() -> None:
    found = numbers("-5%, $1,000.50 million and three (007) of .5 kg, $ 3")
    assert [number.value for number in found] == ["5", "1000.5", "007", "0.5", "3"]
    assert [number.text for number in found] == ["-5%", "$1000500000", "007", "0.5", "$3"]


@pytest.mark.parametrize(
    "text", ["1," * 50_000, "1." * 50_000 + "x", "$ " * 50_000, "-" * 50_000, "9" * 100_000, "1 " * 50_000]
)
def test_any_length_of_digits_and_marks(text: str) -> None:
    assert len(terms(text).words) <= len(text)


@given(st.text(max_size=80))
def test_any_text_has_terms_and_equals_itself(text: str) -> None:
    found = terms(text)
    assert says_the_same_order(found, found)
    assert found == terms(text)
    assert all(text[number.start : number.end].strip() for number in numbers(text))


def _plain_number(text: str, match: re.Match[str]) -> Number:
    """A number by the expressions alone, without the short cuts for those that stand alone."""
    begin = max(0, match.start() - 5)
    before = numbers_module._BEFORE.search(text[begin : match.start()])
    sign, currency, point = "", "", ""
    if before is not None:
        at = begin + before.start("sign")
        sign = "-" if before["sign"] and (at == 0 or text[at - 1].isspace() or text[at - 1] in "($€£¥₹") else ""
        currency = before["first"] or before["second"] or ""
        at = begin + before.start("point")
        point = "." if before["point"] and not (at > 0 and text[at - 1].isalnum()) else ""
    quantity = _plain_quantity(point + match[0])
    value = whole = quantity if isinstance(quantity, str) else numbers_module.spelled(quantity)
    behind = numbers_module._BEHIND.match(text, match.end())
    assert behind is not None
    if scale := (behind["scale"] or "").lower():
        whole = value + scale
        if not isinstance(quantity, str):
            whole = numbers_module.spelled(quantity.scaleb(numbers_module.SCALES[scale]))
    whole += "%" if behind["percent"] else ""
    return Number(match.start(), behind.end(), value, f"{sign}{currency or behind['currency'] or ''}{whole}")


def _plain_quantity(digits: str) -> Decimal | str:
    plain = "".join(str(unicodedata.decimal(each)) if each.isdecimal() else each for each in digits)
    whole = re.split(r"[.,]", plain, maxsplit=1)[0]
    if (len(whole) > 1 and whole[0] == "0") or len(plain) > 25:
        return plain
    if numbers_module._COMMA_GROUPS.fullmatch(plain):
        return Decimal(re.sub("[,\u00a0\u2009\u202f]", "", plain))
    if numbers_module._DOT_GROUPS.fullmatch(plain):
        return Decimal(plain.replace(".", "").replace(",", "."))
    is_plain = numbers_module._PLAIN_NUMBER.fullmatch(plain) and not numbers_module._THREE_DECIMALS.fullmatch(plain)
    return Decimal(plain.replace(",", ".")) if is_plain or numbers_module._COMMA_DECIMAL.fullmatch(plain) else plain


def _plain_names(text: str) -> frozenset[str]:
    """Capitals after the first word, by the expression that knows all scripts."""
    parted = terms_module._JOINED.sub(r" \g<0>", text)
    return frozenset(words(" ".join({word for word in terms_module._WORD.findall(parted)[1:] if word[0].isupper()})))


_PIECES = ["5", "0", "12", "007", "3.5", "1,000", "1.000", "$", "€", "-", "\u2212", "%", ".", ",", " ", "\u00a0", "(", "pct", "Pct",
           " Million", " thousand", "percent",
           "Two", "three", "The", "Ada", "ada", "cannot", "isn't", "é", "Ⅻ", "²", "½", "_"]  # fmt: skip


@given(st.lists(st.sampled_from(_PIECES), max_size=12).map("".join) | st.text(max_size=30))
@example("$ 3 million, 5 % and 7 \u20ac")
def test_short_cuts_find_the_same_numbers_and_names(text: str) -> None:
    digits = [m for m in numbers_module._DIGITS.finditer(text) if not numbers_module._is_inside(text, m.start())]
    assert numbers(text) == [_plain_number(text, match) for match in digits]
    assert terms(text).names == _plain_names(text)


@given(st.lists(st.sampled_from(["Ada beat Ben.", "Ben beat Ada.", "The geese ran.",
       "The Goose ran.", "He saw the Goose run.", "He saw geese run.", "It had 3 ships.", "It had three ship",
       "Ada was there.", "There was Ada.", "To be."]), max_size=6))  # fmt: skip
def test_without_a_pair_in_the_same_order_nothing_goes(texts: list[str]) -> None:
    found = [terms(text) for text in texts]
    result = retain(
        tf_idf([item.words for item in found]),
        np.arange(len(texts), 0, -1, dtype=np.float64),
        ids=[str(at) for at in range(len(texts))],
        tau=1.0,
        agrees=lambda one, other: says_the_same_order(found[one], found[other]),
    )
    assert may_repeat(found) or len(result) == len(texts)
    assert may_repeat(found) == any(says_the_same_order(*pair) for pair in combinations(found, 2))


@given(st.integers(0, 10**12), st.integers(0, 10**12))
def test_equal_numbers_share_a_term(one: int, other: int) -> None:
    spellings = {
        terms(f"It holds {form} stones.").numbers for form in (f"{one}", f"{one:,}", f"{one}.0", f"{one:,}.00")
    }
    assert len(spellings) == 1
    assert (terms(f"It holds {one:,}.").numbers == terms(f"It holds {other}.").numbers) == (one == other)


def test_words_are_unchanged_without_lemmatiser(monkeypatch: pytest.MonkeyPatch) -> None:
    assert has_lemmas()
    assert terms("the bridges were rebuilt").words == terms("the bridge was rebuilt").words
    monkeypatch.setitem(sys.modules, "simplemma", None)
    _lemma.cache_clear()
    try:
        assert terms("the bridges were rebuilt").words == ("bridges", "rebuilt")
    finally:
        _lemma.cache_clear()
