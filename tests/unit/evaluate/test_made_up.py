"""Made-up corpora and the seeded embedder: the same everywhere, with hubs, of the shape that the pipeline expects."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter

import numpy as np
import pytest

from hlgraph.algorithms.calibration import fitted_cosine, measured
from hlgraph.algorithms.similarity import pairs_within
from hlgraph.errors import InputError
from hlgraph.evaluate.bench import MadeUpCorpus, MadeUpExtractor
from hlgraph.extract.extractor import ChunkInput
from hlgraph.records import Kind
from hlgraph.testing.corpus import SeededEmbedder

CORPUS = MadeUpCorpus(6_000)  # more than one block


def test_documents_hold_the_statements_of_their_extraction() -> None:
    documents = list(CORPUS.documents())
    assert len(documents) == CORPUS.sources == 600
    assert len({document.uri for document in documents}) == 600
    extractor = MadeUpExtractor(CORPUS)
    for document in (documents[0], documents[499], documents[500], documents[599]):
        (found,) = extractor.extract([ChunkInput(document.text, key=document.key)])
        assert len(found.propositions) == 10
        for item in found.propositions:
            assert document.text[item.start : item.end] == item.text
            assert set(item.topics) <= set(found.topics)
            assert 1 <= len(item.mentions) <= 3
            assert all(mention.name in item.text for mention in item.mentions)
            (triple,) = item.triples
            assert item.text.startswith(f"{triple.subject} {triple.predicate} {triple.object} ")
    assert sum(document.title in document.text for document in documents) > 590


def test_the_same_seed_and_size_give_the_same_corpus() -> None:
    again, other = MadeUpCorpus(6_000), MadeUpCorpus(6_000, seed=2)
    assert list(again.documents()) == list(CORPUS.documents())
    assert again.questions(5) == CORPUS.questions(9)[:5]
    assert next(other.documents()) != next(CORPUS.documents())
    script = (
        "from hlgraph.evaluate.bench import MadeUpCorpus; from hlgraph.testing.corpus import SeededEmbedder\n"
        "d = list(MadeUpCorpus(20).documents())[1]; print(d.text); print(SeededEmbedder().embed([d.text])[0, :3].tolist())"
    )
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    document = list(MadeUpCorpus(20).documents())[1]
    vector = SeededEmbedder().embed(["something else", document.text])[1, :3]
    assert run.stdout.splitlines() == [document.text, str(vector.tolist())]


def test_a_few_entities_are_everywhere_and_most_are_rare() -> None:
    skew = CORPUS.skew()
    used = Counter(
        mention.name
        for number in range(CORPUS.sources)
        for item in CORPUS.extraction(number).propositions
        for mention in item.mentions
    )
    assert skew == (len(used), max(used.values()), int(np.median(list(used.values()))))
    assert skew.most > 0.05 * CORPUS.statements
    assert skew.median < 10
    assert skew.entities <= CORPUS.entities


def test_the_hub_grows_with_the_corpus() -> None:
    small, large = MadeUpCorpus(2_000).skew(), MadeUpCorpus(40_000).skew()
    assert 10 < large.most / small.most < 20
    assert large.entities > 10 * small.entities


@pytest.mark.parametrize("statements", [0, 5, 105, 100_000_000])
def test_what_cannot_be_made_up_is_refused(statements: int) -> None:
    with pytest.raises(InputError, match=f"{statements} statements"):
        MadeUpCorpus(statements)


def test_vectors_depend_on_the_text_alone() -> None:
    texts = ["the old mill", "", "The OLD mill!", *(f"word{number}" for number in range(3000)), "the old harbour"]
    found = SeededEmbedder(64).embed(texts)
    assert found.dtype == np.float32
    assert found.shape == (len(texts), 64)
    assert np.linalg.norm(found, axis=1) == pytest.approx(1, abs=1e-5)
    assert np.array_equal(found[0], found[2])
    backwards = SeededEmbedder(64).embed(texts[::-1])[::-1]
    assert np.array_equal(found, backwards)
    embedder = SeededEmbedder(64)
    assert np.array_equal(np.concatenate([embedder.embed([text]) for text in texts[:5]]), found[:5])
    assert found[0] @ found[-1] > found[0] @ found[5] + 0.2
    assert not np.array_equal(SeededEmbedder(64, seed=1).embed(texts[:1]), found[:1])
    assert SeededEmbedder(64, seed=1).fingerprint != SeededEmbedder(64).fingerprint != SeededEmbedder(32).fingerprint
    assert SeededEmbedder().embed([]).shape == (0, 384)


def test_the_names_of_a_corpus_are_as_far_apart_as_those_of_the_shipped_embedder() -> None:
    corpus = MadeUpCorpus(4_000)
    drawn = [corpus.extraction(number).propositions for number in range(corpus.sources)]
    names = sorted({mention.name for some in drawn for item in some for mention in item.mentions})
    vectors = SeededEmbedder().embed(names)
    calibration = measured({Kind.ENTITY: vectors}, names=len(names))
    assert fitted_cosine(0.8, Kind.ENTITY, calibration=calibration) == 0.8
    assert len(pairs_within(vectors, threshold=0.8).base) < len(names) / 10
    statements = SeededEmbedder().embed([item.text for some in drawn for item in some])
    calibration = measured({Kind.ENTITY: vectors, Kind.STATEMENT: statements}, names=len(names))
    assert fitted_cosine(0.5, Kind.STATEMENT, calibration=calibration) == 0.5
