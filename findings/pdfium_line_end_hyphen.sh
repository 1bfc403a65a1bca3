#!/usr/bin/env bash
# pypdfium2 5.15.2 (pdfium), reportlab 5.0.0, pypdf 6.19.0, from PyPI.
# Guess: the text of a page has the hyphen that the page shows, and the two ways to ask for the whole text give the same.
# Seen: a hyphen between letters at the end of a line is not in the text, nor is the end of the line. get_text_range() has the
# noncharacter U+FFFE there, get_text_bounded() the control character U+0002, which XML 1.0 forbids both. Whoever removes what cannot be
# printed joins the words: "well-known" is "wellknown", "Paulo-Rio" is "PauloRio". A search for the compound finds nothing. Beside a
# digit ("1990-", "1995") hyphen and end of line stay. pypdf gives the hyphen each time.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check pypdfium2==5.15.2 reportlab==5.0.0 pypdf==6.19.0
cat > "$folder/read.py" <<'PYTHON'
import io
import sys

import pypdf
import pypdfium2
from reportlab.pdfgen.canvas import Canvas

SEEN = {
    ("The well-", "known mill"): ("The well\ufffeknown mill", "The well\x02known mill"),
    ("from Paulo-", "Rio"): ("from Paulo\ufffeRio", "from Paulo\x02Rio"),
    ("from 1990-", "1995"): ("from 1990-\r\n1995", "from 1990-\r\n1995"),
}
is_same = True
for lines, expected in SEEN.items():
    file = io.BytesIO()
    canvas = Canvas(file)
    for number, line in enumerate(lines):
        canvas.drawString(72, 700 - 14 * number, line)
    canvas.save()
    document = pypdfium2.PdfDocument(file.getvalue())
    page = document[0]
    text = page.get_textpage()
    texts = text.get_text_range(), text.get_text_bounded()
    is_found = text.search("well-known").get_next() is not None
    text.close(), page.close(), document.close()
    plain = pypdf.PdfReader(file).pages[0].extract_text().strip()
    print(lines, "pdfium", *map(ascii, texts), "pypdf", ascii(plain))
    is_same &= texts == expected and not is_found and plain == "\n".join(lines)
sys.exit(0 if is_same else 1)
PYTHON
"$folder/venv/bin/python" "$folder/read.py"
