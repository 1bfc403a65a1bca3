"""Finishes what is unfinished: changes of interrupted runs, and the renewal of topics of a corpus of an older version.

Until version 0.2 the vector of a topic was that of its name alone. The migration of the graph store marks its corpora;
:func:`resume`, with which every write begins, and ``hlgraph migrate apply`` renew the topics of marked ones. No model is
called: the stored vector of a topic is that of its name, and the statements have theirs. Each batch is a change of the
journal, which holds the new vectors; publishing it moves the mark. So a batch that was interrupted is finished as it was
begun, and no name is taken from a vector that was renewed already.
"""

from __future__ import annotations

import itertools
import logging
from collections.abc import Sequence

import numpy as np

from hlgraph.change import Change, Pending, Renewal, VectorBlock
from hlgraph.ids import content_id, normalise_name
from hlgraph.persist.journal import finish, persist
from hlgraph.persist.topics import links_about, topic_rows
from hlgraph.records import Kind, Topic
from hlgraph.stores.protocols import Scope, Stores

_LOG = logging.getLogger(__name__)
_PULLED = 10_000  # topics whose statements are looked up together
_BATCH = 1_000  # topics of one change


def resume(pending: Sequence[Pending], stores: Stores) -> int:
    """Finish the changes of interrupted runs, and renew topics of an older version; the caller holds the lock.

    Parameters
    ----------
    pending : recorded changes, in their order
    stores : both stores

    Returns
    -------
    The number of changes.
    """
    for item in pending:
        _LOG.info("finishing change %s of an interrupted run", item.change.id)
        finish(item, stores)
    for corpus in stores.graph.stats(has_counts=False):
        if corpus.renewed_to is not None:
            _renew(corpus.corpus, after=corpus.renewed_to, stores=stores)
    return len(pending)


def _renew(corpus: str, *, after: str, stores: Stores) -> None:
    """Renew the topics with a higher id."""
    _LOG.info("corpus %s: renewing the vectors of topics", corpus)
    found = stores.graph.find(Kind.TOPIC, Scope(corpus))
    topics = (item for item in found if isinstance(item, Topic) and item.id > after)
    while part := list(itertools.islice(topics, _PULLED)):
        about = links_about([item.id for item in part], corpus, graph=stores.graph)
        for start in range(0, len(part), _BATCH):
            batch = part[start : start + _BATCH]
            last = batch[-1].id
            names = _names(batch, corpus, stores)
            rows = (topic_rows(names, about, corpus=corpus, vectors=stores.vectors),) if names.ids else ()
            name = content_id("renewal", corpus, last)
            persist(Change(name, corpus, replacements=rows, renewal=Renewal(last)), stores)
    persist(Change(content_id("renewal", corpus), corpus, renewal=Renewal("", is_complete=True)), stores)


def _names(topics: Sequence[Topic], corpus: str, stores: Stores) -> VectorBlock:
    """The stored vectors of these topics: those of their names, as nothing has renewed them yet."""
    known = {item.id: item for item in topics}
    ids, matrix = stores.vectors.vectors(Kind.TOPIC, corpus, ids=list(known))
    texts, sources = (normalise_name(known[name].name) for name in ids), (known[name].source_id for name in ids)
    data = np.ascontiguousarray(matrix, dtype=np.float32)
    return VectorBlock(Kind.TOPIC, tuple(ids), tuple(texts), tuple(sources), data.shape[1], data.tobytes())
