"""Takes runs of characters without a space out of a text: encoded images, keys, minified code, a megabyte of one letter.

A run says nothing that can be found or cited, and would be cut into thousands of chunks.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import replace
from itertools import accumulate

from hlgraph.errors import ReadError
from hlgraph.read.failure import ReadFailure
from hlgraph.records import Document

LONGEST = 4096
# ASCII and Latin letters: other scripts may do without spaces. The look-behind keeps the time linear.
_RUN = re.compile(rf"(?<![!-~\u00a1-\u024f])[!-~\u00a1-\u024f]{{{LONGEST + 1},}}")


def without_runs(document: Document) -> Document:
    """A document without its runs of more than 4,096 characters without a space, with one warning that counts them.

    Parameters
    ----------
    document : as it was read

    Returns
    -------
    Document
        The same one where there is no such run. Page starts move with the text.

    Raises
    ------
    ReadError
        Nothing else is in it.

    Examples
    --------
    >>> found = without_runs(Document("doc:1", "A picture: " + "x" * 5000 + " of a pump."))
    >>> found.text, found.warnings
    ('A picture:  of a pump.', ('left out 1 run without a space, 5,000 characters: encoded data is no text',))
    """
    text = document.text
    spans = [match.span() for match in _RUN.finditer(text)] if len(text) > LONGEST else []
    if not spans:
        return document
    cut = [0, *accumulate(end - start for start, end in spans)]
    kept: list[str] = []
    at = 0
    for start, end in spans:
        kept.append(text[at:start])
        at = end
    kept.append(text[at:])
    rest = "".join(kept)
    runs = f"{len(spans)} run{'s' if len(spans) > 1 else ''} without a space, {cut[-1]:,} characters"
    if not rest.strip():
        raise ReadError(document.uri, f"holds nothing but {runs}: encoded data is no text", "leave it out")
    starts = [start for start, _ in spans]
    pages = tuple(page - cut[bisect_right(starts, page - 1)] for page in document.page_starts)
    warning = f"left out {runs}: encoded data is no text"
    return replace(document, text=rest, page_starts=pages, warnings=(*document.warnings, warning))


def bounded_row(item: Document | ReadFailure) -> Document | ReadFailure:
    """The document of a row as :func:`without_runs` gives it; a failure where nothing else is in it.

    Parameters
    ----------
    item : a document, or a failure, which stays as it is
    """
    if isinstance(item, ReadFailure):
        return item
    try:
        return without_runs(item)
    except ReadError as error:
        return ReadFailure(error.uri, error)
