#!/usr/bin/env bash
# duckdb 2.0.1, pandas 3.1.1, from PyPI.
# Guess: DuckDB guesses the type of a column of Python objects from 1,000 rows, and a value of another row that does not fit that type
# raises an error, as a text in a column of integers does; its issues tell of such errors alone. One sets pandas_analyze_sample then.
# Seen: what can be cast is cast, without a word. In a frame of 3,000 rows whose sampled rows hold whole numbers, a vector [0.93, 0.2] is
# read as [1, 0], {"score": 0.4} as {"score": 0}, the code "007" as 7; Decimal 1.255 beside Decimal 1.5 as 1.3. A time in a column of
# days loses its hours, and one with an offset among times without loses its offset. A word, a number beyond 32 bits or a further key
# of a dict is an error. JSON writes 1.0 as 1 in many languages, so vectors and scores are such columns; a test of fewer than 1,000
# rows passes, for all of them are sampled. SET pandas_analyze_sample = 3000 mends it.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check duckdb==2.0.1 pandas==3.1.1
cat > "$folder/look.py" <<'PYTHON'
import sys
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal

import duckdb
import pandas as pd

DAY = date(2026, 5, 1)
NOON = datetime(2026, 5, 1, 12)
EAST = NOON.replace(tzinfo=timezone(timedelta(hours=5)))
# the value of each row but one, that one, and what DuckDB reads of it
CASES = {
    "vector": ([0, 1], [0.93, 0.2], [1, 0]),
    "score": ({"score": 1}, {"score": 0.4}, {"score": 0}),
    "code": (12, "007", 7),
    "price": (Decimal("1.5"), Decimal("1.255"), Decimal("1.3")),
    "time": (DAY, NOON, DAY),
    "offset": (NOON, EAST, NOON),
    "text": (1, "one", "InvalidInputException"),
    "large": (1, 2**40, "InvalidInputException"),
    "key": ({"score": 1}, {"score": 1, "rank": 2}, "InvalidInputException"),
}


def read(most, one, rows, *, sample=None):
    """The last value of a column as DuckDB reads it."""
    frame = pd.DataFrame({"row": range(rows), "value": pd.Series([most] * (rows - 1) + [one], dtype="object")})
    connection = duckdb.connect()
    connection.register("frame", frame)
    if sample:
        connection.execute(f"SET pandas_analyze_sample = {sample}")
    try:
        return connection.execute("SELECT value FROM frame ORDER BY row DESC LIMIT 1").fetchone()[0]
    except duckdb.Error as error:
        return type(error).__name__


print(f"duckdb {duckdb.__version__}, pandas {pd.__version__}")
as_seen = True
for name, (most, one, expected) in CASES.items():
    large, small = read(most, one, 3_000), read(most, one, 900)
    print(f"{name}: {one!r} among {most!r}: of 3,000 rows {large!r}, of 900 rows {small!r}")
    as_seen &= large == expected and type(large) is type(expected)
vector = CASES["vector"][:2]
as_seen &= read(*vector, 900) == read(*vector, 3_000, sample=3_000) == vector[1]
sys.exit(0 if as_seen else 1)
PYTHON
"$folder/venv/bin/python" "$folder/look.py"
