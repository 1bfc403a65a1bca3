"""Declares commands: their options, those that several commands share, what a running command works with, and its progress."""

from __future__ import annotations

import contextlib
import inspect
import json
import logging
import logging.config
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer
from typer.models import ArgumentInfo, OptionInfo

import hlgraph
from hlgraph.cli.output import note, print_json, say
from hlgraph.errors import InputError, SettingsError, needs_extra
from hlgraph.progress import Progress, listening
from hlgraph.telemetry import CorrelationFilter

if TYPE_CHECKING:
    from rich.console import Console

    from hlgraph.ingest.options import IngestOptions
    from hlgraph.models.accounts.budget import Budget
    from hlgraph.sdk.client import HLGraph
    from hlgraph.settings import Settings

# The state of the process of a command: its settings, the exporter of its telemetry, and its warnings.


@dataclass(frozen=True, slots=True)
class State:
    """The global options of one run."""

    store: str | None
    vectors: str | None
    config: str | None
    prompts: str | None = None
    trace: str | None = None
    correlation_id: str | None = None
    command: str = ""
    observed: ExitStack = field(default_factory=ExitStack, compare=False)

    def settings(self, corpus: str | None = None, *, wait: float | None = None) -> Settings:
        """The settings from file and environment, overridden by the options."""
        from hlgraph.settings import at_store, load

        # Here, because every command calls this, and --help does not.
        set_up_warnings(is_marked=self.correlation_id is not None)
        settings = load(self.config)
        if self.store is not None:
            settings = at_store(settings, self.store)
        if self.vectors is not None:
            settings = replace(settings, vectors=self.vectors)
        if wait is not None:
            settings = replace(settings, wait=wait)
        if self.prompts is not None:
            settings = replace(settings, models=replace(settings.models, prompts=self.prompts))
        settings = settings if corpus is None else replace(settings, corpus=corpus)
        self._observe(settings)
        return settings

    def _observe(self, settings: Settings) -> None:
        """Send spans, and give every log record of the command one id, from here to its end."""
        from hlgraph import telemetry
        from hlgraph.models.prompts import prompts_of

        if telemetry.correlation_id():
            return  # a command may ask for its settings twice
        self.observed.enter_context(prompts_of(settings.models.prompts))
        options = settings.telemetry if self.trace is None else replace(settings.telemetry, exporter=self.trace)
        self.observed.enter_context(exporting(options.exporter))
        if self.correlation_id is not None:
            self.observed.enter_context(telemetry.correlated(self.correlation_id))
        content, slow = options.content, options.slow_query_seconds
        self.observed.enter_context(telemetry.operation(self.command, content=content, slow_query_seconds=slow))


EXPORTERS = ("console", "otlp")


@contextlib.contextmanager
def exporting(exporter: str) -> Iterator[None]:
    """Export the spans and metrics of a block; flush them when it ends.

    Parameters
    ----------
    exporter : ``console`` or ``otlp``; empty: nothing is sent

    Raises
    ------
    SettingsError
        There is no such exporter.
    MissingExtraError
        The extra ``otel`` is not installed.
    """
    if not exporter:
        yield
        return
    if exporter not in EXPORTERS:
        raise SettingsError(f"there is no exporter {exporter!r}; choose {' or '.join(EXPORTERS)}")
    providers = _providers(exporter)
    try:
        yield
    finally:
        for provider in providers:
            provider.shutdown()


