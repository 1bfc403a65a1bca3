"""All errors that hlgraph raises on purpose, as one tree. Each error tells whether a retry may succeed.

::

    HLGraphError
    ├── InputError                an argument cannot be used
    │   ├── ReadError             one source cannot be read
    │   ├── ExtractionError       an extraction record cannot be used
    │   ├── WhereError            a metadata filter cannot be parsed or names an unknown field
    │   ├── HoldError             a hold refuses that a source is deleted or replaced
    │   ├── UnknownNameError      no such corpus, strategy, store, source, format
    │   ├── SettingsError         a settings file or value is wrong
    │   ├── LimitError            a request to the server is larger than it accepts
    │   └── AccessError           the caller may not do this, or no caller is named
    │       └── CredentialError   the key or token of a request to the server is missing or not valid
    ├── BusyError                 the server has no room for another call (retryable)
    ├── DeadlineError             a call took longer than the server waits (retryable)
    ├── MissingExtraError         an optional dependency is not installed
    ├── ModelError                a model is missing, broken or returned an unusable answer
    │   ├── ModelMissingError     a local model is not installed; run `hlgraph models install`
    │   ├── ModelMismatchError    the corpus was embedded with another model or dimension
    │   ├── ModelUnavailableError the provider is unreachable, slow, or asks to wait (retryable)
    │   ├── ModelAccessError      the provider denies access: key, permission, name of the model
    │   ├── ModelAnswerError      the provider rejected this request, or its answer cannot be parsed
    │   │   └── ModelFilterError  the provider's content filter stopped the request or the reply
    │   └── BudgetError           the budget does not cover another call of the chat model
    ├── StoreError                a store rejected an operation
    │   ├── StoreLockedError      another process is writing (retryable)
    │   ├── StoreConflictError    the source changed after the change was planned (retryable)
    │   ├── StoreUnavailableError read-only, disk full, server unreachable (retryable)
    │   ├── StoreCorruptError     the stored data are inconsistent
    │   └── StoreClosedError      the graph was closed before this call
    ├── ClusterError              worker processes of a distributed ingest cannot start or have died (retryable)
    └── MigrationError            a migration is pending, changed, or newer than this hlgraph

Each message names the input, the reason and the remedy.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


class HLGraphError(Exception):
    """The root of all errors; ``retryable`` says whether the same call may succeed later."""

    retryable: bool = False

    def __init__(self, message: str, *, retryable: bool | None = None) -> None:
        super().__init__(message)
        if retryable is not None:
            self.retryable = retryable

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle all attributes, since some errors have more than their message."""
        return _remade, (type(self), self.args), dict(self.__dict__)


def _remade(kind: type[HLGraphError], args: tuple[object, ...]) -> HLGraphError:
    error = kind.__new__(kind)
    error.args = args
    return error


class InputError(HLGraphError):
    """An argument cannot be used."""


class ReadError(InputError):
    """One source cannot be read; the ingest continues with the others.

    Attributes
    ----------
    uri : the source
    reason : why it cannot be read
    mend : the remedy; may be empty
    extra : name of a missing extra, if that is the reason; otherwise empty
    """

    extra: str = ""

    def __init__(self, uri: str, reason: str, mend: str = "") -> None:
        super().__init__(f"{uri}: {reason}" + (f"; {mend}" if mend else ""))
        self.uri = uri
        self.reason = reason
        self.mend = mend


class ExtractionError(InputError):
    """An extraction record cannot be used."""


class WhereError(InputError):
    """A metadata filter cannot be parsed, or names a field that no source of the corpus has."""


class HoldError(InputError):
    """A hold refuses that a source is deleted or replaced.

    Attributes
    ----------
    hold : name of the hold
    uri : the source
    """

    def __init__(self, message: str, *, hold: str = "", uri: str = "") -> None:
        super().__init__(message)
        self.hold = hold
        self.uri = uri


class UnknownNameError(InputError):
    """There is no corpus, strategy, store, source or format of this name."""


