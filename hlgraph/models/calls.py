"""Call model providers: map the errors of their clients to ours in one place, and retry transient ones.

The clients share no error class, but they share conventions: a status code on the error or on its response, and class names
for connection failures. Both are looked up along the chain of causes, so that no client has to be imported.
"""

from __future__ import annotations

import email.utils
import errno
import logging
import random
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from hlgraph.errors import (
    HLGraphError,
    ModelAccessError,
    ModelAnswerError,
    ModelError,
    ModelFilterError,
    ModelUnavailableError,
)

_log = logging.getLogger(__name__)
_Result = TypeVar("_Result")

_BUSY = frozenset({408, 409, 425, 429})
_SHUT = frozenset({401, 402, 403, 404})
_SERVER = 500
_LEAST_STATUS = 100
# Class names of connection failures in any client; all of them may be transient.
_BROKEN_CONNECTION = frozenset(
    {
        *("TimeoutError", "TimeoutException", "APITimeoutError", "ReadTimeoutError", "ConnectTimeoutError"),
        *("ConnectionError", "APIConnectionError", "EndpointConnectionError", "ConnectionClosedError"),
        *("HTTPClientError", "TransportError", "ProtocolError", "IncompleteReadError", "ResponseStreamingError"),
        *("IncompleteRead", "gaierror"),  # of Python's own library
    }
)
# Errors of the operating system when the network is down; ``OSError`` has no subclass for these.
_NO_ROUTE = frozenset({errno.ENETDOWN, errno.ENETUNREACH, errno.ENETRESET, errno.EHOSTDOWN, errno.EHOSTUNREACH})
_BUSY_CODES = frozenset(
    {
        *("ThrottlingException", "Throttling", "TooManyRequestsException", "ServiceUnavailableException"),
        *("ModelNotReadyException", "ModelTimeoutException", "InternalServerException", "RequestTimeout"),
    }
)
_NO_ACCESS = frozenset(
    {
        *("NoCredentialsError", "PartialCredentialsError", "NoRegionError", "ProfileNotFound", "InvalidURL"),
        *("UnsupportedProtocol", "CredentialRetrievalError", "UnauthorizedSSOTokenError", "SSOTokenLoadError"),
    }
)
# OpenAI's client, for structured output; Azure answers 400 to a request that its filter stopped.
_FILTERS = frozenset({"ContentFilterFinishReasonError"})
_FILTER_WORDS = ("content management policy", "content_filter", "responsibleaipolicyviolation")
_LONG_WAIT = 5.0  # seconds; a wait this long is logged as a warning
_DEEPEST = 8
_EXCERPT = 300
_NAMED_SECRET = re.compile(
    r"(?i)\b(bearer|basic|api[-_ ]?key|token|secret|password)\b[\"']?\s*[:=]?\s*[\"']?[^\s\"',;)]+"
)
_LONG_TOKEN = re.compile(r"[A-Za-z0-9_\-+=*]{16,}")
_HIDDEN = "***"


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    """Retry policy: the number of attempts, and the waits between them.

    The wait before attempt n + 1 is what the provider asks for (``Retry-After``), else a random duration between half of and
    all of ``min(longest_wait, first_wait * 2^(n-1))``. A call that would wait longer than ``total`` in all gives up.

    Attributes
    ----------
    calls : maximum number of attempts, the first included; rate limits count by the minute, so all attempts together should
        take longer than that; default 8
    silent_calls : the same if nothing answers at all, since the address is probably wrong; default 3
    first_wait : upper bound of the first wait, in seconds; default 1
    longest_wait : upper bound of any wait that the provider did not ask for, in seconds; default 30
    total : maximum of all waits together, in seconds; default 180
    sleep : waits for a number of seconds
    """

    calls: int = 8
    silent_calls: int = 3
    first_wait: float = 1.0
    longest_wait: float = 30.0
    total: float = 180.0
    sleep: Callable[[float], None] = time.sleep


PATIENT = Patience()
_chance = random.SystemRandom()