def _providers(exporter: str) -> tuple[Any, Any]:
    """A provider of spans and one of metrics, set for the whole process."""
    with needs_extra("otel", "sending spans and metrics"):
        from opentelemetry import metrics, trace
        from opentelemetry.sdk.metrics import MeterProvider
        from opentelemetry.sdk.metrics.export import ConsoleMetricExporter, PeriodicExportingMetricReader
        from opentelemetry.sdk.resources import SERVICE_NAME, SERVICE_VERSION, Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor, ConsoleSpanExporter, SimpleSpanProcessor

        if exporter == "otlp":
            from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
            from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from hlgraph import __version__

    # Resource.create reads the OTEL_ variables; a service name from there wins.
    resource = Resource.create({SERVICE_VERSION: __version__})
    if str(resource.attributes.get(SERVICE_NAME, "")).startswith("unknown_service"):
        resource = resource.merge(Resource({SERVICE_NAME: "hlgraph"}))
    spans = TracerProvider(resource=resource)
    processor: Any
    if exporter == "console":
        processor = SimpleSpanProcessor(ConsoleSpanExporter(out=sys.stderr))
        reader = PeriodicExportingMetricReader(ConsoleMetricExporter(out=sys.stderr))
    else:
        processor = BatchSpanProcessor(OTLPSpanExporter())
        reader = PeriodicExportingMetricReader(OTLPMetricExporter())
    spans.add_span_processor(processor)
    measures = MeterProvider(metric_readers=[reader], resource=resource)
    trace.set_tracer_provider(spans)
    metrics.set_meter_provider(measures)
    return spans, measures


# Parsers that warn of every oddity in a file they can read; a file that they cannot read is reported as failed.
CHATTY = ("htmldate", "justext", "pypdf", "trafilatura")

# Server drivers log the errors that they also raise, and each retry; hlgraph reports the error once, with the remedy.
DRIVERS = ("neo4j", "opensearch")


class _Warnings(logging.Handler):
    """Writes to the current standard error, so that a live progress line is not overwritten."""

    def __init__(self, *, is_marked: bool) -> None:
        super().__init__()
        self.is_marked = is_marked

    def emit(self, record: logging.LogRecord) -> None:
        mark = f" [{getattr(record, 'correlation_id', '')}]" if self.is_marked else ""
        note(f"hlgraph: warning:{mark} {record.getMessage()}")


def set_up_warnings(*, is_marked: bool = False) -> None:
    """Send the warnings of hlgraph to standard error.

    Parameters
    ----------
    is_marked : begin each with the correlation id of its call
    """
    loggers: dict[str, object] = {name: {"level": "ERROR"} for name in CHATTY}
    loggers |= {name: {"level": "CRITICAL"} for name in DRIVERS}
    loggers["hlgraph"] = {"handlers": ["lines"]}
    handlers = {"lines": {"()": _Warnings, "level": "WARNING", "filters": ["correlation"], "is_marked": is_marked}}
    logging.config.dictConfig(
        {
            "version": 1,
            "disable_existing_loggers": False,
            "filters": {"correlation": {"()": CorrelationFilter}},
            "handlers": handlers,
            "loggers": loggers,
        }
    )


# Names in help texts, taken from file names, so that printing a help text imports nothing.


def _names(folder: str) -> tuple[str, ...]:
    """The names of the public modules in a folder of the package."""
    files = (Path(hlgraph.__file__).parent / folder).glob("[a-z]*.py")
    return tuple(sorted(file.stem.rstrip("_") for file in files))


STRATEGIES = _names("retrieve/strategies")
FORMATS = tuple(sorted(name for names in _names("read/formats") for name in names.split("_")))


def listed(names: tuple[str, ...], joined_by: str = "or") -> str:
    """The names as a phrase.

    Parameters
    ----------
    names : at least two names
    joined_by : word before the last name, default ``or``

    Examples
    --------
    >>> listed(("csv", "html", "text"))
    'csv, html or text'
    """
    return f"{', '.join(names[:-1])} {joined_by} {names[-1]}"


_Function = TypeVar("_Function", bound=Callable[..., None])


def option(usage: str, text: str) -> OptionInfo:
    """An option.

    Parameters
    ----------
    usage : its names and its metavar, such as ``--k -k N``; without names it has that of its parameter
    text : its help

    Examples
    --------
    >>> option("--k -k N", "Number of hits.").metavar
    'N'
    """
    words = usage.split()
    names = [word for word in words if word.startswith("-")]
    declared: OptionInfo = typer.Option(*names, metavar=" ".join(words[len(names) :]) or None, help=text)
    return declared


