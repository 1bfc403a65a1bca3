"""Settings: small frozen dataclasses, read from a YAML file with ``${NAME}`` and from the environment.

:func:`load` reads them, and :func:`accounts_folder`, :func:`server_folder`, :func:`quarantine_folder` and :func:`cache_folder`
give the folders that they name. No other module reads the environment. These variables override the file:

- ``HLGRAPH_CONFIG`` (settings file), ``HLGRAPH_STORE`` (URL of the store), ``HLGRAPH_CORPUS``
- ``HLGRAPH_MODELS`` (folder of local models), ``HLGRAPH_CACHE`` (folder of the embedding cache), ``HLGRAPH_LEDGER`` (folder of
  the ledger), ``HLGRAPH_PROMPTS`` (folder of prompts of your own)
- ``HLGRAPH_CHAT``, ``HLGRAPH_JUDGE``, ``HLGRAPH_EMBEDDER``, ``HLGRAPH_RERANKER`` (models by name), ``HLGRAPH_RUNTIME`` (of
  the local embedder), ``HLGRAPH_CHAT_URL``, ``HLGRAPH_JUDGE_URL``, ``HLGRAPH_EMBEDDER_URL``
- ``HLGRAPH_VECTORS`` (URL of the vector store), ``HLGRAPH_NEO4J_`` followed by ``AUTH``, ``USER``, ``PASSWORD``, ``TOKEN``,
  ``DATABASE``, ``CA`` or ``RANKING``, and ``HLGRAPH_OPENSEARCH_`` followed by ``USER``, ``PASSWORD``, ``CA``, ``SERVICE`` or
  ``REGION``
- ``HLGRAPH_SERVE_STATE`` (folder of the keys and jobs of the server)
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Literal, TypeVar
from urllib.parse import urlsplit

import msgspec
import platformdirs

from hlgraph.errors import SettingsError
from hlgraph.ids import checksum
from hlgraph.text import UNSTORABLE

DEFAULT_STORE = "hlgraph://./.hlgraph"
_Part = TypeVar("_Part", "Settings", "ModelSettings", "Neo4jSettings", "OpenSearchSettings", "ServeSettings")
_LABEL_PREFIX = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,31}", re.ASCII)
_HOST = re.compile(r"[\w.-]+:\d+")
_NAME = re.compile(r"\$\{(\w+)(?::-([^}]*))?\}")


@dataclass(frozen=True, slots=True, kw_only=True)
class ChunkSettings:
    """Chunking of documents (HLG 6.2).

    Attributes
    ----------
    max_tokens : maximum tokens of a chunk, at least 20, default 300
    overlap : maximum share of a chunk that repeats the previous one, 0 to 0.5, default 0.2
    boundaries : ``content`` (default): chosen by the text around them, so that an edit changes few chunks; ``packed``: chunks are
        filled from the top, as in the papers, so that an edit changes all chunks below it

    Raises
    ------
    SettingsError
        A value is out of its bounds.
    """

    max_tokens: int = 300
    overlap: float = 0.2
    boundaries: Literal["content", "packed"] = "content"

    def __post_init__(self) -> None:
        """Check the values."""
        if self.boundaries not in ("content", "packed"):
            raise SettingsError(f"chunk.boundaries is {self.boundaries!r}; choose 'content' or 'packed'")
        if self.max_tokens < 20 or not 0 <= self.overlap <= 0.5:
            raise SettingsError(
                f"chunk.max_tokens is {self.max_tokens} and chunk.overlap is {self.overlap}; "
                "choose at least 20 tokens and an overlap from 0 to 0.5"
            )


@dataclass(frozen=True, slots=True)
class Price:
    """The price of a model, in US dollars per million tokens.

    Attributes
    ----------
    input : price of the tokens of a request
    output : price of the tokens of a reply

    Raises
    ------
    SettingsError
        A price is negative.

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
                f"a price is {self.input} for input and {self.output} for output; choose numbers of 0 or above"
            )

    def cost(self, input_tokens: int, output_tokens: int) -> float:
        """The cost of a call, in US dollars.

        Parameters
        ----------
        input_tokens : tokens of the request
        output_tokens : tokens of the reply

        Returns
        -------
        float
            US dollars.
        """
        return (input_tokens * self.input + output_tokens * self.output) / 1e6


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelSettings:
    """The models, and the folders of local models and caches.

    API keys are not settings: the package of each provider reads them from the environment, see its documentation.

    Attributes
    ----------
    root : folder of local models; None for the user's data folder
    cache : folder of caches; None for the user's cache folder
    embedder : name of an installed model, a folder that contains one, or ``provider:model`` (openai, ollama, cohere, bedrock)
    chat : ``provider:model`` (openai, anthropic, bedrock, ollama); empty for no chat model: answers then consist of the evidence
    judge : the chat model that judges answers of an evaluation, as ``provider:model``; empty for the model of ``chat``
    reranker : name of an installed cross-encoder, a folder that contains one, or ``provider:model`` (cohere, bedrock); empty:
        the lexical one, which needs no download
    runtime : what runs a local embedder: ``onnxruntime`` (the same vectors on every machine) or ``openvino`` (needs the extra
        ``openvino``; about three times as fast on processors with bfloat16, with a cosine above 0.9999 to the vectors of
        ``onnxruntime``) or ``int8`` (after ``hlgraph models install --int8``; about twice as fast on processors with instructions
        for it, with vectors of their own: an embedder of its own for a corpus)
    dimensions : vector length to request from a provider's embedder; None for its default
    embedder_url, chat_url, judge_url, reranker_url : URLs of servers; empty for the provider's own
    region : region of Amazon Bedrock; empty to let boto3 find it
    timeout : seconds for one call to a provider, default 60; a chat call is abandoned after twice this time
    concurrency : maximum number of concurrent calls of a chat model, default 8; fewer while its provider is busy or slow
    max_tokens : maximum tokens of a reply of the chat model, default 4,096
    prompts : folder of prompts of your own, each in place of the one of its name, such as ``select.md``; None: those of hlgraph
    ground : how the propositions of a chat model are checked against their chunk before they are stored: ``words`` (default: names,
        numbers, dates and negations), ``chat`` (the chat model judges them), or ``off``
    quarantine : folder for unusable replies and what was left out; None for a folder in the cache folder
    ledger : folder of the ledger of chat calls and of the stored replies; None for the folder of an embedded store, otherwise
        the user's data folder
    keep_replies : store the replies of chat models, so that no call is paid for twice, default True
    structured : request JSON by the provider's own feature (a schema, a tool) if it has one, default True; otherwise only
        by the prompt
    prices : US dollars per million tokens, by model (``openai:gpt-4o-mini: {input: 0.15, output: 0.6}``); they override the
        prices that come with hlgraph

    Raises
    ------
    SettingsError
        A value is out of its bounds, or a URL contains a user or password.
    """

    root: str | None = None
    cache: str | None = None
    embedder: str = "all-MiniLM-L6-v2"
    chat: str = ""
    judge: str = ""
    reranker: str = ""
    runtime: str = "onnxruntime"
    dimensions: int | None = None
    embedder_url: str = ""
    chat_url: str = ""
    judge_url: str = ""
    reranker_url: str = ""
    region: str = ""
    timeout: float = 60.0
    concurrency: int = 8
    max_tokens: int = 4096
    prompts: str | None = None
    ground: str = "words"
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
        if self.runtime not in ("onnxruntime", "openvino", "int8"):
            raise SettingsError(f"models.runtime is {self.runtime!r}; choose onnxruntime, openvino or int8")
        if self.ground not in ("words", "chat", "off"):
            raise SettingsError(f"models.ground is {self.ground!r}; choose words, chat or off")
        for name in ("embedder_url", "chat_url", "judge_url", "reranker_url"):
            value = urlsplit(getattr(self, name))
            if value.username or value.password:
                raise SettingsError(
                    f"models.{name} contains a user or password; remove it, and set the key that the provider's package reads"
                )


