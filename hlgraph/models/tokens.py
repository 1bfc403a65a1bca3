"""Estimates how many tokens a text has for a chat model, without the model's tokenizer.

Tokenizers differ between providers, and most need a download. They share the way that text is split before it is encoded:
words with their leading space, groups of up to three digits, runs of punctuation. A common word is one token.
"""

from __future__ import annotations

import re

_PIECE = re.compile(
    r"(?P<latin>[A-Za-z]+)|(?P<digits>\d+)|(?P<wide>[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af])|(?P<letters>[^\W\d_])"
    r"|(?P<marks>(?:[^\w\s]|_)+)|(?P<breaks>\n\s*)"
)
_WORD, _DIGITS, _MARKS = 8, 3, 3
_LETTERS = 2.5  # letters of non-Latin alphabets per token, approximately
_FRAME = 8  # tokens that frame the two messages


def estimated_tokens(text: str) -> int:
    """Approximate number of tokens in a text, in time linear in its length.

    A Latin word counts one token for each eight letters or part thereof. Digits and runs of punctuation count one for each
    group of three or part thereof. A line break counts one, and so does each Chinese, Japanese or Korean character. Letters
    of other alphabets count two tokens for five letters.

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
    """Approximate number of input tokens of a call: both messages and the 8 tokens that frame them.

    Parameters
    ----------
    system : the system message
    user : the user message

    Returns
    -------
    int
        The estimate; see :func:`estimated_tokens`.
    """
    return estimated_tokens(system) + estimated_tokens(user) + _FRAME
