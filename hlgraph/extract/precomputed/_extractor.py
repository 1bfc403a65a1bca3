"""The extractor for files of records.

:func:`read_record` parses a line in any of the three forms into a :class:`Record`. :func:`read_files` indexes the records of
several files by id. :func:`merge` combines the records of a document into the extraction of one of its chunks.
"""

from __future__ import annotations

import gzip
import hashlib
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal, TypeAlias

import msgspec

from hlgraph.errors import ExtractionError
from hlgraph.extract.extractor import ChunkInput, ChunkText, Extractor, spelled
from hlgraph.ids import checksum, normalise_name
from hlgraph.records import Extraction, Mention, Proposition, Triple, group_by

# Lines.


Form: TypeAlias = Literal["own", "triples", "propositions"]
"""The form of a line, see the docstring of the package."""


@dataclass(frozen=True, slots=True)
class GivenStatement:
    """A statement of a record; ``span`` is None if the record gives none."""

    text: str
    mentions: tuple[Mention, ...] = ()
    topics: tuple[str, ...] = ()
    triples: tuple[Triple, ...] = ()
    details: tuple[str, ...] = ()
    span: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True)
class Record:
    """One line: the extraction of one document, or of one of its chunks.

    Attributes
    ----------
    key : id that the line names
    form : form of the line
    chunk : index of the chunk; None for the whole document
    statements, mentions, triples, topics : what was extracted
    digest : SHA-256 of the line
    """

    key: str
    form: Form
    chunk: int | None
    statements: tuple[GivenStatement, ...]
    mentions: tuple[Mention, ...]
    triples: tuple[Triple, ...]
    topics: tuple[str, ...]
    digest: str = field(compare=False)


