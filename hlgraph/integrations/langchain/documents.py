"""Documents of LangChain to ours, and evidence to documents of LangChain."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from urllib.parse import quote

from langchain_core.documents import Document as LangChainDocument

from hlgraph.ids import checksum
from hlgraph.read.content import clean
from hlgraph.read.metadata import metadata_of
from hlgraph.records import Document, Evidence

_SOURCE = "source"  # where LangChain's loaders write what they read
_PARTS = (
    "page",
    "row",
    "seq_num",
    "start_index",
)  # and which part of it, for those that give several documents a source
_SHORT = 16


def from_langchain(documents: Iterable[LangChainDocument]) -> list[Document]:
    """Documents for :meth:`hlgraph.HLGraph.ingest`.

    The uri of a document, by which it is found again when it is ingested anew, is made from its ``id``; without one from its
    ``source`` (and ``page``, ``row``, ``seq_num`` or ``start_index``) in the metadata; without these, or where several
    documents would have the same, from a hash of its text, so that an edited text is another source: give ids. Metadata
    keeps its types; nested mappings get dotted names; what is neither text, number, boolean, date nor a list of these is
    left out. The title is ``title`` of the metadata.

    Examples
    --------
    >>> item = LangChainDocument("A bridge.", id="b-1", metadata={"title": "Bridge", "year": 1931, "at": {"km": 2.5}})
    >>> from_langchain([item])
    [Document(uri='langchain:b-1', text='A bridge.', title='Bridge', metadata={'year': 1931, 'at.km': 2.5}, key='b-1', \
page_starts=())]
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
    """One piece of evidence: its text, and in the metadata its provenance above the metadata of its source.

    ``source`` (the uri), ``title``, ``score``, ``start``, ``end``, ``page``, ``headings``, ``chunk_id``, ``statement_id``,
    ``labels`` are ours; all other names are those of the source, which also stands whole under ``source_metadata``.
    """
    source = evidence.source
    metadata: Mapping[str, object] = {
        **source.metadata,
        "source": source.uri,
        "title": source.title,
        "score": evidence.score,
        "start": evidence.start,
        "end": evidence.end,
        "page": evidence.page,
        "headings": list(evidence.headings),
        "chunk_id": evidence.chunk_id,
        "statement_id": evidence.statement_id or None,
        "labels": list(evidence.labels),
        "source_metadata": dict(source.metadata),
    }
    return LangChainDocument(evidence.text, id=evidence.statement_id or evidence.chunk_id, metadata=dict(metadata))
