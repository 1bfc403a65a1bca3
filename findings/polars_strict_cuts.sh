#!/usr/bin/env bash
# polars 2.1.0, from PyPI.
# Guess: strict=True, the default of Series, DataFrame and from_dicts, raises an error for a value that is not of the type of its column,
# as its documentation says, and as pl.Series([1, 0.93]) does. Values are cast only with strict=False.
# Seen: it does not look into lists after the first, nor at rows that the inference of types did not see. pl.Series([[1, 0], [0.93, 0.2]])
# is [[1, 0], [0, 0]]: two rows are enough, and the second vector is zero; so is DataFrame({"v": ...}). The list [0.5] after [True] is
# [True]. Of dicts, row 101 is cast in silence: 0.93 after 100 times 1 is 0, the text "7" is 7. With schema={"v": pl.Int64} each row is,
# and 0.93 is 0. Fractions are cut, not rounded. The same data the other way round (fractions first), or given by rows within the first
# 100, or with infer_schema_length=None, is right. What cannot be cast, as "abc", is an error, so strictness seems to work.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check polars==2.1.0
cat > "$folder/look.py" <<'PYTHON'
import sys

import polars as pl

VECTORS = [[1, 0], [0.93, 0.2]]


def rows(most, last, **options):
    """The last of 101 rows, as a frame of dicts with strict=True has it."""
    return pl.from_dicts([{"v": most}] * 100 + [{"v": last}], strict=True, **options)["v"].to_list()[-1]


CASES = {
    "Series of numbers": (lambda: pl.Series([1, 0.93], strict=True).to_list(), "TypeError"),
    "Series of vectors": (lambda: pl.Series(VECTORS, strict=True).to_list(), [[1, 0], [0, 0]]),
    "DataFrame of vectors": (lambda: pl.DataFrame({"v": VECTORS}, strict=True)["v"].to_list(), [[1, 0], [0, 0]]),
    "fractions first": (lambda: pl.Series(VECTORS[::-1], strict=True).to_list(), VECTORS[::-1]),
    "two dicts": (lambda: pl.from_dicts([{"v": vector} for vector in VECTORS], strict=True)["v"].to_list(), VECTORS),
    "True, then a list with 0.5": (lambda: pl.Series([[True], [0.5]], strict=True).to_list(), [[True], [True]]),
    "row 101: 0.93": (lambda: rows(1, 0.93), 0),
    "row 101: a vector": (lambda: rows([1, 0], [0.93, 0.2]), [0, 0]),
    "row 101: the text 7": (lambda: rows(1, "7"), 7),
    "row 101: a word": (lambda: rows(1, "abc"), "ComputeError"),
    "row 101, all inferred": (lambda: rows(1, 0.93, infer_schema_length=None), 0.93),
    "a schema, of dicts": (lambda: pl.DataFrame([{"v": 0.93}], schema={"v": pl.Int64}, strict=True)["v"].to_list(), [0]),
    "a schema, of a column": (lambda: pl.DataFrame({"v": [0.93]}, schema={"v": pl.Int64}, strict=True)["v"].to_list(), "TypeError"),
}
print("polars", pl.__version__)
as_seen = True
for name, (make, expected) in CASES.items():
    try:
        got = make()
    except (TypeError, pl.exceptions.PolarsError) as error:
        got = type(error).__name__
    print(f"{name}: {got}")
    as_seen &= got == expected
sys.exit(0 if as_seen else 1)
PYTHON
"$folder/venv/bin/python" "$folder/look.py"
