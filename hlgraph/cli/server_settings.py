"""The settings file that ``hlgraph init --servers`` writes: both servers, comments, no secrets."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hlgraph.settings import OpenSearchSettings, Settings

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
  user: {user}
  password: "${{HLGRAPH_NEO4J_PASSWORD}}"
  database: {database}
  # Certificates to trust instead of the system's; with them the connection is encrypted.
  {neo4j_ca}
  # Seconds for connecting, and for retrying a transaction.
  timeout: {neo4j_timeout}
  # true: graph projections for PageRank stay on the server when a process ends, and the next process reuses them.
  keep_projections: {keep_projections}
  # Where the graph is walked and ranked: auto (in process, on an image of the corpus, when it is there), process or server.
  ranking: {ranking}
  # Maximum number of relationships of a corpus that gets an image.
  image_links: {image_links}
  # Folder of the images; without it, in the cache folder of the user.
  {images}

opensearch:
{access}
  # Certificates to trust instead of the system's.
  {opensearch_ca}
  # Prefix of the name of every index.
  prefix: {prefix}
  # Language by which the text of new indexes is stemmed; any: no stemming.
  language: {language}
  # Replicas of every index; set 1 or more on a cluster of several nodes.
  replicas: {replicas}
  # Seconds for one request, and for retrying requests that a busy server refused.
  timeout: {timeout}
  patience: {patience}
"""
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
    graph, index = settings.neo4j, settings.opensearch
    text = _TEXT.format(
        store=_quoted(settings.store),
        vectors=_quoted(settings.vectors),
        corpus=_quoted(settings.corpus),
        user=_quoted(graph.user),
        database=_quoted(graph.database),
        neo4j_ca=_path(graph.ca),
        neo4j_timeout=graph.timeout,
        keep_projections=str(graph.keep_projections).lower(),
        ranking=graph.ranking,
        image_links=graph.image_links,
        images=_path(graph.images, name="images", example="/var/cache/hlgraph"),
        access=_access(index),
        opensearch_ca=_path(index.ca),
        prefix=_quoted(index.prefix),
        language=_quoted(index.language),
        replicas=index.replicas,
        timeout=index.timeout,
        patience=index.patience,
    )
    return text + _changed(settings)


def _changed(settings: Settings) -> str:
    """The chunk and models sections, if they differ from the defaults."""
    import yaml

    from hlgraph.settings import Settings, as_tree

    defaults, found = as_tree(Settings()), as_tree(settings)
    parts = {name: found[name] for name in ("chunk", "models") if found[name] != defaults[name]}
    return "\n" + yaml.safe_dump(parts, sort_keys=False) if parts else ""


def _access(index: OpenSearchSettings) -> str:
    if index.service:
        return _SIGNED.format(service=_quoted(index.service), region=_quoted(index.region))
    return _BASIC.format(user=_quoted(index.user))


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)  # a JSON string is a valid YAML string


def _path(path: str | None, *, name: str = "ca", example: str = "/path/to/ca.pem") -> str:
    return f"{name}: {_quoted(path)}" if path else f"# {name}: {example}"
