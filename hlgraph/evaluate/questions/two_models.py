"""The two chat models that make questions, one that writes and one that validates, with one budget for both."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from hlgraph.errors import InputError
from hlgraph.ingest.plan import NamedChat
from hlgraph.models.accounts.budget import Purse
from hlgraph.models.accounts.open import executor_of
from hlgraph.models.choose import chosen_chat
from hlgraph.settings import Price

if TYPE_CHECKING:
    from hlgraph.models.accounts.budget import Budget
    from hlgraph.models.executor import Executor
    from hlgraph.settings import Settings


@contextmanager
def two_models(
    settings: Settings, *, validator: str = "", budget: Budget | None = None, is_planned: bool = False
) -> Iterator[tuple[Executor, Executor]]:
    """The executors of writer and validator, which are one if only one model is named.

    A budget in dollars counts the calls of both at the higher of the two prices, so that it is never exceeded.

    Parameters
    ----------
    settings : all settings; ``models.chat`` writes
    validator : name of the second model, such as ``openai:gpt-4o``; default: ``models.judge``, else the first
    budget : of both together
    is_planned : whether they are only planned for: then a name is enough, and no key is needed

    Yields
    ------
    tuple of Executor

    Raises
    ------
    InputError
        No chat model is named, or a price is not known and the budget is in dollars.
    """
    models = settings.models
    if not models.chat:
        raise InputError(
            "questions by a chat model need one; name it in HLGRAPH_CHAT or models.chat (such as openai:gpt-4o-mini), or "
            "make them from facts"
        )
    second = validator or models.judge or models.chat
    urls = {models.chat: models.chat_url}
    urls.setdefault(second, models.judge_url if second == models.judge else "")
    made = [
        executor_of(
            NamedChat(name) if is_planned else chosen_chat(name, replace(models, chat_url=url)),
            settings,
            corpus=settings.corpus,
        )
        for name, url in urls.items()
    ]
    try:
        prices = [item.accounts.price for item in made]
        known = [price for price in prices if price is not None]
        highest = Price(max(item.input for item in known), max(item.output for item in known)) if known else None
        unknown = [item.fingerprint for item in made if item.accounts.price is None]
        purse = Purse(budget, price=None if unknown else highest, model=", ".join(unknown))
        ready = [item.begin(purse=purse) for item in made]
        yield ready[0], ready[-1]
    finally:
        for item in made:
            item.close()