def argument(metavar: str, text: str, *, callback: Callable[..., object] | None = None) -> ArgumentInfo:
    """An argument with its help; ``callback`` checks its value."""
    declared: ArgumentInfo = typer.Argument(metavar=metavar, help=text, callback=callback)
    return declared


Corpus = Annotated[str | None, option("NAME", "The corpus (also HLGRAPH_CORPUS; default: default).")]
Chat = Annotated[
    str | None, option("--chat NAME", "The chat model to plan for, such as openai:gpt-4o-mini (also HLGRAPH_CHAT).")
]
Format = Annotated[
    str | None, option("--format FORMAT", f"Read every source as {listed(FORMATS)}, whatever its suffix.")
]
Map = Annotated[
    list[str] | None,
    option(
        "--map FIELD=COLUMN,...",
        "Columns of the parts of a row: text, title, id or metadata.NAME; text=title+body joins two columns.",
    ),
]
Encoding = Annotated[
    str | None, option("NAME", "Encoding of the text (default: found for each file, and said if it is not UTF-8).")
]
FollowLinks = Annotated[bool, option("--follow-links", "Also read what links in a folder lead to outside it.")]
Comments = Annotated[bool, option("--comments", "Also read the comments of DOCX files.")]
Chunked = Annotated[bool, option("--chunked", "Keep each document as one chunk.")]
Where = Annotated[
    str | None,
    option(
        "EXPR",
        "Only sources whose metadata match this filter: field = value, !=, <, <=, >, >=, in (...), exists field, "
        "and, or, not.",
    ),
]
MaxTokens = Annotated[
    int | None, option("--max-tokens N", "Spend at most N tokens on the chat model, then stop with exit code 6.")
]
MaxUsd = Annotated[
    float | None, option("--max-usd X", "Spend at most X US dollars on the chat model, then stop with exit code 6.")
]
Wait = Annotated[
    float | None,
    option(
        "SECONDS",
        "Maximum time to wait while another process writes; 0: do not wait (default: the setting wait, otherwise no limit).",
    ),
]
As = Annotated[
    list[str] | None,
    option("--as GROUP", "Ask as a caller in this group, who sees only the sources that name it (may be repeated)."),
]
AsOperator = Annotated[bool, option("--as-operator", "Ask about every source, whatever its groups.")]
Quiet = Annotated[bool, option("--quiet -q", "Show no progress on standard error.")]
Json = Annotated[bool, option("--json", "Print one JSON object and nothing else.")]


