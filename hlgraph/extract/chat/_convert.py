"""Converts parsed replies to an extraction: checks names against the list, finds spans in the chunk; pure functions."""

from __future__ import annotations

from collections.abc import Sequence

from hlgraph.extract.chat.reply_schema import FoundEntity, FoundFact, FoundProposition
from hlgraph.extract.placing import ChunkText, spelled
from hlgraph.extract.seam import ChunkInput
from hlgraph.ids import normalise_name
from hlgraph.records import Extraction, Mention, Proposition, Triple

_ARTICLES = ("the ", "a ", "an ")


class _Names:
    """The listed entities by normalised name, and the names that are neither listed nor in their sentence."""

    def __init__(self, entities: Sequence[FoundEntity]) -> None:
        self.listed: dict[str, Mention] = {}
        for item in entities:
            name = normalise_name(item.name)
            if name:
                self.listed.setdefault(name, Mention(item.name, item.kind))
        self.foreign: dict[str, None] = {}

    def of(self, name: str) -> Mention | None:
        """The listed entity with this name, with or without a leading article."""
        given = normalise_name(name)
        bare = next((given.removeprefix(article) for article in _ARTICLES if given.startswith(article)), given)
        return self.listed.get(given) or self.listed.get(bare)

    def mention(self, name: str, words: str) -> Mention | None:
        """The listed entity with this name; else the name itself if the sentence has it; else None, and ``foreign`` has it."""
        found = self.of(name)
        if found is None and normalise_name(name) and spelled(name) in words:
            found = Mention(name)
        if found is None:
            self.foreign[name] = None
        return found


def to_extraction(
    chunk: ChunkInput, entities: Sequence[FoundEntity], propositions: Sequence[FoundProposition]
) -> tuple[Extraction, tuple[str, ...]]:
    """The extraction in two parsed replies, and the names that were left out.

    A name that is neither listed nor in its sentence is left out, together with the facts whose subject it is. An object
    that is not listed is a literal. The span of a proposition is the place of its words, else the sentence that shares the
    most of its content words (at least half), else the whole chunk.

    Parameters
    ----------
    chunk : the chunk
    entities : the entities in the first reply
    propositions : the propositions in the second reply

    Returns
    -------
    tuple
        The extraction, and the names that were left out.
    """
    names = _Names(entities)
    text = ChunkText(chunk.text)
    fallback = next((topic for topic in (*reversed(chunk.headings), chunk.title) if topic.strip()), "")
    found = tuple(_proposition(item, names, text, fallback) for item in propositions)
    topics = tuple(dict.fromkeys(topic for item in found for topic in item.topics))
    return Extraction(found, topics), tuple(names.foreign)


def _proposition(item: FoundProposition, names: _Names, text: ChunkText, fallback: str) -> Proposition:
    words = spelled(item.text)
    start, end = text.find(item.text) or text.closest(item.text) or (0, len(text.text))
    mentions = dict.fromkeys(mention for name in item.entities if (mention := names.mention(name, words)))
    triples = dict.fromkeys(triple for fact in item.facts if (triple := _triple(fact, names, words)))
    for triple in triples:
        ends = (triple.subject,) if triple.is_literal else (triple.subject, triple.object)
        mentions |= dict.fromkeys(mention for name in ends if (mention := names.mention(name, words)))
    return Proposition(
        text=item.text,
        start=start,
        end=end,
        topics=tuple(dict.fromkeys(item.topics)) or ((fallback,) if fallback else ()),
        mentions=tuple(mentions),
        triples=tuple(triples),
    )


def _triple(fact: FoundFact, names: _Names, words: str) -> Triple | None:
    subject = names.mention(fact.subject, words)
    if subject is None:
        return None
    listed = names.of(fact.object)
    return Triple(subject.name, fact.predicate, listed.name if listed else fact.object, is_literal=listed is None)