@dataclass(frozen=True, slots=True, kw_only=True)
class Neo4jSettings:
    """Connection to a Neo4j server; the URL scheme selects encryption (``neo4j+s://``, ``bolt+s://``).

    Attributes
    ----------
    auth : authentication: ``basic`` (default; ``user`` and ``password``; without a password, none), ``bearer`` (a single
        sign-on ``token``), ``kerberos`` (``token`` is the ticket in base64), ``none``, or ``custom`` (``user``, ``password``,
        ``realm`` and ``scheme`` go to the plugin of the server as they are)
    user : name of the user, default ``neo4j``
    password : password of the user
    token : token of ``bearer``, ticket of ``kerberos``
    realm, scheme : realm and name of the scheme of ``custom``
    database : name of the database, default ``neo4j``
    databases : databases of individual corpora, by corpus name; the others are in ``database``. This needs the Enterprise
        edition, because the Community edition has one database
    label_prefix : prefix of every label, constraint and index of hlgraph, default empty; letters, digits and underscores,
        such as ``Acme_``. It separates the nodes of hlgraph from others with labels such as Source or Topic. A graph is found
        only under the prefix that it was written with
    ca : file with the certificates to trust instead of the system's
    timeout : seconds to connect, and to wait for a free connection of the pool, default 30
    retry_seconds : seconds during which a transaction is retried while the server is unavailable or busy, default 120: longer
        than a restart
    read_seconds : seconds after which a search fails with StoreUnavailableError if the server is down or does not answer,
        default 5. If the server comes back within this time, it answers the search. A slow search on a live server continues
    pool_size : maximum number of connections to each server, default 100
    max_connection_lifetime : seconds after which a connection is replaced, default 3,600; choose less than a firewall or load
        balancer allows
    keep_projections : leave the projections for PageRank on the server when the process ends, so that the next process can
        reuse them, default False. They use memory of the server until a newer version of their corpus is projected, the server
        restarts, or they are dropped (``gds.graph.drop``)
    ranking : where graph traversal and ranking run. ``auto`` (default): in process on the image of the corpus, a copy of the
        graph in local files, or on the server while there is no image. ``process``: always in process; a search waits for the
        image. ``server``: pulls and PageRank on the server, without an image
    image_links : maximum number of relationships of a corpus that gets an image, default 50,000,000
    images : folder of the images, readable only by its owner; None for ``images`` in the cache folder
    import_command : command that makes the server import the files of ``hlgraph ingest --bulk``; ``{folder}`` and ``{database}``
        are filled in, and no shell runs it. Default empty: the user runs the import

    Raises
    ------
    SettingsError
        ``ranking`` or ``auth`` is unknown, ``auth`` lacks what it needs, a number is out of its bounds, or ``label_prefix`` has
        a character that no label can begin with.
    """

    auth: str = "basic"
    user: str = "neo4j"
    password: str = field(default="", repr=False)
    token: str = field(default="", repr=False)
    realm: str = ""
    scheme: str = ""
    database: str = "neo4j"
    databases: Mapping[str, str] = field(default_factory=dict)
    label_prefix: str = ""
    ca: str | None = None
    timeout: float = 30.0
    retry_seconds: float = 120.0
    read_seconds: float = 5.0
    pool_size: int = 100
    max_connection_lifetime: float = 3_600.0
    keep_projections: bool = False
    ranking: str = "auto"
    image_links: int = 50_000_000
    images: str | None = None
    import_command: str = ""

    def __post_init__(self) -> None:
        """Check the values."""
        if self.ranking not in ("auto", "process", "server"):
            raise SettingsError(f"neo4j.ranking is {self.ranking!r}; choose auto, process or server")
        for name in ("image_links", "retry_seconds"):
            if not getattr(self, name) >= 0:
                raise SettingsError(f"neo4j.{name} is {getattr(self, name)}; choose a number from 0")
        for name in ("timeout", "read_seconds", "pool_size", "max_connection_lifetime"):
            if not getattr(self, name) > 0:
                raise SettingsError(f"neo4j.{name} is {getattr(self, name)}; choose a number above 0")
        if self.label_prefix and not _LABEL_PREFIX.fullmatch(self.label_prefix):
            raise SettingsError(
                f"neo4j.label_prefix is {self.label_prefix!a}; choose at most 32 letters, digits and underscores that begin "
                "with a letter, such as Acme_"
            )
        self._check_auth()

    def _check_auth(self) -> None:
        if self.auth not in ("basic", "bearer", "kerberos", "none", "custom"):
            raise SettingsError(f"neo4j.auth is {self.auth!r}; choose basic, bearer, kerberos, none or custom")
        if self.auth in ("bearer", "kerberos") and not self.token:
            raise SettingsError(f"neo4j.auth is {self.auth}, but neo4j.token is empty; set it (or HLGRAPH_NEO4J_TOKEN)")
        if self.auth == "custom" and not self.scheme:
            raise SettingsError("neo4j.auth is custom, but neo4j.scheme is empty; set the name of the server's scheme")

    def database_of(self, corpus: str) -> str:
        """The database of a corpus."""
        return self.databases.get(corpus, self.database)


