#!/usr/bin/env bash
# rdflib 7.6.0, alone and beside orjson 3.13.0, from PyPI.
# Guess: rdflib requires pyparsing alone, and its extra `orjson` makes JSON-LD faster. What JSON-LD says does not depend on it.
# Seen: nobody has to ask for the extra. If orjson can be imported, rdflib takes it, and langchain-core brings it (by langsmith). Then the
# same document is another graph: an integer of more than 64 bits is read as a rounded xsd:double. A graph with NaN or infinity is
# written with `"@value": null`, which JSON-LD drops: the statement is gone when it is read again, without an error. A graph with such
# an integer cannot be written at all (TypeError). Without orjson all of them come back as they were. Turtle and N-Triples are not
# concerned. So the upgrade or the removal of an unrelated package changes identifiers, and loses statements.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check rdflib==7.6.0
cat > "$folder/look.py" <<'PYTHON'
import importlib.util
import sys

from rdflib import Graph, Literal, URIRef

A = URIRef("http://example.org/a")
ISNI = "12345678901234567890123"


def back(value):
    """What a graph of one statement is after it was written and read as JSON-LD."""
    graph = Graph().add((A, A, Literal(value)))
    try:
        text = graph.serialize(format="json-ld")
    except TypeError as error:
        return type(error).__name__
    return [str(literal) for _, _, literal in Graph().parse(data=text, format="json-ld")]


(read,) = Graph().parse(data=f'{{"@id": "{A}", "{A}": {ISNI}}}', format="json-ld").objects()
seen = [str(read), read.datatype.fragment, back(int(ISNI)), back(float("nan")), back(float("inf"))]
has_orjson = importlib.util.find_spec("orjson") is not None
print(f"orjson is there: {has_orjson}; read {seen[:2]}; written and read: integer {seen[2]}, NaN {seen[3]}, infinity {seen[4]}")
without = [ISNI, "integer", [ISNI], ["nan"], ["inf"]]
beside = ["1.2345678901234568e+22", "double", "TypeError", [], []]
sys.exit(0 if seen == (beside if has_orjson else without) else 1)
PYTHON
"$folder/venv/bin/python" "$folder/look.py"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check orjson==3.13.0
"$folder/venv/bin/python" "$folder/look.py"
