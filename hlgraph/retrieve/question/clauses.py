"""Cuts long questions into clauses, by rules."""

from __future__ import annotations

import re

from hlgraph.text import content_words

LONG_WORDS = 20
"""Minimum number of words of a question that is cut; a shorter one is one thought."""

_LEAST_CONTENT = 3
_MOST = 5
_CUT = re.compile(
    r"[;:?]\s+"
    r"|,?\s+(?:while|whereas|whilst|although|compared\s+(?:to|with)|as\s+(?:well\s+as|opposed\s+to)|in\s+contrast\s+to|but"
    r"|rather\s+than)\s+"
    r"|,\s+(?:and|or|with|as|which|that|indicating|suggesting)\s+"
    r"|\s+and\s+(?=(?:the|another|an?|did|does|is|was|has)\s)"
    r"|,\s+(?=(?:the|another|did|does|is|was|has)\s)"
)


def clauses(question: str) -> tuple[str, ...]:
    """The clauses of a long question, in order; any other question is its only clause.

    A clause has at least three content words; a shorter one joins the clause before it. The joining words are English.
    A question in another language is cut at colons and semicolons only.

    Examples
    --------
    >>> clauses("Who built the mill?")
    ('Who built the mill?',)
    >>> for clause in clauses(
    ...     "Does the Courier report say that the bridge at Ombry was closed after the flood, while the article in the "
    ...     "Haldrey Post describes how the mole was repaired?"
    ... ):
    ...     print(clause)
    Does the Courier report say that the bridge at Ombry was closed after the flood
    the article in the Haldrey Post describes how the mole was repaired
    """
    if len(question.split()) < LONG_WORDS:
        return (question,)
    parts: list[str] = []
    for part in _CUT.split(question):
        text = part.strip(" ,.?;:")
        if parts and len(content_words(text)) < _LEAST_CONTENT:
            parts[-1] = f"{parts[-1]} {text}".strip()
        elif text:
            parts.append(text)
    found = tuple(dict.fromkeys(parts))[:_MOST]
    return found if len(found) > 1 else (question,)
