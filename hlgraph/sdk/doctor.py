"""Verifies that a store holds what was written: the checks of each store, then the content of records and rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from hlgraph import progress
from hlgraph.errors import HLGraphError
from hlgraph.records import Kind
from hlgraph.settings import Settings
from hlgraph.stores.open import Finding, Opened, open_stores
from hlgraph.stores.protocols import CorpusStats, Scope, Stores

_MEND = "next: hlgraph reconcile --repair"


def open_checked(settings: Settings) -> Opened:
    """The open stores of the settings, whose checks include the content of records and rows.

    Parameters
    ----------
    settings : name the stores
    """
    opened = open_stores(settings)
    return opened._replace(check=lambda: findings(opened))


def findings(opened: Opened) -> Iterator[Finding]:
    """Every finding of ``hlgraph doctor``, as it is made.

    Parameters
    ----------
    opened : the open stores
    """
    is_whole = True
    checks = opened.check()
    while True:
        with progress.step("check"):
            item = next(checks, None)
        if item is None:
            break
        is_whole = is_whole and item.is_fine
        yield item
    try:
        yield from _contents(opened.stores, opened.sample)
    except HLGraphError as error:
        if is_whole:  # otherwise the finding that says why is there already
            yield Finding("content", False, str(error))


def _contents(stores: Stores, sample: int | None) -> Iterator[Finding]:
    from hlgraph.sdk.reconcile import (
        KINDS_IN_BOTH,
        rows_of,
        untrue_records,
    )  # every command opens stores, few check them

    held = stores.graph.stats(has_relationships=False)
    for kind in (*KINDS_IN_BOTH, Kind.FACT):
        wrong: list[str] = []
        count = 0
        name = f"content of {_plural(kind)}"
        with progress.step(f"check {name}", _number(kind, held, sample=sample), unit="records"):
            for corpus in (item.corpus for item in held):
                read, found = untrue_records(kind, corpus, stores=stores, sample=sample, step=f"check {name}")
                count += read
                if found:
                    wrong.append(f"{corpus}: {len(found)} are not what their ids say, such as {found[0]}")
        yield _finding(name, wrong, f"{count} read")
    for kind in KINDS_IN_BOTH[1:]:
        wrong = []
        count = 0
        name = f"vectors and text of {_plural(kind)}"
        with progress.step(f"check {name}", _number(kind, held, sample=sample), unit="records"):
            for corpus, length in ((item.corpus, item.dimensions) for item in held):
                records = list(stores.graph.find(kind, Scope(corpus)))[:sample]
                count += len(records)
                rows = rows_of(records, corpus, stores=stores, step=f"check {name}")
                damage = stores.vectors.examine(kind, corpus, rows=rows, dimensions=length)
                for what, ids in (("vectors", damage.vectors), ("texts", damage.texts)):
                    if ids:
                        wrong.append(
                            f"{corpus}: {len(ids)} {what} not as they were written, such as that of {min(ids)}"
                        )
                if damage.strays:
                    wrong.append(f"{corpus}: {damage.strays} texts without a row")
        yield _finding(name, wrong, f"{count} compared")


def _number(kind: Kind, held: Sequence[CorpusStats], *, sample: int | None) -> int:
    """How many records of a kind are looked at."""
    counts = [item.records.get(kind, 0) for item in held]
    return sum(counts if sample is None else (min(count, sample) for count in counts))


def _plural(kind: Kind) -> str:
    return "entities" if kind is Kind.ENTITY else f"{kind.value}s"


def _finding(check: str, wrong: list[str], seen: str) -> Finding:
    return Finding(check, not wrong, f"{'; '.join(wrong)}; {_MEND}" if wrong else seen)
