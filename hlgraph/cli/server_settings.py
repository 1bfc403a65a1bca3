"""The settings file that ``hlgraph init --servers`` writes: both servers, comments, no secrets."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hlgraph.settings import Neo4jSettings, OpenSearchSettings, Settings

GRAPH = "neo4j://localhost:7687"
VECTORS = "https://localhost:9200"
PASSWORDS = ("HLGRAPH_NEO4J_PASSWORD", "HLGRAPH_OPENSEARCH_PASSWORD")
"""Environment variables that the file names instead of passwords."""

_TEXT = """\
# Settings of hlgraph for Neo4j and OpenSearch. In values, ${{NAME}} is an environment variable and ${{NAME:-text}} one
# with a default. HLGRAPH_STORE and the other variables of hlgraph override this file.

# The graph. neo4j+s:// and bolt+s:// are encrypted; bolt:// connects to one server of a cluster.
store: {store}
# The vectors and the full text.
vectors: {vectors}
# The namespace that is ingested and searched; --corpus names another.
corpus: {corpus}

neo4j:
  # basic (user and password), bearer or kerberos (token), none, or custom (user, password, realm and scheme).
{neo4j_access}
  database: {database}
  # Databases of single corpora (Enterprise edition); the others are in the one above.
  {databases}
  # Begins every label and index of hlgraph, where other programs use the database too; it cannot be changed later.
  {label_prefix}
  # Certificates to trust instead of the system's; with them the connection is encrypted.
  {neo4j_ca}
  # Seconds for connecting, and for retrying a transaction while the server is away, such as for a restart.
  timeout: {neo4j.timeout}
  retry_seconds: {neo4j.retry_seconds}
  # Seconds after which a search gives up a server that is away or does not answer.
  read_seconds: {neo4j.read_seconds}
  # Maximum number of connections, and seconds after which one is replaced.
  pool_size: {neo4j.pool_size}
  max_connection_lifetime: {neo4j.max_connection_lifetime}
  # true: graph projections for PageRank stay on the server when a process ends, and the next process reuses them.
  keep_projections: {keep_projections}
  # Where the graph is walked and ranked: auto (in process, on an image of the corpus, when it is there), process or server.
  ranking: {neo4j.ranking}
  # Maximum number of relationships of a corpus that gets an image.
  image_links: {neo4j.image_links}
  # Folder of the images; without it, in the cache folder of the user.
  {images}
  # Command that stops Neo4j, imports the files of ingest --bulk and starts it again.
  {import_command}

opensearch:
{access}
  # Certificates to trust instead of the system's.
  {opensearch_ca}
  # Prefix of the name of every index.
  prefix: {prefix}
  # Language by which the text of new indexes is stemmed; any: no stemming.
  language: {language}
  # Replicas of every index; set 1 or more on a cluster of several nodes.
  replicas: {opensearch.replicas}
  # Seconds for one request, and for retrying requests that a busy server refused.
  timeout: {opensearch.timeout}
  patience: {opensearch.patience}
  # Seconds after which a search gives up a server that is away, busy or does not answer.
  read_seconds: {opensearch.read_seconds}

telemetry:
  # Spans and metrics of OpenTelemetry from the command line: console or otlp (also: hlgraph --trace).
  {exporter}
  # true: record questions, texts and parameters of statements in spans.
  content: {content}
  # Calls to the stores that take at least these seconds are logged.
  {slow_query_seconds}
"""
_SIGNED_ON = """\
  auth: {auth}
  token: "${{HLGRAPH_NEO4J_TOKEN}}\""""
_NAMED = """\
  auth: {auth}
  user: {user}
  password: "${{HLGRAPH_NEO4J_PASSWORD}}\""""
_BASIC = """\
  user: {user}
  password: "${{HLGRAPH_OPENSEARCH_PASSWORD}}"
  # For Amazon, instead of user and password: es, or aoss for serverless; requests are signed with boto3's credentials.
  # service: es
  # region: eu-west-1"""
_SIGNED = """\
  # Requests are signed with the credentials that boto3 finds; es, or aoss for serverless.
  service: {service}
  region: {region}"""


def on_servers(settings: Settings) -> Settings:
    """The settings with servers, by default on this machine, in place of the embedded store."""
    is_server = not settings.store.startswith("hlgraph://")
    index = settings.opensearch
    return replace(
        settings,
        store=settings.store if is_server else GRAPH,
        vectors=settings.vectors or VECTORS,
        opensearch=replace(index, user=index.user or ("" if index.service else "admin")),
    )


def as_commented_text(settings: Settings) -> str:
    """The commented text of a settings file for these settings, without passwords."""
    graph, index, telemetry = settings.neo4j, settings.opensearch, settings.telemetry
    slow = telemetry.slow_query_seconds
    text = _TEXT.format(
        neo4j=graph,
        opensearch=index,
        store=_quoted(settings.store),
        vectors=_quoted(settings.vectors),
        corpus=_quoted(settings.corpus),
        neo4j_access=_graph_access(graph),
        database=_quoted(graph.database),
        databases=f"databases: {json.dumps(dict(graph.databases))}"
        if graph.databases
        else "# databases: {news: press}",
        label_prefix=_path(graph.label_prefix, name="label_prefix", example="Acme_"),
        neo4j_ca=_path(graph.ca),
        keep_projections=str(graph.keep_projections).lower(),
        images=_path(graph.images, name="images", example="/var/cache/hlgraph"),
        import_command=_path(graph.import_command, name="import_command", example="sh import.sh {folder} {database}"),
        access=_access(index),
        opensearch_ca=_path(index.ca),
        prefix=_quoted(index.prefix),
        language=_quoted(index.language),
        exporter=_path(telemetry.exporter, name="exporter", example="otlp"),
        content=str(telemetry.content).lower(),
        slow_query_seconds=f"{'# ' if slow is None else ''}slow_query_seconds: {5.0 if slow is None else slow}",
    )
    return text + _changed(settings)


def _changed(settings: Settings) -> str:
    """The chunk and models sections, if they differ from the defaults."""
    import yaml

    from hlgraph.settings import Settings, as_tree

    defaults, tree = as_tree(Settings()), as_tree(settings)
    parts = {name: tree[name] for name in ("chunk", "models") if tree[name] != defaults[name]}
    return "\n" + yaml.safe_dump(parts, sort_keys=False) if parts else ""


def _graph_access(graph: Neo4jSettings) -> str:
    text = {"bearer": _SIGNED_ON, "kerberos": _SIGNED_ON, "none": "  auth: {auth}"}.get(graph.auth, _NAMED)
    access = text.format(auth=graph.auth, user=_quoted(graph.user))
    if graph.auth != "custom":
        return access
    return f"{access}\n  realm: {_quoted(graph.realm)}\n  scheme: {_quoted(graph.scheme)}"


def _access(index: OpenSearchSettings) -> str:
    if index.service:
        return _SIGNED.format(service=_quoted(index.service), region=_quoted(index.region))
    return _BASIC.format(user=_quoted(index.user))


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)  # a JSON string is a valid YAML string


def _path(path: str | None, *, name: str = "ca", example: str = "/path/to/ca.pem") -> str:
    return f"{name}: {_quoted(path)}" if path else f"# {name}: {example}"
