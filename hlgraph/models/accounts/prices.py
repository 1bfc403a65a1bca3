"""Prices of chat models: the user's own, then those in ``prices.yaml``, which states its date and source."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import NamedTuple

import msgspec

from hlgraph.settings import Price

_FILE = Path(__file__).with_name("prices.yaml")
_FREE = Price(0.0, 0.0)
# LangChain classes, for objects passed instead of names.
_PROVIDERS = {
    "ChatAnthropic": "anthropic",
    "ChatBedrock": "bedrock",
    "ChatBedrockConverse": "bedrock",
    "ChatOllama": "ollama",
    "ChatOpenAI": "openai",
}
_DATED = re.compile(r"-(?:\d{4}-\d{2}-\d{2}|\d{8})$|-latest$")
_REGION = re.compile(r"^(?:us|eu|apac|global)\.")


class PriceList(NamedTuple):
    """The price list shipped with hlgraph.

    Attributes
    ----------
    date : date of the prices
    source : where they come from
    models : price by ``provider:model``
    free : providers that charge nothing
    """

    date: str
    source: str
    models: dict[str, Price]
    free: list[str]


@cache
def price_list() -> PriceList:
    """The contents of ``prices.yaml``."""
    import yaml

    tree = yaml.safe_load(_FILE.read_text(encoding="utf-8"))
    return PriceList(
        tree["date"], tree["source"], msgspec.convert(tree["models"], dict[str, Price], strict=False), tree["free"]
    )


def price_of(model: str, own: Mapping[str, Price] | None = None) -> Price | None:
    """The price of a model; None if it is not known (an unknown model is never assumed to be free).

    Parameters
    ----------
    model : ``provider:model``, or a LangChain class in place of the provider; a date at the end of the name, and the region
        before a model of Amazon Bedrock, are ignored if the lists have no such entry
    own : the user's prices, which take precedence; default: none

    Returns
    -------
    Price or None
        The price per million tokens.

    Examples
    --------
    >>> price_of("openai:gpt-4o-mini"), price_of("ollama:llama3.1"), price_of("openai:of-my-own")
    (Price(input=0.15, output=0.6), Price(input=0.0, output=0.0), None)
    >>> price_of("openai:of-my-own", {"openai:of-my-own": Price(1, 2)})
    Price(input=1, output=2)
    """
    provider, _, name = model.partition(":")
    provider = _PROVIDERS.get(provider, provider)
    names = [model, f"{provider}:{name}"]
    names.append(f"{provider}:{_DATED.sub('', _REGION.sub('', name))}")
    for prices in (own or {}, price_list().models):
        for each in names:
            if each in prices:
                return prices[each]
    return _FREE if provider in price_list().free else None
