"""About how many tokens a chat model counts in a text, without its tokenizer.

The tokenizers of providers differ, and most are behind a download. What they share is how a text is cut before it is
encoded: words with the space before them, groups of up to three digits, runs of punctuation. Common words are one token.
"""

from __future__ import annotations

import re

_PIECE = re.compile(
    r"(?P<latin>[A-Za-z]+)|(?P<digits>\d+)|(?P<wide>[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af])|(?P<letters>[^\W\d_])"
    r"|(?P<marks>(?:[^\w\s]|_)+)|(?P<breaks>\n\s*)"
)
_WORD, _DIGITS, _MARKS = 8, 3, 3
_LETTERS = 2.5  # letters of other alphabets in a token, near enough
_FRAME = 8


def estimated_tokens(text: str) -> int:
    """About how many tokens a text is; linear in its length.

    A Latin word of up to eight letters is one token, longer ones are one for each eight letters begun; digits count in
    groups of three, marks that stand together in groups of three, a line break is one; Chinese, Japanese and Korean signs
    one each, letters of other alphabets two for five.

    Examples
    --------
    >>> estimated_tokens("The cat sat."), estimated_tokens("internationalisation"), estimated_tokens("")
    (4, 3, 0)
    >>> estimated_tokens('{"name": "Mara Quill", "kind": "person"}')
    13
    """
    whole, letters = 0, 0
    for match in _PIECE.finditer(text):
        kind, length = match.lastgroup, match.end() - match.start()
        if kind == "letters":
            letters += 1
        elif kind == "latin":
            whole += -(-length // _WORD)
        elif kind == "digits":
            whole += -(-length // _DIGITS)
        elif kind == "marks":
            whole += -(-length // _MARKS)
        else:
            whole += 1
    return whole + int(letters / _LETTERS + 0.999)


def request_tokens(system: str, user: str) -> int:
    """About how many tokens a call sends: both messages, and what frames them."""
    return estimated_tokens(system) + estimated_tokens(user) + _FRAME
