#!/usr/bin/env bash
# apsw 3.54.1.0 with the SQLite that it brings (FTS5).
# Guess: two phrases side by side are joined by AND: the documentation says that they "are handled as if there were an implicit AND
# operator between each pair". So whoever quotes each word of a question, to be safe from its syntax, may join them by " " or " AND ".
# Seen: a phrase without a token ("&", "->", "?") is left out between spaces, and matches nothing beside AND. One such sign in a question
# empties the answer, without an error. With the tokenizer trigram each word of one or two letters is such a phrase, and the
# documentation says that it matches no row: by AND a question with "of" or "AI" finds nothing, and by spaces it finds also the rows
# that lack the short word.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check apsw==3.54.1.0
cat > "$folder/look.py" <<'PYTHON'
import sys

import apsw

TEXTS = ("the bridge of Aldane & its river", "a bridge, and the river below", "the mill")
ASKED = {"unicode61": ("bridge", "&", "river"), "trigram": ("bridge", "of", "river")}
as_seen = True
for tokenizer, words in ASKED.items():
    database = apsw.Connection(":memory:")
    database.execute(f"CREATE VIRTUAL TABLE text USING fts5(words, tokenize = '{tokenizer}')")
    database.executemany("INSERT INTO text VALUES (?)", [(text,) for text in TEXTS])
    rows = {}
    for join in (" ", " AND ", " OR "):
        query = join.join(f'"{word}"' for word in words)
        found = database.execute("SELECT rowid FROM text WHERE text MATCH ? ORDER BY rowid", (query,))
        rows[join.strip()] = [row for (row,) in found]
        print(f"SQLite {apsw.sqlite_lib_version()}, {tokenizer}: {query} finds rows {rows[join.strip()]}")
    as_seen &= rows == {"": [1, 2], "AND": [], "OR": [1, 2]}
sys.exit(0 if as_seen else 1)
PYTHON
"$folder/venv/bin/python" "$folder/look.py"
