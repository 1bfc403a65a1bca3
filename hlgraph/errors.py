"""Every error that hlgraph raises on purpose: one tree, each saying whether trying again may help.

::

    HLGraphError
    ├── InputError                what the caller gave cannot be used
    │   ├── ReadError             one source cannot be read
    │   ├── ExtractionError       an extraction record cannot be used
    │   ├── WhereError            a metadata filter cannot be parsed or names an unknown field
    │   ├── UnknownNameError      no such corpus, strategy, store, source, format
    │   └── SettingsError         a settings file or value is wrong
    ├── MissingExtraError         an optional dependency is not installed
    ├── ModelError                a model is missing, broken or answered nonsense
    │   ├── ModelMissingError     `hlgraph models install` mends it
    │   ├── ModelMismatchError    the corpus was embedded by another model or dimension
    │   ├── ModelUnavailableError the provider is away, slow, or asks to wait (retryable)
    │   ├── ModelAccessError      the provider does not let us in: key, permission, name of the model
    │   ├── ModelAnswerError      the provider refused this very request, or answered what cannot be read
    │   └── BudgetError           the budget for a chat model does not reach for another call
    ├── StoreError                a store refused
    │   ├── StoreLockedError      another process is writing (retryable)
    │   ├── StoreConflictError    the source changed since the change was planned (retryable)
    │   ├── StoreUnavailableError read-only, disk full, server away (retryable)
    │   └── StoreCorruptError     what is stored contradicts itself
    ├── ClusterError              processes of an ingest on many of them cannot start, or are gone (retryable)
    └── MigrationError            a migration is pending, changed, or newer than this hlgraph

Each message names the input, the reason and the mend.
"""

from __future__ import annotations


class HLGraphError(Exception):
    """The root. ``retryable`` says whether the same call may succeed later, unchanged."""

    retryable: bool = False

    def __init__(self, message: str, *, retryable: bool | None = None) -> None:
        super().__init__(message)
        if retryable is not None:
            self.retryable = retryable

    def __reduce__(self) -> tuple[object, ...]:
        """Errors go from process to process as they are: some are made of more than their message."""
        return _remade, (type(self), self.args), dict(self.__dict__)


def _remade(kind: type[HLGraphError], args: tuple[object, ...]) -> HLGraphError:
    error = kind.__new__(kind)
    error.args = args
    return error


class InputError(HLGraphError):
    """What the caller gave cannot be used."""


class ReadError(InputError):
    """One source cannot be read; the others go on."""

    def __init__(self, uri: str, reason: str, mend: str = "") -> None:
        super().__init__(f"{uri}: {reason}" + (f"; {mend}" if mend else ""))
        self.uri = uri
        self.reason = reason
        self.mend = mend


class ExtractionError(InputError):
    """An extraction record cannot be used."""


class WhereError(InputError):
    """A metadata filter cannot be parsed, or names a field that no source of the corpus has."""


class UnknownNameError(InputError):
    """No corpus, strategy, store, source or format of that name."""


class SettingsError(InputError):
    """A settings file or value is wrong."""


class MissingExtraError(HLGraphError):
    """An optional dependency is not installed; the message holds the ``pip install`` line."""

    def __init__(self, extra: str, needed_for: str) -> None:
        super().__init__(f"{needed_for} needs an optional dependency; run: pip install 'hlgraph[{extra}]'")
        self.extra = extra


class ModelError(HLGraphError):
    """A model is missing, broken or answered nonsense."""


class ModelMissingError(ModelError):
    """A local model is not installed; the message holds the command that installs it."""


class ModelMismatchError(ModelError):
    """The corpus was embedded by another model, or in another dimension."""


class ModelUnavailableError(ModelError):
    """The provider of a model is away, slow, or asks to wait.

    ``retry_after``: seconds that it asks for, if it does; ``is_silent``: nothing answered at all.
    """

    retryable = True

    def __init__(self, message: str, *, retry_after: float | None = None, is_silent: bool = False) -> None:
        super().__init__(message)
        self.retry_after = retry_after
        self.is_silent = is_silent


class ModelAccessError(ModelError):
    """The provider of a model does not let us in: the key, a permission, the region or the name of the model is wrong."""


class ModelAnswerError(ModelError):
    """The provider of a model refused this very request, or its answer cannot be read."""


class BudgetError(ModelError):
    """The budget for a chat model does not reach for another call; what was done before is kept.

    ``tokens`` and ``usd`` were spent; ``usd`` is None where the price of the model is not known. The same call again goes
    on, with the same budget anew: so it is not ``retryable``, which would let a program spend without an end.
    """

    def __init__(self, message: str, *, tokens: int = 0, usd: float | None = None) -> None:
        super().__init__(message)
        self.tokens = tokens
        self.usd = usd


class StoreError(HLGraphError):
    """A store refused."""


class StoreLockedError(StoreError):
    """Another process is writing to the store."""

    retryable = True


class StoreConflictError(StoreError):
    """A source changed after the change to it was planned."""

    retryable = True


class StoreUnavailableError(StoreError):
    """The store cannot be reached or written: read-only, disk full, server away."""

    retryable = True


class StoreCorruptError(StoreError):
    """What is stored contradicts itself; ``hlgraph doctor`` says where."""


class ClusterError(HLGraphError):
    """The processes of an ingest that runs on many of them cannot be started, or one that it needs is gone."""

    retryable = True


class MigrationError(HLGraphError):
    """A migration is pending, was changed after it ran, or is newer than this hlgraph."""
