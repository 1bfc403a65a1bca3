"""Measures of answers, each against its reference: SQuAD's script, rouge-score, sacrebleu, the definitions of RAGChecker."""

from __future__ import annotations

import json
import random
import re
import string
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict

import numpy as np
import pytest
import sacrebleu
from hypothesis import example, given
from hypothesis import strategies as st
from numpy.typing import NDArray

from hlgraph.errors import InputError
from hlgraph.evaluate.claims import Checked, claim_scores
from hlgraph.evaluate.metrics import (
    chosen_option,
    exact_match,
    f1,
    has_answer,
    normalised,
    rouge_l,
    rouge_n,
    sentence_bleu,
    token_recall,
)

_TEXTS = st.lists(
    st.sampled_from(["a", "The", "an", "river", "RIVER", "velm,", "1897.", "(of)", "O'Brien", "--"]), max_size=8
).map(" ".join)


def _squad_f1(prediction: str, gold: str) -> float:
    """The function of SQuAD 2.0, as published."""

    def tokens(text: str) -> list[str]:
        kept = "".join(sign for sign in text.lower() if sign not in set(string.punctuation))
        return re.sub(r"\b(a|an|the)\b", " ", kept).split()

    wanted, found = tokens(gold), tokens(prediction)
    same = sum((Counter(wanted) & Counter(found)).values())
    if not wanted or not found:
        return float(wanted == found)
    if not same:
        return 0.0
    precision, recall = same / len(found), same / len(wanted)
    return 2 * precision * recall / (precision + recall)


@given(_TEXTS, st.lists(_TEXTS, min_size=1, max_size=3))
@example("", ["the", "river"])
def test_f1_is_that_of_squad_over_the_best_gold_answer(answer: str, golds: list[str]) -> None:
    wanted = list(filter(normalised, golds)) or [
        ""
    ]  # SQuAD 2.0 drops gold answers without a word where others have one
    assert f1(answer, golds) == pytest.approx(max(_squad_f1(answer, gold) for gold in wanted))
    assert exact_match(answer, golds) == float(normalised(answer) in [normalised(gold) for gold in wanted])
    assert exact_match(answer, golds) <= f1(answer, golds) <= 1


def test_answers_of_any_script_are_compared() -> None:
    assert exact_match("Łódź", ["łódź"]) == f1("東京", ["東京"]) == 1.0
    assert f1("東京", ["京都"]) == 0.0
    # one letter and its mark, or both as one character
    assert exact_match("Cafe\u0301", ["Caf\u00e9"]) == has_answer(["the cafe\u0301 of Orne"], ["Caf\u00e9"]) == 1.0
    assert rouge_l("cafe\u0301", "caf\u00e9").f1 == rouge_n("cafe\u0301 Orne", "caf\u00e9 Orne", n=2).f1 == 1.0
    assert rouge_l("", "x") == rouge_n("", "", n=1) == (0.0, 0.0, 0.0)
    assert (exact_match("", ["x"]), f1("", ["the"]), f1("", ["x"])) == (0.0, 1.0, 0.0)


def test_a_text_has_an_answer_as_whole_words() -> None:
    assert has_answer(["no", "It was in The Hague, in 1899."], ["the Hague"]) == 1.0
    assert has_answer(["Haguenau"], ["Hague"]) == has_answer([], ["Hague"]) == has_answer(["a"], ["the"]) == 0.0


@pytest.mark.parametrize("measure", [exact_match, f1])
def test_an_answer_needs_a_list_of_gold_answers(measure: type) -> None:
    for golds in ([], "Velm"):
        with pytest.raises(InputError, match="at least one"):
            measure("x", golds)


@pytest.mark.parametrize(
    ("reply", "chosen"),
    [
        ("The answer is (b).", "B"),
        ("B) in Kestrin", "B"),
        ("in ombry", "A"),
        ("Neither in Ombry nor in Kestrin", None),
        ("Answer: D", None),
        ("A, not B", None),
        ("I do not know", None),
    ],
)
def test_the_option_that_a_reply_names(reply: str, chosen: str | None) -> None:
    assert chosen_option(reply, {"A": "in Ombry", "B": "in Kestrin", "C": "!"}) == chosen