class SettingsError(InputError):
    """A settings file or value is wrong."""


class LimitError(InputError):
    """A request to the server is larger than the server accepts."""


class AccessError(InputError):
    """A caller needs the right to operate for this, or sources have groups and no caller is named."""


class CredentialError(AccessError):
    """A request to the server has no key or token, or one that is not valid, has expired or was revoked."""


class BusyError(HLGraphError):
    """The server has no room for another call.

    Attributes
    ----------
    retry_after : seconds after which a retry may succeed
    """

    retryable = True

    def __init__(self, message: str, *, retry_after: float = 1.0) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class DeadlineError(HLGraphError):
    """A call took longer than the server waits for it."""

    retryable = True


class MissingExtraError(HLGraphError):
    """An optional dependency is not installed; the message contains the ``pip install`` command."""

    def __init__(self, extra: str, needed_for: str) -> None:
        super().__init__(f"{needed_for} needs an optional dependency; run: pip install 'hlgraph[{extra}]'")
        self.extra = extra


@contextmanager
def needs_extra(extra: str, needed_for: str) -> Iterator[None]:
    """Import packages of an extra within the block; MissingExtraError if one of them is not installed.

    Parameters
    ----------
    extra : its name
    needed_for : what needs it, the beginning of the message
    """
    try:
        yield
    except ImportError as error:
        raise MissingExtraError(extra, needed_for) from error


class ModelError(HLGraphError):
    """A model is missing, broken or returned an unusable answer."""


class ModelMissingError(ModelError):
    """A local model is not installed; the message contains the command that installs it."""


class ModelMismatchError(ModelError):
    """The corpus was embedded with another model, or in another dimension."""


class ModelUnavailableError(ModelError):
    """The provider of a model is unreachable, slow, or asks to wait.

    Attributes
    ----------
    retry_after : seconds that the provider asks to wait; None if it names none
    is_silent : True if there was no response at all
    """

    retryable = True

    def __init__(self, message: str, *, retry_after: float | None = None, is_silent: bool = False) -> None:
        super().__init__(message)
        self.retry_after = retry_after
        self.is_silent = is_silent


class ModelAccessError(ModelError):
    """The provider of a model denies access: the key, a permission, the region or the name of the model is wrong."""


class ModelAnswerError(ModelError):
    """The provider of a model rejected this request, or its answer cannot be parsed."""


class ModelFilterError(ModelAnswerError):
    """The content filter of the provider stopped the request or the reply, or the model refused to reply."""


class BudgetError(ModelError):
    """The budget of a chat model does not cover another call; finished work is kept.

    A repeated call continues the work with the full budget again. The error is not ``retryable``, because automatic retries
    would then spend without limit.

    Attributes
    ----------
    tokens : tokens that were spent
    usd : US dollars that were spent; None if the price of the model is unknown
    """

    def __init__(self, message: str, *, tokens: int = 0, usd: float | None = None) -> None:
        super().__init__(message)
        self.tokens = tokens
        self.usd = usd


class StoreError(HLGraphError):
    """A store rejected an operation."""


class StoreLockedError(StoreError):
    """Another process is writing to the store."""

    retryable = True


class StoreConflictError(StoreError):
    """A source changed after the change to it was planned."""

    retryable = True


class StoreUnavailableError(StoreError):
    """The store cannot be reached or written: read-only, disk full, server unreachable."""

    retryable = True


class StoreCorruptError(StoreError):
    """The stored data was altered; ``hlgraph doctor`` reports where, ``hlgraph reconcile --repair`` repairs it."""


class StoreClosedError(StoreError):
    """The graph was closed before this call; open it again with :func:`hlgraph.connect`."""


class ClusterError(HLGraphError):
    """The worker processes of a distributed ingest cannot be started, or one of them has died."""

    retryable = True


class MigrationError(HLGraphError):
    """A migration is pending, was changed after it ran, or is newer than this hlgraph."""
