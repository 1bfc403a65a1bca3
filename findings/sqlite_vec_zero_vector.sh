#!/usr/bin/env bash
# sqlite-vec 0.1.9, apsw 3.54.1.0 with the SQLite that it brings.
# Guess: a zero vector (the embedding of a text without a known word, or a place kept for one that comes later) has no cosine, so it is
# at worst a row too many in an answer. A search of a vec0 table compares all rows, so the nearest are always found.
# Seen: the zero vector is in no answer, and true neighbours are missing, without NULL or error. A vec0 table keeps its rows in chunks of
# 1,024 and merges the nearest of each chunk. The distance of a zero vector is NaN, which leads the list of its chunk if it is that
# chunk's first row, and the merge then takes rows of other chunks, however far, before those of this one. Of 5,000 rows, one zero
# vector in row 1,024 costs 4 of the 10 nearest, three (rows 0, 1,024 and 2,048) cost 6; in other rows of a chunk they cost few or none.
# In the last chunk, so in any table of less than 1,025 rows, the zero vector itself is first in each answer, with NULL. The same rows
# sorted by vec_distance_cosine() are right. So the test of a small table, or of a zero vector elsewhere, does not show the loss. A fork
# knows a part of it (vlasky/sqlite-vec 8), and refuses zero vectors.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check sqlite-vec==0.1.9 apsw==3.54.1.0 numpy==2.4.6
cat > "$folder/look.py" <<'PYTHON'
import sys
from importlib.metadata import version

import apsw
import numpy as np
import sqlite_vec

ROWS, WIDTH, NEAREST, QUESTIONS = 5_000, 8, 10, 30
random = np.random.default_rng(7)
VECTORS = random.normal(size=(ROWS, WIDTH)).astype("<f4")
ASKED = random.normal(size=(QUESTIONS, WIDTH)).astype("<f4")
SEARCH = f"SELECT rowid, distance FROM text WHERE vector MATCH ? AND k = {NEAREST}"
SORT = f"SELECT rowid FROM text WHERE vec_distance_cosine(vector, :v) IS NOT NULL ORDER BY vec_distance_cosine(vector, :v) LIMIT {NEAREST}"


def found(zero_rows):
    """Share of the nearest rows that are found by a search and by a sort, and whether an answer of the search has a NULL."""
    database = apsw.Connection(":memory:")
    database.enable_load_extension(True)
    database.load_extension(sqlite_vec.loadable_path())
    database.execute(f"CREATE VIRTUAL TABLE text USING vec0(vector float[{WIDTH}] distance_metric=cosine)")
    vectors = VECTORS.copy()
    vectors[zero_rows] = 0
    with database:
        database.executemany("INSERT INTO text(rowid, vector) VALUES (?, ?)", [(row, each.tobytes()) for row, each in enumerate(vectors)])
    norms = np.linalg.norm(vectors, axis=1)
    cosines = np.where(norms[:, None] > 0, vectors @ ASKED.T / np.maximum(norms, 1e-9)[:, None], -np.inf)
    searched, sorted_, has_null = 0, 0, False
    for number, asked in enumerate(ASKED):
        nearest = set(np.argsort(-cosines[:, number])[:NEAREST].tolist())
        answer = list(database.execute(SEARCH, (asked.tobytes(),)))
        has_null |= any(distance is None for _, distance in answer)
        searched += len(nearest & {row for row, _ in answer})
        sorted_ += len(nearest & {row for (row,) in database.execute(SORT, {"v": asked.tobytes()})})
    total = NEAREST * QUESTIONS
    print(f"zero vectors in rows {zero_rows}: a search finds {searched / total:.0%}, a sort {sorted_ / total:.0%}; NULL seen: {has_null}")
    return searched / total, sorted_ / total, has_null


print("sqlite-vec", version("sqlite-vec"))
none, one, three = found([]), found([1_024]), found([0, 1_024, 2_048])
other, last = found([1, 1_025, 3_000]), found([4_096])
as_seen = none == (1, 1, False) and one[0] < 0.7 and three[0] < 0.5 and other[0] > 0.95
as_seen &= one[1:] == three[1:] == other[1:] == (1, False) and last[2]
sys.exit(0 if as_seen else 1)
PYTHON
"$folder/venv/bin/python" "$folder/look.py"
