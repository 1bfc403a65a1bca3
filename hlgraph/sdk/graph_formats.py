"""Writes the graph of a corpus to files of other tools: GraphML, GEXF (Gephi), Parquet, and JSON-LD with PROV-O.

GraphML and GEXF hold the knowledge graph: entities, and facts as edges between them; a fact about a literal leads to a node of its
own. Parquet and JSON-LD hold sources, chunks, statements, facts and entities with the links between them, Parquet their vectors,
too. All is read page by page, in the scope of the caller, and written as it is read: memory does not grow with the corpus.
"""

from __future__ import annotations

import json
import re
import shutil
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, Literal, NamedTuple, TypeAlias, get_args
from xml.sax.saxutils import escape, quoteattr

from hlgraph import progress
from hlgraph.errors import InputError, StoreUnavailableError, needs_extra
from hlgraph.ids import content_id
from hlgraph.ingest.history import AsOf
from hlgraph.progress import OnProgress
from hlgraph.records import Chunk, Entity, Kind, Relationship, Source, Statement
from hlgraph.sdk.arguments import checked
from hlgraph.sdk.contents import Contents, FactRow, Reading, links
from hlgraph.stores import files
from hlgraph.stores.batches import batched
from hlgraph.stores.migrate import running_version
from hlgraph.stores.protocols import PullShape, Scope, find_records
from hlgraph.where import AnyWhere

GraphFormat: TypeAlias = Literal["graphml", "gexf", "parquet", "jsonld"]
"""The formats: of Gephi and networkx, of Gephi alone, of tables, and of RDF."""
FORMATS: tuple[GraphFormat, ...] = get_args(GraphFormat)
"""The same, in the order of messages."""
_PAGE, _SOURCES_AT_ONCE, _ROWS = 1_000, 50, 5_000
_UNBOUNDED = 2**31 - 1
_SUPPORT = PullShape.along(Relationship.SUPPORTS, fan_out=_UNBOUNDED, node_cap=_UNBOUNDED)
_OF_STATEMENTS = PullShape.along(Relationship.IN_CHUNK, Relationship.MENTIONS, fan_out=_UNBOUNDED, node_cap=_UNBOUNDED)
_NO_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_WITH_VECTORS = (Kind.CHUNK, Kind.STATEMENT, Kind.ENTITY)


@dataclass(slots=True)
class GraphFile:
    """A written graph.

    Attributes
    ----------
    path : the file; for Parquet the folder of ``nodes.parquet``, ``edges.parquet`` and ``vectors.parquet``
    format : its format
    nodes, edges : counts by kind
    bytes : size of the file or files
    """

    path: Path
    format: GraphFormat
    nodes: Counter[str] = field(default_factory=Counter)
    edges: Counter[str] = field(default_factory=Counter)
    bytes: int = 0


class _Edge(NamedTuple):
    """A fact as an edge: who asserts it, and in how many statements."""

    fact: FactRow
    statements: int
    uris: tuple[str, ...]

    @property
    def target(self) -> str:
        """The object, or the node of the literal, which has the id of the fact."""
        return self.fact.object_id or self.fact.id


class _Part(NamedTuple):
    """Some sources, and what is read from them."""

    sources: Sequence[Source]
    chunks: Sequence[Chunk]
    statements: Sequence[Statement]
    in_chunk: Sequence[tuple[str, str]]
    mentions: Sequence[tuple[str, str]]


@checked
class GraphFiles(Contents):
    """Files of the graph of one corpus, as the caller sees it."""

    __slots__ = ()

    def write(
        self,
        path: Path,
        form: GraphFormat,
        *,
        where: AnyWhere | None = None,
        as_of: AsOf | None = None,
        on_progress: OnProgress | None = None,
    ) -> GraphFile:
        """See :meth:`hlgraph.HLGraph.export_graph`."""
        if form not in FORMATS:
            raise InputError(f"format is {form!r}; choose {', '.join(map(repr, FORMATS[:-1]))} or {FORMATS[-1]!r}")
        part = path.with_name(f"{path.name}.part")
        if form != "parquet" and path.is_dir():
            raise InputError(f"{path}: it is a folder; give the name of a file, such as graph.{form}")
        if form == "parquet" and path.exists() and {each.name for each in path.iterdir()} - set(_TABLES):
            raise InputError(f"{path}: an export to Parquet needs a folder of its own; give a new one")

        def read(reading: Reading) -> GraphFile:
            written = GraphFile(path, form)
            _WRITERS[form](reading, part, written)
            return written

        try:
            files.make_folder(path.parent)
            with progress.listening(on_progress):
                written = self._read(read, where=where, as_of=as_of)
            if form == "parquet" and path.exists():
                shutil.rmtree(path)
            part.replace(path)
        except OSError as error:
            raise StoreUnavailableError(
                f"{path}: it cannot be written ({error.strerror or error}); free the disk"
            ) from error
        finally:
            shutil.rmtree(part, ignore_errors=True) if part.is_dir() else part.unlink(missing_ok=True)
        parts = [path] if path.is_file() else list(path.iterdir())
        written.bytes = sum(each.stat().st_size for each in parts)
        return written


