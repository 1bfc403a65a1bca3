"""The rule-based extractor: no model, no download, one pass over the text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from hlgraph.extract.local._facts import find_triples, row_triples
from hlgraph.extract.local._kinds import kinds_in
from hlgraph.extract.local._mentions import find_mentions
from hlgraph.extract.local._names import Shape
from hlgraph.extract.local._topics import Title, chunk_topics, is_named, read_title, unit_topics
from hlgraph.extract.local._units import Found, Unit, units
from hlgraph.extract.seam import ChunkInput
from hlgraph.ids import checksum, normalise_name
from hlgraph.records import Extraction, Mention, Proposition, Triple
from hlgraph.text import BlockKind

_FINGERPRINT = "local/2"


class LocalExtractor:
    """An extractor with rules over capitals, dates, quotes and verbs; needs no model.

    A proposition is a sentence (or a table row, or a block of code), preceded by the title and the deepest heading if the
    sentence does not name them: ``Title, Heading: sentence``. Its text depends on the sentence, the title and the heading
    only, so that a sentence in the overlap of two chunks is one statement. So pronouns are not resolved and acronyms are not
    expanded in the text, since both need more context; mentions do take the full name from the chunk.

    If the title is a name, every proposition mentions it, without a disambiguation in parentheses ("The Beach" for "The
    Beach (film)"). The first proposition of a chunk also mentions the full title and the name without its article. Names in
    scripts without capitals are found if they are quoted, bracketed, written in katakana or Latin letters, or equal to the
    title. Entities in lower case ("reality television series") are not found.

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
        """Always empty, since the rules read no files."""
        return ()

    def extract(self, chunks: Sequence[ChunkInput]) -> list[Extraction]:
        """One extraction per chunk, in order, in time linear in the length of the texts."""
        return [_extract(chunk) for chunk in chunks]

    def input_fingerprint(self, chunk: ChunkInput) -> str:
        """Hash of everything that the rules read: their version, the text, the title and the headings."""
        return checksum(_FINGERPRINT, chunk.text, chunk.title, *chunk.headings)


def _extract(chunk: ChunkInput) -> Extraction:
    title = read_title(chunk.title)
    parts = list(units(chunk.text, chunk.headings))
    if not parts:
        return Extraction()
    mentions, evidence = find_mentions(chunk.text, parts, title)
    topics = chunk_topics(parts, mentions, title, headings=chunk.headings)
    triples = [_triples(unit, found, title) for unit, found in zip(parts, mentions, strict=True)]
    kinds = kinds_in((triple for some in triples for triple in some), title)
    propositions: dict[str, Proposition] = {}
    for unit, found, facts in zip(parts, mentions, triples, strict=True):
        text = _self_contained(unit, title)
        if text in propositions:
            continue  # equal texts in a chunk are one statement, at the first place
        names = [*_context(unit, title, evidence, is_first=not propositions), *found]
        propositions[text] = Proposition(
            text=text,
            start=unit.start,
            end=unit.end,
            topics=unit_topics(unit, topics, title),
            mentions=_distinct(names, kinds),
            triples=facts,
        )
    return Extraction(tuple(propositions.values()), topics)


def _triples(unit: Unit, found: Sequence[Found], title: Title) -> tuple[Triple, ...]:
    if unit.kind is BlockKind.CODE:
        return ()
    if unit.kind is BlockKind.ROW:
        return tuple(row_triples(unit, found, title))
    return tuple(find_triples(unit.text, found, title))


def _self_contained(unit: Unit, title: Title) -> str:
    """The sentence, preceded by the title and the heading if it does not name them."""
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


def _distinct(found: Sequence[Found], kinds: Mapping[str, str]) -> tuple[Mention, ...]:
    """One mention per name, in order, with the first known kind."""
    mentions: dict[str, Mention] = {}
    for _, _, name, own_kind in found:
        key, kind = normalise_name(name), own_kind or kinds.get(name, "")
        if key and (key not in mentions or (kind and not mentions[key].kind)):
            mentions[key] = Mention(mentions[key].name if key in mentions else name, kind)
    return tuple(mentions.values())
