"""A named corpus whose questions are known by hand.

::

    suit      Kestrel Works -sued-> Ambrose Motors
    purchase  Ambrose Motors -bought-> Orne Foundry
    loan      Kestrel Works -borrowed money from-> Varga Bank
    harbour   Halden Group -sued-> Lorne Shipping
    founder   Ivo Brandt -founded-> Lorne Shipping
"""

from __future__ import annotations

from hlgraph.records import Document

_TEXTS = {
    "suit": "Kestrel Works sued Ambrose Motors in Tessing. It rained.",
    "purchase": "Ambrose Motors bought the Orne Foundry. The day was cold.",
    "loan": "Kestrel Works borrowed money from Varga Bank.",
    "harbour": "Halden Group sued Lorne Shipping in Orne Harbour.",
    "founder": "Ivo Brandt founded Lorne Shipping with Mara Quill.",
}
DOCUMENTS = tuple(Document(f"doc:{name}", text, name.title()) for name, text in _TEXTS.items())
BRIDGE = "Who sued the person or organization that bought the Orne Foundry?"
BRIDGES = {
    BRIDGE,
    "Which organization sued the thing that Ivo Brandt founded?",
    "Who founded the thing that Halden Group sued?",
}
INTERSECTION = "Who sued Ambrose Motors in Tessing, and also borrowed money from Varga Bank?"
NULL = "Who bought the Orne Foundry, and also sued Ambrose Motors in Tessing?"
# What a chat model writes about: one person in four sources, none of which tells all.
MILL = (
    Document("doc:build", "Mara Quill built the mill of Tessing in 1931.", "The mill"),
    Document("doc:fire", "Mara Quill lost the grain store to a fire in 1934.", "The fire"),
    Document("doc:sale", "Mara Quill sold the weir to Varga Bank in 1936.", "The sale"),
    Document("doc:end", "Mara Quill left the river Orne in 1938.", "The end"),
)
