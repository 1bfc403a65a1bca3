"""Post-process ranked evidence: remove near-duplicates, and label numbers from their tables (HLG 4.3)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import groupby

import numpy as np

from hlgraph.algorithms.diversity import retain, tf_idf
from hlgraph.records import Chunk, Evidence, Kind
from hlgraph.retrieve.evidence.tables import (
    Cell,
    Terms,
    cells,
    has_lemmas,
    labels,
    may_repeat,
    says_the_same_order,
    terms,
)
from hlgraph.retrieve.retriever import Retriever
from hlgraph.retrieve.session import Session


def tau_of(session: Session, retriever: Retriever | type[Retriever]) -> float:
    """The diversity threshold of a request.

    Parameters
    ----------
    session : its request may set the threshold
    retriever : has the default of the strategy

    Returns
    -------
    float
        0 keeps everything.
    """
    asked = session.request.diversity
    return getattr(retriever, "diversity", 0.0) if asked is None else asked


def settled(evidence: list[Evidence]) -> list[Evidence]:
    """Evidence in the same order, with ties broken by source, place and text.

    Not by ids: they depend on the name of the corpus, so two corpora of the same texts would break a tie differently.

    Parameters
    ----------
    evidence : best first

    Returns
    -------
    list
    """
    runs = groupby(evidence, key=lambda piece: piece.score)
    return [
        piece
        for _, run in runs
        for piece in sorted(run, key=lambda one: (one.source.uri, one.start, one.end, one.text))
    ]


def diverse(session: Session, evidence: list[Evidence], *, tau: float) -> list[Evidence]:
    """Evidence without near-duplicates of better evidence, in the same order.

    At most as many pieces as the request asks for are returned. Evidence below that rank is considered only to replace dropped
    pieces.

    Two texts are near-duplicates when their terms (:func:`hlgraph.retrieve.evidence.tables.terms`) have a TF-IDF cosine above
    1 - tau, over the given evidence, and they have the same numbers and names in the same order. The paper uses the cosine alone;
    that would drop "Ben beat Ada" as a duplicate of "Ada beat Ben", and a long chunk that differs from another in one number.

    Parameters
    ----------
    session : its request has the number of pieces
    evidence : best first
    tau : from 0 (keep everything)

    Returns
    -------
    list
        ``evidence`` itself if tau is 0.
    """
    if not tau or len(evidence) < 2:
        return evidence
    k = session.request.k
    with session.step("diversity") as step:
        texts: list[Terms] = []
        kept: list[int] = []
        window = k
        while len(kept) < min(k, len(evidence)) and len(texts) < len(evidence):
            texts.extend(terms(piece.text) for piece in evidence[len(texts) : window])
            kept = _kept(evidence[: len(texts)], texts, tau)
            window *= 2
        step.count = len(kept)
        step.details = {"tau": tau, "dropped": len(texts) - len(kept), "lemmas": has_lemmas()}
        session.notes.dropped["a near-duplicate of better evidence"] += len(texts) - len(kept)
    return [evidence[at] for at in kept[:k]]


def _kept(evidence: Sequence[Evidence], texts: Sequence[Terms], tau: float) -> list[int]:
    if not may_repeat(texts):
        return list(range(len(evidence)))
    kept = retain(
        tf_idf([item.words for item in texts]),
        # Ranks instead of scores: the order of the evidence already breaks ties.
        np.arange(len(evidence), 0, -1, dtype=np.float64),
        ids=[item.id for item in evidence],
        tau=tau,
        agrees=lambda one, other: says_the_same_order(texts[one], texts[other]),
    )
    return list(map(int, kept))


def with_labels(session: Session, evidence: Sequence[Evidence]) -> list[Evidence]:
    """The same evidence; statements with numbers get ``labels`` for these numbers from the tables of their chunk.

    Texts and spans do not change. Chunks contain their tables and get no labels.

    Parameters
    ----------
    session : reads the chunks
    evidence : statements and chunks

    Returns
    -------
    list
        In the same order.
    """
    with session.step("tabular") as step:
        chunk_ids = dict.fromkeys(piece.chunk_id for piece in evidence if piece.statement_id)
        chunks = session.records(Kind.CHUNK, list(chunk_ids), record_type=Chunk)
        tables = {chunk.id: cells(chunk.text) for chunk in chunks.values()}
        labelled = [_labelled(piece, chunks, tables) if piece.statement_id else piece for piece in evidence]
        step.count = sum(bool(piece.labels) for piece in labelled)
    return labelled


def _labelled(piece: Evidence, chunks: Mapping[str, Chunk], tables: Mapping[str, Sequence[Cell]]) -> Evidence:
    begin = chunks[piece.chunk_id].start
    texts = labels(piece.text, (piece.start - begin, piece.end - begin), cells=tables[piece.chunk_id])
    return replace(piece, labels=texts) if texts else piece
