"""Learns kinds of entities from the facts of a chunk: "is a village" names a place, "was born in" a person and a place."""

from __future__ import annotations

import re
from collections.abc import Iterable

from hlgraph.extract.local._grammar import KIND_OF_NOUN
from hlgraph.extract.local._topics import Title
from hlgraph.records import Triple

_IS = frozenset(("is", "was", "are", "were", "became"))
_TAIL = re.compile(r" (?:of|in|from|for|by|at|on|with|to)\b.*")
_DISAMBIGUATION = re.compile(r"\(([^()]+)\)$")
# Predicates, without "is" and "was", that only a subject or an object of one kind has.
_SUBJECT_KINDS = {
    **dict.fromkeys(("born", "died", "born in", "born on", "died in", "died on", "married", "educated at"), "person"),
    **dict.fromkeys(("directed by", "written by", "starring", "stars", "sung by"), "work"),
}
_OBJECT_KINDS = {
    **dict.fromkeys(
        ("directed by", "written by", "starring", "stars", "sung by", "married", "wife", "husband"), "person"
    ),
    **dict.fromkeys(("son", "daughter", "father", "mother", "brother", "sister"), "person"),
    **dict.fromkeys(("born in", "died in", "in"), "place"),
}


def kinds_in(triples: Iterable[Triple], title: Title) -> dict[str, str]:
    """The kinds of entities that facts and the title reveal, by name; the first one counts.

    Parameters
    ----------
    triples : the facts of a chunk
    title : the title of the document; "(film)" after a name says its kind

    Returns
    -------
    dict
        Kinds by the name of the entity, for names without a known kind.

    Examples
    --------
    >>> from hlgraph.extract.local._topics import read_title
    >>> kinds_in([Triple("Acme", "is", "a small company in Ohio", is_literal=True)], read_title("The Beach (film)"))
    {'The Beach': 'work', 'Acme': 'organization'}
    """
    kinds: dict[str, str] = {}
    if (match := _DISAMBIGUATION.search(title.full)) and (kind := _kind_of(match[1].partition(",")[0])):
        kinds[title.bare] = kind
    for triple in triples:
        predicate = triple.predicate.removeprefix("is ").removeprefix("was ")
        if triple.is_literal:
            kind = _kind_of(_TAIL.sub("", triple.object)) if triple.predicate in _IS else ""
        else:
            kind = ""
            if of_object := _OBJECT_KINDS.get(predicate):
                kinds.setdefault(triple.object, of_object)
            if predicate == "in":
                kind = "place"
        if kind := kind or _SUBJECT_KINDS.get(predicate, ""):
            kinds.setdefault(triple.subject, kind)
    return kinds


def _kind_of(phrase: str) -> str:
    """The kind that the last word of a noun phrase names; empty if it names none."""
    word = phrase.rsplit(" ", 1)[-1].lower()
    return KIND_OF_NOUN.get(word) or KIND_OF_NOUN.get(word.removesuffix("s"), "")
