#!/usr/bin/env bash
# ir-measures 0.4.3, pytrec_eval-terrier 0.5.11, from PyPI.
# Guess: the measures of one call look at one ranking. With one relevant document for each question, RR@10 and AP@10 are the same
# number, RR@10 is at most RR, and RR@1, P@1 and Success@1 are equal.
# Seen: RR with a cutoff comes from another provider than RR without one and the other measures, and that one has another ranking. Of two
# documents with one score, it takes the smaller name first, the others the larger: of one question P@1 is 0 and RR@10 is 1. The
# others also round scores to 32 bits, so 0.83421390001 and 0.8342139, or 100000001 and 100000000.5 (an order that is written as large
# scores), are one score to them alone. Reciprocal rank fusion of two lists makes a tie of each two documents that are in one list each
# at one rank: of 200 questions with such lists RR@1 is .065 and P@1 .055, RR@10 .251 and RR .244. The order of the run and its ranks are
# asked by none. That ties differ is an open issue since 2021 (terrierteam/ir_measures 18); giving -rank as the score avoids all of it.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check ir-measures==0.4.3 pytrec_eval-terrier==0.5.11 pandas==3.1.1
cat > "$folder/look.py" <<'PYTHON'
import random
import sys
from importlib.metadata import version

from ir_measures import AP, RR, P, Qrel, ScoredDoc, Success, calc_aggregate

MEASURES = [RR @ 1, P @ 1, Success @ 1, RR, RR @ 10, AP @ 10]
FIRST = {str(measure): 1.0 for measure in MEASURES}
SECOND = {"RR@1": 1.0, "P@1": 0.0, "Success@1": 0.0, "RR": 0.5, "RR@10": 1.0, "AP@10": 0.5}


def measured(qrels, run):
    values = calc_aggregate(MEASURES, qrels, run)
    return {str(measure): round(values[measure], 4) for measure in MEASURES}


def one(score, other):
    """The measures of a question whose relevant document `a` has the first score, and whose document `b` the other."""
    return measured([Qrel("q", "a", 1)], [ScoredDoc("q", "a", score), ScoredDoc("q", "b", other)])


def fused():
    """200 questions, each with two lists of 20 documents that share none, fused by reciprocal rank; one document is relevant."""
    pick = random.Random(1)
    qrels, run = [], []
    for question in range(200):
        documents = [f"{number:02d}" for number in range(40)]
        pick.shuffle(documents)
        gold = documents[pick.randrange(5)]
        scores = {name: 1 / (61 + place % 20) for place, name in enumerate(documents)}
        qrels.append(Qrel(str(question), gold, 1))
        run += [ScoredDoc(str(question), name, score) for name, score in scores.items()]
    return measured(qrels, run)


seen = {
    "a before b": one(2, 1),
    "a tie": one(1, 1),
    "a larger by 1e-11": one(0.83421390001, 0.8342139),
    "a larger by a half": one(100_000_001, 100_000_000.5),
    "-rank": one(-1, -2),
    "fusion": fused(),
}
print("ir-measures", version("ir-measures"))
for name, values in seen.items():
    print(f"{name}: {values}")
fusion = seen.pop("fusion")
as_seen = seen == {
    "a before b": FIRST, "a tie": SECOND, "a larger by 1e-11": SECOND, "a larger by a half": SECOND, "-rank": FIRST
}
as_seen &= fusion["RR@1"] != fusion["P@1"] and fusion["AP@10"] == fusion["RR"] != fusion["RR@10"]
sys.exit(0 if as_seen else 1)
PYTHON
"$folder/venv/bin/python" "$folder/look.py"
