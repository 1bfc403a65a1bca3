"""Prices: which model has which, and that an unknown one is never free."""

from __future__ import annotations

from pathlib import Path

import pytest

from hlgraph.errors import SettingsError
from hlgraph.models.accounts.budget import price_list, price_of
from hlgraph.settings import ModelSettings, Price, as_text, load


def test_the_list_is_dated_and_has_a_source_and_names_models_as_settings_do() -> None:
    found = price_list()
    assert found.date[:2] == "20"
    assert len(found.source.split()) > 3
    assert all(0 < price.input < price.output for price in found.models.values())
    assert {name.partition(":")[0] for name in found.models} == {"anthropic", "bedrock", "openai"}


@pytest.mark.parametrize(
    "name",
    [
        "openai:gpt-4o-mini",
        "openai:gpt-4o-mini-2024-07-18",
        "ChatOpenAI:gpt-4o-mini",
        "anthropic:claude-3-5-haiku-20241022",
        "anthropic:claude-3-5-haiku-latest",
        "bedrock:amazon.nova-lite-v1:0",
        "ChatBedrockConverse:eu.amazon.nova-lite-v1:0",
    ],
)
def test_names_with_dates_regions_and_classes_have_the_price_of_their_model(name: str) -> None:
    assert price_of(name) is not None


@pytest.mark.parametrize(
    "name", ["", "scripted", "openai:", "openai:gpt-4o-mini-turbo", "azure:gpt-4o-mini", "gpt-4o-mini"]
)
def test_unknown_model_has_no_price(name: str) -> None:
    assert price_of(name) is None


def test_user_prices_take_precedence(tmp_path: Path) -> None:
    path = tmp_path / "hlgraph.yaml"
    path.write_text("models: {prices: {'openai:gpt-4o-mini': {input: 7, output: 8.5}, mine: {input: 0, output: 0}}}")
    own = load(path, environment={}).models.prices
    assert price_of("openai:gpt-4o-mini", own) == Price(7, 8.5)
    assert price_of("openai:gpt-4o-mini-2024-07-18", own) == Price(7, 8.5)
    assert price_of("mine", own) == Price(0, 0)
    assert price_of("openai:gpt-4o", own) == price_of("openai:gpt-4o")
    settings = load(path, environment={"HLGRAPH_LEDGER": "/somewhere"})
    assert settings.models.ledger == "/somewhere"
    again = tmp_path / "again.yaml"
    again.write_text(as_text(settings))
    assert load(again, environment={}) == settings


@pytest.mark.parametrize("text", ["{input: -1, output: 1}", "{input: 1}", "{input: a, output: 1}", "3"])
def test_a_price_that_is_none_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "hlgraph.yaml"
    path.write_text(f"models: {{prices: {{m: {text}}}}}")
    with pytest.raises(SettingsError):
        load(path, environment={})


def test_settings_may_name_no_prices() -> None:
    assert ModelSettings().prices == {}
