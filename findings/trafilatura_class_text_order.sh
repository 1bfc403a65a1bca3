#!/usr/bin/env bash
# trafilatura 2.3.1.
# Guess: the text of a page comes in the order of the page, whatever its elements are called; a class decides at most what is left out.
# Seen: in an exported chat (date and text of each message in a div) whose texts have the class "text", the first text stands before
# everything above it, also before its own date and the title of the page, with and without favor_recall; all words are there. With
# the class "words" the same page keeps its order. So who pairs a date with the text below it gives the first message no date and the
# first date no text, and nothing tells that a line moved.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check trafilatura==2.3.1 lxml_html_clean==0.4.6
cat > "$folder/order.py" <<'PYTHON'
from importlib.metadata import version

from trafilatura import bare_extraction


def page(name: str) -> str:
    messages = "".join(
        f'<div class="message"><div class="date"><p>Ada wrote at 09:1{number}</p></div>'
        f'<div class="{name}"><p>Regatta {number} is on 14 June in Sarn.</p></div></div>'
        for number in range(4)
    )
    return f'<html><body><div class="head"><p>Boat club of the town of Sarn</p></div>{messages}</body></html>'


def lines(name: str, **options: bool) -> list[str]:
    return bare_extraction(page(name), **options).text.split("\n")


print("trafilatura", version("trafilatura"))
in_order = ["Boat club of the town of Sarn"]
in_order += [part for number in range(4) for part in (f"Ada wrote at 09:1{number}", f"Regatta {number} is on 14 June in Sarn.")]
for name in ("words", "text"):
    print(name, *lines(name)[:4], sep="\n  ")
moved = [in_order[2], *in_order[:2], *in_order[3:]]
recall = {"favor_recall": True}
seen = [lines("words", **each) == in_order and lines("text", **each) == moved for each in ({}, recall)]
raise SystemExit(0 if all(seen) else f"changed: {seen}")
PYTHON
"$folder/venv/bin/python" "$folder/order.py"
