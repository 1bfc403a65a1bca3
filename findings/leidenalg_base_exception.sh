#!/usr/bin/env bash
# leidenalg 0.12.0, igraph 1.0.0, from PyPI.
# Guess: what leidenalg refuses is an Exception, as what igraph refuses is; a program that clusters many graphs catches it, notes the
# graph, and goes on.
# Seen: the C++ part raises the class BaseException itself, which `except Exception` does not catch: a weight that is negative or NaN, or
# one weight too few (a column that has a gap) ends the whole program past each handler for errors, and past what only cleans up or
# reports on Exception. A wrong initial membership is a ValueError, for Python checks it. igraph.Graph.community_multilevel refuses
# the same weights with an Exception. igraph.Graph.community_leiden refuses only the number of weights: it takes NaN and negative
# ones, and leaves each vertex alone where there are NaN.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check leidenalg==0.12.0 igraph==1.0.0
cat > "$folder/look.py" <<'PYTHON'
import sys
import warnings

import igraph
import leidenalg

warnings.simplefilter("ignore")
GRAPH = igraph.Graph([(0, 1), (1, 2), (0, 2), (3, 4), (4, 5), (3, 5), (2, 3)])
WEIGHTS = {"good": [1.0] * 7, "negative": [1.0] * 6 + [-1.0], "NaN": [1.0] * 6 + [float("nan")], "too few": [1.0] * 6}


def outcome(cluster, weights):
    try:
        return f"{len(set(cluster(weights).membership))} communities"
    except Exception:
        return "an Exception"
    except BaseException as error:
        return f"{type(error).__name__}: {error}"


WAYS = {
    "leidenalg.find_partition": lambda weights: leidenalg.find_partition(
        GRAPH, leidenalg.ModularityVertexPartition, weights=weights, seed=1
    ),
    "igraph.community_multilevel": lambda weights: GRAPH.community_multilevel(weights=weights),
    "igraph.community_leiden": lambda weights: GRAPH.community_leiden("modularity", weights=weights),
}
seen = {way: {name: outcome(cluster, weights) for name, weights in WEIGHTS.items()} for way, cluster in WAYS.items()}
for way, outcomes in seen.items():
    print(way, outcomes)
least = [outcomes["good"] == "2 communities" for outcomes in seen.values()]
refused = [text.startswith("BaseException: ") for name, text in seen["leidenalg.find_partition"].items() if name != "good"]
by_igraph = [text == "an Exception" for name, text in seen["igraph.community_multilevel"].items() if name != "good"]
silent = seen["igraph.community_leiden"]["NaN"] == "6 communities"
sys.exit(0 if all(least + refused + by_igraph) and silent else 1)
PYTHON
"$folder/venv/bin/python" "$folder/look.py"