# Reading, page by page


def _ids(reading: Reading, kind: Kind) -> Iterator[Sequence[str]]:
    """The ids of a kind in the scope, in pages."""
    after = ""
    with progress.step("copy", unit=f"{kind.value} records"):
        while ids := reading.stores.graph.page(kind, reading.scope, after=after, size=_PAGE).ids:
            yield ids
            progress.advance("copy", len(ids))
            after = ids[-1]


def _entities(reading: Reading) -> Iterator[Entity]:
    for ids in _ids(reading, Kind.ENTITY):
        yield from reading.records(Entity, ids).values()


def _facts(reading: Reading) -> Iterator[tuple[list[FactRow], dict[str, list[str]]]]:
    """Facts in pages, with the ids of the statements that support each."""
    for ids in _ids(reading, Kind.FACT):
        said: dict[str, list[str]] = {}
        for fact, statement in links(
            reading.stores.graph.pull(ids, _SUPPORT, scope=reading.scope), Relationship.SUPPORTS
        ):
            said.setdefault(fact, []).append(statement)
        yield reading.facts(ids), said


def _edges(reading: Reading) -> Iterator[_Edge]:
    for facts, said in _facts(reading):
        wanted = sorted({name for names in said.values() for name in names})
        statements = reading.records(Statement, wanted)
        sources = reading.records(Source, sorted({each.source_id for each in statements.values()}))
        for fact in facts:
            names = [name for name in said.get(fact.id, ()) if name in statements]
            uris = {sources[statements[name].source_id].uri for name in names if statements[name].source_id in sources}
            yield _Edge(fact, len(names), tuple(sorted(uris)))


def _parts(reading: Reading) -> Iterator[_Part]:
    """The sources and what is read from them, 50 at a time."""
    graph, name = reading.stores.graph, reading.scope.corpus
    for ids in _ids(reading, Kind.SOURCE):
        for some in batched(ids, _SOURCES_AT_ONCE):
            scope = Scope(name, sources=tuple(some), state=reading.scope.state)
            statements = list(find_records(graph, Statement, scope=scope))
            pulled = graph.pull([each.id for each in statements], _OF_STATEMENTS, scope=scope)
            yield _Part(
                list(reading.records(Source, some).values()),
                list(find_records(graph, Chunk, scope=scope)),
                statements,
                links(pulled, Relationship.IN_CHUNK),
                links(pulled, Relationship.MENTIONS),
            )


# GraphML and GEXF


class _Graph(NamedTuple):
    """How a format writes nodes and edges: lines around them, and one line for each."""

    head: str
    node: str
    attribute: str
    between: str
    edge: str
    end: str


_NODE_FIELDS, _EDGE_FIELDS = ("kind", "names"), ("predicate", "text", "statements", "sources")
_TYPES = {"statements": "int"}
_GRAPHML = _Graph(
    '<?xml version="1.0" encoding="UTF-8"?>\n<graphml xmlns="http://graphml.graphdrawing.org/xmlns">\n'
    + "".join(
        f'<key id="{name}" for="{of}" attr.name="{name}" attr.type="{_TYPES.get(name, "string")}"/>\n'
        for of, names in (("node", ("label", *_NODE_FIELDS)), ("edge", _EDGE_FIELDS))
        for name in names
    )
    + '<graph edgedefault="directed">\n',
    '<node id={id}><data key="label">{label}</data>{values}</node>\n',
    '<data key="{name}">{value}</data>',
    "",
    "<edge id={id} source={source} target={target}>{values}</edge>\n",
    "</graph>\n</graphml>\n",
)
_GEXF = _Graph(
    '<?xml version="1.0" encoding="UTF-8"?>\n<gexf xmlns="http://www.gexf.net/1.2draft" version="1.2">\n'
    '<graph defaultedgetype="directed" mode="static">\n'
    + "".join(
        f'<attributes class="{of}" mode="static">'
        + "".join(
            f'<attribute id="{name}" title="{name}" type="{"integer" if name in _TYPES else "string"}"/>'
            for name in names
        )
        + "</attributes>\n"
        for of, names in (("node", _NODE_FIELDS), ("edge", _EDGE_FIELDS))
    )
    + "<nodes>\n",
    "<node id={id} label={quoted}><attvalues>{values}</attvalues></node>\n",
    '<attvalue for="{name}" value="{value}"/>',
    "</nodes>\n<edges>\n",
    "<edge id={id} source={source} target={target}><attvalues>{values}</attvalues></edge>\n",
    "</edges>\n</graph>\n</gexf>\n",
)


