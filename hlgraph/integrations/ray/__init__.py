"""Ingest on Ray: the steps run in many processes, on one machine or on several (extra ``ray``).

::

    from hlgraph import IngestOptions, connect
    from hlgraph.integrations.ray import ingest

    with connect("hlgraph.yaml") as graph:
        report = ingest(graph, ["docs/"], options=IngestOptions(extract="chat"), workers=4)

Reading, comparing with the store, chunking, extracting and embedding are stages of one Ray Data pipeline, which keeps a
bounded share of the sources in flight. The calling process is the only writer of both stores: it takes the results in the
order of the sources, and writes them with the usual journal. The graph is therefore the same as without Ray, and an
interrupted ingest can be continued with or without it.

Ray restarts a process that was killed, which then repeats its part. All processes share one file of chat replies, one
ledger and one budget, so that nothing is paid for twice.
"""

from hlgraph.integrations.ray.run import ingest, local_cluster

__all__ = ["ingest", "local_cluster"]
