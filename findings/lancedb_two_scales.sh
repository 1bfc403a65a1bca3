#!/usr/bin/env bash
# lancedb 0.40.0 (its Lance included), numpy 2.4.6, from PyPI.
# Guess: _distance of a table with an index for cosine is the cosine distance, exact or nearly so. A threshold for "near enough" keeps
# the same rows before and after the table is indexed, grows or is optimized.
# Seen: an index that quantizes (IVF_PQ, the default, IVF_SQ, IVF_RQ and both IVF_HNSW) gives about twice the cosine distance, the
# squared Euclidean distance of vectors of length 1; IVF_FLAT and a table without an index give it once. One row that is added and not
# yet indexed puts all distances of the same search back to once, for then all candidates are computed anew; optimize() doubles them
# again. Of one question, 21 rows have a _distance below 0.4 without an index, 1 with it, 22 after a row was added, 2 after optimize().
# distance_range(0, 0.4) keeps 1 or 2 rows in the last three states, also with refine_factor: the distances in its answer are exact,
# but the range is asked of the doubled ones. That a PQ index doubles is an open issue (lancedb/lancedb 3530).
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check lancedb==0.40.0 numpy==2.4.6
cat > "$folder/look.py" <<'PYTHON'
import sys
from pathlib import Path

import lancedb
import numpy as np

ROWS, WIDTH, NEAR = 3_000, 16, 0.4
random = np.random.default_rng(5)
VECTORS = random.normal(size=(ROWS, WIDTH)).astype("<f4")
ASKED = VECTORS[8] + 0.1


def cosine_distance(vector):
    return 1 - float(vector @ ASKED / np.linalg.norm(vector) / np.linalg.norm(ASKED))


table = lancedb.connect(str(Path(sys.argv[1]) / "base")).create_table(
    "text", [{"row": row, "vector": vector.tolist()} for row, vector in enumerate(VECTORS)]
)
PIECES = {"IVF_PQ": {"num_sub_vectors": 8}, "IVF_HNSW_PQ": {"num_sub_vectors": 8}}
seen = {}


def look(state, *, refine=None):
    """The ratio of _distance to cosine distance, the number of rows below NEAR, and of those that the range keeps."""
    search = table.search(ASKED).nprobes(4).distance_type("cosine").limit(50)
    if refine:
        search = search.refine_factor(refine)
    hits = search.to_list()
    ratio = np.median([hit["_distance"] / cosine_distance(np.array(hit["vector"])) for hit in hits[1:10]])
    below = sum(hit["_distance"] < NEAR for hit in hits)
    kept = len(search.distance_range(0, NEAR).to_list())
    seen[state] = (round(float(ratio), 1), below, kept)
    print(f"{state}: _distance is {ratio:.2f} times the cosine distance; {below} rows below {NEAR}, the range keeps {kept}")


def index(kind):
    table.create_index(metric="cosine", index_type=kind, num_partitions=4, replace=True, **PIECES.get(kind, {}))


print("lancedb", lancedb.__version__)
look("no index")
index("IVF_PQ")
look("IVF_PQ")
look("IVF_PQ, refined", refine=5)
table.add([{"row": ROWS, "vector": (VECTORS[8] + 0.3).tolist()}])
look("IVF_PQ, one row added")
table.optimize()
look("IVF_PQ, optimized")
for kind in ("IVF_FLAT", "IVF_SQ", "IVF_RQ", "IVF_HNSW_SQ", "IVF_HNSW_PQ"):
    index(kind)
    look(kind)
once = ("no index", "IVF_PQ, refined", "IVF_PQ, one row added", "IVF_FLAT")
as_seen = all(ratio == 1 if state in once else 1.8 <= ratio <= 2.2 for state, (ratio, _, _) in seen.items())
as_seen &= all((below > 20) == (state in once) for state, (_, below, _) in seen.items())
as_seen &= all((kept > 20) == (state in ("no index", "IVF_FLAT")) for state, (_, _, kept) in seen.items())
sys.exit(0 if as_seen else 1)
PYTHON
"$folder/venv/bin/python" -W ignore "$folder/look.py" "$folder"