QUANTISATIONS = {"lucene": ("none", "byte"), "faiss": ("none", "fp16")}
"""The vector formats of each k-NN engine of OpenSearch."""
_BOUNDS: dict[str, tuple[float, float]] = {"shards": (1, 1_024), "replicas": (0, 100), "hnsw_m": (2, 100)}
_BOUNDS |= {"hnsw_ef_construction": (2, 10_000), "hnsw_ef_search": (0, 10_000), "read_seconds": (0.01, 3_600)}


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenSearchSettings:
    """Connection to an OpenSearch server or service.

    Attributes
    ----------
    user : name of the user for basic authentication
    password : password of the user
    ca : file with the certificates to trust instead of the system's
    service : empty for a server with basic authentication, ``es`` for the Amazon service, ``aoss`` for its serverless form;
        requests to both are signed with the credentials that boto3 finds
    region : region of the Amazon service
    prefix : prefix of all index names, default ``hlgraph``
    language : stemming of text in new indexes: ``english`` (default, as in the embedded store), or ``any`` for none
    layout : ``shared`` (default): one index per kind of row for all corpora, with each corpus in one shard;
        ``dedicated``: five indexes per corpus, with rows spread over all shards. A serverless service is always dedicated
    shards : primary shards of each index, default 1
    replicas : replicas of each index, default 0
    engine : k-NN engine of each index: ``lucene`` (default) or ``faiss``; a serverless service always uses faiss
    hnsw_m : links of a vector in the HNSW graph, from 2 to 100, default 16
    hnsw_ef_construction : candidates for these links when a vector is added, default 128
    hnsw_ef_search : minimum number of candidates that an HNSW search visits, default 0 for the number it requests (512 or more)
    quantisation : form of the vectors in the HNSW graph: ``none`` (default, float32), ``fp16`` (faiss) or ``byte`` (lucene, 7
        bits). It affects the selection of candidates, not their scores
    timeout : seconds for one request, default 30
    patience : seconds during which rejected requests (429, 5xx) are retried, default 120
    read_seconds : seconds after which a search fails with StoreUnavailableError if the server is down, busy or does not answer,
        default 5. If the server comes back within this time, it answers the search. A slow search on a live server continues

    ``hlgraph migrate verify`` lists existing indexes whose settings differ; ``hlgraph migrate repair`` converts them, by a
    re-index if necessary.

    Raises
    ------
    SettingsError
        The service, layout, engine or quantisation is unknown, the engine does not have the quantisation, a number is out of
        its bounds, or the region of the service is missing.
    """

    user: str = ""
    password: str = field(default="", repr=False)
    ca: str | None = None
    service: str = ""
    region: str = ""
    prefix: str = "hlgraph"
    language: str = "english"
    layout: str = "shared"
    shards: int = 1
    replicas: int = 0
    engine: str = "lucene"
    hnsw_m: int = 16
    hnsw_ef_construction: int = 128
    hnsw_ef_search: int = 0
    quantisation: str = "none"
    timeout: float = 30.0
    patience: float = 120.0
    read_seconds: float = 5.0

    def __post_init__(self) -> None:
        """Check the values."""
        if self.service not in ("", "es", "aoss"):
            raise SettingsError(
                f"opensearch.service is {self.service!r}; choose es or aoss, or omit it for basic authentication"
            )
        if self.service and not self.region:
            raise SettingsError(
                f"opensearch.service is {self.service}, but opensearch.region is empty; set it, for example to eu-west-1"
            )
        for name, allowed in (("layout", ("shared", "dedicated")), ("engine", tuple(QUANTISATIONS))):
            if getattr(self, name) not in allowed:
                raise SettingsError(f"opensearch.{name} is {getattr(self, name)!r}; choose {' or '.join(allowed)}")
        where = "a serverless service" if self.is_serverless else f"the engine {self.engine}"
        allowed = ("none",) if self.is_serverless else QUANTISATIONS[self.engine]
        if self.quantisation not in allowed:
            raise SettingsError(
                f"opensearch.quantisation is {self.quantisation!r}, which {where} does not have; choose {' or '.join(allowed)}"
            )
        for name, (least, most) in _BOUNDS.items():
            if not least <= getattr(self, name) <= most:
                raise SettingsError(
                    f"opensearch.{name} is {getattr(self, name)}; choose a number from {least} to {most}"
                )

    @property
    def is_serverless(self) -> bool:
        """Whether this is Amazon OpenSearch Serverless, which lacks some operations."""
        return self.service == "aoss"