@dataclass(frozen=True, slots=True, kw_only=True)
class Invocation:
    """A running command: the global options and the values of the options that it shares with other commands.

    Attributes
    ----------
    state : the global options
    extra : arguments that are neither options nor arguments of the command
    json : print JSON
    """

    state: State
    extra: Sequence[str] = ()
    corpus: Corpus = None
    chat: Chat = None
    format_: Format = None
    map_: Map = None
    encoding: Encoding = None
    follow_links: FollowLinks = False
    comments: Comments = False
    chunked: Chunked = False
    max_tokens: MaxTokens = None
    max_usd: MaxUsd = None
    as_: As = None
    as_operator: AsOperator = False
    wait: Wait = None
    quiet: Quiet = False
    json: Json = False

    @property
    def budget(self) -> Budget | None:
        """The budget of --max-tokens and --max-usd; None without them."""
        return budget_of(self.max_tokens, self.max_usd)

    def settings(self, corpus: str | None = None) -> Settings:
        """The settings from file and environment, overridden by the options; ``corpus`` overrides --corpus."""
        settings = self.state.settings(self.corpus if corpus is None else corpus, wait=self.wait)
        return settings if self.chat is None else replace(settings, models=replace(settings.models, chat=self.chat))

    def progress(self, title: str) -> AbstractContextManager[None]:
        """Show the progress of a block under a title."""
        return progress(title, quiet=self.quiet, is_json=self.json)

    @contextmanager
    def connect(self, title: str = "", *, corpus: str | None = None) -> Iterator[HLGraph]:
        """Connect to the store.

        Parameters
        ----------
        title : title of the progress of the block; empty: show none
        corpus : the corpus, in place of that of --corpus
        """
        from hlgraph.sdk.client import connect

        if self.as_ and self.as_operator:
            raise InputError("--as names groups, and --as-operator sees every source; use only one of them")
        with connect(self.settings(corpus)) as graph, self.progress(title) if title else nullcontext():
            yield graph.as_caller(self.as_) if self.as_ else graph.as_operator() if self.as_operator else graph

    def ingest_options(self, **others: Any) -> IngestOptions:
        """The options of an ingest: those of reading, which are shared, and others."""
        from hlgraph.ingest.options import IngestOptions

        return IngestOptions(
            format=self.format_,
            mapping=pairs(self.map_ or []),
            encoding=self.encoding,
            follow_links=self.follow_links,
            comments=self.comments,
            is_chunked=self.chunked,
            **others,
        )

    def show(self, tree: object, lines: Iterable[str], *, fails: object = False) -> None:
        """Print a result: the tree with --json, else the lines. If ``fails`` is true, the command then exits with code 1."""
        if self.json:
            print_json(tree)
        else:
            say(*lines)
        if fails:
            raise typer.Exit(1)


def budget_of(max_tokens: int | None, max_usd: float | None) -> Budget | None:
    """The budget that --max-tokens and --max-usd set; None without them."""
    from hlgraph.models.accounts.budget import Budget

    return None if max_tokens is None and max_usd is None else Budget(max_tokens=max_tokens, max_usd=max_usd)


def pairs(values: Iterable[str]) -> dict[str, str]:
    """The mapping of texts of the form ``field=column,field=column``."""
    partitions = [part.partition("=") for value in values for part in value.split(",") if part]
    wrong = ["".join(pair) for pair in partitions if not all(part.strip() for part in pair)]
    if wrong:
        raise InputError(f"--map {wrong[0]!r} is not a pair; write field=column, such as text=body,title=headline")
    return {name.strip(): column.strip() for name, _, column in partitions}


def split(names: str) -> tuple[str, ...]:
    """The names in a text, separated by commas."""
    return tuple(name.strip() for name in names.split(",") if name.strip())


def read_file(file: str, what: str, form: str) -> str:
    """The text of a file, or of standard input for ``-``; errors say ``what`` it holds, and in which ``form``."""
    try:
        return sys.stdin.read() if file == "-" else Path(file).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise InputError(f"{file}: {what} cannot be read ({reason}); give a {form} file") from error


_SHARED = inspect.signature(Invocation, eval_str=True).parameters
_READING = ("format_", "map_", "encoding", "follow_links", "comments", "chunked")
_GROUPS = {"reading": _READING, "budget": ("max_tokens", "max_usd"), "caller": ("as_", "as_operator")}


def command(app: typer.Typer, name: str, *shared: str, **settings: Any) -> Callable[[_Function], _Function]:
    """Add the decorated function to an application as a command. Its first parameter is the :class:`Invocation`.

    Parameters
    ----------
    app : the application or group
    name : the name of the command
    shared : the shared options that the command has besides --json: fields of Invocation, ``reading``, ``budget`` or ``caller``
    settings : further settings of Typer
    """
    names = {field for each in shared for field in _GROUPS.get(each, (each,))} | {"json"}
    chosen = [parameter for field, parameter in _SHARED.items() if field in names]

    def add(function: _Function) -> _Function:
        def run(context: typer.Context, **values: Any) -> None:
            options = {field: values.pop(field) for field in names}
            function(Invocation(state=context.obj, extra=context.args, **options), **values)

        _, *own = inspect.signature(function, eval_str=True).parameters.values()
        # The help lists the corpus and how sources are read after what is required, and the others last.
        first = [parameter for parameter in chosen if parameter.name in ("corpus", "chat", *_READING)]
        parameters = [
            inspect.Parameter("context", inspect.Parameter.KEYWORD_ONLY, annotation=typer.Context),
            *(parameter for parameter in own if parameter.default is parameter.empty),
            *first,
            *(parameter for parameter in own if parameter.default is not parameter.empty),
            *(parameter for parameter in chosen if parameter not in first),
        ]
        keyword_only = [parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY) for parameter in parameters]
        run.__signature__ = inspect.Signature(keyword_only)  # type: ignore[attr-defined]
        run.__doc__ = function.__doc__
        app.command(name, **settings)(run)
        return function

    return add


