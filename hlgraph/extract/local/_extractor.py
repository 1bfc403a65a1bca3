"""The extractor by rules: no model, no download, one pass."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from hlgraph.extract.local._layout import Unit, units
from hlgraph.extract.local._mentions import find_mentions
from hlgraph.extract.local._title import Title, is_named, read_title
from hlgraph.extract.local._tokens import Shape
from hlgraph.extract.local._topics import chunk_topics, unit_topics
from hlgraph.extract.local._triples import find_triples
from hlgraph.extract.local._values import Found
from hlgraph.extract.seam import ChunkInput
from hlgraph.ids import checksum, normalise_name
from hlgraph.records import Extraction, Mention, Proposition

_FINGERPRINT = "local/1"


class LocalExtractor:
    """Finds propositions, mentions, facts and topics by rules over capitals, dates, quotes and verbs.

    A proposition is a sentence (a table row, a block of code) with the title and the deepest heading in front, where
    the sentence does not name them: ``Title, Heading: sentence``. Only the sentence, the title and the heading go into
    its text, so that a sentence in the overlap of two chunks is one statement. Pronouns are left alone and acronyms are not
    written out, as neither can be told from the sentence alone; mentions do take the full name from the chunk.

    Every proposition mentions the title, where that is a name, without its disambiguation in brackets ("The Beach" for
    "The Beach (film)"); the first proposition of a chunk also mentions the full title and the name without its article.
    Names in scripts without capitals are found where they are quoted, bracketed, written in katakana or Latin letters, or
    are the title. Recall is that of rules: entities in lower case ("reality television series") are not found.

    Examples
    --------
    >>> chunk = ChunkInput(text="It was released in 2007 by Orion Books.", title="The Bourne Betrayal")
    >>> proposition = LocalExtractor().extract([chunk])[0].propositions[0]
    >>> proposition.text
    'The Bourne Betrayal: It was released in 2007 by Orion Books.'
    >>> [mention.name for mention in proposition.mentions]
    ['The Bourne Betrayal', 'Bourne Betrayal', '2007', 'Orion Books']
    >>> [(triple.predicate, triple.object) for triple in proposition.triples]
    [('was released in', '2007'), ('was released by', 'Orion Books')]
    """

    @property
    def fingerprint(self) -> str:
        """Name and version of the rules."""
        return _FINGERPRINT

    @property
    def problems(self) -> tuple[str, ...]:
        """None: rules read no files."""
        return ()

    def extract(self, chunks: Sequence[ChunkInput]) -> list[Extraction]:
        """One extraction a chunk, in order; linear in the length of the texts."""
        return [_extract(chunk) for chunk in chunks]

    def input_fingerprint(self, chunk: ChunkInput) -> str:
        """A hash of the rules' version, the text, the title and the headings: all that the rules look at."""
        return checksum(_FINGERPRINT, chunk.text, chunk.title, *chunk.headings)


def _extract(chunk: ChunkInput) -> Extraction:
    title = read_title(chunk.title)
    parts = list(units(chunk.text, chunk.headings))
    if not parts:
        return Extraction()
    mentions, evidence = find_mentions(chunk.text, parts, title)
    topics = chunk_topics(parts, mentions, title, headings=chunk.headings)
    propositions: dict[str, Proposition] = {}
    for unit, found in zip(parts, mentions, strict=True):
        text = _self_contained(unit, title)
        if text in propositions:
            continue  # the same words twice in a chunk are one statement, at the first place
        names = [*_context(unit, title, evidence, is_first=not propositions), *found]
        propositions[text] = Proposition(
            text=text,
            start=unit.start,
            end=unit.end,
            topics=unit_topics(unit, topics, title),
            mentions=_distinct(names),
            triples=tuple(find_triples(unit.text, found, title)),
        )
    return Extraction(tuple(propositions.values()), topics)


def _self_contained(unit: Unit, title: Title) -> str:
    """The sentence with what it does not say itself in front: the title and the heading."""
    context = []
    if title.full and not is_named(unit.text, title):
        context.append(title.full)
    if unit.heading and unit.heading != title.full and unit.heading.lower() not in unit.text.lower():
        context.append(unit.heading)
    return f"{', '.join(context)}: {unit.text}" if context else unit.text


def _context(unit: Unit, title: Title, evidence: Shape, *, is_first: bool) -> Iterator[Found]:
    """Mentions that come from the title and the heading of a sentence."""
    if title.is_name:
        yield Found(0, 0, title.bare, "")
        if is_first:
            for alias in title.aliases:
                yield Found(0, 0, alias, "")
    heading = unit.heading.split()
    capitals = [word for word in heading if word[0].isupper()]
    if 0 < len(heading) <= 6 and capitals and heading[0] in capitals and evidence.capital.issuperset(capitals):
        yield Found(0, 0, unit.heading, "")


def _distinct(found: Sequence[Found]) -> tuple[Mention, ...]:
    """One mention a name, in order; the first kind that is known stays."""
    mentions: dict[str, Mention] = {}
    for _, _, name, kind in found:
        key = normalise_name(name)
        if key and (key not in mentions or (kind and not mentions[key].kind)):
            mentions[key] = Mention(mentions[key].name if key in mentions else name, kind)
    return tuple(mentions.values())
