"""The commands ``hlgraph`` init, stats, diff, health, doctor, migrate and config."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from hlgraph.cli.command import Invocation, argument, command, option
from hlgraph.cli.commands.search import AsOf
from hlgraph.cli.output import pick, piece
from hlgraph.errors import InputError

if TYPE_CHECKING:
    from hlgraph.records import Calibration, Kind, Relationship
    from hlgraph.sdk.history import CorpusDiff, Said
    from hlgraph.settings import Neo4jSettings, OpenSearchSettings, Settings
    from hlgraph.stores.migrate import Difference, MigrationTarget
    from hlgraph.stores.protocols import CorpusStats, Finding

# The settings file of both servers.

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


PLACE = 70  # position in the list of commands

app = typer.Typer()


@command(app, "init")
def init(
    cli: Invocation,
    path: Annotated[Path, argument("FILE", "The settings file to write.")] = Path("hlgraph.yaml"),
    servers: Annotated[
        bool, option("--servers", "Write settings for Neo4j and OpenSearch; contacts no server.")
    ] = False,
) -> None:
    """Write the current settings to a file, and create the store.

    With --servers the file holds settings for both servers, with comments; passwords are read from the environment when
    the file is used.

    \b
    Examples:
      hlgraph --store hlgraph://./my-graph init
      hlgraph init --servers
    """
    settings = cli.settings()
    if path.exists():
        raise InputError(f"{path} already exists; edit it, or give another file name")
    if not path.parent.is_dir():
        raise InputError(f"{path}: the folder {path.parent} does not exist; create it first")
    if servers:
        settings, lines = _init_servers(path, settings)
        applied: list[str] = []
    else:
        from hlgraph.settings import as_text

        applied = _make_store(settings)
        path.write_text(as_text(settings), encoding="utf-8")
        lines = [f"wrote {path}; the store is {settings.store}", f"next: hlgraph --config {path} ingest PATH..."]
    cli.show({"settings": path, **pick(settings, "store vectors"), "migrations": applied}, lines)


def _make_store(settings: Settings) -> list[str]:
    """Create the store and return the labels of its migrations."""
    from hlgraph.stores import migrate as migration
    from hlgraph.stores.open import open_stores

    opened = open_stores(settings)
    with opened.closing:
        with opened.stores.graph.lock():  # creates the store
            pass
        return [step.label for target in opened.targets for step in migration.plan(target).applied]


def _init_servers(path: Path, settings: Settings) -> tuple[Settings, list[str]]:
    """Write settings for servers; return them, and what to do next."""
    from hlgraph.cli.commands.manage import PASSWORDS, as_commented_text, on_servers
    from hlgraph.stores.open import open_stores

    chosen = on_servers(settings)
    open_stores(chosen).closing.close()  # contacts no server, but refuses invalid URLs
    path.write_text(as_commented_text(chosen), encoding="utf-8")
    wanted = PASSWORDS[:1] if chosen.opensearch.service else PASSWORDS
    return chosen, [
        f"wrote {path}; the graph is {chosen.store}, the vectors are {chosen.vectors}",
        f"next: review it, and export {' and '.join(wanted)}",
        f"then: hlgraph --config {path} migrate apply",
        f"      hlgraph --config {path} ingest PATH...",
    ]


def _stats_tree(stats: CorpusStats) -> dict[str, object]:
    tree = pick(stats, "version embedding dimensions records relationships", fields=list(stats.fields))
    more = pick(stats, "pending calibration", thresholds=_thresholds(stats.calibration), co_occurs=stats.co_occurs)
    return tree | more


def _fitted(calibration: Calibration | None) -> str:
    thresholds = ", ".join(f"{name} {value:.2f}" for name, value in _thresholds(calibration).items())
    return f"{thresholds} ({'the usual ones' if calibration is None else f'fitted to {calibration.names} names'})"


def _counts(counts: Mapping[Kind, int] | Mapping[Relationship, int]) -> str:
    return ", ".join(f"{name} {count}" for name, count in counts.items()) or "none"


def _thresholds(calibration: Calibration | None) -> dict[str, float]:
    """The fitted thresholds of a corpus, by a short name."""
    from hlgraph.algorithms.query_walk import QueryWalk
    from hlgraph.index.hierarchy import HierarchyQuery
    from hlgraph.resolve.candidates import least_synonym

    tau, theta = QueryWalk().attraction(calibration)
    return {
        "tau": tau,
        "theta": theta,
        "synonym": least_synonym(calibration),
        "hierarchy": HierarchyQuery().fitted(calibration).least,
    }


@command(app, "stats", "corpus")
def stats(
    cli: Invocation,
    all_: Annotated[bool, option("--all", "Show every corpus of the store.")] = False,
    as_of: AsOf = None,
) -> None:
    """Show what the corpus holds.

    \b
    Examples:
      hlgraph stats --json
      hlgraph stats --as-of 2024-03-05
      hlgraph stats --all
    """
    if cli.corpus is not None and all_:
        raise InputError("--corpus and --all contradict each other; leave one of them out")
    with cli.connect() as graph:
        corpora = graph.stats(everything=all_, as_of=as_of)
    store = graph.settings.store
    lines = [line for corpus in corpora for line in _stats_lines(corpus, as_of)]
    if not corpora:
        empty = f"{store} is empty" if all_ else f"there is no corpus {graph.corpus!r} in {store}"
        lines = [f"{empty}; next: hlgraph ingest PATH..."]
    cli.show({"store": store, "corpora": {corpus.corpus: _stats_tree(corpus) for corpus in corpora}}, lines)


def _stats_lines(stats: CorpusStats, as_of: str | None) -> Iterator[str]:
    state = f"version {stats.version}" if as_of is None else f"as of {as_of}"
    yield f"corpus {stats.corpus} ({state}, {stats.embedding or 'no vectors'})"
    yield f"  records: {_counts(stats.records)}"
    if as_of is not None:
        yield f"  fields: {', '.join(stats.fields)}"
        return
    yield f"  relationships: {_counts(stats.relationships)}"
    yield f"  fields: {', '.join(stats.fields)}"
    yield f"  thresholds: {_fitted(stats.calibration)}"
    if stats.co_occurs is not None:
        is_present = stats.co_occurs == stats.version
        stored = f"stored for version {stats.co_occurs}" if stats.co_occurs else "stored in part"
        yield f"  CO_OCCURS: {stored}{'' if is_present else '; outdated, next: hlgraph materialise co_occurs'}"
    if stats.pending:
        yield f"  unfinished: {len(stats.pending)} changes; run any ingest or delete to finish them"


@command(app, "diff", "corpus")
def diff(
    cli: Invocation,
    from_: Annotated[
        str | None, option("--from WHEN", "A date, a time, or the number of a version of the corpus.")
    ] = None,
    to: Annotated[str | None, option("--to WHEN", "The same (default: now).")] = None,
    change: Annotated[int | None, option("--change ID", "What one change set did (hlgraph history changes).")] = None,
) -> None:
    """Print what a corpus with a history says at one moment and not at another: sources, statements and facts.

    \b
    Examples:
      hlgraph diff --from 2024-03-05 --to 2024-04-01
      hlgraph diff --from 12 --json
      hlgraph diff --change 12
    """
    if (from_ is None) is (change is None) or (change is not None and to is not None):
        raise InputError("give --from, with or without --to, or --change alone")
    with cli.connect() as graph:
        difference = graph.history.diff(from_ or "", to) if change is None else graph.history.diff_of(change)
    tree = {
        name: {word: [_plain(one) for one in getattr(difference, f"{name}_{word}", ())] for word in words}
        for name, words in _DIFFERS.items()
    }
    cli.show(tree, list(_diff_lines(difference)) or ["no difference"])


_DIFFERS = {
    "sources": ("added", "removed", "changed"),
    "statements": ("added", "removed"),
    "facts": ("added", "removed"),
}


def _plain(one: str | Said) -> object:
    return one if isinstance(one, str) else one._asdict()


def _diff_lines(difference: CorpusDiff) -> Iterator[str]:
    for name, words in _DIFFERS.items():
        for word in words:
            sign = {"added": "+", "removed": "-", "changed": "~"}[word]
            for one in getattr(difference, f"{name}_{word}"):
                text = one if isinstance(one, str) else f"{' '.join(one.text.split())}  ({one.uri})"
                yield f"{sign} {name.removesuffix('s')}: {text}"


@command(app, "health", "corpus")
def health(
    cli: Invocation,
    timeout: Annotated[float, option("--timeout SECONDS", "Seconds after which a store counts as down.")] = 5.0,
) -> None:
    """Check whether the stores respond and are usable, for service probes.

    Sends a few small requests to each store, concurrently: its version, its state, pending migrations, and the lag of this
    machine's graph image of the corpus. Changes nothing; the exit code is 1 if the stores are not ready.

    \b
    Examples:
      hlgraph health
      hlgraph health --timeout 2 --json
    """
    from hlgraph.sdk import health as probing

    report = probing.health(cli.settings(), timeout=timeout)
    image = None if report.image is None else {**report.image._asdict(), "behind": report.image.behind}
    tree = {**asdict(report), "checks": [check._asdict() for check in report.checks], "image": image}
    cli.show(tree, probing.lines(report), fails=not report.is_ready)


@command(app, "doctor", "quiet")
def doctor(
    cli: Invocation,
) -> None:
    """Check that the stored data equals what was written.

    Checks links, counts, journal and files, the content of records against their ids, and vectors and full text against
    checksums and records (on servers: of 500 records of each kind). Prints each finding as it is made. Changes nothing;
    the exit code is 1 if a check fails.

    \b
    Example:
      hlgraph doctor
    """
    from hlgraph.sdk.opening import open_checked

    opened = open_checked(cli.settings())
    findings: list[Finding] = []
    with opened.closing, cli.progress("checking the store"):
        for finding in opened.check():
            findings.append(finding)
            if not cli.json:
                piece(f"{'ok ' if finding.is_fine else 'BAD'}  {finding.check}: {finding.seen}\n")
    is_fine = all(finding.is_fine for finding in findings)
    tree = {"is_fine": is_fine, "checks": [finding._asdict() for finding in findings]}
    cli.show(tree, ["the store is fine" if is_fine else "the store is not fine"], fails=not is_fine)


@command(app, "migrate", "wait", "quiet")
def migrate(
    cli: Invocation,
    action: Annotated[
        Literal["plan", "apply", "verify", "repair"], argument("ACTION", "plan, apply, verify or repair.")
    ] = "plan",
) -> None:
    """Migrate the store to the schema of this version of hlgraph; verify and repair the schema.

    plan lists the pending migrations, and the parts of the schema that were altered since they ran: tables, indexes,
    constraints, fields and index settings. verify is plan with exit code 1 if it lists any. apply runs the pending
    migrations; repair restores what was altered, with exit code 1 if something is left.

    \b
    Examples:
      hlgraph migrate
      hlgraph migrate apply
      hlgraph migrate verify || hlgraph migrate repair
    """
    from hlgraph.persist.journal import resume
    from hlgraph.stores import migrate as migration
    from hlgraph.stores.open import open_stores

    settings = cli.settings()
    opened = open_stores(settings)
    stores: dict[str, dict[str, list[str]]] = {}
    with opened.closing, cli.progress("migrating"):
        before = {target.kind: len(migration.plan(target).applied) for target in opened.targets}
        if action == "apply" and not any(before.values()) and settings.store.startswith("hlgraph://"):
            with opened.stores.graph.lock():  # creates the store
                pass
        with opened.exclusive() if action in ("apply", "repair") and any(before.values()) else nullcontext():
            for target in opened.targets:
                if action == "apply":
                    migration.apply(target)
                mended = migration.repair(target) if action == "repair" else ()
                stores[target.kind] = _schema_of(target, before=before[target.kind], mended=mended)
        if action == "apply":
            with opened.stores.graph.lock() as pending:  # renews the topics of corpora of an older version
                resume(pending, opened.stores)
    is_pending, is_different = (any(schema[name] for schema in stores.values()) for name in ("pending", "differences"))
    lines = [*_schema_lines(stores)]
    if is_pending or is_different:
        lines.append(f"next: hlgraph migrate {'apply' if is_pending else 'repair'}")
    cli.show({"stores": stores, "is_pending": is_pending, "is_different": is_different}, lines)
    wrong = {"verify": ("pending", "differences"), "repair": ("differences",)}.get(action, ())
    if any(schema[name] for schema in stores.values() for name in wrong):
        raise typer.Exit(1)


def _schema_of(target: MigrationTarget, *, before: int, mended: Sequence[Difference]) -> dict[str, list[str]]:
    """What ran in a store, what is pending, and what of its schema differs or was mended."""
    from hlgraph.stores import migrate as migration

    plan = migration.plan(target)
    applied = [step.label for step in plan.applied]
    return {
        "applied": applied,
        "pending": [step.label for step in plan.pending],
        "now": applied[before:],
        "differences": [str(difference) for difference in migration.differences(target)],
        "mended": [str(difference) for difference in mended],
    }


def _schema_lines(stores: Mapping[str, Mapping[str, Sequence[str]]]) -> Iterator[str]:
    words = {"applied now": "now", "pending": "pending", "mended": "mended", "differs": "differences"}
    for kind, schema in stores.items():
        yield f"{kind}: {len(schema['applied'])} applied, {len(schema['pending'])} pending"
        yield from (f"  {word}: {label}" for word, name in words.items() for label in schema[name])


@command(app, "config")
def config(
    cli: Invocation,
) -> None:
    """Print the settings in effect, combined from file, environment and options.

    \b
    Example:
      hlgraph config > hlgraph.yaml
    """
    from hlgraph.settings import as_text, as_tree

    settings = cli.settings()
    cli.show(as_tree(settings), as_text(settings).splitlines())