@pytest.mark.parametrize(
    ("reply", "chosen"),
    [
        ("A mill", "B"),
        ("The answer is a mill.", "B"),
        ("Answer: A bridge", "C"),
        ("A mill stands there, and no ferry", None),
        ("The answer is a matter of taste", None),
        ("A ferry", "A"),
        ("A", "A"),
        ("Answer: A because the mill fell", "A"),
        ("The answer is a.", "A"),
        ("b", "B"),
        ("(c)", "C"),
        ("I believe B", "B"),
        ("I think it was a mill.", "B"),
        ("Answer: I", "I"),
        ("I", "I"),
    ],
)
def test_an_article_and_a_pronoun_are_no_letters_of_options(reply: str, chosen: str | None) -> None:
    options = {"A": "a ferry", "B": "a mill", "C": "the bridge", **{letter: f"{letter}-tower" for letter in "DEFGHI"}}
    assert chosen_option(reply, options) == chosen


def test_a_gold_answer_without_a_word_counts_only_alone() -> None:
    """As in the evaluation of SQuAD 2.0: an empty answer is right only if no gold answer has a word."""
    for measure in (exact_match, f1):
        assert measure("", ["the", "Velm"]) == 0.0
        assert measure("", ["the", "!"]) == 1.0
        assert measure("Velm", ["the", "Velm"]) == 1.0


def test_options_have_letters() -> None:
    for options in ({"A": "x"}, {"1": "x", "2": "y"}, {}):
        with pytest.raises(InputError, match="from A to Z"):
            chosen_option("A", options)


_SCORE = """
import json, sys
from rouge_score.rouge_scorer import RougeScorer
scorer = RougeScorer(["rouge1", "rouge2", "rougeL"])
print(json.dumps([list(scorer.score(wanted, text).values()) for text, wanted in json.load(sys.stdin)]))
"""


def test_rouge_is_that_of_rouge_score() -> None:
    """In a process of its own: rouge-score brings absl, whose import holds on to standard error."""
    rng = random.Random(3)
    words = ["the", "The", "velm,", "1897.", "ferry", "sank", "O'Brien", "--", "river"]
    pairs = [[" ".join(rng.choices(words, k=rng.randrange(12))) for _ in range(2)] for _ in range(200)]
    done = subprocess.run(
        [sys.executable, "-c", _SCORE], input=json.dumps(pairs), capture_output=True, text=True, check=True
    )
    for (text, reference), wanted in zip(pairs, json.loads(done.stdout), strict=True):
        found = [rouge_n(text, reference, n=1), rouge_n(text, reference, n=2), rouge_l(text, reference)]
        assert np.array(found) == pytest.approx(np.array(wanted))


def test_bleu_is_that_of_sacrebleu_with_any_number_of_references() -> None:
    rng = random.Random(5)
    words = ["the", "ferry", "crossed", "a", "river", "at", "noon", "."]
    texts = [" ".join(rng.choices(words, k=8)) for _ in range(40)]
    references = [[" ".join(rng.choices(words, k=8)) for _ in range(rng.randrange(1, 4))] for _ in texts]
    for text, some in zip(texts, references, strict=True):
        assert sentence_bleu(text, some) == pytest.approx(sacrebleu.sentence_bleu(text, some).score / 100)
        given, wanted = Counter(text.split()), [Counter(item.split()) for item in some]
        most = {word: min(count, max(item[word] for item in wanted)) for word, count in given.items()}
        assert sentence_bleu(text, some, n=1) == pytest.approx(sum(most.values()) / 8)  # all texts have 8 words
    assert sentence_bleu("", ["x"]) == 0.0
    for wrong in ([], "x"):
        with pytest.raises(InputError, match="at least one"):
            sentence_bleu("x", wrong)


def test_token_recall_is_the_share_of_the_gold_words() -> None:
    assert token_recall("the river Velm, the Velm", ["Velm Velm Orne", "x"]) == pytest.approx(2 / 3)
    assert token_recall("", ["Velm"]) == token_recall("the", ["the"]) == 0.0
    with pytest.raises(InputError, match="at least one"):
        token_recall("x", [])


def test_what_has_no_overlap_is_refused() -> None:
    with pytest.raises(InputError, match="at least one word"):
        rouge_n("a", "a", n=0)


# RAGChecker


def _flags(rows: int, columns: int) -> st.SearchStrategy[np.ndarray]:
    return st.lists(st.booleans(), min_size=rows * columns, max_size=rows * columns).map(
        lambda flags: np.array(flags, dtype=np.bool_).reshape(rows, columns)
    )


@st.composite
def _checked(draw: st.DrawFn) -> Checked:
    m, g, k = draw(st.integers(0, 4)), draw(st.integers(0, 4)), draw(st.integers(0, 3))
    return Checked(draw(_flags(m, 1))[:, 0], draw(_flags(g, 1))[:, 0], draw(_flags(m, k)), draw(_flags(g, k)))


