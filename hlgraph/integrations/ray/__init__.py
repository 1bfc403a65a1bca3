"""hlgraph on Ray: an ingest whose steps run in many processes, on one machine or on many (extra ``ray``).

::

    from hlgraph import IngestOptions, connect
    from hlgraph.integrations.ray import ingest

    with connect("hlgraph.yaml") as graph:
        report = ingest(graph, ["docs/"], options=IngestOptions(extract="chat"), workers=4)

Reading, comparing with the store, cutting, extracting and embedding are stages of one Ray Data pipeline, which keeps a bounded
part of the sources in flight. The process that calls is the one writer of both stores: it takes what comes out in the order of
the sources, and writes it with the journal of every ingest. So the graph is the same as without Ray, and an ingest that was
killed goes on with or without it.

A process that is killed is made anew by Ray and does its part again. Replies of a chat model are kept in one file, spending is
entered in one ledger and held to one budget for all processes: what was paid before is not paid again.
"""

from hlgraph.integrations.ray.cluster import local_cluster
from hlgraph.integrations.ray.run import ingest

__all__ = ["ingest", "local_cluster"]
