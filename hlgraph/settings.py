"""Settings: small frozen dataclasses, from a YAML file with ``${NAME}`` and from the environment. Nothing else reads it.

Environment: ``HLGRAPH_STORE`` (url of the store), ``HLGRAPH_CORPUS``, ``HLGRAPH_CONFIG`` (settings file),
``HLGRAPH_MODELS`` (folder of local models), ``HLGRAPH_CACHE`` (folder of the embedding cache), ``HLGRAPH_LEDGER`` (folder
of the ledger), ``HLGRAPH_CHAT``,
``HLGRAPH_EMBEDDER``, ``HLGRAPH_RERANKER`` (models by name), ``HLGRAPH_RUNTIME`` (of the local embedder),
``HLGRAPH_CHAT_URL``, ``HLGRAPH_EMBEDDER_URL``; for the servers
``HLGRAPH_VECTORS`` (url), ``HLGRAPH_NEO4J_`` with ``USER``, ``PASSWORD``, ``DATABASE``, ``CA`` behind it, and
``HLGRAPH_OPENSEARCH_`` with ``USER``, ``PASSWORD``, ``CA``, ``SERVICE``, ``REGION``.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlsplit

import msgspec
import platformdirs

from hlgraph.errors import SettingsError
from hlgraph.ids import checksum

DEFAULT_STORE = "hlgraph://./.hlgraph"
_Server = TypeVar("_Server", "Neo4jSettings", "OpenSearchSettings")
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


@dataclass(frozen=True, slots=True)
class Price:
    """US dollars for a million tokens.

    Raises
    ------
    SettingsError : one of them is below 0

    Examples
    --------
    >>> Price(0.15, 0.6).cost(1_000_000, 500_000)
    0.45
    """

    input: float
    output: float

    def __post_init__(self) -> None:
        """Check the values."""
        if not (self.input >= 0 and self.output >= 0):
            raise SettingsError(
                f"a price is {self.input} for input and {self.output} for output; choose numbers from 0"
            )

    def cost(self, input_tokens: int, output_tokens: int) -> float:
        """US dollars."""
        return (input_tokens * self.input + output_tokens * self.output) / 1e6


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelSettings:
    """Where local models and caches lie (None: the user's data and cache folders), and which models are used.

    Keys stand in no settings: each provider's package reads them from the environment, as its makers document.

    Attributes
    ----------
    embedder : name of an installed model, a folder that holds one, or ``provider:model`` (openai, ollama, cohere, bedrock)
    chat : ``provider:model`` (openai, anthropic, bedrock, ollama); empty: none, so answers are the evidence itself
    reranker : ``provider:model`` (cohere, bedrock); empty: the local one
    runtime : what computes a local embedder: ``onnxruntime`` (the same vectors on every machine) or ``openvino`` (the extra
        of that name; about three times as fast where the processor has bfloat16, cosine above .9999 to the others)
    dimensions : length of the vectors that is asked of a provider's embedder; None: its own
    embedder_url, chat_url, reranker_url : of servers other than the provider's own
    region : of Amazon Bedrock; empty: what boto3 finds
    timeout : seconds for one call to a provider; a chat call that has not ended after twice that is given up, by whatever
        object it is made
    concurrency : calls of a chat model at once, at most; fewer while its provider is busy or slow
    max_tokens : of one reply of the chat model
    quarantine : folder for replies that could not be used; None: in the cache folder
    ledger : folder of the ledger of chat calls, and of the replies that are kept; None: in the folder of an embedded store,
        else in the user's folder for data
    keep_replies : keep the replies of chat models, so that no call is paid twice
    structured : ask for JSON by the provider's own means (a schema, a tool) where it has any; else by the prompt alone
    prices : US dollars for a million tokens, by model (``openai:gpt-4o-mini: {input: 0.15, output: 0.6}``), before those
        that come with hlgraph
    """

    root: str | None = None
    cache: str | None = None
    embedder: str = "all-MiniLM-L6-v2"
    chat: str = ""
    reranker: str = ""
    runtime: str = "onnxruntime"
    dimensions: int | None = None
    embedder_url: str = ""
    chat_url: str = ""
    reranker_url: str = ""
    region: str = ""
    timeout: float = 60.0
    concurrency: int = 8
    max_tokens: int = 4096
    quarantine: str | None = None
    ledger: str | None = None
    keep_replies: bool = True
    structured: bool = True
    prices: Mapping[str, Price] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Check the values."""
        for name in ("timeout", "concurrency", "max_tokens", "dimensions"):
            value = getattr(self, name)
            if value is not None and not value > 0:
                raise SettingsError(f"models.{name} is {value}; choose a number above 0")
        if self.runtime not in ("onnxruntime", "openvino"):
            raise SettingsError(f"models.runtime is {self.runtime!r}; choose onnxruntime or openvino")
        for name in ("embedder_url", "chat_url", "reranker_url"):
            value = urlsplit(getattr(self, name))
            if value.username or value.password:
                raise SettingsError(
                    f"models.{name} holds a user or password; take it out, and set the key that the provider's package reads"
                )


@dataclass(frozen=True, slots=True, kw_only=True)
class Neo4jSettings:
    """How to reach a Neo4j server; the scheme of the url says whether it is encrypted (``neo4j+s://``, ``bolt+s://``).

    ``ca`` is a file with the certificates to trust instead of the system's; ``timeout`` is in seconds, for connecting and
    for one transaction's retries. ``keep_projections``: the projections that PageRank walks on stay on the server when the
    process that made them ends, so that the next one need not make them. They take memory of the server until a newer
    version of their corpus is projected, the server restarts, or somebody drops them (``gds.graph.drop``).
    """

    user: str = "neo4j"
    password: str = field(default="", repr=False)
    database: str = "neo4j"
    ca: str | None = None
    timeout: float = 30.0
    keep_projections: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenSearchSettings:
    """How to reach an OpenSearch server or service.

    ``service`` is empty for a server with basic authentication, ``es`` for the Amazon service and ``aoss`` for its
    serverless form: both sign with the credentials that boto3 finds, in ``region``. ``prefix`` starts the names of all
    indexes; ``language`` is how the text of new ones is stemmed (``english`` as in the embedded store; ``any``: not at
    all). ``timeout`` is in seconds for one request; ``patience`` is how long refused requests (429, 5xx) are repeated.
    """

    user: str = ""
    password: str = field(default="", repr=False)
    ca: str | None = None
    service: str = ""
    region: str = ""
    prefix: str = "hlgraph"
    language: str = "english"
    replicas: int = 0
    timeout: float = 30.0
    patience: float = 120.0

    def __post_init__(self) -> None:
        """Check the values."""
        if self.service not in ("", "es", "aoss"):
            raise SettingsError(
                f"opensearch.service is {self.service!r}; leave it out for basic authentication, or choose es or aoss"
            )
        if self.service and not self.region:
            raise SettingsError(
                f"opensearch.service is {self.service}; opensearch.region is needed too, such as eu-west-1"
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Everything that can be set. ``vectors`` is the url of the vector store where ``store`` is a graph server."""

    store: str = DEFAULT_STORE
    vectors: str = ""
    corpus: str = "default"
    chunk: ChunkSettings = field(default_factory=ChunkSettings)
    models: ModelSettings = field(default_factory=ModelSettings)
    neo4j: Neo4jSettings = field(default_factory=Neo4jSettings)
    opensearch: OpenSearchSettings = field(default_factory=OpenSearchSettings)


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
        ledger=env.get("HLGRAPH_LEDGER") or settings.models.ledger,
        chat=env.get("HLGRAPH_CHAT") or settings.models.chat,
        chat_url=env.get("HLGRAPH_CHAT_URL") or settings.models.chat_url,
        embedder=env.get("HLGRAPH_EMBEDDER") or settings.models.embedder,
        embedder_url=env.get("HLGRAPH_EMBEDDER_URL") or settings.models.embedder_url,
        reranker=env.get("HLGRAPH_RERANKER") or settings.models.reranker,
        runtime=env.get("HLGRAPH_RUNTIME") or settings.models.runtime,
    )
    return replace(
        settings,
        store=env.get("HLGRAPH_STORE") or settings.store,
        vectors=env.get("HLGRAPH_VECTORS") or settings.vectors,
        neo4j=_given(settings.neo4j, env, ("user", "password", "database", "ca")),
        opensearch=_given(settings.opensearch, env, ("user", "password", "ca", "service", "region")),
        corpus=env.get("HLGRAPH_CORPUS") or settings.corpus,
        models=models,
    )


def _given(part: _Server, env: Mapping[str, str], names: Sequence[str]) -> _Server:
    """A part of the settings with what variables ``HLGRAPH_<PART>_<NAME>`` say."""
    prefix = "HLGRAPH_NEO4J_" if isinstance(part, Neo4jSettings) else "HLGRAPH_OPENSEARCH_"
    found: dict[str, Any] = {name: env.get(f"{prefix}{name.upper()}") for name in names}
    return replace(part, **{name: value for name, value in found.items() if value})


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
        ("neo4j.", Neo4jSettings, tree.get("neo4j")),
        ("opensearch.", OpenSearchSettings, tree.get("opensearch")),
    )
    for name, made, part in parts:
        known = [item.name for item in fields(made)]
        unknown = sorted(str(key) for key in part if key not in known) if isinstance(part, dict) else []
        if unknown:
            raise SettingsError(f"{path}: unknown key {name}{unknown[0]}; there are: {', '.join(known)}")


@contextmanager
def variables(given: Mapping[str, str]) -> Iterator[None]:
    """Set variables of the environment for a block, for software that can be told some things in no other way."""
    before = {name: os.environ.get(name) for name in given}
    os.environ.update(given)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def at_store(settings: Settings, url: str) -> Settings:
    """The same settings for another store; an embedded one holds its vectors itself."""
    return replace(settings, store=url, vectors="" if url.startswith("hlgraph://") else settings.vectors)


def as_tree(settings: Settings) -> dict[str, object]:
    """The settings as a tree of plain values. Passwords are never in it: the names of their variables stand there."""
    tree: dict[str, object] = msgspec.to_builtins(settings)
    for name in ("neo4j", "opensearch"):
        part = tree[name]
        if isinstance(part, dict) and part["password"]:
            part["password"] = f"${{HLGRAPH_{name.upper()}_PASSWORD}}"
    return tree


def as_text(settings: Settings) -> str:
    """The settings as YAML, as a settings file has them; without passwords (see :func:`as_tree`)."""
    import yaml

    return yaml.safe_dump(as_tree(settings), sort_keys=False)


def cache_folder(folder: str | None) -> Path:
    """The folder for what can be made again: this one, or that of the user."""
    return Path(folder) if folder else platformdirs.user_cache_path("hlgraph")


REPLIES_FILE = "replies-1.sqlite"  # the number is that of its layout
_HASH_CHARACTERS = 16


def place_of(settings: Settings) -> str:
    """The store as a name that does not depend on the folder in which the process runs."""
    scheme, _, rest = settings.store.partition("://")
    return str(Path(rest).expanduser().resolve()) if scheme == "hlgraph" else settings.store


def accounts_folder(settings: Settings) -> Path:
    """Where the ledger and the kept replies of a store are."""
    place = place_of(settings)
    if settings.models.ledger:
        return Path(settings.models.ledger) / checksum(place)[:_HASH_CHARACTERS]
    if settings.store.startswith("hlgraph://"):
        return Path(place)
    return platformdirs.user_data_path("hlgraph") / "ledger" / checksum(place)[:_HASH_CHARACTERS]


def quarantine_folder(settings: Settings) -> Path:
    """The folder for replies of a chat model that could not be used, of all stores."""
    models = settings.models
    return Path(models.quarantine) if models.quarantine else cache_folder(models.cache) / "quarantine"
