"""The embedded store and OpenSearch have the same terms: of odd words always, of the evaluation sets if HLGRAPH_DATA names them."""

from __future__ import annotations

import gzip
import itertools
import json
import os
import random
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import SimpleNamespace

import msgspec
import pytest
from opensearch_fixture import opened

from hlgraph.change import VectorBlock
from hlgraph.records import Kind, Source
from hlgraph.stores.opensearch.vectors import OpenSearchVectorStore
from hlgraph.stores.protocols import VectorBatch
from hlgraph.stores.terms import parts, stem
from hlgraph.testing.embedder import WordEmbedder
from hlgraph.text import words

_EMBEDDER = WordEmbedder(4)
_BATCH = 5_000  # the server analyses at most 10,000 terms of a request
_ENDINGS = re.findall(
    r"\w+",
    "s es ies sses ss y eed ed ing ated bled ized ational tional enci anci izer bli alli entli eli ousli ization ation ator "
    "alism iveness fulness ousness aliti iviti biliti logi icate ative alize iciti ical ful ness al ance ence er ic able ible "
    "ant ement ment ent ion sion tion ou ism ate iti ous ive ize e l ll",
)
_STARTS = (
    "",
    "a",
    "y",
    "b",
    "ab",
    "by",
    "yy",
    "sey",
    "hop",
    "tro",
    "μ",
    "ə",
    "puɳ",
    "ɳɳ",
    "ж",
    "дом",
    "ß",
    "橋",
    "𐌰",
    "𐌰𐌰",
    "𝒶b",
    "1",
    "a1",
)


class _Token(msgspec.Struct):
    token: str


class _Analysed(msgspec.Struct):
    tokens: list[_Token]


@pytest.fixture(scope="module")
def server(servers: SimpleNamespace) -> Iterator[OpenSearchVectorStore]:
    with opened(servers.opensearch) as store:
        block = VectorBlock(Kind.CHUNK, ("0" * 32,), ("a",), ("",), 4, _EMBEDDER.embed(["a"]).tobytes())
        store.upsert(VectorBatch("c", "one", (Source("1" * 32, "c", "u", "t", "s", {}),), (block,)))
        yield store


def _differing(store: OpenSearchVectorStore, terms: Iterable[str]) -> list[tuple[str, str, str]]:
    """Terms with the stem of the embedded store and that of the server, where they differ."""
    index = f"/{store.connection.settings.prefix}-*/_mapping"
    (name,) = (each for each in store.connection.ask("GET", index, answer=dict[str, object]) if "-chunk-" in each)
    differing = []
    ordered = iter(sorted(set(terms)))
    while batch := list(itertools.islice(ordered, _BATCH)):
        body = {"field": "words", "text": " ".join(batch)}
        stems = store.connection.ask("POST", f"/{name}/_analyze", body=body, answer=_Analysed).tokens
        for term, token in zip(batch, stems, strict=True):
            if stem(term) != token.token:
                differing.append((term, stem(term), token.token))
    return differing


def _random(rng: random.Random) -> str:
    letters = "aeiouy" * 2 + "bcdfghjklmnpqrstvwxyz" + "äɳμəж𐌰9"
    return "".join(rng.choices(letters, k=rng.randint(1, 6))) + "".join(rng.choices(_ENDINGS, k=rng.randint(0, 3)))


def _odd() -> set[str]:
    rng = random.Random(8)
    short = ("".join(some) for size in range(1, 6) for some in itertools.product("aeyst", repeat=size))
    joined = (start + first + second for start in _STARTS for first in ("", *_ENDINGS) for second in ("", *_ENDINGS))
    long = ("x" * 70 + "ing", "a" * 300 + "ed", "μ" * 60 + "ational", "ab" * 40 + "izations")
    named = ("ies", "seyyed", "μs", "puɳe", "əs")
    return {*short, *joined, *long, *named, *(_random(rng) for _ in range(20_000))} - {""}


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for each in value.values() if isinstance(value, dict) else value:
            yield from _texts(each)


def _of_the_sets() -> set[str]:
    """The words of the evaluation sets in the folder that HLGRAPH_DATA names, as for the benchmarks; none if it names none."""
    found = set[str]()
    for path in sorted(Path(os.environ.get("HLGRAPH_TEST_DATA") or os.devnull).rglob("*.jsonl.gz")):
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            for text in _texts([json.loads(line) for line in lines]):
                found.update(words(text))
    return found


def test_every_term_has_the_same_stem(server: OpenSearchVectorStore) -> None:
    terms = {part for word in _odd() | _of_the_sets() for part in parts(word)}
    assert len(terms) > 50_000
    assert _differing(server, terms) == []