class _Entity(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    name: str
    kind: str = ""


class _Fact(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    subject: str
    predicate: str
    object: str | None = None
    complement: str | None = None


_Entities = tuple[str | _Entity, ...]
_Facts = tuple[tuple[str, str, str] | _Fact, ...]


class _Statement(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    text: str
    entities: _Entities = ()
    topics: tuple[str, ...] = ()
    facts: _Facts = ()
    details: tuple[str, ...] = ()
    span: tuple[int, int] | None = None


class _Proposition(msgspec.Struct, frozen=True):
    text: str
    entities: _Entities = ()


class _Head(msgspec.Struct, frozen=True):
    id: str | int | None = None
    passage_id: str | int | None = None
    statements: msgspec.Raw = msgspec.Raw()
    propositions: msgspec.Raw = msgspec.Raw()
    triples: msgspec.Raw = msgspec.Raw()
    entities: msgspec.Raw = msgspec.Raw()


class _Own(msgspec.Struct, frozen=True):
    chunk: int | None = None
    statements: tuple[_Statement, ...] = ()
    topics: tuple[str, ...] = ()
    entities: _Entities = ()
    triples: _Facts = ()


class _Extracted(msgspec.Struct, frozen=True):
    entities: _Entities = ()
    triples: tuple[tuple[str, str, str], ...] = ()


class _Proposed(msgspec.Struct, frozen=True):
    propositions: tuple[_Proposition, ...]


_HEAD = msgspec.json.Decoder(_Head)
_OWN = msgspec.json.Decoder(_Own)
_EXTRACTED = msgspec.json.Decoder(_Extracted)
_PROPOSED = msgspec.json.Decoder(_Proposed)
_MEND = "see the forms in the documentation of hlgraph.extract.precomputed"


class LineError(ExtractionError):
    """A line is not a valid record; ``key`` is the id that it names, empty if that could not be read."""

    def __init__(self, reason: str, key: str = "") -> None:
        super().__init__(reason)
        self.key = key


def read_record(line: bytes) -> Record:
    """The record of one line.

    Raises
    ------
    LineError
        The line is not a JSON object, names no id, or has a field of the wrong type.

    Examples
    --------
    >>> record = read_record(b'{"passage_id": 7, "entities": ["ada"], "triples": [["ada", "born in", "1815"]]}')
    >>> record.key, record.form, record.triples[0].is_literal
    ('7', 'triples', True)
    """
    key = ""
    try:
        head = _HEAD.decode(line)
        name = head.id if head.id is not None else head.passage_id
        key = "" if name is None else str(name).strip()
        return _read(line, head, key)
    except LineError as error:
        error.key = key
        raise
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise LineError(f"{error}; {_MEND}", key) from error
    except RecursionError as error:
        raise LineError("the JSON is nested too deeply; a record has four levels", key) from error


def _read(line: bytes, head: _Head, key: str) -> Record:
    if not key:
        raise LineError(f"the record has neither id nor passage_id; {_MEND}")
    digest = hashlib.sha256(line).hexdigest()
    if head.id is not None:
        if not (len(head.statements) or len(head.triples) or len(head.entities)):
            raise LineError(f"the record has neither statements nor triples nor entities; {_MEND}")
        own = _OWN.decode(line)
        statements = tuple(map(_statement, own.statements))
        triples = tuple(map(_fact, own.triples))
        return Record(key, "own", own.chunk, statements, _mentions(own.entities), triples, own.topics, digest)
    if len(head.propositions):
        proposed = _PROPOSED.decode(line).propositions
        statements = tuple(_statement(_Statement(each.text, each.entities)) for each in proposed)
        return Record(key, "propositions", None, statements, (), (), (), digest)
    if not (len(head.triples) or len(head.entities)):
        raise LineError(f"the record has neither propositions nor triples nor entities; {_MEND}")
    extracted = _EXTRACTED.decode(line)
    mentions = _mentions(extracted.entities)
    known = {normalise_name(mention.name) for mention in mentions}
    triples = tuple(Triple(s, p, o, bool(known) and normalise_name(o) not in known) for s, p, o in extracted.triples)
    return Record(key, "triples", None, (), mentions, triples, (), digest)


def _statement(given: _Statement) -> GivenStatement:
    if not given.text.strip():
        raise LineError("a statement has no text; remove it or give it a text")
    triples = tuple(map(_fact, given.facts))
    return GivenStatement(given.text, _mentions(given.entities), given.topics, triples, given.details, given.span)


def _fact(fact: tuple[str, str, str] | _Fact) -> Triple:
    if isinstance(fact, tuple):
        return Triple(*fact)
    if (fact.object is None) == (fact.complement is None):
        raise LineError("a fact needs an object (an entity) or a complement (a literal), and not both")
    is_literal = fact.object is None
    return Triple(fact.subject, fact.predicate, (fact.complement if is_literal else fact.object) or "", is_literal)


def _mentions(entities: _Entities) -> tuple[Mention, ...]:
    pairs = ((entity, "") if isinstance(entity, str) else (entity.name, entity.kind.lower()) for entity in entities)
    return tuple(Mention(name, kind) for name, kind in pairs if normalise_name(name))


# Files.


_GZIP = b"\x1f\x8b"
_BOM = b"\xef\xbb\xbf"


@dataclass(slots=True)
class Index:
    """The content of several files.

    Attributes
    ----------
    records : records by id
    problems : descriptions of unusable lines, in the order of the files
    broken : by id, the problem of an unusable line that names it
    digest : SHA-256 of all lines
    """

    records: dict[str, list[Record]] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    broken: dict[str, str] = field(default_factory=dict)
    digest: str = ""


def read_files(paths: Sequence[Path]) -> Index:
    """The index of several files.

    An invalid line, a truncated gzip stream, and a second record that contradicts the first in its file are problems; the
    rest of the file is used.

    Raises
    ------
    ExtractionError
        A file cannot be opened, or holds no record at all.
    """
    index = Index()
    digest = hashlib.sha256()
    for path in paths:
        seen: dict[tuple[str, str, int | None], Record] = {}
        before = len(index.problems)
        for number, line in _lines(path, index.problems):
            digest.update(line + b"\n")
            try:
                record = read_record(line)
            except LineError as error:
                problem = f"{path}, line {number}: {error}"
                index.problems.append(problem)
                if error.key:
                    index.broken[error.key] = problem
                continue
            _add(index, seen, record, where=f"{path}, line {number}")
        if not seen:
            first = f": {index.problems[before]}" if len(index.problems) > before else ""
            raise ExtractionError(f"{path}: the file holds no record{first or '; is it the right file?'}")
    index.digest = digest.hexdigest()
    return index


def _lines(path: Path, problems: list[str]) -> Iterator[tuple[int, bytes]]:
    """Number and content of each line that is not blank."""
    number = 0
    try:
        with path.open("rb") as file:
            magic = file.read(2)
            file.seek(0)
            with gzip.open(file) if magic == _GZIP else file as stream:
                for number, raw in enumerate(stream, start=1):
                    line = raw.removeprefix(_BOM).strip() if number == 1 else raw.strip()
                    if line:
                        yield number, line
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        problems.append(f"{path}: the gzip stream is cut off after line {number} ({error}); copy the file again")
    except OSError as error:
        raise ExtractionError(
            f"{path}: cannot be read ({error.strerror}); check the path and its permissions"
        ) from error


def _add(index: Index, seen: dict[tuple[str, str, int | None], Record], record: Record, *, where: str) -> None:
    place = (record.key, record.form, record.chunk)
    earlier = seen.get(place)
    if earlier is None:
        seen[place] = record
        records = index.records.setdefault(record.key, [])
        if record not in records:  # the same record in two files counts once
            records.append(record)
    elif earlier != record:
        index.problems.append(
            f"{where}: a second, different record for {record.key!r} is ignored; give each id once per file"
        )


# Merging.


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
    owned = [(record, chunk.chunk_count == 1 or record.chunk is not None) for record in records]
    for record, is_whole in owned:
        for statement in record.statements:
            span = _place(statement, text, takes_all=is_whole)
            if span is not None:
                _collect(drafts, statement, span)
    if not any(record.statements for record in records):
        for record, is_whole in owned:
            _add_triple_statements(drafts, record, text, takes_all=is_whole)
    if drafts:
        for record, is_whole in owned:
            _attach(list(drafts.values()), record, text, is_whole=is_whole)
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
    span = text.find(given.text)
    if span is None and (takes_all or text.share(given.text) >= _HALF):
        return whole
    return span


def _collect(drafts: dict[str, _Draft], given: GivenStatement, span: tuple[int, int]) -> None:
    words = " ".join(given.text.split())
    draft = drafts.setdefault(words, _Draft(words, span, spelled(words)))
    for mention in given.mentions:
        draft.mention(mention)
    draft.triples.update(dict.fromkeys(given.triples))
    draft.topics.update(dict.fromkeys(given.topics))
    draft.details.update(dict.fromkeys(given.details))


def _add_triple_statements(drafts: dict[str, _Draft], record: Record, text: ChunkText, *, takes_all: bool) -> None:
    """Add a statement "subject predicate object" per triple, at the sentence that names both ends, else the whole chunk."""
    for triple in record.triples:
        words = " ".join(f"{triple.subject} {triple.predicate} {triple.object}".split())
        span = text.sentence_with(triple.subject, triple.object)
        if words and (takes_all or span or text.share(words) >= _HALF):
            draft = drafts.setdefault(words, _Draft(words, span or (0, len(text.text)), spelled(words)))
            draft.triples[triple] = None


def _attach(drafts: Sequence[_Draft], record: Record, text: ChunkText, *, is_whole: bool) -> None:
    """Attach the triples and entities outside statements to the statements that name them."""
    for triple in record.triples:
        if all(triple not in draft.triples for draft in drafts):
            for draft in _home(drafts, triple, text, is_whole=is_whole):
                draft.triples[triple] = None
    for mention in record.mentions:
        name = spelled(mention.name)
        homes = [draft for draft in drafts if name in draft.spelled]
        if not homes and not any(draft.names(mention.name) for draft in drafts) and (is_whole or name in text.spelled):
            where = text.sentence_with(mention.name)
            around = [draft for draft in drafts if where and draft.span[0] <= where[0] < draft.span[1]]
            homes = [*around, drafts[0]][:1]
        for draft in homes:
            draft.mention(mention)


def _home(drafts: Sequence[_Draft], triple: Triple, text: ChunkText, *, is_whole: bool) -> list[_Draft]:
    """The statements that name both ends of a triple, else the first that names its subject, else the first."""
    subjects = [draft for draft in drafts if draft.names(triple.subject)]
    both = [draft for draft in subjects if draft.names(triple.object)]
    if subjects:
        return both or subjects[:1]
    is_here = is_whole or spelled(triple.subject) in text.spelled
    return [drafts[0]] if is_here else []


def _finish(draft: _Draft, text: ChunkText, fallback: str) -> Proposition:
    for triple in draft.triples:
        draft.mention(Mention(triple.subject))
        if not triple.is_literal:
            draft.mention(Mention(triple.object))
    return Proposition(
        text=draft.text,
        start=draft.span[0],
        end=draft.span[1],
        topics=tuple(draft.topics) or ((fallback,) if fallback else ()),
        mentions=tuple(text.as_written(mention) for mention in draft.mentions.values()),
        triples=tuple(draft.triples),
        details=tuple(draft.details),
    )


_VERSION = "precomputed/1"


class PrecomputedExtractor:
    """An extractor that looks up each chunk in files of records; the package's docstring describes their format.

    A record is looked up by the document's key, else by its uri, else by the part of the uri after ``#``. Files are read once,
    into memory. The text of a statement is used as it is, with white space folded. Names in lower case get the
    capitalisation that they have in the chunk. A statement without a topic gets the deepest heading, else the title.

    Parameters
    ----------
    paths : one or several files of JSON lines, plain or gzip
    missing : extracts the chunks that have no record; None gives them a problem and no propositions

    Raises
    ------
    ExtractionError
        A file cannot be read or holds no record. A single invalid line does not raise: see :attr:`problems`.
    """

    def __init__(self, paths: Path | str | Sequence[Path | str], *, missing: Extractor | None = None) -> None:
        files = [paths] if isinstance(paths, (Path, str)) else list(paths)
        self._paths = [Path(path) for path in files]
        self._missing = missing
        self._index = read_files(self._paths)
        self._begun: dict[tuple[str | None, str], tuple[set[int], set[str]]] = {}

    @property
    def fingerprint(self) -> str:
        """Name, version and a hash of the content of the files, and the extractor of chunks without a record."""
        suffix = f"+{self._missing.fingerprint}" if self._missing else ""
        return f"{_VERSION}/{self._index.digest[:32]}{suffix}"

    @property
    def problems(self) -> tuple[str, ...]:
        """The unusable lines, in the order of the files: file, line, reason and remedy."""
        return tuple(self._index.problems)

    def extract(self, chunks: Sequence[ChunkInput]) -> list[Extraction]:
        """One extraction per chunk, in order. A chunk without a record gets a problem, unless another extractor handles it."""
        extractions = [self._extract(chunk) for chunk in chunks]
        if self._missing is not None:
            without = [i for i, chunk in enumerate(chunks) if self._is_missing(chunk)]
            others = self._missing.extract([chunks[i] for i in without])
            for i, extraction in zip(without, others, strict=True):
                extractions[i] = extraction
        for first, lost in self._lost(chunks, extractions):
            problem = (
                f"{len(lost)} statements of {chunks[first].key or chunks[first].uri!r} match none of its chunks,"
                f" the first is {lost[0][:80]!r}; name their chunk with `chunk`"
            )
            extractions[first] = replace(extractions[first], problem=extractions[first].problem or problem)
        return extractions

    def input_fingerprint(self, chunk: ChunkInput) -> str:
        """Hash of the records of this chunk, its text and its context; records of other chunks do not affect it."""
        if self._missing is not None and self._is_missing(chunk):
            return self._missing.input_fingerprint(chunk)
        records = self._records(chunk)
        position = str(chunk.position) if any(record.chunk is not None for record in self._of_document(chunk)) else ""
        shape = "one" if chunk.chunk_count == 1 else "many"
        digests = [record.digest for record in records]
        return checksum(_VERSION, chunk.text, chunk.title, shape, position, *chunk.headings, "", *digests)

    def _is_missing(self, chunk: ChunkInput) -> bool:
        """Whether the files have no line about the chunk, not even a broken one."""
        return not self._records(chunk) and self._index.broken.keys().isdisjoint(self._keys(chunk))

    def _keys(self, chunk: ChunkInput) -> list[str]:
        return [name for name in (chunk.key, chunk.uri, chunk.uri.partition("#")[2]) if name]

    def _of_document(self, chunk: ChunkInput) -> list[Record]:
        for name in self._keys(chunk):
            if name in self._index.records:
                return self._index.records[name]
        return []

    def _records(self, chunk: ChunkInput) -> list[Record]:
        return [record for record in self._of_document(chunk) if record.chunk in (None, chunk.position)]

    def _lost(self, chunks: Sequence[ChunkInput], extractions: Sequence[Extraction]) -> Iterator[tuple[int, list[str]]]:
        """For each document whose last chunks are given: its first one of these, and the statements that no chunk took.

        The chunks of a large document come in consecutive calls.
        """
        parts = (i for i, chunk in enumerate(chunks) if chunk.chunk_count > 1)
        documents = group_by(parts, lambda i: (chunks[i].key, chunks[i].uri))
        begun, self._begun = self._begun, {}
        for name, indices in documents.items():
            positions, taken = begun.get(name, (set(), set()))
            positions |= {chunks[i].position for i in indices}
            taken |= {proposition.text for i in indices for proposition in extractions[i].propositions}
            if len(positions) < chunks[indices[0]].chunk_count:
                self._begun[name] = positions, taken
                continue
            records = (record for record in self._of_document(chunks[indices[0]]) if record.chunk is None)
            texts = (" ".join(statement.text.split()) for record in records for statement in record.statements)
            lost = [text for text in texts if text not in taken]
            if lost:
                yield indices[0], lost

    def _extract(self, chunk: ChunkInput) -> Extraction:
        records = self._records(chunk)
        if not records:
            return Extraction(problem=self._why_none(chunk))
        if not any(record.statements or record.triples for record in records):
            return Extraction(problem=f"the record of {chunk.key or chunk.uri!r} has neither statements nor triples")
        return merge(records, chunk)

    def _why_none(self, chunk: ChunkInput) -> str:
        name = chunk.key or chunk.uri
        files = ", ".join(str(path) for path in self._paths)
        if self._of_document(chunk):
            return f"no record for chunk {chunk.position} of {name!r} in {files}; add one, or records without `chunk`"
        for key in self._keys(chunk):
            if key in self._index.broken:
                return f"no record for {name!r}: {self._index.broken[key]}"
        return f"no record for {name!r} in {files}; its id must be the document's key or uri"