@dataclass(frozen=True, slots=True, kw_only=True)
class TelemetrySettings:
    """Telemetry: OpenTelemetry spans and metrics, and a log of slow calls to the stores.

    Attributes
    ----------
    exporter : where ``hlgraph`` on the command line sends spans and metrics: ``console`` (standard error), ``otlp`` (a
        collector, which the ``OTEL_EXPORTER_OTLP_`` variables of OpenTelemetry name), or empty for nowhere (default). In an
        application, its own OpenTelemetry SDK receives them, whatever this setting is
    content : record questions, texts, parameters of statements, and messages of chat models in spans, default False
    slow_query_seconds : store calls that take at least this many seconds are logged as warnings, with their name, seconds and
        rows, without parameters; default None for never

    Raises
    ------
    SettingsError
        The exporter is unknown, or the seconds are negative.
    """

    exporter: str = ""
    content: bool = False
    slow_query_seconds: float | None = None

    def __post_init__(self) -> None:
        """Check the values."""
        if self.exporter not in ("", "console", "otlp"):
            raise SettingsError(f"telemetry.exporter is {self.exporter!r}; choose console or otlp, or leave it out")
        if self.slow_query_seconds is not None and not self.slow_query_seconds >= 0:
            raise SettingsError(f"telemetry.slow_query_seconds is {self.slow_query_seconds}; choose a number from 0")


