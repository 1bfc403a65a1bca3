"""Merges the records of a document into the extraction of one of its chunks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from hlgraph.extract.placing import ChunkText, spelled
from hlgraph.extract.precomputed._records import GivenStatement, Record
from hlgraph.extract.seam import ChunkInput
from hlgraph.ids import normalise_name
from hlgraph.records import Extraction, Mention, Proposition, Triple

_HALF = 0.5


@dataclass(slots=True)
class _Draft:
    """A proposition under construction. ``spelled`` holds its words, for finding names in it."""

    text: str
    span: tuple[int, int]
    spelled: str
    mentions: dict[str, Mention] = field(default_factory=dict)
    triples: dict[Triple, None] = field(default_factory=dict)
    topics: dict[str, None] = field(default_factory=dict)
    details: dict[str, None] = field(default_factory=dict)

    def mention(self, mention: Mention) -> None:
        """Add a mention; the first known kind of a name is kept."""
        name = normalise_name(mention.name)
        if name and (name not in self.mentions or (mention.kind and not self.mentions[name].kind)):
            self.mentions[name] = mention

    def names(self, name: str) -> bool:
        """Whether the text or the mentions contain a name."""
        return normalise_name(name) in self.mentions or spelled(name) in self.spelled


def merge(records: Sequence[Record], chunk: ChunkInput) -> Extraction:
    """The extraction of a chunk from the records of its document.

    If the document has one chunk, it gets everything. With several chunks, a statement goes to each chunk that contains its
    words (ignoring case and white space) or half of its content words; a triple or an entity goes to each that names it.

    Parameters
    ----------
    records : records for the whole document or for this chunk
    chunk : the chunk

    Returns
    -------
    Extraction
        The extraction; empty if no record applies to the chunk.
    """
    text = ChunkText(chunk.text)
    drafts: dict[str, _Draft] = {}
    for record in records:
        takes_all = chunk.chunk_count == 1 or record.chunk is not None
        for given in record.statements:
            span = _place(given, text, takes_all=takes_all)
            if span is not None:
                _collect(drafts, given, span)
    if not any(record.statements for record in records):
        for record in records:
            _add_triple_statements(drafts, record, text, takes_all=chunk.chunk_count == 1 or record.chunk is not None)
    if drafts:
        for record in records:
            _attach(list(drafts.values()), record, text, is_whole=chunk.chunk_count == 1 or record.chunk is not None)
    topics = dict.fromkeys(topic for record in records for topic in record.topics)
    fallback = next((topic for topic in (*reversed(chunk.headings), chunk.title) if topic.strip()), "")
    propositions = tuple(_finish(draft, text, fallback or next(iter(topics), "")) for draft in drafts.values())
    topics.update(dict.fromkeys(topic for proposition in propositions for topic in proposition.topics))
    return Extraction(propositions, tuple(topics))


def _place(given: GivenStatement, text: ChunkText, *, takes_all: bool) -> tuple[int, int] | None:
    """The span of a statement in this chunk; the whole chunk if its words are not found; None if it belongs elsewhere."""
    whole = (0, len(text.text))
    if takes_all and given.span and 0 <= given.span[0] < given.span[1] <= whole[1]:
        return given.span
    found = text.find(given.text)
    if found is None and (takes_all or text.share(given.text) >= _HALF):
        return whole
    return found


def _collect(drafts: dict[str, _Draft], given: GivenStatement, span: tuple[int, int]) -> None:
    words = " ".join(given.text.split())
    draft = drafts.setdefault(words, _Draft(words, span, spelled(words)))
    for mention in given.mentions:
        draft.mention(mention)
    draft.triples.update(dict.fromkeys(given.triples))
    draft.topics.update(dict.fromkeys(given.topics))
    draft.details.update(dict.fromkeys(given.details))


def _add_triple_statements(drafts: dict[str, _Draft], record: Record, text: ChunkText, *, takes_all: bool) -> None:
    """Adds a statement "subject predicate object" per triple, at the sentence that names both ends, else the whole chunk."""
    for triple in record.triples:
        words = " ".join(f"{triple.subject} {triple.predicate} {triple.object}".split())
        span = text.sentence_with(triple.subject, triple.object)
        if words and (takes_all or span or text.share(words) >= _HALF):
            draft = drafts.setdefault(words, _Draft(words, span or (0, len(text.text)), spelled(words)))
            draft.triples[triple] = None


def _attach(drafts: Sequence[_Draft], record: Record, text: ChunkText, *, is_whole: bool) -> None:
    """Attaches the triples and entities outside of statements to the statements that name them."""
    for triple in record.triples:
        if all(triple not in draft.triples for draft in drafts):
            for draft in _home(drafts, triple, text, is_whole=is_whole):
                draft.triples[triple] = None
    for mention in record.mentions:
        name = spelled(mention.name)
        homes = [draft for draft in drafts if name in draft.spelled]
        if not homes and not any(draft.names(mention.name) for draft in drafts) and (is_whole or name in text.spelled):
            where = text.sentence_with(mention.name)
            homes = [draft for draft in drafts if where and draft.span[0] <= where[0] < draft.span[1]][:1] or [
                drafts[0]
            ]
        for draft in homes:
            draft.mention(mention)


def _home(drafts: Sequence[_Draft], triple: Triple, text: ChunkText, *, is_whole: bool) -> list[_Draft]:
    """The statements that name both ends of a triple, else the first that names its subject, else the first."""
    subjects = [draft for draft in drafts if draft.names(triple.subject)]
    both = [draft for draft in subjects if draft.names(triple.object)]
    if both or subjects:
        return both or subjects[:1]
    is_here = is_whole or spelled(triple.subject) in text.spelled
    return [drafts[0]] if is_here else []


def _finish(draft: _Draft, text: ChunkText, fallback: str) -> Proposition:
    for triple in draft.triples:
        for mention in _ends(triple):
            draft.mention(mention)
    return Proposition(
        text=draft.text,
        start=draft.span[0],
        end=draft.span[1],
        topics=tuple(draft.topics) or ((fallback,) if fallback else ()),
        mentions=tuple(text.as_written(mention) for mention in draft.mentions.values()),
        triples=tuple(draft.triples),
        details=tuple(draft.details),
    )


def _ends(triple: Triple) -> Iterator[Mention]:
    yield Mention(triple.subject)
    if not triple.is_literal:
        yield Mention(triple.object)
