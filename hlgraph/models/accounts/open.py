"""Open the accounts of a store: the executor of a chat model with its ledger and stored replies, and totals of the ledger."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from hlgraph.errors import InputError
from hlgraph.models.accounts.budget import price_of
from hlgraph.models.accounts.ledger import GROUPS, GroupBy, Ledger, Spent
from hlgraph.models.accounts.replies import Replies
from hlgraph.models.executor import Accounts, Executor
from hlgraph.records import Kind, Source
from hlgraph.settings import REPLIES_FILE, accounts_folder

if TYPE_CHECKING:
    from hlgraph.models.protocols import ChatModel
    from hlgraph.settings import Settings
    from hlgraph.stores.protocols import GraphStore

LEDGER_FILE = "ledger-1.sqlite"  # 1 is the version of its schema
_DEADLINES = 2  # multiple of the client's timeout, which limits only the silence between two packets of a call


def executor_of(chat: ChatModel, settings: Settings, *, corpus: str) -> Executor:
    """The executor for a chat model, with the ledger and the stored replies of the store.

    Replies of a model without a name (a LangChain object that does not reveal it) are not stored: replies of two such models
    would be mixed up.

    Parameters
    ----------
    chat : the chat model
    settings : all settings; ``models`` and the accounts folder are read
    corpus : the corpus that the calls are made for

    Returns
    -------
    Executor
        The executor; close it to close its files.
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
    """The stored replies of the store; the file is created at the first reply."""
    return Replies(accounts_folder(settings) / REPLIES_FILE)


def spent(settings: Settings, by: GroupBy, *, corpus: str, graph: GraphStore) -> list[Spent]:
    """Totals of the ledger, the most expensive group first; see :meth:`hlgraph.sdk.client.HLGraph.ledger`.

    Parameters
    ----------
    settings : all settings; the accounts folder is read
    by : what to group by
    corpus : count the calls of this corpus only; not used if ``by`` is ``corpus``
    graph : resolves source ids to uris

    Returns
    -------
    list
        One line per group.

    Raises
    ------
    InputError
        ``by`` is not one of the groups.
    """
    if by not in GROUPS:
        raise InputError(f"the ledger cannot be grouped by {by!r}; choose one of: {', '.join(GROUPS)}")
    ledger = Ledger(accounts_folder(settings) / LEDGER_FILE)
    try:
        lines = ledger.spent(by, corpus=None if by == "corpus" else corpus)
    finally:
        ledger.close()
    if by != "source":
        return lines
    from hlgraph.stores.protocols import Scope

    names = [line.name for line in lines if line.name]
    sources = (
        graph.records(Kind.SOURCE, names, scope=Scope(corpus))
        if names and graph.stats(corpus, has_counts=False)
        else []
    )
    uris = {record.id: record.uri for record in sources if isinstance(record, Source)}
    return [replace(line, name=uris.get(line.name, line.name)) for line in lines]