@dataclass(frozen=True, slots=True, kw_only=True)
class ServeSettings:
    """The server, ``hlgraph serve``.

    Attributes
    ----------
    state : folder of the keys, the jobs and their uploads; None for a folder of the store in the user's data folder
    roots : folders and ``s3://`` prefixes from which a request may ingest; default none
    issuer : issuer of bearer tokens (OpenID Connect), such as ``https://id.example.org``; empty: only keys are accepted
    audience : audience that a token must name
    jwks : URL of the public keys of the issuer; empty: as its ``/.well-known/openid-configuration`` says
    leeway : seconds by which the clocks of issuer and server may differ, default 60
    claims : names of the claims with the ``corpora``, ``rights`` and ``groups`` of a token, default ``hlgraph_corpora``,
        ``hlgraph_rights`` and ``groups``
    max_body : maximum bytes of a JSON request, default 16 MiB
    max_upload : maximum bytes of the files of one request, default 256 MiB
    max_question : maximum characters of a question, default 10,000
    max_k : maximum pieces of evidence of one request, default 200
    max_seconds : seconds after which a call is abandoned, default 60; an answer has five times as many
    concurrency : maximum number of calls at work in one process; 0 (default): twice the processors, at least 8
    waiting : maximum number of calls that wait for their turn, default 128; the next one is refused
    mcp_write : whether agents may ingest (MCP), if their key may write; default False

    Raises
    ------
    SettingsError
        A number is not above 0, an issuer has no audience, or a claim is unknown.
    """

    state: str | None = None
    roots: tuple[str, ...] = ()
    issuer: str = ""
    audience: str = ""
    jwks: str = ""
    leeway: float = 60.0
    claims: Mapping[str, str] = field(default_factory=dict)
    max_body: int = 16 << 20
    max_upload: int = 256 << 20
    max_question: int = 10_000
    max_k: int = 200
    max_seconds: float = 60.0
    concurrency: int = 0
    waiting: int = 128
    mcp_write: bool = False

    def __post_init__(self) -> None:
        """Check the values."""
        for name in ("max_body", "max_upload", "max_question", "max_k", "max_seconds"):
            if not getattr(self, name) > 0:
                raise SettingsError(f"serve.{name} is {getattr(self, name)}; choose a number above 0")
        for name in ("concurrency", "leeway", "waiting"):
            if not getattr(self, name) >= 0:
                raise SettingsError(f"serve.{name} is {getattr(self, name)}; choose a number from 0")
        if self.issuer and not self.audience:
            raise SettingsError("serve.issuer is set, but serve.audience is empty; set the audience of the tokens")
        unknown = self.claims.keys() - {"corpora", "rights", "groups"}
        if unknown:
            raise SettingsError(f"serve.claims has {min(unknown)!r}; it may name corpora, rights and groups")


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """All settings.

    Attributes
    ----------
    store : URL of the store, default an embedded store in the folder ``.hlgraph``
    vectors : URL of the vector store if ``store`` is a graph server
    corpus : name of the default corpus
    wait : seconds that a writing call waits for the write lock, default None for no limit; 0 raises StoreLockedError at once
    functional : predicates whose subjects have one object at a time, or with ``^`` before them, whose objects have one subject,
        beside those that are measured (:meth:`hlgraph.HLGraph.contradictions`)
    chunk, models, neo4j, opensearch, telemetry, serve : settings of these parts

    Raises
    ------
    SettingsError
        The name of the corpus is not a text, is empty, or has a character that no store can hold, or ``wait`` is negative.
    """

    store: str = DEFAULT_STORE
    vectors: str = ""
    corpus: str = "default"
    wait: float | None = None
    functional: tuple[str, ...] = ()
    chunk: ChunkSettings = field(default_factory=ChunkSettings)
    models: ModelSettings = field(default_factory=ModelSettings)
    neo4j: Neo4jSettings = field(default_factory=Neo4jSettings)
    opensearch: OpenSearchSettings = field(default_factory=OpenSearchSettings)
    telemetry: TelemetrySettings = field(default_factory=TelemetrySettings)
    serve: ServeSettings = field(default_factory=ServeSettings)

    def __post_init__(self) -> None:
        """Check the name of the corpus, and the seconds."""
        if self.wait is not None and not self.wait >= 0:
            raise SettingsError(
                f"wait is {self.wait}; choose a number of seconds from 0, or none to wait without limit"
            )
        if not isinstance(self.corpus, str) or not self.corpus.strip() or UNSTORABLE.search(self.corpus):
            raise SettingsError(
                f"the name of the corpus is {self.corpus!a}; give a text that is not empty, without NUL and halves of "
                "surrogate pairs, such as default"
            )

    @property
    def patience(self) -> float:
        """Seconds to wait for the write lock; infinite if there is no limit."""
        return math.inf if self.wait is None else self.wait


