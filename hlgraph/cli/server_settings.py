"""The settings file that ``hlgraph init --servers`` writes: both servers, comments, and no secret."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hlgraph.settings import OpenSearchSettings, Settings

GRAPH = "neo4j://localhost:7687"
VECTORS = "https://localhost:9200"
PASSWORDS = ("HLGRAPH_NEO4J_PASSWORD", "HLGRAPH_OPENSEARCH_PASSWORD")
"""The variables that the file names instead of passwords."""

_TEXT = """\
# Settings of hlgraph for Neo4j and OpenSearch. In texts ${{NAME}} is an environment variable and ${{NAME:-text}} has a
# default. HLGRAPH_STORE and the other variables of hlgraph override what stands here.

# The graph. neo4j+s:// or bolt+s:// is encrypted; bolt:// speaks to one server of a cluster.
store: {store}
# The vectors and the full text.
vectors: {vectors}
# The namespace of what is ingested and searched; --corpus names another.
corpus: {corpus}

neo4j:
  user: {user}
  password: "${{HLGRAPH_NEO4J_PASSWORD}}"
  database: {database}
  # The certificates to trust instead of the system's; the connection is encrypted then.
  {neo4j_ca}
  # Seconds for connecting, and for trying a transaction again.
  timeout: {neo4j_timeout}
  # true: projections of the graph for PageRank stay on the server when a process ends, so that the next one finds them.
  keep_projections: {keep_projections}

opensearch:
{access}
  # The certificates to trust instead of the system's.
  {opensearch_ca}
  # Begins the name of every index.
  prefix: {prefix}
  # How the text of new indexes is stemmed; any: not at all.
  language: {language}
  # Copies of every index; 1 or more where there is more than one node.
  replicas: {replicas}
  # Seconds for one request, and for repeating what a busy server refused.
  timeout: {timeout}
  patience: {patience}
"""
_BASIC = """\
  user: {user}
  password: "${{HLGRAPH_OPENSEARCH_PASSWORD}}"
  # The Amazon service instead of user and password: es, or aoss for its serverless form; signed with what boto3 finds.
  # service: es
  # region: eu-west-1"""
_SIGNED = """\
  # Signed with the credentials that boto3 finds; es, or aoss for the serverless form.
  service: {service}
  region: {region}"""


def on_servers(settings: Settings) -> Settings:
    """The same settings, with servers on this machine where they name none."""
    is_server = not settings.store.startswith("hlgraph://")
    index = settings.opensearch
    return replace(
        settings,
        store=settings.store if is_server else GRAPH,
        vectors=settings.vectors or VECTORS,
        opensearch=replace(index, user=index.user or ("" if index.service else "admin")),
    )


def as_commented_text(settings: Settings) -> str:
    """The text of a settings file that says what these settings say, but for passwords."""
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
    """The other parts, where they are not the defaults."""
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
    return json.dumps(text, ensure_ascii=False)  # a text of JSON is one of YAML


def _path(path: str | None) -> str:
    return f"ca: {_quoted(path)}" if path else "# ca: /path/to/ca.pem"