def _write_graphml(reading: Reading, path: Path, written: GraphFile) -> None:
    _write_xml(_GRAPHML, reading, path, written)


def _write_gexf(reading: Reading, path: Path, written: GraphFile) -> None:
    _write_xml(_GEXF, reading, path, written)


def _write_xml(form: _Graph, reading: Reading, path: Path, written: GraphFile) -> None:
    """Entities, then literals, then facts: some tools need all nodes before the first edge, so facts are read twice."""

    def values(fields: Sequence[str], of: Sequence[object]) -> str:
        return "".join(
            form.attribute.format(name=name, value=_xml(value)) for name, value in zip(fields, of, strict=True)
        )

    def node(name: str, label: str, kind: str, names: Sequence[str]) -> str:
        return form.node.format(
            id=_quoted(name),
            label=_xml(label),
            quoted=_quoted(label),
            values=values(_NODE_FIELDS, (kind, " | ".join(names))),
        )

    with files.write_bytes(path) as raw:
        raw.write(form.head.encode())
        for entity in _entities(reading):
            raw.write(node(entity.id, entity.name, entity.kind, entity.aliases).encode())
            written.nodes["entity"] += 1
        for facts, _ in _facts(reading):
            for fact in facts:
                if fact.object_id is None:
                    raw.write(node(fact.id, fact.object, "literal", ()).encode())
                    written.nodes["literal"] += 1
        raw.write(form.between.encode())
        for edge in _edges(reading):
            fact = edge.fact
            of = (fact.predicate, fact.text, edge.statements, " | ".join(edge.uris))
            ends = {"source": _quoted(fact.subject_id), "target": _quoted(edge.target)}
            raw.write(form.edge.format(id=_quoted(fact.id), **ends, values=values(_EDGE_FIELDS, of)).encode())
            written.edges["fact"] += 1
        raw.write(form.end.encode())


def _xml(value: object) -> str:
    return escape(_NO_XML.sub("", str(value)), {'"': "&quot;", "\n": "&#10;", "\r": "&#13;", "\t": "&#9;"})


def _quoted(text: str) -> str:
    return quoteattr(_NO_XML.sub("", text))


# Parquet


_TABLES = ("nodes.parquet", "edges.parquet", "vectors.parquet")
_NODE = ("id", "kind", "label", "text", "uri", "source_id", "start", "end", "page", "names", "metadata")


class _Table:
    """A Parquet file that is written some rows at a time."""

    def __init__(self, raw: IO[bytes], columns: Mapping[str, object]) -> None:
        import pyarrow as pa
        from pyarrow import parquet

        self._schema = pa.schema(list(columns.items()))
        self._writer = parquet.ParquetWriter(raw, self._schema, compression="zstd")
        self._table = pa.Table
        self._rows: list[Mapping[str, object]] = []

    def add(self, row: Mapping[str, object]) -> None:
        """Add a row."""
        self._rows.append(row)
        if len(self._rows) >= _ROWS:
            self._flush()

    def _flush(self) -> None:
        self._writer.write_table(self._table.from_pylist(self._rows, schema=self._schema))
        self._rows.clear()

    def close(self) -> None:
        """Write what is left, and the end of the file."""
        self._flush()
        self._writer.close()


