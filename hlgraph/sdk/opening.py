"""The open stores and models of a graph, and the calls on them. Stores that were replaced by others are opened again."""

from __future__ import annotations

import copy
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self, TypeVar

from hlgraph.errors import HLGraphError, SettingsError, StoreClosedError, StoreConflictError
from hlgraph.models.choose import ChosenModels
from hlgraph.sdk.health import findings
from hlgraph.settings import Settings, at_store, load
from hlgraph.stores.one_state import in_one_state
from hlgraph.stores.open import Opened, open_stores

if TYPE_CHECKING:
    from hlgraph.models.accounts.budget import Budget
    from hlgraph.models.choose import AnyChat, AnyEmbedder, AnyReranker
    from hlgraph.models.executor import Executor
    from hlgraph.stores.closing import Calls
    from hlgraph.stores.protocols import Stores

_R = TypeVar("_R")
_ATTEMPTS: Final = 3
# Methods whose result must be of one published state. Searches and answers ensure that themselves, since they call models.
_READING: Final = frozenset({"find", "list", "map", "read", "sources", "records", "topics"})


class Resources:
    """The open stores and models of some settings. Thread-safe.

    Parameters
    ----------
    settings : name the stores
    embedder, reranker, chat : see :class:`hlgraph.HLGraph`

    Attributes
    ----------
    opened : the stores
    models : the models, created at their first use
    """

    def __init__(
        self,
        settings: Settings,
        *,
        embedder: AnyEmbedder | None = None,
        reranker: AnyReranker | None = None,
        chat: AnyChat | None = None,
    ) -> None:
        self.opened: Opened = open_checked(settings)
        self._closing = ExitStack()
        self.models = ChosenModels(
            settings.models, embedder=embedder, reranker=reranker, chat=chat, closing=self._closing
        )
        self._settings = settings
        self._watch: Callable[[Stores], Stores] | None = None
        self._guard = threading.Lock()  # one executor per corpus, even if several threads ask
        self._executors: dict[str, Executor] = {}

    def current(self) -> Opened:
        """The stores; opened again if they were replaced by others."""
        calls = self.opened.stores.calls
        if calls is not None and calls.is_outermost and calls.is_replaced():
            with self._guard:
                if self.opened.stores.calls is calls:
                    old, self.opened = self.opened, self._watched(open_checked(self._settings))
                    calls.close(0.0)
                    old.closing.close()  # running calls continue on the old stores
        elif calls is not None:
            try:
                calls.check()
            except StoreClosedError:
                if calls is self.opened.stores.calls:
                    raise
                return self.current()  # another thread opened the new store meanwhile
        return self.opened

    def watched(self, watch: Callable[[Stores], Stores]) -> Self:
        """The same resources, with the stores wrapped by ``watch``."""
        other = copy.copy(self)
        other._watch = watch
        other.opened = other._watched(self.opened)
        return other

    def _watched(self, opened: Opened) -> Opened:
        return opened if self._watch is None else opened._replace(stores=self._watch(opened.stores))

    def executor(self, settings: Settings, budget: Budget | None) -> Executor | None:
        """The executor of the chat model for one command in the corpus of the settings; None without a chat model.

        Parameters
        ----------
        settings : name the corpus
        budget : what the command may spend; None: no bound
        """
        chat, corpus = self.models.chat, settings.corpus
        if chat is None:
            return None
        with self._guard:
            if corpus not in self._executors:
                from hlgraph.models.choose import executor_of

                executor = self._executors[corpus] = executor_of(chat, settings, corpus=corpus)
                self._closing.callback(executor.close)
            return self._executors[corpus].begin(budget)

    def close(self, timeout: float) -> None:
        """Refuse new calls, wait for running ones, and close the stores and the models. May be repeated.

        Parameters
        ----------
        timeout : seconds to wait
        """
        calls = self.opened.stores.calls
        if calls is not None:
            calls.close(timeout)
        with self._closing:
            self.opened.closing.close()


def open_checked(settings: Settings) -> Opened:
    """The open stores of the settings, whose checks include the content of records and rows.

    Parameters
    ----------
    settings : name the stores
    """
    opened = open_stores(settings)
    return opened._replace(check=lambda: findings(opened))


def in_call(owner: Any, name: str, *, work: Callable[[], _R]) -> _R:
    """The result of a public method, counted as a call on the stores of its object.

    If the store is replaced by another one meanwhile, a method of :class:`hlgraph.HLGraph` is repeated on the new store: an
    ingest and a deletion change nothing the second time.

    Parameters
    ----------
    owner : the object: a graph, or a part of one
    name : of the method
    work : calls it

    Raises
    ------
    StoreClosedError : the graph was closed, or opened before a fork
    StoreConflictError : the store was replaced during each of three attempts
    """
    resources: Resources | None = getattr(owner, "_resources", None)
    for _ in range(_ATTEMPTS):
        stores: Stores = owner.stores if resources is None else resources.current().stores
        calls = stores.calls
        if calls is None:
            return work()
        is_outermost = calls.is_outermost
        try:
            with calls.call():
                if resources is None and is_outermost and calls.is_replaced():
                    calls.close(0.0)
                    calls.check()
                is_read = name in _READING and is_outermost
                corpus = getattr(owner, "corpus", "") or owner.settings.corpus
                result = in_one_state(stores, corpus, read=work) if is_read else work()
        except HLGraphError:
            # Raised here: an error kept in a variable would keep its frames alive, and with them a cursor and its read state.
            if not is_outermost or not _is_replaced(calls, resources):
                raise
        else:
            if not is_outermost or not _is_replaced(calls, resources):
                return result
    raise StoreConflictError(
        "the store was replaced by another one again and again while it was used; call it again when that has ended"
    )


def _is_replaced(calls: Calls, resources: Resources | None) -> bool:
    """Whether the store of these calls was replaced: by what lies at its URL now, or earlier, as another thread saw.

    A third store may have the inode of the first, once nothing keeps that open.
    """
    return resources is not None and (calls.is_replaced() or calls is not resources.opened.stores.calls)


def steps_in_calls(owner: Any, steps: Iterator[_R]) -> Iterator[_R]:
    """The items of an iterator that a public method returned; each step counts as a call.

    Parameters
    ----------
    owner : see :func:`in_call`
    steps : the iterator
    """
    resources: Resources | None = getattr(owner, "_resources", None)
    calls = (owner.stores if resources is None else resources.opened.stores).calls
    end = object()
    try:
        while True:
            with nullcontext() if calls is None else calls.call():
                step: Any = next(steps, end)
            if step is end:
                return
            yield step
    finally:
        close = getattr(steps, "close", None)
        if close is not None:
            close()


def settings_of(target: str | Path | Settings | None) -> Settings:
    """The settings that the target of :func:`hlgraph.connect` names. Raises SettingsError for an empty text.

    A path is a settings file if a file lies there or if it ends as one, else the folder of an embedded store.
    """
    if target == "":
        raise SettingsError("target is an empty text; give the url of a store or a settings file, or leave it out")
    if isinstance(target, Settings):
        return target
    if target is None or ("://" not in str(target) and _is_settings_file(Path(target))):
        return load(target)
    return at_store(load(), str(target))


def _is_settings_file(path: Path) -> bool:
    return path.is_file() or path.suffix.lower() in (".yaml", ".yml")
