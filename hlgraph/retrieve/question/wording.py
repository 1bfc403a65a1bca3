"""Classifies a question by its wording, with closed lists of English words.

A question in another language matches none of them; then only its names and a first search decide.
"""

from __future__ import annotations

import re

from hlgraph.retrieve.question.subqueries import names

_COMPARISON = re.compile(
    r"\b(?:older|younger|oldest|youngest|taller|tallest|longer|shorter|larger|bigger|smaller|higher|lower|heavier|faster"
    r"|earlier|later|sooner|newer|both|either|neither|same|similar|compared?|compares|comparison|than|versus|vs"
    r"|differs?|differ(?:ent|ence|ences)|in common|more|fewer|less)\b|\bbetween\b(?=.*\band\b)|\bfirst\b(?=.*,.*\bor\b)",
    re.IGNORECASE,
)
_PERSON = (
    "father mother parents husband wife spouse son daughter child children brother sister sibling uncle aunt nephew niece "
    "grandfather grandmother grandparents director author writer composer performer singer founder creator producer "
    "designer architect owner publisher employer president mayor coach manufacturer screenwriter inventor discoverer"
)
_RELATION = "|".join(_PERSON.split()) + r"|(?:step|half-|great-|grand|paternal |maternal )?(?:\w+-in-law|grand\w+)"
# One thing is named through another one: "the father of the director of", "X's mother", "the city in which ...".
_CHAIN = re.compile(
    rf"['’]s?\s+(?:[a-z-]+\s+){{0,2}}(?:{_RELATION})\b"
    rf"|\b(?:the|a|an|his|her|whose)\s+(?:[\w-]+\s+){{0,2}}?(?:{_RELATION})\s+(?:of|for|who|whose|that|to)\b"
    r"|\b(?:of|by|in|for|from|to|with|at|on|under|where|when|is|was|did|does|which|what)\s+(?:the|a|an)\s+"
    r"(?:[\w'’-]+\s+){1,5}?(?:who|whom|whose|that|which|where)\b"
    r"|\b(?:in|of|from|by|for|to|at|on)\s+which\b|\bwhose\b",
    re.IGNORECASE,
)
_MANY = (
    "themes? topics trends? patterns? factors? challenges? issues disputes? debates? implications? consequences developments? "
    "lessons? approaches strategies perspectives? arguments? differences similarities principles? ideas? findings points "
    "subjects aspects kinds types forms causes effects reasons ways methods benefits risks drivers opinions views"
)
_THINGS = "|".join(word.replace("?", "s?") if word.endswith("?") else word for word in _MANY.split())
_BROAD = re.compile(
    r"\b(?:main|major|key|central|overall|common|general|typical|recurring|prevailing|principal|important|various|broader)"
    rf"\s+(?:[\w-]+\s+){{0,2}}?(?:{_THINGS})\b"
    r"|\b(?:overview|summari[sz]e|summary of|in general|as a whole|all about|big picture|taken together|overall)\b"
    r"|\bacross\s+(?:the|all|these|different|various)\b"
    rf"|\b(?:what|which)\s+(?:{_THINGS})\b"
    r"|\b(?:how|in what ways)\s+(?:do|does|did|have|has|can|could|might)\b.*\b(?:influenced?|affect(?:ed)?|changed?|shaped?"
    r"|impact(?:ed)?|contributed?|relate[ds]?|evolved?|differ(?:ed)?|interact(?:ed)?|depend(?:ed)?|transform(?:ed)?|vary"
    r"|varied)\b",
    re.IGNORECASE,
)
_ASKING = re.compile(
    r"^\W*(?:please\s+)?(?:give|describe|explain|list|compare|discuss|summari[sz]e|outline|name|tell|show)\b",
    re.IGNORECASE,
)


def comparison(question: str) -> str:
    """The word that compares things; empty if the question compares nothing.

    Examples
    --------
    >>> comparison("Who is older, Mara Quill or Ivo Brandt?")
    'older'
    >>> comparison("Who designed the Aldane Bridge?")
    ''
    """
    found = _COMPARISON.search(question)
    return found[0] if found else ""


def chain(question: str) -> str:
    """The words that name one thing through another one; empty if no words do.

    Examples
    --------
    >>> chain("Where was the designer of the Aldane Bridge born?")
    'the designer of'
    >>> chain("In what city was Mara Quill born?")
    ''
    """
    found = _CHAIN.search(question)
    return " ".join(found[0].split()) if found else ""


def broad(question: str) -> str:
    """The words that ask about the whole corpus, in a question without a name; empty for any other question.

    Examples
    --------
    >>> broad("What are the main disputes about the bridges?")
    'main disputes'
    >>> broad("What are the main disputes about the Aldane Bridge?")
    ''
    """
    found = _BROAD.search(question)
    # "Summarise" at the beginning is not a name, although it is capitalised.
    return " ".join(found[0].split()) if found and not names(_ASKING.sub("", question)) else ""