class _Tables:
    """The tables of an export."""

    def __init__(self, reading: Reading, written: GraphFile, *, tables: Sequence[_Table]) -> None:
        self._reading, self._written = reading, written
        self._nodes, self._edges, self._vectors = tables

    def node(self, kind: Kind, name: str, *, label: str, **values: object) -> None:
        """Add a node."""
        self._nodes.add({"id": name, "kind": kind.value, "label": label, **values})
        self._written.nodes[kind.value] += 1

    def edges(self, pairs: Sequence[tuple[str, str]], relationship: Relationship, *, predicate: str = "") -> None:
        """Add edges of a relationship."""
        for source, target in pairs:
            row = {
                "source": source,
                "target": target,
                "relationship": relationship.value,
                "predicate": predicate or None,
            }
            self._edges.add(row)
        self._written.edges[relationship.value] += len(pairs)

    def vectors(self, kind: Kind, ids: Sequence[str]) -> None:
        """Add the vectors of some records."""
        scope = self._reading.scope
        for some in batched(ids, _PAGE):
            names, matrix = self._reading.stores.vectors.vectors(kind, scope.corpus, ids=some, state=scope.state)
            for name, vector in zip(names, matrix, strict=True):
                self._vectors.add({"id": name, "kind": kind.value, "vector": vector})


def _write_parquet(reading: Reading, folder: Path, written: GraphFile) -> None:
    with needs_extra("frames", "an export to Parquet"):
        import pyarrow as pa
    text, number, texts = pa.string(), pa.int64(), pa.list_(pa.string())
    schemas: tuple[dict[str, object], ...] = (
        dict.fromkeys(_NODE, text) | dict.fromkeys(("start", "end", "page"), number) | {"names": texts},
        dict.fromkeys(("source", "target", "relationship", "predicate"), text),
        {"id": text, "kind": text, "vector": pa.list_(pa.float32())},
    )
    files.make_folder(folder)
    with ExitStack() as closing:
        opened: list[_Table] = []
        for name, columns in zip(_TABLES, schemas, strict=True):
            opened.append(_Table(closing.enter_context(files.write_bytes(folder / name)), columns))
            closing.callback(opened[-1].close)
        tables = _Tables(reading, written, tables=opened)
        for part in _parts(reading):
            _add_part(tables, part)
        for entities in batched(_entities(reading), _PAGE):
            for entity in entities:
                tables.node(
                    Kind.ENTITY, entity.id, label=entity.name, text=entity.kind or None, names=list(entity.aliases)
                )
            tables.vectors(Kind.ENTITY, [entity.id for entity in entities])
        for facts, said in _facts(reading):
            for fact in facts:
                tables.node(Kind.FACT, fact.id, label=fact.text, text=None if fact.object_id else fact.object)
                tables.edges([(fact.subject_id, fact.id)], Relationship.SUBJECT, predicate=fact.predicate)
                if fact.object_id is not None:
                    tables.edges([(fact.object_id, fact.id)], Relationship.OBJECT, predicate=fact.predicate)
                tables.edges([(fact.id, name) for name in said.get(fact.id, ())], Relationship.SUPPORTS)


def _add_part(tables: _Tables, part: _Part) -> None:
    for source in part.sources:
        metadata = json.dumps(dict(source.metadata), ensure_ascii=False)
        tables.node(Kind.SOURCE, source.id, label=source.title or source.uri, uri=source.uri, metadata=metadata)
    for chunk in part.chunks:
        place = {"source_id": chunk.source_id, "start": chunk.start, "end": chunk.end, "page": chunk.page}
        tables.node(Kind.CHUNK, chunk.id, label=" > ".join(chunk.headings), text=chunk.text, **place)
    tables.edges([(chunk.id, chunk.source_id) for chunk in part.chunks], Relationship.FROM_SOURCE)
    for one in part.statements:
        place = {"source_id": one.source_id, "start": one.start, "end": one.end}
        tables.node(Kind.STATEMENT, one.id, label=one.text, text=one.text, **place)
    tables.edges(part.in_chunk, Relationship.IN_CHUNK)
    tables.edges(part.mentions, Relationship.MENTIONS)
    tables.vectors(Kind.CHUNK, [chunk.id for chunk in part.chunks])
    tables.vectors(Kind.STATEMENT, [one.id for one in part.statements])


# JSON-LD: PROV-O says what a statement, a fact and an entity were derived from, and which extractor did it.


_CONTEXT = {
    "dcterms": "http://purl.org/dc/terms/",
    "oa": "http://www.w3.org/ns/oa#",
    "prov": "http://www.w3.org/ns/prov#",
    "rdf": "http://www.w3.org/1999/02/22-rdf-syntax-ns#",
    "rdfs": "http://www.w3.org/2000/01/rdf-schema#",
    "schema": "https://schema.org/",
    "skos": "http://www.w3.org/2004/02/skos/core#",
}


