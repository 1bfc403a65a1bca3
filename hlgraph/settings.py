"""Settings: small frozen dataclasses, from a YAML file with ``${NAME}`` and from the environment. Nothing else reads it.

Environment: ``HLGRAPH_STORE`` (url of the store), ``HLGRAPH_CORPUS``, ``HLGRAPH_CONFIG`` (settings file),
``HLGRAPH_MODELS`` (folder of local models), ``HLGRAPH_CACHE`` (folder of the embedding cache).
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path

import msgspec

from hlgraph.errors import SettingsError

DEFAULT_STORE = "hlgraph://./.hlgraph"
_NAME = re.compile(r"\$\{(\w+)(?::-([^}]*))?\}")


@dataclass(frozen=True, slots=True, kw_only=True)
class ChunkSettings:
    """How documents are cut: at most so many tokens, and the share of them that repeats the chunk before (HLG 6.2)."""

    max_tokens: int = 300
    overlap: float = 0.2

    def __post_init__(self) -> None:
        """Check the values."""
        if self.max_tokens < 20 or not 0 <= self.overlap <= 0.5:
            raise SettingsError(
                f"chunk.max_tokens is {self.max_tokens} and chunk.overlap {self.overlap}; "
                "choose at least 20 tokens and an overlap from 0 to 0.5"
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelSettings:
    """Where local models and the embedding cache lie (None: the user's data and cache folders), and which model embeds.

    ``embedder`` is the name of an installed model, or a folder that holds one.
    """

    root: str | None = None
    cache: str | None = None
    embedder: str = "all-MiniLM-L6-v2"


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Everything that can be set."""

    store: str = DEFAULT_STORE
    corpus: str = "default"
    chunk: ChunkSettings = field(default_factory=ChunkSettings)
    models: ModelSettings = field(default_factory=ModelSettings)


def load(path: str | Path | None = None, *, environment: Mapping[str, str] | None = None) -> Settings:
    """Settings from a file (given, or named by ``HLGRAPH_CONFIG``); the environment overrides it.

    Raises
    ------
    SettingsError : the file cannot be read, is no YAML mapping, has an unknown key or a value of the wrong type, or names
        an environment variable that is not set (``${NAME:-default}`` gives a default)
    """
    env = os.environ if environment is None else environment
    chosen = path or env.get("HLGRAPH_CONFIG")
    settings = _from_file(Path(chosen), env) if chosen else Settings()
    models = replace(
        settings.models,
        root=env.get("HLGRAPH_MODELS") or settings.models.root,
        cache=env.get("HLGRAPH_CACHE") or settings.models.cache,
    )
    return replace(
        settings,
        store=env.get("HLGRAPH_STORE") or settings.store,
        corpus=env.get("HLGRAPH_CORPUS") or settings.corpus,
        models=models,
    )


def _from_file(path: Path, env: Mapping[str, str]) -> Settings:
    import yaml

    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"{path}: the settings file cannot be read ({error}); run: hlgraph init") from error
    try:
        tree = yaml.safe_load(text)
    except (yaml.YAMLError, ValueError) as error:  # ValueError: a date that is none, such as 2001-99-99
        raise SettingsError(
            f"{path}: not valid YAML ({error}); compare it with the output of: hlgraph config"
        ) from error
    if tree is None:
        return Settings()
    if not isinstance(tree, dict):
        raise SettingsError(
            f"{path}: the file holds no mapping of names to values; compare it with the output of: hlgraph config"
        )
    _check_keys(tree, path)
    try:
        return msgspec.convert(_expanded(tree, env, path), Settings, strict=True)
    except msgspec.ValidationError as error:
        raise SettingsError(f"{path}: {error}; compare it with the output of: hlgraph config") from error


def _expanded(value: object, env: Mapping[str, str], path: Path) -> object:
    """``${NAME}`` and ``${NAME:-default}`` in every text of a tree, after parsing: a value can never become structure."""
    if isinstance(value, dict):
        return {key: _expanded(item, env, path) for key, item in value.items()}
    if not isinstance(value, str):
        return value

    def put(match: re.Match[str]) -> str:
        found = env.get(match[1])
        if not found and match[2] is not None:  # as in a shell: the default stands for an empty variable too
            found = match[2]
        if found is None:
            raise SettingsError(
                f"{path}: the environment variable {match[1]} is not set; set it, or write ${{{match[1]}:-value}}"
            )
        return found

    return _NAME.sub(put, value)


def _check_keys(tree: Mapping[str, object], path: Path) -> None:
    """A misspelt key is an error, not a default."""
    parts = (
        ("", Settings, tree),
        ("chunk.", ChunkSettings, tree.get("chunk")),
        ("models.", ModelSettings, tree.get("models")),
    )
    for name, made, part in parts:
        known = [item.name for item in fields(made)]
        unknown = sorted(str(key) for key in part if key not in known) if isinstance(part, dict) else []
        if unknown:
            raise SettingsError(f"{path}: unknown key {name}{unknown[0]}; there are: {', '.join(known)}")


def as_text(settings: Settings) -> str:
    """The settings as YAML, as a settings file has them."""
    import yaml

    return yaml.safe_dump(msgspec.to_builtins(settings), sort_keys=False)
