"""Opens the accounts of a store: the executor of a chat model with its ledger and kept replies, and what was spent."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from hlgraph.errors import InputError
from hlgraph.models.accounts.ledger import GROUPS, GroupBy, Ledger, Spent
from hlgraph.models.accounts.prices import price_of
from hlgraph.models.accounts.replies import Replies
from hlgraph.models.executor import Accounts, Executor
from hlgraph.records import Kind, Source
from hlgraph.settings import REPLIES_FILE, accounts_folder

if TYPE_CHECKING:
    from hlgraph.models.seams import ChatModel
    from hlgraph.settings import Settings
    from hlgraph.stores.protocols import GraphStore

LEDGER_FILE = "ledger-1.sqlite"  # the number is that of its layout
_DEADLINES = 2  # times the time-out of a client: it counts the silence between two packets, and a call has many


def executor_of(chat: ChatModel, settings: Settings, *, corpus: str) -> Executor:
    """The executor for a chat model, with the ledger of the store and the replies that are kept.

    Replies of a model that does not say which one it is (an object of LangChain with no name of a model) are not kept: those
    of two would be mixed up.
    """
    models, folder = settings.models, accounts_folder(settings)
    is_known = ":" in chat.fingerprint or not hasattr(chat, "patience")
    if not models.structured and hasattr(chat, "has_forms"):
        chat.has_forms = False
    accounts = Accounts(
        corpus=corpus,
        ledger=Ledger(folder / LEDGER_FILE),
        replies=kept_replies(settings) if models.keep_replies and is_known else None,
        price=price_of(chat.fingerprint, models.prices),
    )
    return Executor(chat, accounts=accounts, most=models.concurrency, deadline=_DEADLINES * models.timeout)


def kept_replies(settings: Settings) -> Replies:
    """The file of replies of the store; made when the first reply is kept."""
    return Replies(accounts_folder(settings) / REPLIES_FILE)


def spent(settings: Settings, by: GroupBy, *, corpus: str, graph: GraphStore) -> list[Spent]:
    """The lines of the ledger, the dearest first; see :meth:`hlgraph.sdk.client.HLGraph.ledger`."""
    if by not in GROUPS:
        raise InputError(f"a ledger has no lines by {by!r}; choose one of: {', '.join(GROUPS)}")
    ledger = Ledger(accounts_folder(settings) / LEDGER_FILE)
    try:
        lines = ledger.spent(by, corpus=None if by == "corpus" else corpus)
    finally:
        ledger.close()
    if by != "source":
        return lines
    names = [line.name for line in lines if line.name]
    held = graph.records(Kind.SOURCE, names) if names and graph.stats(corpus, has_counts=False) else []
    uris = {record.id: record.uri for record in held if isinstance(record, Source)}
    return [replace(line, name=uris.get(line.name, line.name)) for line in lines]
