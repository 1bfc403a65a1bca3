"""Measures by ir-measures, paired tests, and TREC files."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hlgraph.errors import InputError, MissingExtraError, ReadError, UnknownNameError
from hlgraph.evaluate.metrics import check_names, qrels_text, ranked_measures, read_qrels, read_run, recall_at, run_text
from hlgraph.evaluate.statistics import holm, needed_questions, permutation_test

_IDS = st.lists(st.sampled_from("abcdefgh"), max_size=6, unique=True)


@given(st.lists(st.tuples(_IDS, st.sets(st.sampled_from("abcdefgh"), min_size=1, max_size=4)), min_size=1, max_size=3))
def test_measures_of_the_library_are_their_definitions(judged: list[tuple[list[str], set[str]]]) -> None:
    found = ranked_measures(["R@3", "RR", "AP", "nDCG@4", "Success@2"], judged)
    for row, (ranked, gold) in zip(found, judged, strict=True):
        hits = [place for place, name in enumerate(ranked, start=1) if name in gold]
        gain = sum(1 / np.log2(place + 1) for place in hits if place <= 4)
        best = sum(1 / np.log2(place + 1) for place in range(1, min(len(gold), 4) + 1))
        assert row == pytest.approx(
            [
                recall_at(ranked, gold, k=3),
                1 / hits[0] if hits else 0,
                sum((number + 1) / place for number, place in enumerate(hits)) / len(gold),
                gain / best,
                float(any(place <= 2 for place in hits)),
            ]
        )


def test_order_wins_over_ties_and_a_repeated_id_counts_once() -> None:
    assert ranked_measures(["RR"], [(["z", "z", "a"], {"a"})]).tolist() == [[0.5]]
    assert ranked_measures(["RR"], []).shape == (0, 1)


@pytest.mark.parametrize(
    "name",
    ["recall", "nDCG@x", "nDCG@", "P", "R", "Success", "Rprec@5", "P@05", "P@1.5", "ERR@10", "nDCG@10; import os", ""],
)
def test_an_unknown_measure_is_named(name: str) -> None:
    with pytest.raises(UnknownNameError, match=r"no measure .*nDCG@10"):
        check_names([name])


def test_every_measure_that_is_accepted_can_be_computed() -> None:
    names = ["nDCG", "AP", "RR", "Rprec", *(f"{name}@3" for name in ("nDCG", "AP", "RR", "P", "R", "Success"))]
    check_names(names)
    assert ranked_measures(names, [(["a", "b", "c"], {"a", "b", "c"})]).tolist() == [[1.0] * len(names)]


def test_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ir_measures", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'hlgraph\[eval\]'"):
        check_names(["AP"])


@pytest.mark.parametrize("values", [[0.5, -0.25, 0.5, 0, 0.75, 0.25], [1.0, 1, -1, 0], [0.0, 0]])
def test_a_small_permutation_test_is_exact(values: list[float]) -> None:
    from scipy import stats  # takes a third of a second, and each process of a run collects this file

    given = np.array(values)
    wanted = stats.permutation_test((given,), np.mean, permutation_type="samples", n_resamples=np.inf)
    assert permutation_test(given) == pytest.approx(wanted.pvalue)


def test_a_large_permutation_test_is_drawn_from_a_seed() -> None:
    from scipy import stats

    rng = np.random.default_rng(1)
    alike, apart = rng.normal(0, 1, 200), rng.normal(0.3, 1, 200)
    assert permutation_test(alike) == permutation_test(alike) == permutation_test(-alike)
    for values in (alike, apart):
        assert permutation_test(values) == pytest.approx(stats.ttest_1samp(values, 0).pvalue, abs=0.02)
    for wrong in (np.array([]), np.array([np.nan]), np.zeros((2, 2))):
        with pytest.raises(InputError, match="one finite difference"):
            permutation_test(wrong)


@given(st.lists(st.floats(0, 1), max_size=6))
def test_holm_keeps_the_order_and_only_raises(values: list[float]) -> None:
    found = holm(values)
    assert all(value <= corrected <= 1 for value, corrected in zip(values, found, strict=True))
    order = sorted(range(len(values)), key=values.__getitem__)
    assert [found[place] for place in order] == sorted(found)
    assert not values or min(found) == pytest.approx(min(1, len(values) * min(values)))


def test_power_grows_with_the_square() -> None:
    assert needed_questions(0.01, 0.2) == pytest.approx(4 * needed_questions(0.02, 0.2), abs=4)
    assert needed_questions(1.0, 0.0) == 1
    with pytest.raises(InputError, match="other than 0"):
        needed_questions(0.0, 0.2)
    with pytest.raises(InputError, match="from 0 to 1"):
        holm([1.5])


@given(st.dictionaries(st.sampled_from(["q1", "q2", "frage-3"]), _IDS.map(tuple)))
def test_trec_files_are_read_as_they_were_written(rankings: dict[str, tuple[str, ...]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "file"
        place.write_text(run_text(rankings, name="path"), encoding="utf-8")
        assert read_run(place) == {name: ranked for name, ranked in rankings.items() if ranked}
        place.write_text(qrels_text({name: set(ranked) for name, ranked in rankings.items()}), encoding="utf-8")
        assert read_qrels(place) == {name: frozenset(ranked) for name, ranked in rankings.items() if ranked}


def test_runs_of_others_are_sorted_as_trec_eval_does(tmp_path: Path) -> None:
    place = tmp_path / "run"
    place.write_text("q Q0 a 9 1.5 x\n\nq Q0 c 1 2e0 x\nq Q0 b 7 1.5 x\n")
    assert read_run(place) == {"q": ("c", "b", "a")}
    place.write_text("q 0 a 2\nq 0 b 0\nq 0 c -1\nr 0 a 0\n")
    assert read_qrels(place) == {"q": frozenset("a"), "r": frozenset()}


@pytest.mark.parametrize("scores", ["1.00000001 1", "1.0000001 1", "1e39 2e39", "1 1", "-2e-46 0", "3 2"])
def test_ties_of_a_run_are_those_of_trec_eval(tmp_path: Path, scores: str) -> None:
    """In single precision: pytrec_eval, the code of trec_eval, sorts the same scores."""
    import ir_measures

    one, other = scores.split()
    (tmp_path / "run").write_text(f"q Q0 a 1 {one} x\nq Q0 b 2 {other} x\n")
    found = [ir_measures.ScoredDoc("q", "a", float(one)), ir_measures.ScoredDoc("q", "b", float(other))]
    rank = ir_measures.pytrec_eval.calc_aggregate([ir_measures.RR], [ir_measures.Qrel("q", "a", 1)], found)
    assert rank[ir_measures.RR] == 1 / (1 + read_run(tmp_path / "run")["q"].index("a"))


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("q Q0 a 1 x\n", "line 1: it has 5 fields"),
        ("q Q0 a 1 inf x\n", "'inf' is no number"),
        ("q Q0 a 1 1 x\n" * 2, "line 2: a comes twice"),
    ],
)
def test_a_broken_run_is_named_with_its_line(tmp_path: Path, text: str, says: str) -> None:
    (tmp_path / "run").write_text(text)
    with pytest.raises(ReadError, match=says):
        read_run(tmp_path / "run")


def test_broken_qrels_and_missing_files_are_named(tmp_path: Path) -> None:
    (tmp_path / "qrels").write_text("q 0 a yes\n")
    with pytest.raises(ReadError, match="'yes' is not a whole number"):
        read_qrels(tmp_path / "qrels")
    with pytest.raises(ReadError, match="cannot be read"):
        read_run(tmp_path / "none")


def test_a_byte_order_mark_is_no_part_of_an_id(tmp_path: Path) -> None:
    (tmp_path / "run").write_bytes(b"\xef\xbb\xbfq1 Q0 a 1 2.5e-1 x\r\n\r\n\r\nq2\tQ0 a 1 1 x\r\n")
    (tmp_path / "qrels").write_bytes(b"\xef\xbb\xbfq1 0 a 1\r\n")
    assert read_run(tmp_path / "run") == {"q1": ("a",), "q2": ("a",)}
    assert read_qrels(tmp_path / "qrels") == {"q1": {"a"}}


def test_ids_with_white_space_are_refused() -> None:
    for rankings, name in (
        ({"a b": ("x",)}, "n"),
        ({"a": ("",)}, "n"),
        ({"a": ("x",)}, "n m"),
        ({"a": ("x", "x")}, "n"),
    ):
        with pytest.raises(InputError, match=r"white space|twice"):
            run_text(rankings, name=name)
    with pytest.raises(InputError, match="white space"):
        qrels_text({"a": {"b\u00a0c"}})
