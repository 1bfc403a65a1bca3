"""Checks of the stores.

:func:`health` checks with a few small requests, each with a time-out, whether the stores respond and are usable by this version.
:func:`findings` also verifies that they hold what was written.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextvars import copy_context
from dataclasses import dataclass, replace
from typing import NamedTuple

from hlgraph import progress
from hlgraph.errors import HLGraphError, InputError
from hlgraph.records import Kind
from hlgraph.settings import Settings
from hlgraph.stores import migrate
from hlgraph.stores.open import Opened, open_stores
from hlgraph.stores.protocols import CorpusStats, Finding, Scope, Stores


class ImageLag(NamedTuple):
    """How far this machine's graph image of a corpus lags behind.

    Attributes
    ----------
    corpus : the corpus
    version : its present version
    image : version of the image; None: there is no image, and the server answers until one is filled
    """

    corpus: str
    version: int
    image: int | None

    @property
    def behind(self) -> int | None:
        """Number of published changes that the image lacks; None without an image."""
        return None if self.image is None else self.version - self.image


@dataclass(frozen=True, slots=True)
class Health:
    """Whether the stores can be used.

    Attributes
    ----------
    is_live : every store answers
    is_ready : every check passed: the stores are live, of a version that hlgraph supports, and no migration is pending
    checks : every check with its observation; a store that does not answer is a failed check, never an error
    image : lag of the image of the corpus, if the graph store has images; else None. A lag is not a failure: the server answers
        meanwhile
    hlgraph : version of this hlgraph
    """

    is_live: bool
    is_ready: bool
    checks: tuple[Finding, ...]
    image: ImageLag | None
    hlgraph: str


def health(settings: Settings, *, timeout: float) -> Health:
    """The health of the stores of the settings, checked concurrently over separate connections.

    Parameters
    ----------
    settings : the stores and the corpus
    timeout : seconds, above 0, after which a store counts as down

    Raises
    ------
    InputError
        The timeout cannot be used.
    SettingsError, UnknownNameError
        The settings name no stores.
    """
    if not 0 < timeout <= 3_600:
        raise InputError(f"timeout is {timeout}; choose seconds above 0, up to an hour")
    quick = replace(
        settings,
        neo4j=replace(settings.neo4j, timeout=timeout, retry_seconds=timeout),
        opensearch=replace(settings.opensearch, timeout=timeout, patience=0.0),
    )
    opened = open_stores(quick)
    opened.closing.close()  # no connection is made before the first request
    asked = [_Asked(quick, place) for place in range(len(opened.probes))]
    end = time.monotonic() + timeout
    for thread in asked:
        thread.start()
    for thread in asked:
        thread.join(max(0.0, end - time.monotonic()))
    checks = tuple(finding for thread in asked for finding in thread.findings(timeout))
    is_live = all(thread.is_live for thread in asked)
    image = next((thread.image for thread in asked if thread.image is not None), None)
    return Health(is_live, all(check.is_fine for check in checks), checks, image, migrate.running_version())


class _Asked(threading.Thread):
    """One store, asked in a thread that is abandoned when it takes too long."""

    def __init__(self, settings: Settings, place: int) -> None:
        super().__init__(name="hlgraph-health", daemon=True)
        self._settings = settings
        self._place = place
        self._caller = copy_context()
        self._found: list[Finding] = []
        self._is_done = False
        self._store = "store"
        self.is_live = False
        self.image: ImageLag | None = None

    def run(self) -> None:
        """Run the checks; findings are read after the time-out, even if this thread is still running."""
        self._caller.run(self._ask)

    def findings(self, timeout: float) -> list[Finding]:
        """The findings so far, with a note that the rest is missing."""
        late = [] if self._is_done else [Finding(self._store, False, f"no answer within {timeout:g} s")]
        return [*self._found, *late]

    def _ask(self) -> None:
        opened = open_stores(self._settings)
        probe = opened.probes[self._place]
        self._store = probe.name
        with opened.closing:
            try:
                for finding in probe.ask():
                    self._found.append(finding)
                    self.is_live = True
                if probe.target is not None:
                    self._found.append(_schema(probe.name, probe.target))
                if probe.image is not None:
                    self.image = _image(probe.image, self._settings.corpus)
            except HLGraphError as error:
                self._found.append(Finding(probe.name, False, str(error)))
        self._is_done = True


def _schema(store: str, target: migrate.MigrationTarget) -> Finding:
    plan = migrate.plan(target)
    name = f"schema of the {store}"
    if not plan.applied:
        return Finding(name, True, "nothing of hlgraph is there yet; the first ingest makes it")
    pending = ", ".join(migration.label for migration in plan.pending)
    said = (
        f"{pending} pending; run: hlgraph migrate apply" if pending else f"{len(plan.applied)} migrations, all applied"
    )
    return Finding(name, not pending, said)


def _image(lag: Callable[[str], tuple[int, int | None] | None], corpus: str) -> ImageLag | None:
    versions = lag(corpus)
    return None if versions is None else ImageLag(corpus, *versions)


def lines(health: Health) -> Iterator[str]:
    """The health as readable lines."""
    for finding in health.checks:
        yield f"{'ok ' if finding.is_fine else 'BAD'}  {finding.check}: {finding.seen}"
    if health.image is not None:
        seen = "none; the server answers" if health.image.image is None else f"{health.image.behind} changes behind"
        yield f"ok   graph image of corpus {health.image.corpus} (version {health.image.version}): {seen}"
    said = "ready" if health.is_ready else "live, but not ready" if health.is_live else "not live"
    yield f"hlgraph {health.hlgraph}: {said}"


# The checks of ``hlgraph doctor``: those of each store, then the content of records and rows.


_MEND = "next: hlgraph reconcile --repair"


def findings(opened: Opened) -> Iterator[Finding]:
    """The findings of ``hlgraph doctor``, one by one.

    Parameters
    ----------
    opened : the open stores
    """
    is_whole = True
    checks = opened.check()
    while True:
        with progress.step("check"):
            finding = next(checks, None)
        if finding is None:
            break
        is_whole = is_whole and finding.is_fine
        yield finding
    try:
        yield from _contents(opened.stores, opened.sample)
    except HLGraphError as error:
        if is_whole:  # otherwise an earlier finding gives the reason
            yield Finding("content", False, str(error))


def _contents(stores: Stores, sample: int | None) -> Iterator[Finding]:
    # Imported here, because every command opens stores and few check them.
    from hlgraph.sdk.reconcile import KINDS_IN_BOTH, rows_of, untrue_records

    corpora = stores.graph.stats(has_relationships=False)

    def records(kind: Kind, stats: CorpusStats, step: str) -> tuple[int, list[str]]:
        count, altered = untrue_records(kind, stats.corpus, stores=stores, sample=sample, step=step)
        return count, [f"{len(altered)} are not what their ids say, such as {altered[0]}"] if altered else []

    def rows(kind: Kind, stats: CorpusStats, step: str) -> tuple[int, list[str]]:
        wanted = list(stores.graph.find(kind, Scope(stats.corpus)))[:sample]
        expected = rows_of(wanted, stats.corpus, stores=stores, step=step)
        damage = stores.vectors.examine(kind, stats.corpus, rows=expected, dimensions=stats.dimensions)
        faults = [
            f"{len(ids)} {what} not as they were written, such as that of {min(ids)}"
            for what, ids in (("vectors", damage.vectors), ("texts", damage.texts))
            if ids
        ]
        return len(wanted), [*faults, f"{damage.strays} texts without a row"] if damage.strays else faults

    checks = [(f"content of {_plural(kind)}", "read", kind, records) for kind in (*KINDS_IN_BOTH, Kind.FACT)]
    checks += [(f"vectors and text of {_plural(kind)}", "compared", kind, rows) for kind in KINDS_IN_BOTH[1:]]
    for name, did, kind, faults_of in checks:
        wrong: list[str] = []
        count = 0
        with progress.step(f"check {name}", _number(kind, corpora, sample=sample), unit="records"):
            for stats in corpora:
                with stores.snapshot():
                    read, faults = faults_of(kind, stats, f"check {name}")
                count += read
                wrong += [f"{stats.corpus}: {fault}" for fault in faults]
        yield Finding(name, not wrong, f"{'; '.join(wrong)}; {_MEND}" if wrong else f"{count} {did}")


def _number(kind: Kind, corpora: Sequence[CorpusStats], *, sample: int | None) -> int:
    """Number of records of a kind that are checked."""
    counts = [item.records.get(kind, 0) for item in corpora]
    return sum(counts if sample is None else (min(count, sample) for count in counts))


def _plural(kind: Kind) -> str:
    return "entities" if kind is Kind.ENTITY else f"{kind.value}s"