def group(name: str, text: str) -> typer.Typer:
    """A group of commands, with its help."""
    app = typer.Typer(name=name, help=text, invoke_without_command=True, rich_markup_mode=None)
    app.callback()(show_help)
    return app


def show_help(context: typer.Context) -> None:
    """Print the help, which lists the subcommands, and exit with code 2 if no subcommand was given."""
    if context.invoked_subcommand is None:
        note(context.get_help())
        raise typer.Exit(2)


# The progress of a command on standard error: bars on a terminal, otherwise a plain line every ten seconds. Standard output
# stays free for the result. With --json a line is a JSON object; with --quiet there is none.


EVERY = 10.0
"""Seconds between two lines without a terminal."""
_BAR = 18  # columns of a bar: with it, all counts fit into 80
_DOING = {
    "adapt": "inferring the domain",
    "ask": "asking",
    "check": "checking",
    "cluster": "clustering",
    "compare": "comparing",
    "copy": "copying",
    "cover": "measuring",
    "embed": "embedding",
    "extract": "extracting",
    "judge": "judging",
    "look": "looking",
    "migrate": "migrating",
    "pair": "pairing names",
    "persist": "writing",
    "read": "reading",
    "remove": "removing",
    "renew": "renewing topics",
    "restore": "restoring",
    "summarise": "summarising",
    "wait": "waiting",
    "warm": "embedding questions",
}


@contextmanager
def progress(title: str, *, quiet: bool = False, is_json: bool = False) -> Iterator[None]:
    """Show the progress of a block under a title, such as ``ingesting``."""
    if quiet:
        yield
        return
    with _shown(title, is_json=is_json) as on_progress, listening(on_progress):
        yield


@contextmanager
def _shown(title: str, *, is_json: bool) -> Iterator[Callable[[Progress], None]]:
    if sys.stderr.isatty():
        from rich.console import Console

        console = Console(stderr=True)
        if not console.is_dumb_terminal:
            with _bars(title, console) as bars:
                yield bars
            return
    lines = _Lines(title, is_json=is_json)
    with lines.running():
        yield lines


@contextmanager
def _bars(title: str, console: Console) -> Iterator[Callable[[Progress], None]]:
    """A bar for the whole work and one for each step; they are erased at the end."""
    from rich.progress import BarColumn, ProgressColumn, Task, TaskID, TextColumn
    from rich.progress import Progress as Live
    from rich.text import Text

    class Details(ProgressColumn):
        """The text behind a bar. The first bar shows the elapsed time, which advances between events."""

        def render(self, task: Task) -> Text:
            text = str(task.fields["text"])
            return Text(text if task.id else f"{_time(task.elapsed or 0.0)}{text}", no_wrap=True, overflow="ellipsis")

    columns = (TextColumn("{task.description}", markup=False), BarColumn(_BAR), Details())
    rows: dict[str, TaskID] = {}
    # What is printed on the same terminal goes above the bars; a redirected standard output stays where it is.
    with Live(*columns, console=console, transient=True, redirect_stdout=sys.stdout.isatty()) as live:
        whole = live.add_task(title, total=None, text="")

        def show(event: Progress) -> None:
            verb, (done, total) = event.step.partition(" ")[0], _done(event)
            if verb not in rows:
                rows[verb] = live.add_task("", total=None, text="")
            counts = _counts(event) if event.step == "persist" else ""
            text = counts or f"{_amount(event)}{'' if event.found or event.done == event.total else _left(event)}"
            done, total = (1, 1) if total == 0 else (done, total)  # a step without units is complete
            live.update(rows[verb], description=_doing(event.step), completed=done, total=total, text=text)
            if event.found and event.seconds_left is not None:
                live.update(whole, completed=event.seconds, total=event.seconds + event.seconds_left, text=_left(event))
            else:
                live.update(whole, completed=0, total=None, text="")

        yield show