def _slow(checked: Checked) -> dict[str, float | None]:
    """The definitions of the paper, claim by claim."""
    answer, gold = range(len(checked.answer_in_gold)), range(len(checked.gold_in_answer))
    chunks = range(checked.gold_in_chunks.shape[1])
    relevant = [k for k in chunks if any(checked.gold_in_chunks[g, k] for g in gold)]
    other = [k for k in chunks if k not in relevant]

    def share(claims: Sequence[int], of: Sequence[int]) -> float | None:
        return len(claims) / len(of) if of else None

    def inside(m: int, some: Sequence[int]) -> bool:
        return any(checked.answer_in_chunks[m, k] for k in some)

    right = [m for m in answer if checked.answer_in_gold[m]]
    wrong = [m for m in answer if m not in right]
    found = [g for g in gold if any(checked.gold_in_chunks[g, k] for k in chunks)]
    said = [g for g in gold if checked.gold_in_answer[g]]
    precision, recall = share(right, answer), share(said, gold)
    both = None if precision is None or recall is None else precision + recall
    return {
        "precision": precision,
        "recall": recall,
        "f1": None if both is None else 2 * precision * recall / both if both else 0.0,  # type: ignore[operator]
        "claim_recall": share(found, gold),
        "context_precision": share(relevant, chunks),
        "context_utilization": share([g for g in found if g in said], found),
        "noise_sensitivity_in_relevant": share([m for m in wrong if inside(m, relevant)], answer),
        "noise_sensitivity_in_irrelevant": share(
            [m for m in wrong if inside(m, other) and not inside(m, relevant)], answer
        ),
        "hallucination": share([m for m in wrong if not inside(m, chunks)], answer),
        "self_knowledge": share([m for m in right if not inside(m, chunks)], answer),
        "faithfulness": share([m for m in answer if inside(m, chunks)], answer),
    }


@given(_checked())
def test_the_eleven_measures_are_their_definitions(checked: Checked) -> None:
    found = claim_scores(checked)
    assert asdict(found) == pytest.approx(_slow(checked))
    if found.precision is not None:
        noise = found.noise_sensitivity_in_relevant + found.noise_sensitivity_in_irrelevant  # type: ignore[operator]
        assert found.faithfulness + found.self_knowledge + found.hallucination == pytest.approx(1)  # type: ignore[operator]
        assert 1 - found.precision == pytest.approx(noise + found.hallucination)


def _sentences(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(".") if part.strip())


def _inside(claims: Sequence[str], text: str) -> list[bool]:
    return [claim in text for claim in claims]


def check_claims(
    answer: str,
    gold: str,
    *,
    chunks: Sequence[str],
    split: Callable[[str], Sequence[str]],
    entailed: Callable[[Sequence[str], str], Sequence[bool]],
) -> Checked:
    """Split an answer and its gold answer into claims, and check each against the other text and every chunk."""

    def checked(claims: Sequence[str], texts: Sequence[str]) -> NDArray[np.bool_]:
        columns = [np.array(entailed(claims, text), dtype=np.bool_) for text in texts]
        return np.array(columns, dtype=np.bool_).reshape(len(texts), len(claims)).T

    of_answer, of_gold = split(answer), split(gold)
    return Checked(
        checked(of_answer, [gold])[:, 0],
        checked(of_gold, [answer])[:, 0],
        checked(of_answer, chunks),
        checked(of_gold, chunks),
    )


def test_claims_are_checked_against_the_other_text_and_every_chunk() -> None:
    chunks = ["It stands in Ombry. It is red.", "It opened in 1900."]
    answer, gold = "It stands in Ombry. It is red. It is old.", "It stands in Ombry. It opened in 1901."
    found = claim_scores(check_claims(answer, gold, chunks=chunks, split=_sentences, entailed=_inside))
    third = pytest.approx(1 / 3)
    assert (found.precision, found.recall, found.claim_recall) == (third, 0.5, 0.5)
    assert (found.context_precision, found.context_utilization) == (0.5, 1.0)
    assert (found.noise_sensitivity_in_relevant, found.noise_sensitivity_in_irrelevant) == (third, 0.0)
    assert (found.hallucination, found.self_knowledge, found.faithfulness) == (third, 0.0, pytest.approx(2 / 3))
    silent = claim_scores(check_claims("", gold, chunks=[], split=_sentences, entailed=_inside))
    assert (silent.precision, silent.recall, silent.faithfulness, silent.context_precision) == (None, 0.0, None, None)


def test_shapes_that_differ_are_refused() -> None:
    none = np.zeros(0, dtype=np.bool_)
    with pytest.raises(InputError, match=r"answer_in_gold \(0,\).*give \(m,\)"):
        Checked(none, none, np.zeros((1, 2), dtype=np.bool_), np.zeros((0, 2), dtype=np.bool_))
