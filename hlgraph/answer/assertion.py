"""Whether a statement asserts what a question asks, with the same roles: who did what to whom, and whose thing it is about.

The rules work on words, and each needs positive evidence: a statement passes if none of them applies.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from hlgraph.answer.constraints import LIGHT, Constraints, Statements
from hlgraph.text import fold

_DOUBT = re.compile(
    r"\b(?:den(?:y|ies|ied|ying)|refut(?:e|es|ed)|alleg(?:e|es|ed|edly)|rumou?r(?:s|ed)?|(?<!no )doubt\w*|disput(?:e|es|ed)"
    r"|no evidence|nothing to indicate)\b",
    re.IGNORECASE,
)
# What a text need not mean as a fact of today: "may approve", "failed to win", "daily except Mondays", "mayor until 1990".
_RESERVE = re.compile(
    r"\b(?:except|excluding|apart from|other than|(?:all|day|each|any\w*|every\w*|nothing|nobody|none) but|almost|nearly"
    r"|fail(?:s|ed)? to|refus\w+|reject\w*|declin\w+|decid\w+ against|unclear|unknown|whether|may|might|could|would|should|will"
    r"|shall|plan(?:s|ned)? to|hope[sd]? to|want(?:s|ed)? to|intend\w*|attempt\w*|tri(?:es|ed) to|escap\w+|avoid\w*|prevent\w*"
    r"|until|former|formerly|once|previously|instead|rather than|beat|defeat(?:s|ed)?"
    r"|supposed to|meant to|scheduled to|expected to|due to be|was to|were to"
    r"|claim(?:s|ed)?|argu(?:es?|ed)|contend(?:s|ed)?|insist(?:s|ed)?|maintain(?:s|ed) that|believ(?:es?|ed)|think|thinks|thought"
    r"|suspect(?:s|ed)?|suggest(?:s|ed)? that|accus\w+)\b",
    re.IGNORECASE,
)
_AND_WILL = re.compile(
    r"(?<=\w),? and (?:will|shall|would|may|might|could|should|plans to|hopes to|intends to) [^.;,]*"
)
_STEM = 5  # of a cue: "escap" of "escaped"
# What follows is only planned, tried, or nearly so.
_UNREAL = re.compile(
    r"\b(?:almost|nearly|fail(?:s|ed)? to|refus(?:es?|ed) to|declin(?:es?|ed) to|supposed to|meant to|tri(?:es|ed) to|attempted to"
    r"|want(?:s|ed)? to|threaten(?:s|ed)? to|(?:is|are|was|were) to(?= be\b| [a-z]+)|(?P<plan>plan(?:s|ned)? to|hope[sd]? to"
    r"|intend(?:s|ed)? to|expect(?:s|ed)? to|scheduled to|due to (?=be\b)|will|shall))\b",
    re.IGNORECASE,
)
_PAST_ASKED = re.compile(
    r"\b(?:was|were|did|had|has|have)\b(?! to\b)"
    r"|^(?:who|which|what)\b(?!.*\b(?:is|are|must|may|can|will|shall|should)\b)(?: [\w’'-]+){0,4}? [a-z]+ed\b",
    re.IGNORECASE,
)
_ASKED_AHEAD = re.compile(r"\b(?:will|shall|plan\w*|going to|to be)\b", re.IGNORECASE)
_CLAUSE_END = re.compile(r"[.,;:!?]|\b(?:and|but|although|while|because|so)\b", re.IGNORECASE)
# A negation of what is known or said of something does not deny the thing itself.
_NOT_KNOWN = re.compile(
    r"(?:\b(?:not|never|nobody|no one|neither)|n['’]t)(?: \w+){0,2}? (?:confirm\w*|sa(?:y|id)|pro(?:ve|ved|ven)|clear|certain|sure"
    r"|know\w*|decide\w*|believe\w*|think|thought|expect\w*|announce\w*|comment\w*|report\w*)\b",
    re.IGNORECASE,
)

_CAPITALISED = r"(?:[^\W\d_a-zß-öø-ÿ][\w’'-]*|\w*\d\w*)"
_NAMED = rf"(?:[Tt]he )?{_CAPITALISED}(?: (?:(?:of|de|van|von|the) )?{_CAPITALISED})*"
_AUXILIARY = "did|does|do|has|have|had|will|can|could|would"
_ACTIVE = re.compile(rf"(?i:{_AUXILIARY}) (?P<agent>{_NAMED}) (?P<verb>[a-z]+) (?P<patient>{_NAMED})")
_PASSIVE = re.compile(rf"(?i:was|were|is|are) (?P<patient>{_NAMED}) (?P<verb>[a-z]+) by (?P<agent>{_NAMED})")
_WHO = re.compile(rf"[Ww]ho (?!(?:{_AUXILIARY}|is|was|are|were) )(?P<verb>[a-z]+) (?P<patient>{_NAMED})")
_BY_WHICH = re.compile(rf"[Ww]ho (?:was|were|is|are) (?P<verb>[a-z]+) by (?P<agent>{_NAMED})")
_WHOM = re.compile(rf"[Ww]hom? (?:{_AUXILIARY}) (?P<agent>{_NAMED}) (?P<verb>[a-z]+)")
# Verbs whose two sides may change places.
_MUTUALS = """meet met marry married wed divorce divorced merge merged border fight fought play played face faced resemble equal
    join joined adjoin cross crossed share shared date dated know knew"""
_MUTUAL = frozenset(_MUTUALS.split())
_NO_VERB = ("er", "ers", "or", "ors", "ion", "ions", "ment", "ments", "ing", "ings", "ship", "ure", "al", "ory")
_BE = frozenset(("is", "are", "was", "were", "be", "been", "being"))
_BETWEEN = frozenset(("has", "have", "had", "did", "also", "then", "later", "first", "once", "finally", "soon", "the"))
_TOKEN = re.compile(r"[^\W_]+(?:['’.-][^\W_]+)*|[^\w\s]")
_SUBJECT = re.compile(rf"\b(?i:{_AUXILIARY}|is|was|are|were) ({_NAMED})")
_THING = rf"(?P<thing>(?: (?!(?:{_AUXILIARY}|is|was|are|were|and|in|of)\b)[a-z][\w-]*){{1,2}})"
_OWNER = re.compile(
    rf"(?:\b(?:[Hh]is|[Hh]er|[Ii]ts|[Tt]heir) \[(?P<bracket>[^\]]+?)['’]s?\]|(?P<name>{_NAMED})['’]s?){_THING}"
)
_OWN = re.compile(rf"(?:His|Her|Its|Their){_THING}")
_UNTIL, _SINCE = "until till before to", "from since after"
_AT_NUMBER = re.compile(r"\b(until|till|before|to|from|since|after) (?:[A-Z][a-z]+ )?(\d{3,4})\b", re.IGNORECASE)
_IN_ORDER = re.compile(rf"\b(before|after) ({_NAMED})")
_STATED_ORDER = {
    "before": "followed|follows|succeeded|succeeds|replaced|replaces|after",
    "after": "preceded|precedes|before",
}
_ORDER_WORD = re.compile(
    r"\b(?:before|after|pre(?:ced|decess)\w+|succe\w+|follow\w+|replac\w+|took over|until|former|previous\w*|next)\b",
    re.IGNORECASE,
)
_AT_NAME = re.compile(rf"([a-z]+) (of|in|at|on|from|to|for|with|near|by) ({_NAMED})")
_FOR_OR_AGAINST = re.compile(r"([a-z]{3,}) (for|against|with|without|above|below|over|under)\b")
_OPPOSITE = {"for": "against", "with": "without", "above": "below", "over": "under"}
_OPPOSITE |= {other: one for one, other in _OPPOSITE.items()}
_NEXT_PART = re.compile(r"[.;]|, (?=[a-z])|\b(?:and|but|or)\b (?=[a-z])")


def is_doubted(question: str, text: str) -> bool:
    """Whether a text denies or doubts what it tells of ("Brask denied that it acquired Sarn"), and no such word is asked for.

    Parameters
    ----------
    question : text of the question
    text : text of a piece of evidence

    Examples
    --------
    >>> denial = "Brask denied that it acquired Sarn."
    >>> [is_doubted(question, denial) for question in ("Who acquired Sarn?", "What did Brask deny?")]
    [True, False]
    """
    return _DOUBT.search(text) is not None and _DOUBT.search(question) is None


def is_unknown(question: str, text: str) -> bool:
    """Whether a text denies only that something is known, said or sure, and no such word is asked for.

    Parameters
    ----------
    question : text of the question
    text : text of a piece of evidence

    Examples
    --------
    >>> is_unknown("Will the mill be sold?", "The owner has not confirmed that the mill will be sold.")
    True
    """
    return any(not _is_asked(match[0].rsplit(" ", 1)[-1], question) for match in _NOT_KNOWN.finditer(text))


def has_reserve(question: str, text: str) -> bool:
    """Whether a text has a word that takes back or leaves open what it says, and the question has no such word.

    Parameters
    ----------
    question : text of the question
    text : text of a piece of evidence
    """
    asked, cues = question.lower(), (match[0].lower() for match in _RESERVE.finditer(text))
    return any((cue if " " in cue else cue[:_STEM]) not in asked for cue in cues)


def without_plans(text: str) -> str:
    """A text without further predicates with a modal verb.

    Examples
    --------
    >>> without_plans("Sarn bought the yard and will open it in May.")
    'Sarn bought the yard.'
    """
    return _AND_WILL.sub("", text)


def is_unreal(question: str, text: str, *, constraints: Constraints) -> bool:
    """Whether a text has what is asked only as a plan, an attempt or a near miss, and the question has no such word.

    A plan counts only if the question is in the past tense.

    Parameters
    ----------
    question : text of the question
    text : text of a piece of evidence
    constraints : those of the question

    Examples
    --------
    >>> from hlgraph.answer.constraints import constraints_of
    >>> question, texts = "When was the yard closed?", ("Sarn plans to close the yard.", "Sarn closed the yard.")
    >>> [is_unreal(question, text, constraints=constraints_of(question)) for text in texts]
    [True, False]
    """
    is_past = _PAST_ASKED.search(question) is not None and _ASKED_AHEAD.search(question) is None
    for cue in _UNREAL.finditer(text):
        if _is_asked(cue[0].split()[0], question) or (cue["plan"] and not is_past):
            continue
        end = _CLAUSE_END.search(text, cue.end())
        planned = Statements([text[cue.end() : end.start() if end else len(text)]])
        rest = Statements([text[: cue.start()], text[end.start() :] if end else ""])
        words = [word for word in constraints.words if word not in LIGHT]
        only_planned = [word for word in words if planned.has(word) and not rest.has(word)]
        others = [word for word in words if word not in only_planned]
        if only_planned and not any(word.endswith("ed") for word in others):
            return True
    return False


def _is_asked(word: str, question: str) -> bool:
    """Whether a question has a word that begins with the same letters."""
    return re.search(rf"\b{re.escape(word[:4])}", question, re.IGNORECASE) is not None


def is_misplaced(question: str, text: str, *, constraints: Constraints, places: Sequence[str]) -> bool:
    """Whether a text says what is asked of something else: with exchanged roles, at another place, or of a thing of what is asked.

    - "Sarn sued Brask" for "Did Brask sue Sarn?": a name right before or after the verb has the other role.
    - "born in Tolk and died in Sarn" for "Was she born in Sarn?": the last verb and preposition have another name.
    - "the motion of Carla Voss" for "the motion of Ben Moro", "voted against it" for "voted for it", "from 1990" for "until 1990".
    - "Red Sky was printed in Cork" for "Who printed Red Sky?".
    - "Her [Ada Falk’s] driver was arrested" for "When was Ada Falk arrested?": the text is about a thing that is not asked for.

    Parameters
    ----------
    question : text of the question
    text : text of a piece of evidence, without its title and heading in front
    constraints : those of the question
    places : the title and the headings of the piece
    """
    return (
        _is_reversed(question, text)
        or _is_elsewhere(question, text)
        or _is_after_not_before(question, text)
        or _has_no_agent(question, text)
        or _is_of_another(question, text, constraints, places)
    )


def _is_of_another(question: str, text: str, constraints: Constraints, places: Sequence[str]) -> bool:
    subject = _SUBJECT.search(question)
    if subject is None or question.startswith(("'s", "’s"), subject.end()):
        return False
    name = subject[1]
    names = [word for word in constraints.names if word in name]
    owners = [match for match in _OWNER.finditer(text) if _has_all(match["bracket"] or match["name"], names)]
    own = _OWN.match(text)
    if own and not own["thing"].startswith(" own ") and _has_all(" ".join(places), names):
        owners.append(own)
    if not owners or not names:
        return False
    rest = text
    for owner in owners:
        thing = Statements([owner["thing"]])
        if any(thing.has(word) for word in constraints.words):
            return False
        rest = rest.replace(owner[0], " ")
    return not any(map(Statements([rest]).has, names))


def _has_all(text: str, names: Sequence[str]) -> bool:
    said = Statements([text])
    return all(map(said.has, names))


def _is_reversed(question: str, text: str) -> bool:
    for name, verb, is_agent in _roles(question):
        if verb in _MUTUAL:
            return False
        known = _role(text, name, verb)
        if known is not None and known is not is_agent:
            return True
    return False


def _has_no_agent(question: str, text: str) -> bool:
    """Whether a question asks who did something, and a text has it in the passive without "by"."""
    match = _WHO.search(question)
    if match is None or re.search(r"\bby\b", text):
        return False
    passive = re.search(rf"{re.escape(match['patient'])}\W+(?:was|were|is|are|has been) (?:\w+ly )?([a-z]+)\b", text)
    return passive is not None and _is_form(passive[1], match["verb"])


def _is_after_not_before(question: str, text: str) -> bool:
    """Whether a text has the opposite order: "from 1990" for "until 1990", "followed Ada Falk" for "before Ada Falk"."""
    for word, number in _AT_NUMBER.findall(question):
        others = (_UNTIL if word.lower() in _SINCE.split() else _SINCE).split()
        said = [own.lower() for own, other in _AT_NUMBER.findall(text) if other == number]
        if said and all(own in others for own in said):
            return True
    for order, name in _IN_ORDER.findall(question):
        is_silent = order == "before" and question.startswith("Who ") and _ORDER_WORD.search(text) is None
        if is_silent or re.search(rf"\b(?:{_STATED_ORDER[order]}) {re.escape(name)}", text):
            return True
    return False


def _is_elsewhere(question: str, text: str) -> bool:
    """Whether a text has another name, or the opposite preposition, after each word of the question that has a name after it."""
    for verb, preposition in _FOR_OR_AGAINST.findall(question):
        said = {own for word, own in _FOR_OR_AGAINST.findall(text) if Statements([word]).has(verb)}
        if _OPPOSITE[preposition] in said and preposition not in said:
            return True
    return any(_has_another(text, *match.groups()) for match in _AT_NAME.finditer(question))


def _has_another(text: str, word: str, preposition: str, name: str) -> bool:
    if f"not {preposition} {name}" in text:  # "born in Tolk, not in Sarn" answers
        return False
    parts = [
        _NEXT_PART.split(text[place.end() :], maxsplit=1)[0]
        for place in re.finditer(rf"([^\W\d_]+) {preposition} (?=(?:the )?[^\W\d_a-z])", text)
        if Statements([place[1].lower()]).has(word)
    ]
    return bool(parts) and not any(Statements([part]).has(own) for part in parts for own in name.split())


def _roles(question: str) -> Iterator[tuple[str, str, bool]]:
    """The names of a question beside its verb, and whether each does what the verb says."""
    for pattern in (_PASSIVE, _ACTIVE, _BY_WHICH, _WHO, _WHOM):
        if match := pattern.search(question):
            roles = match.groupdict()
            for role in ("agent", "patient"):
                if roles.get(role):
                    yield roles[role], roles["verb"], role == "agent"
            return


def _role(text: str, name: str, verb: str) -> bool | None:
    """Whether a name does what a verb says in a text; None if the name is not right beside the verb."""
    tokens = _TOKEN.findall(text)
    words = [fold(token) for token in tokens]
    own = fold(name).removeprefix("the ").split()
    places = [at for at in range(len(words)) if words[at : at + len(own)] == own]
    roles: set[bool] = set()
    for at, token in enumerate(tokens):
        if not _is_form(token, verb):
            continue
        before, after = at, at + 1
        while before and (words[before - 1] in _BETWEEN or words[before - 1].endswith("ly")):
            before -= 1
        is_passive = before > 0 and words[before - 1] in _BE
        while before and words[before - 1] in _BE | _BETWEEN:
            before -= 1
        is_by = words[after : after + 1] == ["by"]
        after += is_by
        after += words[after : after + 1] == ["the"]
        if before - len(own) in places:
            roles.add(not is_passive and not is_by)
        if after in places and (is_by or not is_passive):
            roles.add(is_by)
    return roles.pop() if len(roles) == 1 else None


def _is_form(token: str, verb: str) -> bool:
    """Whether a word of a text is a form of a verb, or of one that means the same and begins alike, such as "bought" for "buy"."""
    is_verb = token.islower() and token[0] == verb[0] and not token.endswith(_NO_VERB)
    return is_verb and Statements([token]).has(verb)