def call(model: str, action: Callable[[], _Result], *, patience: Patience = PATIENT) -> _Result:
    """The result of ``action``, with retries while the provider is only unavailable.

    Parameters
    ----------
    model : name of the model, for errors and logs
    action : makes one call
    patience : the retry policy

    Returns
    -------
    object
        The result of ``action``.

    Raises
    ------
    ModelUnavailableError
        The provider stayed unavailable.
    ModelAccessError, ModelAnswerError
        The call failed in a way that a retry cannot help.
    """
    tries, waited = 0, 0.0
    while True:
        tries += 1
        try:
            return mapped(model, action)
        except ModelUnavailableError as error:
            wait = _wait(error, tries, patience)
            most = patience.silent_calls if error.is_silent else patience.calls
            if tries >= most or waited + wait > patience.total:
                message = f"{error} (tried {tries} times in {waited:.0f} s)" if tries > 1 else str(error)
                raise ModelUnavailableError(
                    message, retry_after=error.retry_after, is_silent=error.is_silent
                ) from error.__cause__
            level = logging.WARNING if wait >= _LONG_WAIT else logging.INFO
            _log.log(level, "%s is unavailable; try %d of %d in %.1f s", model, tries + 1, most, wait)
        patience.sleep(wait)
        waited += wait


def mapped(model: str, action: Callable[[], _Result]) -> _Result:
    """The result of ``action``; an error of the provider's client becomes one of ours, without secrets.

    Parameters
    ----------
    model : name of the model, for errors
    action : makes one call

    Returns
    -------
    object
        The result of ``action``.

    Raises
    ------
    ModelUnavailableError, ModelAccessError, ModelAnswerError
        The call failed.
    """
    try:
        return action()
    except (HLGraphError, MemoryError):
        raise
    except Exception as error:  # noqa: BLE001 - it ends by raising
        chain = list(_chain(error))
        # A provider's error may quote the API key: then it is not chained to ours either.
        is_clean = all(without_secrets(str(each), known=model) == str(each) for each in chain)
        raise _failure(model, error, chain) from (error if is_clean else None)


def set_up(model: str, make: Callable[[], _Result]) -> _Result:
    """The client of a provider.

    Parameters
    ----------
    model : name of the model, for errors
    make : creates the client

    Returns
    -------
    object
        The client.

    Raises
    ------
    ModelAccessError
        The client cannot be created, mostly because a key or a region is missing.
    """
    try:
        return make()
    except Exception as error:  # noqa: BLE001 - it ends by raising
        raw = " ".join(_text(error).split())
        text = without_secrets(raw, known=model)
        message = f"{model}: no client can be created ({text[:_EXCERPT]}); check the key or credentials, the region and the url"
        raise ModelAccessError(message) from (error if text == raw else None)


def _wait(error: ModelUnavailableError, tries: int, patience: Patience) -> float:
    if error.retry_after is not None:
        return max(0.0, error.retry_after)
    longest = min(patience.longest_wait, patience.first_wait * 2.0 ** (tries - 1))
    return _chance.uniform(longest / 2, longest)


def _failure(model: str, error: Exception, chain: Sequence[BaseException]) -> ModelError:
    """Our error for an error of a client; ``chain`` is the error with its causes."""
    names = {kind.__name__ for each in chain for kind in type(each).__mro__}
    status = next((number for each in chain if (number := _status(each)) is not None), None)
    raw = " ".join(_text(error).split())
    text = without_secrets(raw, known=model)[:_EXCERPT]
    code = next((word for each in chain if (word := _code(each))), "")
    if "insufficient_quota" in raw:
        return ModelAccessError(f"{model}: the account has no quota left ({text}); check its billing")
    if status in _BUSY or (status or 0) >= _SERVER or code in _BUSY_CODES:
        wait = next((seconds for each in chain if (seconds := _retry_after(each)) is not None), None)
        what = f"the provider answered {status or code}"
        return ModelUnavailableError(f"{model}: {what} ({text}); try again later", retry_after=wait)
    if status in _SHUT or names & _NO_ACCESS:
        what = f"the provider answered {status}" if status else "the provider cannot be called"
        mend = "check the key or credentials, the region, the url and the model name"
        return ModelAccessError(f"{model}: {what} ({text}); {mend}")
    if _FILTERS & names or (status is not None and status >= 400):
        is_filtered = _FILTERS & names or any(word in raw.lower() for word in _FILTER_WORDS)
        refused = ModelAnswerError(f"{model}: the provider refused the request with {status} ({text})")
        return filtered(model, text) if is_filtered else refused
    if names & _BROKEN_CONNECTION or any(isinstance(each, OSError) and each.errno in _NO_ROUTE for each in chain):
        reason = f"{type(error).__name__}: {text}" if text else type(error).__name__
        mend = "check the url and the network, or try again later"
        return ModelUnavailableError(f"{model}: no answer from the provider ({reason}); {mend}", is_silent=True)
    reason = f"{type(error).__name__}: {text}"
    return ModelAnswerError(
        f"{model}: the answer of the provider cannot be read ({reason}); check the model and its url"
    )


