"""The figures of the killed commands, at the end of `make faults`."""

from __future__ import annotations

import pytest

_HEAD = ("command", "moments", "kills", "at moments", "left a change", "same again")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """A row for each command: the moments of a run, how often and where it was killed, and whether a repeated run completed it."""
    rows: list[tuple[str, ...]] = []
    for report in terminalreporter.stats.get("passed", []):
        found = dict(report.user_properties).get("killed")
        if found is not None:
            rows.append((*map(str, found), "yes"))
    if not rows:
        return
    terminalreporter.section("killed commands")
    for row in (_HEAD, *rows):
        terminalreporter.line(f"{row[0]:20}" + "".join(f"{cell:>15}" for cell in row[1:]))
