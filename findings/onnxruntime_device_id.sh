#!/usr/bin/env bash
# onnxruntime 1.32.0 on Linux, from PyPI.
# Guess: importing a library for inference writes nothing; what it reports to its maker is off on Linux, or goes off by
# onnxruntime.disable_telemetry_events().
# Seen: the import alone makes ~/.cache/Microsoft/DeveloperTools/.onnxruntime with a lasting `deviceid` and a database of events
# to send, and starts a thread. An event has the path of the interpreter (so often the name of its user), the model of the CPU, the
# memory, the distribution, and what kind of container it is. The switch comes after the import, so after both files; the event stays
# in the database. Only the environment variable ORT_DISABLE_TELEMETRY=1, set before the import, leaves the folder empty. 1.28.0 writes
# nothing. In an image whose home cannot be written, or that is compared byte by byte, an upgrade alone makes a difference.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check onnxruntime==1.32.0
cat > "$folder/look.py" <<'PYTHON'
import sys
from pathlib import Path

import onnxruntime

if sys.argv[1] == "switch":
    onnxruntime.disable_telemetry_events()
threads = len(list(Path("/proc/self/task").iterdir()))
written = sorted(path.name for path in (Path.home() / ".cache").rglob("*") if path.is_file())
files = [name for name in written if name in ("deviceid", "onnxruntime.db")]
print(f"onnxruntime {onnxruntime.__version__}, {sys.argv[1]}: {threads} threads, files {files}")
PYTHON
cat > "$folder/events.py" <<'PYTHON'
import sqlite3
import sys
from pathlib import Path

home, interpreter = sys.argv[1:]
place = next(Path(home).rglob("onnxruntime.db"))
payloads = [bytes(payload) for (payload,) in sqlite3.connect(place).execute("SELECT payload FROM events")]
says = {word: any(word.encode() in payload for payload in payloads) for word in (interpreter, "containerType", "cpuModel")}
print(f"{len(payloads)} event(s) to send; it says: {[word for word in says if says[word]]}")
sys.exit(0 if payloads and all(says.values()) else 1)
PYTHON
look() { # the variables, then how it is switched off
    mkdir "$folder/$2"
    env -u ORT_DISABLE_TELEMETRY -u XDG_CACHE_HOME $1 HOME="$folder/$2" "$folder/venv/bin/python" "$folder/look.py" "$2"
}
for how in import switch; do
    seen=$(look "" $how)
    echo "$seen"
    [[ $seen == *"['deviceid', 'onnxruntime.db']" ]]
    python3 "$folder/events.py" "$folder/$how" "$folder/venv/bin/python" | sed "s#$folder#...#"
done
seen=$(look ORT_DISABLE_TELEMETRY=1 variable)
echo "$seen"
[[ $seen == *"files []" ]]
