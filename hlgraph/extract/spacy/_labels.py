"""Names and kinds from the entities that spaCy labels, beside the mentions that the rules found."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from hlgraph.extract.local import Found
from hlgraph.ids import normalise_name

if TYPE_CHECKING:
    from spacy.tokens import Doc, Span

# The labels of OntoNotes, and PER and MISC of the smaller schemes. Values (dates, amounts) are found by the rules, which
# write them in one way.
KIND_OF_LABEL = {
    "PERSON": "person",
    "PER": "person",
    "ORG": "organization",
    "GPE": "place",
    "LOC": "place",
    "FAC": "place",
    "EVENT": "event",
    "WORK_OF_ART": "work",
    "PRODUCT": "product",
    "LAW": "law",
    "LANGUAGE": "language",
}
_NEW = frozenset(KIND_OF_LABEL) - {"PRODUCT", "LANGUAGE"}
_ARTICLES = ("the ", "The ", "a ", "A ", "an ", "An ")
_POSSESSIVES = ("'s", "’s", "'", "’")


def merged_mentions(doc: Doc, mentions: Sequence[Found]) -> list[Found]:
    """The mentions of the rules, and the labelled names that overlap none of them, in order.

    Parameters
    ----------
    doc : the parsed sentence
    mentions : those of the rules

    Returns
    -------
    list
        The mentions.
    """
    added = [
        found
        for span in doc.ents
        if span.label_ in _NEW and (found := _name(span))
        if not any(found.start < other.end and other.start < found.end for other in mentions)
    ]
    return sorted([*mentions, *added]) if added else list(mentions)


def _name(span: Span) -> Found | None:
    """The name in a labelled span, without article and possessive; None if it does not begin with a capital."""
    text, start = span.text, span.start_char
    for article in _ARTICLES:
        if text.startswith(article):
            text, start = text[len(article) :], start + len(article)
    for ending in _POSSESSIVES:
        text = text.removesuffix(ending)
    if len(text) < 2 or not text[0].isupper() or not text[-1].isalnum() or not any(map(str.islower, text)):
        return None
    return Found(start, start + len(text), " ".join(text.split()), KIND_OF_LABEL[span.label_])


def voted_kinds(docs: Iterable[tuple[Doc, Sequence[Found]]]) -> dict[str, str]:
    """The kind that most labels over the occurrences of a name in a chunk say, by name; ties in the order of kinds.

    Parameters
    ----------
    docs : the parsed sentences of a chunk, each with its mentions

    Returns
    -------
    dict
        Kinds of names that have a label.
    """
    votes: dict[str, Counter[str]] = {}
    for doc, mentions in docs:
        for span in doc.ents:
            kind = KIND_OF_LABEL.get(span.label_)
            for found in mentions if kind else ():
                is_same = found.start < span.end_char and span.start_char < found.end
                if is_same and 2 * min(found.end, span.end_char) - 2 * max(found.start, span.start_char) > len(
                    span.text
                ):
                    votes.setdefault(found.name, Counter())[kind or ""] += 1
    return {
        name: min(counts, key=lambda kind: (-counts[kind], kind))
        for name, counts in votes.items()
        if normalise_name(name)
    }
