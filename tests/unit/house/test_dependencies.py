"""What hlgraph needs when it runs: no GPL, a licence for everything, and a bill of materials that tools can read."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import dependencies
import pytest
from dependencies import Package, bill, breaches, packages, told

REPOSITORY = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def found() -> dict[str, Package]:
    return packages()


def test_the_driver_of_neo4j_runs_without_its_compiled_codec() -> None:
    """Python before 3.14 unwinds daemon threads when it ends, and the codec aborts the process then."""
    assert "neo4j-rust-ext" not in (REPOSITORY / "pyproject.toml").read_text(encoding="utf-8")
    assert find_spec("neo4j._rust") is None, "run: pip uninstall neo4j-rust-ext"


def test_nothing_that_runs_is_under_a_gpl(found: dict[str, Package]) -> None:
    assert {"hlgraph", "numpy", "neo4j", "langchain-core"} <= found.keys()
    assert not {"igraph", "pytest"} & found.keys()
    assert breaches(found.values()) == []


@pytest.mark.parametrize(
    ("licence", "is_copyleft"),
    [
        ("MIT", False),
        ("GPL-2.0-or-later", True),
        ("AGPL-3.0-only", True),
        ("GNU General Public License v3 (GPLv3)", True),
        ("GNU Lesser General Public License v3 (LGPLv3)", False),
        ("MPL-1.1 OR GPL-2.0-only", False),
        ("", False),
    ],
)
def test_a_gpl_is_told_from_what_is_not(monkeypatch: pytest.MonkeyPatch, licence: str, is_copyleft: bool) -> None:
    monkeypatch.setattr(Package, "licence", licence)
    assert packages("packaging")["packaging"].is_copyleft is is_copyleft


def test_the_bill_of_materials_is_valid_and_the_same_each_time(found: dict[str, Package]) -> None:
    import json

    from cyclonedx.schema import SchemaVersion
    from cyclonedx.validation.json import JsonStrictValidator

    text = json.dumps(bill(found))
    assert JsonStrictValidator(SchemaVersion.V1_6).validate_str(text) is None
    assert text == json.dumps(bill(packages()))


def test_an_audit_that_reached_no_database_says_so() -> None:
    advisory = {"id": "PYSEC-1", "fix_versions": ["2"]}
    known = {"name": "a", "version": "1", "vulns": [advisory]}
    assert told({"dependencies": [known]}) == (["a 1: PYSEC-1, mended in 2"], "")
    wrong, unproven = told(
        {"dependencies": [{"name": "b", "skip_reason": "not found"}, {"name": "c", "skip_reason": "-"}]}
    )
    assert (wrong, unproven.partition(":")[0]) == ([], "2 of 2 packages are unknown to the advisory database")


def test_an_audit_that_takes_too_long_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dependencies, "SECONDS", 0.01)
    wrong, unproven = dependencies.audit([])
    assert wrong == []
    assert "nothing is proven" in unproven
