"""Converts LangChain documents to documents of hlgraph, and evidence to LangChain documents."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from urllib.parse import quote

from langchain_core.documents import Document as LangChainDocument

from hlgraph.ids import checksum
from hlgraph.read.content import clean
from hlgraph.read.metadata import metadata_of
from hlgraph.records import Document, Evidence

_SOURCE = "source"  # metadata key in which LangChain's loaders name what they read
# metadata keys that tell the documents of one source apart
_PARTS = ("page", "row", "seq_num", "start_index")
_SHORT = 16


def from_langchain(documents: Iterable[LangChainDocument]) -> list[Document]:
    """Documents for :meth:`hlgraph.HLGraph.ingest`, made from LangChain documents.

    A document is recognised in a later ingest by its URI. The URI is made from the document's ``id``; without an id, from
    ``source`` in its metadata (with ``page``, ``row``, ``seq_num`` and ``start_index``); without a source, or if several
    documents would get the same URI, with a hash of the text. An edited text without an id may therefore become a new
    source, so give ids. Metadata keep their types; nested mappings get dotted names; values other than texts, numbers,
    booleans, dates and lists of these are left out. The title is ``title`` in the metadata.

    Examples
    --------
    >>> item = LangChainDocument("A bridge.", id="b-1", metadata={"title": "Bridge", "year": 1931, "at": {"km": 2.5}})
    >>> from_langchain([item])
    [Document(uri='langchain:b-1', text='A bridge.', title='Bridge', metadata={'year': 1931, 'at.km': 2.5}, key='b-1', \
page_starts=(), warnings=())]
    """
    given = list(documents)
    names = [_name(item) for item in given]
    times = Counter(names)
    return [
        _document(item, name if times[name] == 1 and name else _hashed(name, item))
        for item, name in zip(given, names, strict=True)
    ]


def _name(item: LangChainDocument) -> str:
    if item.id:
        return f"langchain:{quote(item.id)}"
    source = item.metadata.get(_SOURCE)
    if not isinstance(source, str) or not source.strip():
        return ""
    parts = [f"{part}={item.metadata[part]}" for part in _PARTS if isinstance(item.metadata.get(part), int | str)]
    return clean(f"{source}#{quote('&'.join(parts), safe='=&')}" if parts else source)


def _hashed(name: str, item: LangChainDocument) -> str:
    mark = checksum("langchain", item.page_content)[:_SHORT]
    return f"{name}{'&' if '#' in name else '#'}{mark}" if name else f"langchain:{mark}"


def _document(item: LangChainDocument, uri: str) -> Document:
    metadata = {str(key): value for key, value in item.metadata.items()}
    title = metadata.pop("title", "")
    if not isinstance(title, str):
        metadata["title"], title = title, ""
    return Document(uri, clean(item.page_content), " ".join(clean(title).split()), metadata_of(metadata), key=item.id)


def to_langchain(evidence: Evidence) -> LangChainDocument:
    """A LangChain document with the text of a piece of evidence, and its provenance in the metadata.

    hlgraph sets ``source`` (the URI), ``title``, ``score``, ``kind`` (``chunk``, ``statement`` or ``summary``), ``start``,
    ``end``, ``page``, ``headings``, ``chunk_id``, ``statement_id``, ``summary_id``, ``labels``, ``is_stale`` and ``rests_on``
    (of a summary: kind, id, source, start and end of all that it rests on); they override equal names in the metadata of the
    source. The other metadata of the source are kept under their names, and all of them under ``source_metadata``.
    """
    source = evidence.source
    metadata: Mapping[str, object] = {
        **source.metadata,
        "source": source.uri,
        "title": source.title,
        "score": evidence.score,
        "kind": evidence.kind.value,
        "start": evidence.start,
        "end": evidence.end,
        "page": evidence.page,
        "headings": list(evidence.headings),
        "chunk_id": evidence.chunk_id,
        "statement_id": evidence.statement_id or None,
        "summary_id": evidence.summary_id or None,
        "labels": list(evidence.labels),
        "is_stale": evidence.is_stale,
        "rests_on": [
            {"kind": part.kind.value, "id": part.id, "source": part.source.uri, "start": part.start, "end": part.end}
            for part in evidence.rests_on
        ],
        "source_metadata": dict(source.metadata),
    }
    return LangChainDocument(evidence.text, id=evidence.id, metadata=dict(metadata))
