"""The cost that planned chat calls are expected to have."""

from __future__ import annotations

from dataclasses import dataclass

MEASURED_FROM = 10  # number of paid calls of a prompt from which the ledger's means replace guesses
# Before that: seconds until the first token, and tokens that a model writes in a second.
_FIRST_SECONDS, _TOKENS_A_SECOND = 1.0, 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpectedCost:
    """Calls, tokens, money and time of planned chat calls.

    Attributes
    ----------
    calls : number of paid calls
    kept_calls : calls whose replies are stored and cost nothing
    input_tokens, output_tokens : of the paid calls
    usd : their price in US dollars; None where the price of the model is not known
    seconds : duration at the concurrency of the settings
    model : name of the chat model
    measured_calls : number of paid calls of this model with these prompts in the ledger that the figures rest on; 0: they are
        guesses
    """

    calls: int
    kept_calls: int
    input_tokens: int
    output_tokens: int
    usd: float | None
    seconds: float
    model: str
    measured_calls: int


def guessed_seconds(output_tokens: float) -> float:
    """The duration in seconds of a call that writes this number of tokens, where none was measured."""
    return _FIRST_SECONDS + output_tokens / _TOKENS_A_SECOND