def _write_jsonld(reading: Reading, path: Path, written: GraphFile) -> None:
    agent = {"@id": _urn("software"), "@type": "prov:SoftwareAgent", "rdfs:label": f"hlgraph {running_version()}"}
    extractors: dict[str, str] = {}
    with files.write_bytes(path) as raw:
        head = json.dumps(_CONTEXT)
        raw.write(f'{{"@context": {head}, "@graph": [\n{json.dumps(agent)}'.encode())

        def add(kind: str, node: Mapping[str, object]) -> None:
            raw.write(
                b",\n" + json.dumps({key: value for key, value in node.items() if value not in (None, "", [])}).encode()
            )
            written.nodes[kind] += 1

        for part in _parts(reading):
            for kind, node in _prov_nodes(part, extractors):
                add(kind, node)
        for entity in _entities(reading):
            add("entity", _concept(entity))
        for facts, said in _facts(reading):
            for fact in facts:
                add("fact", _rdf_statement(fact, said.get(fact.id, ())))
        for name, extractor in sorted(extractors.items()):
            activity = {"@id": _urn(name), "@type": "prov:Activity", "rdfs:label": extractor}
            add("activity", {**activity, "prov:wasAssociatedWith": {"@id": _urn("software")}})
        raw.write(b"\n]}\n")


def _prov_nodes(part: _Part, extractors: dict[str, str]) -> Iterator[tuple[str, dict[str, object]]]:
    """The nodes of some sources; adds the extractors of their chunks."""
    for source in part.sources:
        about = [
            {"@type": "schema:PropertyValue", "schema:name": name, "schema:value": value}
            for name, value in source.metadata.items()
        ]
        named = {"dcterms:identifier": source.uri, "dcterms:title": source.title, "schema:additionalProperty": about}
        yield "source", {"@id": _urn(source.id), "@type": "prov:Entity", **named}
    by: dict[str, str] = {}
    for chunk in part.chunks:
        extractor = chunk.fingerprint.partition(" ")[2] or "unknown"
        by[chunk.id] = content_id("activity", extractor)
        extractors[by[chunk.id]] = extractor
        yield "chunk", _quotation(chunk, chunk.text, {"prov:wasQuotedFrom": {"@id": _urn(chunk.source_id)}})
    inside: dict[str, list[str]] = {}
    for statement, chunk_name in part.in_chunk:
        inside.setdefault(statement, []).append(chunk_name)
    mentioned: dict[str, list[str]] = {}
    for statement, entity in part.mentions:
        mentioned.setdefault(statement, []).append(entity)
    for one in part.statements:
        chunks = inside.get(one.id, [one.chunk_id])
        origin = {
            "prov:wasDerivedFrom": _refer(chunks),
            "prov:wasGeneratedBy": _refer(sorted({by[name] for name in chunks if name in by})),
            "schema:mentions": _refer(mentioned.get(one.id, ())),
        }
        yield "statement", _quotation(one, one.text, origin)


def _quotation(record: Chunk | Statement, text: str, origin: Mapping[str, object]) -> dict[str, object]:
    place = {"oa:start": record.start, "oa:end": record.end}
    return {"@id": _urn(record.id), "@type": "prov:Entity", "prov:value": text, **place, **origin}


def _concept(entity: Entity) -> dict[str, object]:
    names = [name for name in entity.aliases if name != entity.name]
    about = {"skos:prefLabel": entity.name, "skos:altLabel": names, "dcterms:type": entity.kind}
    return {"@id": _urn(entity.id), "@type": "skos:Concept", **about}


def _rdf_statement(fact: FactRow, statements: Sequence[str]) -> dict[str, object]:
    thing: Any = fact.object if fact.object_id is None else {"@id": _urn(fact.object_id)}
    says = {"rdf:subject": {"@id": _urn(fact.subject_id)}, "rdf:predicate": fact.predicate, "rdf:object": thing}
    return {
        "@id": _urn(fact.id),
        "@type": ["rdf:Statement", "prov:Entity"],
        **says,
        "prov:wasDerivedFrom": _refer(statements),
    }


def _refer(names: Iterable[str]) -> list[dict[str, str]]:
    return [{"@id": _urn(name)} for name in names]


def _urn(name: str) -> str:
    return f"urn:hlgraph:{name}"


_WRITERS = {"graphml": _write_graphml, "gexf": _write_gexf, "parquet": _write_parquet, "jsonld": _write_jsonld}
