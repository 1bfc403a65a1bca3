#!/usr/bin/env bash
# trafilatura 2.3.1.
# Guess: with favor_recall and Markdown output the headings of an ordinary page (h1, h2 and paragraphs in the body) are kept.
# Seen: a page whose body has no article, main or container with a known class loses every heading, and no paragraph, if it is short
# enough for the second way (about 250 characters); then also pages of manuals, whose sections are in plain divs. The same page in
# an article element keeps them all. A caller sees paragraphs without the section that they belong to, and no warning.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check trafilatura==2.3.1 lxml_html_clean==0.4.6
cat > "$folder/headings.py" <<'PYTHON'
from importlib.metadata import version

from trafilatura import extract

PARTS = (
    "<h1>Insurance</h1><p>The cover does not include:</p><ol><li>flood</li><li>war</li></ol>"
    "<h3>Can I cancel?</h3><p>Yes, within 14 days.</p><div><p>Only on roofs.</p></div>"
)
seen = []
for around in ("{}", "<article>{}</article>"):
    page = f"<html><body>{around.format(PARTS)}</body></html>"
    text = extract(page, favor_recall=True, output_format="markdown") or ""
    headings = [line for line in text.splitlines() if line.startswith("#")]
    print(f"trafilatura {version('trafilatura')}, {around}: headings {headings}, paragraph kept {'14 days' in text}")
    seen.append((headings, "14 days" in text))
raise SystemExit(0 if seen == [([], True), (["# Insurance", "### Can I cancel?"], True)] else 1)
PYTHON
"$folder/venv/bin/python" "$folder/headings.py"