def load(path: str | Path | None = None, *, environment: Mapping[str, str] | None = None) -> Settings:
    """The settings of a file, overridden by the environment; without a file the defaults.

    Parameters
    ----------
    path : the settings file; None for the file that ``HLGRAPH_CONFIG`` names, if any
    environment : environment variables; None for those of the process

    Returns
    -------
    Settings
        The merged settings.

    Raises
    ------
    SettingsError
        The file cannot be read, is not a YAML mapping, has an unknown key or a value of the wrong type, or names an
        environment variable that is not set (``${NAME:-default}`` gives a default).
    """
    env = os.environ if environment is None else environment
    chosen = path or env.get("HLGRAPH_CONFIG")
    settings = _from_file(Path(chosen), env) if chosen else Settings()
    models = _overridden(settings.models, env, "HLGRAPH_", _OF_MODELS)
    return _overridden(
        replace(
            settings,
            models=replace(models, root=env.get("HLGRAPH_MODELS") or models.root),
            neo4j=_overridden(settings.neo4j, env, "HLGRAPH_NEO4J_", _OF_NEO4J),
            opensearch=_overridden(settings.opensearch, env, "HLGRAPH_OPENSEARCH_", _OF_OPENSEARCH),
            serve=_overridden(settings.serve, env, "HLGRAPH_SERVE_", "state"),
        ),
        env,
        "HLGRAPH_",
        "store vectors corpus",
    )


