"""From what a model replied to an extraction: names held to the list, spans found in the chunk; pure."""

from __future__ import annotations

from collections.abc import Sequence

from hlgraph.extract.chat.reply_schema import FoundEntity, FoundFact, FoundProposition
from hlgraph.extract.placing import ChunkText, spelled
from hlgraph.extract.seam import ChunkInput
from hlgraph.ids import normalise_name
from hlgraph.records import Extraction, Mention, Proposition, Triple

_ARTICLES = ("the ", "a ", "an ")


class _Names:
    """The listed entities, by normalised name, and what was named beside them and beside the words of its sentence."""

    def __init__(self, entities: Sequence[FoundEntity]) -> None:
        self.listed: dict[str, Mention] = {}
        for item in entities:
            name = normalise_name(item.name)
            if name:
                self.listed.setdefault(name, Mention(item.name, item.kind))
        self.foreign: dict[str, None] = {}

    def of(self, name: str) -> Mention | None:
        """The listed entity of this name, with an article in front of it or without."""
        given = normalise_name(name)
        bare = next((given.removeprefix(article) for article in _ARTICLES if given.startswith(article)), given)
        return self.listed.get(given) or self.listed.get(bare)

    def mention(self, name: str, words: str) -> Mention | None:
        """The listed entity of this name; else the name itself, if the sentence has it; else None, and it is noted."""
        found = self.of(name)
        if found is None and normalise_name(name) and spelled(name) in words:
            found = Mention(name)
        if found is None:
            self.foreign[name] = None
        return found


def to_extraction(
    chunk: ChunkInput, entities: Sequence[FoundEntity], propositions: Sequence[FoundProposition]
) -> tuple[Extraction, tuple[str, ...]]:
    """The extraction that two replies say, and the names that were left out.

    A name that is neither in the list nor in its sentence is left out, with the fact whose subject it is. An object that is
    not in the list is a literal. The span of a proposition is where its words stand, else the sentence that shares most of
    its words (half at least), else the chunk.
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
