"""Closed word lists of the question templates: function words, words that point outside a clause, and forms of verbs."""

from __future__ import annotations


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_AUXILIARIES = _words("is are was were has have had will would can could may might must should did does do")
_PRONOUNS = _words(
    """he she it they him her them hers theirs i we you me us my our your this that these those itself himself
    herself themselves someone somebody something everyone everybody everything nobody nothing there here who which whom
    whose what where when how why one ones others such both each"""
)
DEIXIS = _PRONOUNS | _words(
    """it's it’s today yesterday tomorrow tonight now currently recently earlier later ago soon then last next previous latter
    former above below again instead too however therefore not never no nor neither another other same so yet once if than
    perhaps probably possibly maybe"""
)
"""Words by which a clause points outside itself, or denies: a question must not have them."""

UNSURE = _words("may might could would should will can")
DOUBTS = _words(
    """if whether unless would could may might that suggests suggested how why rumours claims hopes than until nor not
    never"""
)
"""Words before a clause by which its sentence does not assert it."""

BOUNDARIES = _words(
    """and but or while as because when where which who whom whose that if so though although until unless since whereas
    whether than yet nor"""
)
"""Words that begin another clause."""

PREPOSITIONS = _words(
    """of to in on at from by for with into near under against between within about after before during through over across
    along among around behind beyond above toward towards upon via outside inside onto despite like versus per off out up
    down"""
)
FUNCTION_WORDS = _AUXILIARIES | _PRONOUNS | BOUNDARIES | PREPOSITIONS | _words("a an the not never no its his their")
CALENDAR = _words(
    """january february march april may june july august september october november december jan feb mar apr jun jul aug sep
    sept oct nov dec monday tuesday wednesday thursday friday saturday sunday week year month day"""
)
ADVERBS = _words("also then still already just now even once later soon again since first often has had have")
SAYING = _words(
    """said says say told tells tell added adds explained explains noted notes argued argues claimed claims thought thinks
    believed believes knew knows felt feels hoped hopes wanted wants expected expects seemed seems suggested suggests
    tweeted asked asks wrote writes insisted insists announced announces confirmed confirms revealed reveals"""
)
"""Verbs whose object is a clause: half of it says too little."""

_IRREGULAR = _words(
    """beat became began bet bit blew bought broke broadcast brought built burst came caught chose cost cut dealt did drank
    drew drove ate fed fell felt fled flew forecast forgot fought found froze gave went got grew heard held hid hit hurt kept
    knew laid lay led left lent let lit lost made meant met paid proved put quit ran rang rebuilt rode rose said sang sank
    sat saw sent set shook shone shot shut slept slid sold sought spent spoke split spread sprang stole stood struck stuck
    sued swam swept swore swung taught thought threw took tore told underwent understood undertook upheld withdrew woke won
    wore wove wrote"""
)
_NOT_VERBS = _words(
    """red need speed united indeed bed hundred seed deed odds news highlights updates props apps sports series users employees
    workers layoffs talks shares devices games players fans sources results officials details deals tools products services
    executives investors sales teams leaders articles stories ads points yards runs assets funds tickets"""
)
_BEFORE_OBJECT = _words(
    """the a an its his her their some another one two three four five to in into through on off out over up down with as past
    back"""
)
AGENTIVE = _words(
    """said says told announced agreed sued launched acquired bought sold hired fired signed won lost beat met wrote founded
    co-founded joined left led released unveiled invested raised owns owned plans planned argued claimed asked paid fined
    warned married dated played plays pitched caught scored threw hit picked invited accused denied testified pleaded
    admitted appointed named offered offers started created built made shared posted called helped spent visited defeated
    outplayed purchased settled filed recalled"""
)
"""Verbs whose subject is a person, or people as an organization: "who" asks for it."""


def is_finite_verb(word: str, following: str = "the") -> bool:
    """Whether a word is, by its form, a verb that a subject can stand before.

    Parameters
    ----------
    word : the word
    following : the word after it, which tells a verb in -s from a plural

    Examples
    --------
    >>> [is_finite_verb(*pair) for pair in (("sued", ""), ("has", ""), ("offers", "the"), ("apps", "like"))]
    [True, True, True, False]
    """
    lower = word.lower()
    if lower in _NOT_VERBS or word[:1].isupper():
        return False
    if lower in _AUXILIARIES or lower in _IRREGULAR or (lower.endswith("ed") and len(lower) > len("bed")):
        return True
    is_form_in_s = lower.endswith("s") and not lower.endswith(("ss", "us", "is")) and len(lower) > len("was")
    return is_form_in_s and (following.lower() in _BEFORE_OBJECT or following[:1].isupper() or following[:1].isdigit())


SINGULAR = {"have": "has", "are": "is", "were": "was", "do": "does"}
SHORT_ROLES = _words("QB RB WR LB TE CB HC GM OC DC TV PC AI VP CEO CFO CTO COO FG TD PM AM Dr Mr Mrs Ms")
"""Abbreviations of offices and things that begin a sentence like names."""