_OF_MODELS = "cache ledger prompts chat chat_url judge judge_url embedder embedder_url reranker runtime"
_OF_NEO4J = "auth user password token database ca ranking"
_OF_OPENSEARCH = "user password ca service region"


def _overridden(part: _Part, env: Mapping[str, str], prefix: str, names: str) -> _Part:
    """A part of the settings, overridden by the variables of these names behind a prefix."""
    values: dict[str, Any] = {name: env.get(f"{prefix}{name.upper()}") for name in names.split()}
    return replace(part, **{name: value for name, value in values.items() if value})


def _from_file(path: Path, env: Mapping[str, str]) -> Settings:
    import yaml

    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"{path}: the settings file cannot be read ({error}); run: hlgraph init") from error
    try:
        tree = yaml.safe_load(text)
    except (yaml.YAMLError, ValueError) as error:  # ValueError: an invalid date such as 2001-99-99
        raise SettingsError(
            f"{path}: not valid YAML ({error}); compare it with the output of: hlgraph config"
        ) from error
    if tree is None:
        return Settings()
    if not isinstance(tree, dict):
        raise SettingsError(
            f"{path}: the file is not a mapping of names to values; compare it with the output of: hlgraph config"
        )
    _check_keys(tree, path)
    try:
        return msgspec.convert(_expanded(tree, env, path), Settings, strict=True)
    except msgspec.ValidationError as error:
        raise SettingsError(f"{path}: {error}; compare it with the output of: hlgraph config") from error


def _expanded(value: object, env: Mapping[str, str], path: Path) -> object:
    """Replace ``${NAME}`` and ``${NAME:-default}`` in every text of a parsed tree, so a value cannot change the structure."""
    if isinstance(value, dict):
        return {key: _expanded(part, env, path) for key, part in value.items()}
    if not isinstance(value, str):
        return value

    def put(match: re.Match[str]) -> str:
        text = env.get(match[1])
        if not text and match[2] is not None:  # as in a shell, the default also replaces an empty variable
            text = match[2]
        if text is None:
            raise SettingsError(
                f"{path}: the environment variable {match[1]} is not set; set it, or write ${{{match[1]}:-value}}"
            )
        return text

    return _NAME.sub(put, value)


