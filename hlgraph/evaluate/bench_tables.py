"""Formats the measurements of :mod:`hlgraph.evaluate.bench` as tables, JSON data and a plot. Pure functions."""

from __future__ import annotations

from collections.abc import Sequence

from hlgraph.evaluate.bench import Cell, Size, StrategyGrowth, growths
from hlgraph.evaluate.figures import Table
from hlgraph.evaluate.growth import Growth
from hlgraph.evaluate.plots import Axis, Point, Series, chart

_MISSING = "-"


def tables(sizes: Sequence[Size], cells: Sequence[Cell]) -> list[Table]:
    """All tables: sizes, costs and, with several sizes, growth.

    Parameters
    ----------
    sizes : the corpora
    cells : the measurements
    """
    found = [sizes_table(sizes), cells_table(cells)]
    return [*found, growth_table(growths(cells))] if len(sizes) > 1 else found


def notes(cells: Sequence[Cell], embedder: str) -> list[str]:
    """Lines that say what made the vectors, and which strategies failed.

    Parameters
    ----------
    cells : the measurements
    embedder : ``made-up`` or ``model``
    """
    failed = [
        f"{cell.strategy}, {cell.size:,} statements: failed {count} times: {error}"
        for cell in cells
        for error, count in cell.errors.items()
    ]
    return [embedder_line(embedder), *failed]


def cells_table(cells: Sequence[Cell]) -> Table:
    """The cost of each strategy for each size."""
    head = (
        *("strategy", "statements", "p50_ms", "p95_ms", "p99_ms", "cpu_ms", "first_ms", "round_trips", "rows", "kB"),
        *("own_MB", "peak_MB", "failed"),
    )
    rows = []
    for cell in sorted(cells, key=lambda cell: (cell.strategy, cell.size)):
        figures = cell.figures
        rows.append(
            (
                cell.strategy,
                f"{cell.size:,}",
                *(_number(value, 2) for value in (figures.p50_ms, figures.p95_ms, figures.p99_ms, figures.cpu_ms)),
                _number(cell.first_ms, 0),
                _number(figures.round_trips, 1),
                _number(figures.rows, 0),
                _number(None if figures.bytes is None else figures.bytes / 1000, 1),
                _number(cell.own_mb, 1),
                _number(cell.grown_mb, 1),
                str(figures.failed),
            )
        )
    return Table("cost of a question; MB: memory that the process of a strategy took", head, tuple(rows))


def growth_table(grown: Sequence[StrategyGrowth]) -> Table:
    """The growth exponents: 1 is linear in the number of statements, 0 is constant."""
    head = ("strategy", "p50", "p95", "processor", "own memory", "p95 is")
    rows = tuple(
        (
            item.strategy,
            _exponent(item.p50),
            _exponent(item.p95),
            _exponent(item.cpu),
            _exponent(item.own),
            _verdict(item.p95),
        )
        for item in grown
    )
    return Table("growth exponents (least squares of the logarithms, with standard error)", head, rows)


def sizes_table(sizes: Sequence[Size]) -> Table:
    """The sizes, the skew and the ingest times of the corpora."""
    head = ("corpus", "entities", "statements of the hub", "of the median entity", "ingest s", "statements/s")
    rows = tuple(
        (
            f"{size.statements:,} statements",
            f"{size.skew.entities:,}",
            f"{size.skew.most:,}",
            f"{size.skew.median:,}",
            f"{size.seconds:.1f}" if size.steps else "already stored",
            f"{size.statements / size.seconds:,.0f}" if size.steps and size.seconds else _MISSING,
        )
        for size in sizes
    )
    return Table("made-up corpora", head, rows)


def embedder_line(embedder: str) -> str:
    """A line that says what made the vectors, so that made-up times are not mistaken for those of a model."""
    if embedder == "made-up":
        return (
            "vectors: made up by a seeded embedder without a model: times exclude the embedding of questions, and the "
            "evidence found is meaningless"
        )
    return "vectors: computed by the model; questions are embedded before timing starts"


def as_tree(sizes: Sequence[Size], cells: Sequence[Cell], *, grown: Sequence[StrategyGrowth]) -> dict[str, object]:
    """All measurements as JSON data: times in milliseconds, memory in MB; null where the system does not report it.

    Parameters
    ----------
    sizes : the corpora
    cells : the measurements
    grown : the growth exponents
    """
    return {
        "sizes": [
            {
                "statements": size.statements,
                "entities": size.skew.entities,
                "hub": size.skew.most,
                "median": size.skew.median,
                "ingest_seconds": round(size.seconds, 3),
                "seconds": {step: round(value, 3) for step, value in size.steps.items()},
            }
            for size in sizes
        ],
        "cells": [_cell_tree(cell) for cell in cells],
        "growth": {
            item.strategy: {
                "p50": _fit_tree(item.p50),
                "p95": _fit_tree(item.p95),
                "cpu": _fit_tree(item.cpu),
                "own": _fit_tree(item.own),
            }
            for item in grown
        },
    }


def _cell_tree(cell: Cell) -> dict[str, object]:
    figures = cell.figures
    return {
        "statements": cell.size,
        "strategy": cell.strategy,
        "p50_ms": _rounded(figures.p50_ms),
        "p95_ms": _rounded(figures.p95_ms),
        "p99_ms": _rounded(figures.p99_ms),
        "cpu_ms": _rounded(figures.cpu_ms),
        "first_ms": _rounded(cell.first_ms),
        "round_trips": _rounded(figures.round_trips),
        "rows": _rounded(figures.rows),
        "bytes": _rounded(figures.bytes),
        "own_mb": _rounded(cell.own_mb),
        "peak_mb": _rounded(cell.grown_mb),
        "process_peak_mb": _rounded(cell.after.peak),
        "failed": figures.failed,
        "errors": dict(cell.errors),
    }


def _fit_tree(fit: Growth | None) -> dict[str, float | None] | None:
    return None if fit is None else {"exponent": _rounded(fit.exponent), "error": _rounded(fit.error)}


def plot(cells: Sequence[Cell]) -> str:
    """An SVG plot of the 95th percentile of latency over the number of statements, one line per strategy."""
    series = [
        Series(
            name,
            tuple(
                Point(cell.size, cell.figures.p95_ms)
                for cell in sorted(cells, key=lambda cell: cell.size)
                if cell.strategy == name and cell.figures.p95_ms is not None
            ),
        )
        for name in sorted({cell.strategy for cell in cells})
    ]
    x, y = Axis("statements", is_log=True), Axis("milliseconds per question, 95th percentile", is_log=True)
    return chart(series, "p95 over the size of a made-up corpus", x=x, y=y)


def _exponent(fit: Growth | None) -> str:
    if fit is None:
        return _MISSING
    return f"{fit.exponent:.2f}" if fit.error is None else f"{fit.exponent:.2f} ± {fit.error:.2f}"


def _verdict(fit: Growth | None) -> str:
    if fit is None:
        return ""
    return "less than linear" if fit.exponent < 1 else "LINEAR OR MORE"


def _number(value: float | None, digits: int) -> str:
    return _MISSING if value is None else f"{value:,.{digits}f}"


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 3)
