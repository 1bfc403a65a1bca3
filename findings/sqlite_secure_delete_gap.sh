#!/usr/bin/env bash
# apsw 3.54.1.0 with the SQLite that it brings.
# Guess: with PRAGMA secure_delete = ON no byte of a deleted row stays in the file, once the log is checkpointed.
# Seen: words of deleted rows stay. When a B-tree is balanced, cells move to other pages, and a page that is built anew keeps old
# cells in the gap between its cell pointers and its first cell. The row is deleted, and zeroed, on the page that it moved to;
# its former copy belongs to no row, is on no list of free pages, and PRAGMA integrity_check finds nothing wrong. VACUUM removes it.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check apsw==3.54.1.0
cat > "$folder/gap.py" <<'PYTHON'
import random
import sys
from pathlib import Path

import apsw

path = Path(sys.argv[1])
database = apsw.Connection(str(path))
database.execute("PRAGMA journal_mode = WAL")
(is_on,) = next(database.execute("PRAGMA secure_delete = ON"))
assert is_on == 1
database.execute("CREATE TABLE note (name TEXT PRIMARY KEY, words TEXT) WITHOUT ROWID")
pick = random.Random(7)
held, left, deletions = [], [], 0
for number in range(3_000):
    word = f"secret{number:05d}x"
    if held and pick.random() < 0.5:
        gone = held.pop(pick.randrange(len(held)))
        database.execute("DELETE FROM note WHERE words LIKE ?", (f"{gone} %",))
        deletions += 1
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        if gone.encode() in path.read_bytes():
            left.append(gone)
    name = f"{pick.getrandbits(64):016x}"
    database.execute("INSERT INTO note VALUES (?, ?)", (name, f"{word} " + "w" * pick.randrange(20, 900)))
    held.append(word)
database.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
data = path.read_bytes()
stay = [word for word in left if word.encode() in data]
(verdict,) = next(database.execute("PRAGMA integrity_check"))
(rows,) = next(database.execute("SELECT count(*) FROM note WHERE words LIKE ?", (f"{(stay or ['none'])[0]} %",)))
database.execute("VACUUM")
database.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
after = path.read_bytes()
swept = sum(word.encode() in after for word in stay)
print(f"SQLite {apsw.sqlite_lib_version()}: {deletions} deletions, {len(left)} words still in the file right after, "
      f"{len(stay)} at the end, {rows} rows with them, integrity_check {verdict}, {swept} after VACUUM")
raise SystemExit(0 if left and stay and not rows and verdict == "ok" and not swept else 1)
PYTHON
"$folder/venv/bin/python" "$folder/gap.py" "$folder/notes.db"