@dataclass(slots=True)
class _Lines:
    """A line every ten seconds from a thread of its own, so that a step without events is not silent either."""

    title: str
    is_json: bool
    began: float = field(default_factory=time.monotonic)
    last: Progress = field(default_factory=lambda: Progress(""))
    at: float = 0.0

    def __call__(self, event: Progress) -> None:
        self.last, self.at = event, time.monotonic()

    @contextmanager
    def running(self) -> Iterator[None]:
        is_over = threading.Event()

        def run() -> None:
            while not is_over.wait(EVERY):
                note(self.line())

        thread = threading.Thread(target=run, name="hlgraph-progress", daemon=True)
        thread.start()
        try:
            yield
        finally:
            is_over.set()
            thread.join()

    def line(self) -> str:
        """The current progress."""
        seconds, last = time.monotonic() - self.began, self.last
        if self.is_json:
            tree = {
                name: round(value, 1) if isinstance(value, float) else value for name, value in asdict(last).items()
            }
            return json.dumps({"progress": {"command": self.title, **tree, "seconds": round(seconds, 1)}})
        left = _left(last, passed=time.monotonic() - self.at)
        step = f"{_doing(last.step)} {_amount(last)}".strip()
        files = f"{last.found:,} files" if last.found is not None and last.step != "read" else ""
        parts = [files, _counts(last), step if last.found else f"{step}{left}"]
        spent = f"{_time(seconds)}{left if last.found else ''}"
        return f"{self.title}: {'; '.join(part for part in (*parts, spent) if part)}"


def _doing(step: str) -> str:
    verb, _, rest = step.partition(" ")
    return f"{_DOING.get(verb, verb)} {rest}".rstrip()


def _done(event: Progress) -> tuple[int, int | None]:
    """The units done and their total: of the files of all batches, or of this round of a step."""
    return (event.so_far, event.found) if event.step == "read" else (event.done, event.total)


def _amount(event: Progress) -> str:
    """The units done, and their rate if it says something."""
    done, total = _done(event)
    if not event.unit or (not done and total is None):
        return ""
    amount = f"{done:,} {event.unit}" if total is None else f"{done:,} of {total:,} {event.unit}"
    if not event.rate or event.step in ("look", "read", "compare", "migrate", "persist"):
        return amount
    return f"{amount}, {_rate(event.rate)} a second"


def _rate(rate: float) -> str:
    return f"{rate:,.0f}" if rate >= 9.5 else f"{rate:.1g}"


def _counts(event: Progress) -> str:
    """What an ingest has stored so far."""
    if not event.sources:
        return ""
    return f"{event.sources:,} sources, {event.chunks:,} chunks, {event.statements:,} statements"


def _left(event: Progress, passed: float = 0.0) -> str:
    """The remaining time; nothing if it is not known, or if it has passed and the work is not done."""
    left = None if event.seconds_left is None else event.seconds_left - passed
    return "" if left is None or left < 0 else f", about {_time(left)} left"


def _time(seconds: float) -> str:
    """A duration as people say it.

    Examples
    --------
    >>> _time(9.4), _time(80), _time(5_000)
    ('9 s', '1 min 20 s', '1 h 23 min')
    """
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3_600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3_600} h {whole % 3_600 // 60} min"