def _check_keys(tree: Mapping[str, object], path: Path) -> None:
    """Reject unknown keys, so that a misspelt one is an error and not a default."""
    defaults = Settings()
    parts: list[tuple[str, Any, object]] = [("", defaults, tree)]
    for name in ("chunk", "models", "neo4j", "opensearch", "telemetry", "serve"):
        parts.append((f"{name}.", getattr(defaults, name), tree.get(name)))
    for prefix, default, part in parts:
        known = [setting.name for setting in fields(default)]
        unknown = sorted(str(key) for key in part if key not in known) if isinstance(part, dict) else []
        if unknown:
            raise SettingsError(f"{path}: unknown key {prefix}{unknown[0]}; the known keys are: {', '.join(known)}")


@contextmanager
def variables(given: Mapping[str, str]) -> Iterator[None]:
    """Set environment variables within a ``with`` block, for software that has no other way to configure it."""
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


def secret(name: str) -> str | None:
    """The value of the environment variable that a user named for a password; None if it is not set."""
    return os.environ.get(name)


def at_store(settings: Settings, url: str) -> Settings:
    """The same settings with another store; an embedded store needs no vector store.

    Parameters
    ----------
    settings : the present settings
    url : URL of the other store, or the folder of an embedded one

    Returns
    -------
    Settings
        A copy.
    """
    if url and "://" not in url and not _HOST.fullmatch(url):
        url = f"hlgraph://{url}"
    return replace(settings, store=url, vectors="" if url.startswith("hlgraph://") else settings.vectors)


def as_tree(settings: Settings) -> dict[str, object]:
    """The settings as a tree of plain values, with references to environment variables in place of passwords."""
    tree: dict[str, object] = msgspec.to_builtins(settings)
    for name in ("neo4j", "opensearch"):
        part = tree[name]
        for secret in ("password", "token"):
            if isinstance(part, dict) and part.get(secret):
                part[secret] = f"${{HLGRAPH_{name.upper()}_{secret.upper()}}}"
    return tree


def as_text(settings: Settings) -> str:
    """The settings as the YAML text of a settings file, without passwords (see :func:`as_tree`)."""
    import yaml

    return yaml.safe_dump(as_tree(settings), sort_keys=False)


def cache_folder(folder: str | None) -> Path:
    """The given cache folder, or by default the user's."""
    return Path(folder) if folder else platformdirs.user_cache_path("hlgraph")


REPLIES_FILE = "replies-1.sqlite"  # the number is the version of its schema
_HASH_CHARACTERS = 16


def place_of(settings: Settings) -> str:
    """The absolute path of an embedded store, or the URL of another one; independent of the working directory."""
    scheme, _, rest = settings.store.partition("://")
    return str(Path(rest).expanduser().resolve()) if scheme == "hlgraph" else settings.store


def accounts_folder(settings: Settings) -> Path:
    """The folder of the ledger and the stored replies of a store."""
    place = place_of(settings)
    if settings.models.ledger:
        return Path(settings.models.ledger) / checksum(place)[:_HASH_CHARACTERS]
    if settings.store.startswith("hlgraph://"):
        return Path(place)
    return platformdirs.user_data_path("hlgraph") / "ledger" / checksum(place)[:_HASH_CHARACTERS]


def server_folder(settings: Settings) -> Path:
    """The folder of the keys, jobs and uploads of the server of a store. It is outside of the store, which may be replaced."""
    if settings.serve.state:
        return Path(settings.serve.state).expanduser()
    return platformdirs.user_data_path("hlgraph") / "serve" / checksum(place_of(settings))[:_HASH_CHARACTERS]


def quarantine_folder(settings: Settings) -> Path:
    """The folder for unusable replies of chat models, shared by all stores."""
    models = settings.models
    return Path(models.quarantine) if models.quarantine else cache_folder(models.cache) / "quarantine"