def filtered(model: str, reason: str) -> ModelFilterError:
    """The error for a request or a reply that a content filter stopped.

    Parameters
    ----------
    model : name of the model
    reason : the reason, as the provider gives it
    """
    return ModelFilterError(
        f"{model}: the content filter of the provider stopped the reply ({reason}), so there is no answer; rephrase the "
        "question, leave the text out, or use another model"
    )


def without_secrets(text: str, *, known: str = "") -> str:
    """The text with likely keys masked: values after a word such as ``Bearer``, and long mixes of letters and digits.

    Parameters
    ----------
    text : any text
    known : a text whose words are not secrets, such as the name of a model

    Returns
    -------
    str
        The text with ``***`` in place of each likely key.

    Examples
    --------
    >>> without_secrets("Incorrect API key provided: sk-abcdef0123456789ab")
    'Incorrect API key provided: ***'
    """

    def hide(match: re.Match[str]) -> str:
        word = match[0]
        is_random = "*" in word or (re.search(r"\d", word) and re.search(r"[A-Za-z]", word))
        return _HIDDEN if is_random and word not in known else word

    def hide_named(match: re.Match[str]) -> str:
        word = match[0].rpartition(match[1])[2].strip(" :='\"")
        # "token limit" and "password is wrong" are prose; a secret does not consist of letters only.
        return f"{match[1]} {_HIDDEN}" if re.search(r"[\d*_\-+/=.]", word) else match[0]

    return _LONG_TOKEN.sub(hide, _NAMED_SECRET.sub(hide_named, text))


def _chain(error: BaseException) -> Iterator[BaseException]:
    """The error and its chain of causes, up to 8 errors."""
    each: BaseException | None = error
    for _ in range(_DEEPEST):
        if each is None:
            return
        yield each
        each = each.__cause__ or each.__context__


def _status(error: BaseException) -> int | None:
    """The HTTP status of an error, on itself or on its response."""
    response = getattr(error, "response", None)
    if isinstance(response, Mapping):  # botocore
        status = response.get("ResponseMetadata", {}).get("HTTPStatusCode")
    else:
        status = getattr(error, "status_code", None) or getattr(response, "status_code", None)
        status = status or getattr(error, "code", None)  # a number in Google's clients, a word elsewhere
    return int(status) if isinstance(status, int) and status >= _LEAST_STATUS else None


def _code(error: BaseException) -> str:
    """The error code of AWS; empty for other errors."""
    response = getattr(error, "response", None)
    return str(response.get("Error", {}).get("Code", "")) if isinstance(response, Mapping) else ""


def _text(error: BaseException) -> str:
    """The provider's own message."""
    body = getattr(error, "body", None)
    for part in (body, body.get("error") if isinstance(body, Mapping) else None):
        if isinstance(part, Mapping) and isinstance(part.get("message"), str):
            return str(part["message"])
    if isinstance(body, str):
        return body
    return str(error) if body is None else ""


def _retry_after(error: BaseException) -> float | None:
    """Seconds that the provider asks to wait, from ``Retry-After`` (seconds or a date) or ``Retry-After-Ms``; else None."""
    response = getattr(error, "response", None)
    if isinstance(response, Mapping):
        headers = response.get("ResponseMetadata", {}).get("HTTPHeaders")
    else:
        headers = getattr(error, "headers", None) or getattr(response, "headers", None)
    if not isinstance(headers, Mapping):
        return None
    values = {str(name).lower(): str(value) for name, value in headers.items()}
    for name, unit in (("retry-after-ms", 1000.0), ("retry-after", 1.0)):
        if re.fullmatch(r"\s*\d+(\.\d+)?\s*", values.get(name, "")):
            return float(values[name]) / unit
    try:
        return max(0.0, email.utils.parsedate_to_datetime(values.get("retry-after", "")).timestamp() - time.time())
    except ValueError:
        return None
