"""Rows and sources as documents of OpenSearch, and the writes that put them into the index of their corpus."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Iterator, Mapping

import msgspec
import numpy as np
from numpy.typing import NDArray

from hlgraph.change import VectorBlock
from hlgraph.records import Source
from hlgraph.stores.opensearch import smile
from hlgraph.stores.opensearch.analysis import terms
from hlgraph.stores.opensearch.bulk import Item
from hlgraph.stores.opensearch.indexes import Home
from hlgraph.stores.opensearch.where_query import conditions
from hlgraph.stores.opensearch.wire import Json

_AT_ONCE = 256  # rows whose vectors are encoded together


def row_items(block: VectorBlock, change: str, *, home: Home, is_smile: bool = False) -> Iterator[Item]:
    """The writes of rows.

    Parameters
    ----------
    block : rows
    change : id of the change that writes them
    home : index of their corpus
    is_smile : whether to write Smile, which has fewer bytes and costs the server less; default JSON
    """
    values = np.ascontiguousarray(block.matrix(), dtype="<f4")
    for start in range(0, len(block.ids), _AT_ONCE):
        part = values[start : start + _AT_ONCE]
        numbers = smile.number_arrays(part) if is_smile else []
        data = smile.binaries(part.view(np.uint8)) if is_smile else []
        for at, vector in enumerate(part):
            name = block.ids[start + at]
            words = terms(block.texts[start + at])
            fields: dict[str, str | int] = {
                "id": name,
                "source": block.source_ids[start + at],
                "change": change,
                "length": len(words),
                "words": " ".join(words),
            }
            if is_smile:
                yield _smile_item(name, {**fields, "vector": numbers[at], "data": data[at]}, home=home)
            else:
                yield item(name, {**fields, **vector_fields(vector)}, home=home)


def _smile_item(name: str, document: Mapping[str, smile.Value], *, home: Home) -> Item:
    """See :func:`item`."""
    if not home.meta.is_shared:
        return Item(name, smile.document(document), is_smile=True)
    data = smile.document({"corpus": home.corpus, **document})
    return Item(name, data, key=home.key, routing=home.key, is_smile=True)


def vector_fields(vector: NDArray[np.float32]) -> dict[str, Json]:
    """A vector twice: as numbers for the k-NN field, and as bytes to read back.

    The numbers have nine decimals, from which HNSW is built; scores come from the bytes.
    """
    numbers: list[Json] = list(np.round(vector.astype(np.float64), 9).tolist())
    return {"vector": numbers, "data": base64.b64encode(vector.astype("<f4").tobytes()).decode()}


def source_items(sources: Iterable[Source], *, home: Home) -> Iterator[Item]:
    """The writes of the metadata of sources.

    Parameters
    ----------
    sources : sources of one corpus
    home : index of the sources of the corpus
    """
    for source in sources:
        described: dict[str, Json] = {
            "uri": source.uri,
            "title": source.title,
            "metadata": msgspec.json.encode(source.metadata).decode(),
        }
        document: dict[str, Json] = {
            "id": source.id,
            "conditions": list[Json](conditions(source)),
            "described": described,
        }
        yield item(source.id, document, home=home)


def item(name: str, document: Mapping[str, object] | None, *, home: Home) -> Item:
    """The write of one document.

    In a shared index a document names its corpus, and the corpus chooses the shard. In an index of one corpus the id does. A
    shared index refuses documents without routing, an index of one corpus those that name a corpus. So a process that does
    not know that the index was replaced writes nothing to the new one.

    Parameters
    ----------
    name : id of the row
    document : its fields without the name of the corpus; None: delete it
    home : index of its corpus
    """
    if not home.meta.is_shared:
        return Item(name, None if document is None else msgspec.json.encode(document))
    data = None if document is None else msgspec.json.encode({"corpus": home.corpus, **document})
    return Item(name, data, key=home.key, routing=home.key)
