"""Random histories of a store: after every deletion and every edit, no file under the store holds a word that was removed."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from thoroughness import cases

import hlgraph
from hlgraph.sdk.client import HLGraph
from hlgraph.testing.embedder import WordEmbedder

_LETTERS = "bcdfghjkmnpqrtvwx"  # of words that the stemmer leaves as they are
_MARK = re.compile(rb"zq[bcdfghjkmnpqrtvwx]{4,6}", re.IGNORECASE)  # also one whose end was overwritten
_SOURCES = 60
_HISTORIES, _STEPS = cases((1, 60), (4, 500))
"""Number of histories, and steps of each: 2,000 in a thorough run."""


class _Histories:
    """Two corpora of one store and what happens to them; every text of a source has a word that stands nowhere else."""

    def __init__(self, graph: HLGraph, seed: int) -> None:
        self._random = random.Random(seed)
        self._corpora = {name: graph.in_corpus(name) for name in ("one", "two")}
        self._held: dict[str, dict[str, tuple[hlgraph.Document, list[str]]]] = {name: {} for name in self._corpora}
        self._count = 0

    def take(self) -> str:
        """Takes a random step; returns its name."""
        corpus = self._random.choice(("one", "one", "one", "two"))
        step = self._random.choices(("add", "edit", "delete", "where", "everything", "search"), (30, 25, 30, 6, 1, 8))[
            0
        ]
        if not self._held[corpus]:
            step = "add"
        getattr(self, f"_{step}")(corpus, self._corpora[corpus])
        return f"{step} in {corpus}"

    def removed(self, folder: Path) -> dict[str, list[str]]:
        """Words of no source that are somewhere under a folder, by file."""
        kept = {mark[:size].encode() for mark in self._kept() for size in range(6, 9)}
        found: dict[str, list[str]] = {}
        for path in sorted(item for item in folder.rglob("*") if item.is_file()):
            gone = sorted(
                {mark.decode() for mark in map(bytes.lower, _MARK.findall(path.read_bytes())) if mark not in kept}
            )
            if gone:
                found[path.name] = gone
        return found

    def _kept(self) -> set[str]:
        texts = (
            f"{doc.uri} {doc.title} {doc.metadata} {doc.text}"
            for held in self._held.values()
            for doc, _ in held.values()
        )
        return {mark.decode().lower() for text in texts for mark in _MARK.findall(text.encode())}

    def _mark(self) -> str:
        return "zq" + "".join(self._random.choices(_LETTERS, k=6))

    def _sentence(self) -> str:
        name = self._mark().capitalize()
        verb = self._random.choice(("designed", "left", "wrote about", "was born in"))
        return f"{name} Quill {verb} the {self._mark().capitalize()} Bridge in {self._random.randint(1800, 1900)} {self._mark()}."

    def _document(self, uri: str, sentences: list[str]) -> hlgraph.Document:
        parts = [f"# Heading {self._mark()}"] if self._random.random() < 0.5 else []
        for at, sentence in enumerate(sentences):
            parts.append(sentence if at % 7 else f"\n\n## Part {self._mark()}\n\n{sentence}")
        metadata = {"note": self._mark(), "group": self._random.choice("abcdefgh")}
        if self._random.random() < 0.3:
            metadata["long"] = " ".join(self._mark() for _ in range(600))
        return hlgraph.Document(uri, " ".join(parts), f"Title {self._mark()}", metadata)

    def _write(self, corpus: str, graph: HLGraph, texts: dict[str, list[str]]) -> None:
        documents = [self._document(uri, sentences) for uri, sentences in texts.items()]
        graph.ingest(documents)
        self._held[corpus] |= {doc.uri: (doc, texts[doc.uri]) for doc in documents}

    def _add(self, corpus: str, graph: HLGraph) -> None:
        room = _SOURCES - len(self._held[corpus])
        count = min(self._random.choice((1, 2, 5, 12)), room)
        self._write(
            corpus,
            graph,
            {
                f"doc:{self._mark()}": [self._sentence() for _ in range(self._random.choice((1, 3, 10, 40)))]
                for _ in range(count)
            },
        )

    def _edit(self, corpus: str, graph: HLGraph) -> None:
        uri = self._random.choice(sorted(self._held[corpus]))
        sentences = list(self._held[corpus][uri][1])
        for _ in range(self._random.randint(1, 3)):
            at = self._random.randrange(len(sentences))
            sentences[at : at + self._random.randint(0, 3)] = [
                self._sentence() for _ in range(self._random.randint(1, 2))
            ]
        self._write(corpus, graph, {uri: sentences})

    def _delete(self, corpus: str, graph: HLGraph) -> None:
        held = sorted(self._held[corpus])
        uris = self._random.sample(held, min(len(held), self._random.choice((1, 1, 1, 3, 8))))
        graph.delete(uris)
        for uri in uris:
            del self._held[corpus][uri]

    def _where(self, corpus: str, graph: HLGraph) -> None:
        group = self._held[corpus][self._random.choice(sorted(self._held[corpus]))][0].metadata["group"]
        graph.delete(where=f"group = '{group}'")
        self._held[corpus] = {
            uri: item for uri, item in self._held[corpus].items() if item[0].metadata["group"] != group
        }

    def _everything(self, corpus: str, graph: HLGraph) -> None:
        graph.delete(everything=True)
        self._held[corpus] = {}

    def _search(self, corpus: str, graph: HLGraph) -> None:
        sentences = self._held[corpus][self._random.choice(sorted(self._held[corpus]))][1]
        assert graph.search(sentences[0], strategy=self._random.choice(("chunk", "path", "auto"))).evidence


@pytest.fixture
def graph(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[HLGraph]:
    monkeypatch.setenv("HLGRAPH_CACHE", str(tmp_path / "store" / "cache"))
    with hlgraph.connect(f"hlgraph://{tmp_path}/store", embedder=WordEmbedder()) as opened:
        yield opened


@pytest.mark.parametrize("seed", range(_HISTORIES))
def test_no_file_holds_a_removed_word(graph: HLGraph, tmp_path: Path, seed: int) -> None:
    histories = _Histories(graph, seed)
    found = []
    for number in range(_STEPS):
        step = histories.take()
        left = histories.removed(tmp_path / "store")
        if left:
            found.append((number, step, left))
    assert found == []
    assert [item for item in graph.check() if not item.is_fine] == []
