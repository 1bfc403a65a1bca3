"""Word lists of the rule-based extractor, from words.txt: words that only look like names, and words that reveal a name's kind."""

from __future__ import annotations

from hlgraph.extract import wording
from hlgraph.extract.wording import word_lists
from hlgraph.text import STOP_WORDS, word_set

LISTS = word_lists("hlgraph.extract.local", "words.txt")


def words_of(name: str) -> frozenset[str]:
    """The words of a list."""
    return word_set(" ".join(LISTS[name]))


def keys_of(name: str, divider: str | None = None) -> dict[str, str]:
    """The key of each word of a list of lines "key: words"; the first line with a word counts.

    Parameters
    ----------
    name : name of the list
    divider : what stands between words; None (default): white space
    """
    lines = (line.partition(": ") for line in reversed(LISTS[name]))
    return {word: key for key, _, words in lines for word in words.split(divider)}


def _phrases(name: str) -> frozenset[str]:
    return frozenset(" ".join(LISTS[name]).split(" | "))


MONTHS = tuple(map(str.capitalize, wording.MONTHS))
CALENDAR = words_of("calendar") | frozenset(wording.MONTHS)
DEMONYMS = words_of("demonyms")
OPENERS = STOP_WORDS | words_of("openers")
GERMAN_OPENERS = words_of("german_openers")
ORDINARY = OPENERS | CALENDAR | words_of("ordinary")
COMMON_ENDINGS = tuple(words_of("common_endings"))
PROPER_VERBS = words_of("proper_verbs")
SINGULAR_VERBS = words_of("singular_verbs")
PROPER_PASSIVES = words_of("proper_passives")
HAPPENING = words_of("happening")
INVERTED = words_of("inverted")
HONORIFICS = words_of("honorifics")
ROLES = words_of("roles")
TITLES_OF = ROLES | words_of("titles")
BARE_NAMES = TITLES_OF | CALENDAR
NOBILITY = words_of("nobility")
ORGANIZATIONS = words_of("organizations")
PLACES = words_of("places")
NOT_A_FIRST_NAME = PLACES | ORGANIZATIONS | DEMONYMS | words_of("not_first_names")
PARTICLES = frozenset(f" {particle} " for particle in _phrases("particles"))
# The same inside the name of an organization.
ORGANIZATION_PARTICLES = frozenset((" for ", " for the ", " to ", " on ", " and ", " and the ", " at ", ", and "))
PAIRS_WITH_AND = _phrases("pairs")
_OFFICES = TITLES_OF | HONORIFICS | _phrases("generic_phrases")
GENERIC = _OFFICES | PLACES | (ORGANIZATIONS - {"congress", "parliament", "senate"}) | words_of("generic")
ADJECTIVES = DEMONYMS | CALENDAR | words_of("adjectives")
DOTTED = words_of("dotted")
SELF_NOUNS = words_of("self_nouns")
WORD_TAGS = keys_of("tags")
IRREGULAR = words_of("irregular")
PLAIN = words_of("plain")
SAYING = words_of("saying")
KIND_OF_NOUN = keys_of("kinds")
SYNONYMS = {noun: group.split() for group in LISTS["synonyms"] for noun in group.split()}
PHRASE_BORDERS = STOP_WORDS | words_of("phrase_borders")
