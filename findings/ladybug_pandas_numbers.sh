#!/usr/bin/env bash
# ladybug 0.22.0 (the successor of Kuzu) and kuzu 0.11.3, pandas 3.1.1, from PyPI.
# Guess: COPY FROM and LOAD FROM a pandas frame store the numbers that the frame holds, or refuse a column that mixes whole numbers and
# fractions; an import that reports its rows went well.
# Seen: the column gets one type, and the bits of each number of the other type are taken for it. The vectors [1, 0] and [0.5, 0.5]
# are stored as [5e-324, 0.0] and [0.5, 0.5]; in the other order, as [4602678819172646912, 4602678819172646912] and [1, 0]. So is
# 1 before 0.5 in a column of objects 5e-324. Nothing warns, and sums, cosines and thresholds go on with these numbers. Only 0 is
# what it was. JSON without a fraction for whole numbers gives such vectors. A list that mixes both itself is stored as its text. The
# same frame as a pyarrow table is right, and so are parameters of a query.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check ladybug==0.22.0 kuzu==0.11.3 pandas==3.1.1 pyarrow==26.0.1
cat > "$folder/look.py" <<'PYTHON'
import importlib
import sys
import tempfile
from pathlib import Path

import pandas as pd
import pyarrow as pa

engine = importlib.import_module(sys.argv[1])
HALF = 4602678819172646912  # the bits of 0.5, read as a whole number
FRAMES = {
    "whole numbers first": pd.DataFrame({"vector": [[1, 0], [0.5, 0.5]], "weight": pd.Series([1, 0.5], dtype="object")}),
    "fractions first": pd.DataFrame({"vector": [[0.5, 0.5], [1, 0]], "weight": [0.5, 1.0]}),
}
TRUE = {"whole numbers first": [[[1, 0], 1], [[0.5, 0.5], 0.5]], "fractions first": [[[0.5, 0.5], 0.5], [[1, 0], 1]]}
SEEN = {
    "whole numbers first": [[[5e-324, 0.0], 5e-324], [[0.5, 0.5], 0.5]],
    "fractions first": [[[HALF, HALF], 0.5], [[1, 0], 1.0]],
}
print(sys.argv[1], engine.__version__)
as_seen = True
with tempfile.TemporaryDirectory() as top:
    connection = engine.Connection(engine.Database(str(Path(top) / "graph")))
    connection.execute("CREATE NODE TABLE Text (id SERIAL PRIMARY KEY, vector DOUBLE[], weight DOUBLE)")
    for name, frame in FRAMES.items():
        read = connection.execute("LOAD FROM frame RETURN *").get_all()
        columns = pa.Table.from_pandas(frame)
        by_arrow = connection.execute("LOAD FROM columns RETURN *").get_all()
        print(f"{name}: {read}; as a pyarrow table: {by_arrow}")
        as_seen &= read == SEEN[name] and by_arrow == TRUE[name]
    frame = FRAMES["whole numbers first"]
    connection.execute("COPY Text FROM frame")
    stored = connection.execute("MATCH (t:Text) RETURN t.vector, t.weight ORDER BY t.id").get_all()
    print(f"stored: {stored}")
    as_seen &= stored == SEEN["whole numbers first"]
    given = connection.execute("UNWIND $rows AS row RETURN row.vector", {"rows": frame.to_dict("records")}).get_all()
    print(f"as a parameter: {given}")
    as_seen &= given == [[[1, 0]], [[0.5, 0.5]]]
sys.exit(0 if as_seen else 1)
PYTHON
"$folder/venv/bin/python" "$folder/look.py" ladybug
"$folder/venv/bin/python" "$folder/look.py" kuzu
