#!/usr/bin/env bash
# trafilatura 2.3.1.
# Guess: in an article element, which keeps headings, a heading is kept also if its words are a link or stand behind the target of one,
# as in DocBook's HTML, in shops and on the first pages of blogs.
# Seen: if such headings stand in a div, all of them are lost, and the paragraphs stay (with targets, four of 24 go, too): a link makes
# the div look like a menu. A caller sees the paragraphs of all sections below the heading of the page.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check trafilatura==2.3.1 lxml_html_clean==0.4.6
cat > "$folder/linked.py" <<'PYTHON'
from importlib.metadata import version

from trafilatura import extract


def section(number: int, heading: str) -> str:
    lines = (f"<p>Bridge {number} {letter} is an important decision for a town, which pays for years.</p>" for letter in "abcd")
    return f"<div><div><h2>{heading.format(number=number)}</h2></div>{''.join(lines)}</div>"


seen = []
for heading in ("Bridge {number}", '<a href="{number}.html">Bridge {number}</a>', '<a id="b{number}"></a>Bridge {number}'):
    parts = "".join(section(number, heading) for number in range(6))
    page = f"<html><body><article><h1>Bridges</h1>{parts}</article></body></html>"
    text = extract(page, favor_recall=True, output_format="markdown") or ""
    found = (sum(line.startswith("## ") for line in text.splitlines()), text.count("important decision"))
    print(f"trafilatura {version('trafilatura')}, {heading}: {found[0]} headings, {found[1]} paragraphs")
    seen.append(found)
raise SystemExit(0 if seen == [(6, 24), (0, 24), (0, 20)] else 1)
PYTHON
"$folder/venv/bin/python" "$folder/linked.py"
