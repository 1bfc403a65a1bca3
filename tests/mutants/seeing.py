"""A pytest plugin, given by `-p seeing`: records which lines each test runs, or runs the chosen tests in the chosen order.

`MUTANTS_RECORD=FILE` records: `FILE.coverage` holds the lines of hlgraph by context, `FILE` the tests. The context of a test
is its id. A fixture that tests share has a context of its own, so that each test that uses the fixture counts as one that
sees its lines, not only the first.
`MUTANTS_TESTS=FILE` runs the tests whose ids are the lines of FILE, in that order, and writes the first failure to
`FILE.failure`.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Generator
from pathlib import Path
from typing import Any

import coverage
import pytest

RECORD, TESTS = "MUTANTS_RECORD", "MUTANTS_TESTS"
SERVERS = {"servers", "graph_server", "neo4j_settings"}


class Recording:
    """The lines and seconds of each test."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._tests: dict[str, dict[str, Any]] = {}
        self._coverage = coverage.Coverage(
            data_file=f"{file}.coverage", source=[str(Path("hlgraph").absolute())], config_file=False
        )
        self._coverage.set_option("run:relative_files", True)  # the folder of the copies may be moved
        self._coverage.start()
        self._context = ""

    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        if not os.environ.get("HLGRAPH_TEST_SERVERS"):
            _keep(config, items, [item for item in items if SERVERS.isdisjoint(getattr(item, "fixturenames", ()))])

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        self._tests[item.nodeid] = {"seconds": 0.0, "passed": True, "fixtures": _shared(item)}
        self._switch(item.nodeid)
        began = time.monotonic()
        result = yield
        self._tests[item.nodeid]["seconds"] = round(time.monotonic() - began, 4)
        self._switch("")
        return result

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: pytest.FixtureDef[Any]) -> Generator[None, object, object]:
        before = self._context
        if fixturedef.scope != "function":
            self._switch(_name(fixturedef))
        try:
            return (yield)
        finally:
            self._switch(before)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.outcome != "passed" and report.nodeid in self._tests:
            self._tests[report.nodeid]["passed"] = False

    def pytest_unconfigure(self) -> None:
        self._coverage.stop()
        self._coverage.save()
        self._file.write_text(json.dumps(self._tests, indent=0), encoding="utf-8")

    def _switch(self, context: str) -> None:
        self._context = context
        self._coverage.switch_context(context)


class Choice:
    """The chosen tests."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._order = {name: place for place, name in enumerate(file.read_text(encoding="utf-8").splitlines())}

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        chosen = [item for item in items if item.nodeid in self._order]
        _keep(config, items, sorted(chosen, key=lambda item: self._order[item.nodeid]))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self._note(report.nodeid, report.longreprtext)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self._note(f"import of {report.nodeid}", report.longreprtext)

    def _note(self, test: str, text: str) -> None:
        note = self._file.with_suffix(".failure")
        if not note.exists():
            note.write_text(json.dumps({"test": test, "text": text[-2000:]}), encoding="utf-8")


def pytest_configure(config: pytest.Config) -> None:
    if RECORD in os.environ:
        config.pluginmanager.register(Recording(Path(os.environ[RECORD])))
    if TESTS in os.environ:
        config.pluginmanager.register(Choice(Path(os.environ[TESTS])))


def _keep(config: pytest.Config, items: list[pytest.Item], kept: list[pytest.Item]) -> None:
    names = {item.nodeid for item in kept}
    config.hook.pytest_deselected(items=[item for item in items if item.nodeid not in names])
    items[:] = kept


def _shared(item: pytest.Item) -> list[str]:
    """The contexts of the fixtures that the test shares with others."""
    info = getattr(item, "_fixtureinfo", None)
    found = (definition for group in info.name2fixturedefs.values() for definition in group) if info else ()
    return [_name(definition) for definition in found if definition.scope != "function"]


def _name(definition: pytest.FixtureDef[Any]) -> str:
    return f"fixture {definition.baseid}::{definition.argname}"
