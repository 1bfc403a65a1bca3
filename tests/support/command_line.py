"""Runs the command line in this process."""

from __future__ import annotations

import contextlib
import io
import json
from typing import Any, NamedTuple
from unittest import mock

import pytest

from hlgraph.cli import main


class Done(NamedTuple):
    """Exit code, standard output and standard error of a command."""

    code: int
    out: str
    err: str

    @property
    def tree(self) -> Any:
        """The JSON on the only line of the output."""
        assert self.out.count("\n") == 1, self.out
        return json.loads(self.out)

    @property
    def error(self) -> Any:
        """The error as JSON, on the only line of standard error."""
        assert self.out == ""
        assert self.err.count("\n") == 1, self.err
        return json.loads(self.err)["error"]


def call(*arguments: object, text: str = "") -> Done:
    """Run a command; ``text`` is its standard input."""
    out, err = io.StringIO(), io.StringIO()
    with (
        mock.patch("sys.stdin", io.StringIO(text)),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
        pytest.raises(SystemExit) as end,
    ):
        main([str(argument) for argument in arguments])
    assert isinstance(end.value.code, int)
    return Done(end.value.code, out.getvalue(), err.getvalue())
