"""Unit tests reach no server."""

from typing import NoReturn

import pytest


@pytest.fixture
def servers() -> NoReturn:
    """Stands before the servers of the other tests."""
    pytest.fail("a unit test uses no server; move it to tests/contract or tests/integration")
