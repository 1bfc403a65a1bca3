"""The generated lists of the reference: each is on a page, as the code is now, and none misses a thing."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from types import ModuleType

import pytest

from hlgraph import settings
from hlgraph.errors import HLGraphError
from hlgraph.stores import queries

DOCS = Path(__file__).parents[3] / "docs"


@pytest.fixture(scope="module")
def generated() -> ModuleType:
    spec = importlib.util.spec_from_file_location("generated", DOCS / "_ext" / "generated.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_list_is_on_a_page_and_every_page_asks_for_a_list_that_exists(generated: ModuleType) -> None:
    text = "\n".join(path.read_text(encoding="utf-8") for path in DOCS.rglob("*.md"))
    assert set(re.findall(r"^<!-- generated: (.+) -->$", text, flags=re.MULTILINE)) == set(generated.LISTS)


def test_the_pages_have_what_is_generated_now(generated: ModuleType) -> None:
    outdated = [path.name for path, text in generated.pages().items() if generated.filled(text) != text]
    assert outdated == [], "run: make lists"


def test_the_sdk_is_there_with_every_parameter(generated: ModuleType) -> None:
    text = (DOCS / "reference" / "sdk.md").read_text(encoding="utf-8")
    for name in ("connect", "HLGraph.search", "HLGraph.ingest", "graph.facts.list", "graph.embeddings.switch"):
        assert re.search(rf"^#+ (hlgraph\.)?{re.escape(name)}$", text, flags=re.MULTILINE), name
    assert "\n- `where`: filter over the metadata of sources" in text
    assert not re.search(r":(class|func|meth|data|mod):|^-{3,}$|ForwardRef|Optional\[", text, flags=re.MULTILINE)


def test_the_settings_name_every_variable(generated: ModuleType) -> None:
    text = generated.setting_tables()
    assert settings.__doc__
    named = set(re.findall(r"``(HLGRAPH_\w+[A-Z])``", settings.__doc__)) - {"HLGRAPH_CONFIG"}
    assert len(named) > 10
    assert named <= set(re.findall(r"`(HLGRAPH_\w+)`", text))
    assert {"`HLGRAPH_NEO4J_PASSWORD`", "`HLGRAPH_OPENSEARCH_REGION`"} <= set(re.findall(r"`HLGRAPH_\w+`", text))


def test_the_errors_are_all_there(generated: ModuleType) -> None:
    def names(kind: type[HLGraphError]) -> set[str]:
        return {kind.__name__}.union(*(names(each) for each in kind.__subclasses__() if "hlgraph.errors" in str(each)))

    rows = re.findall(r"^\| `(\w+)` \| .+ \| (?:yes|no) \| \d \|$", generated.error_kinds(), flags=re.MULTILINE)
    assert set(rows) == names(HLGraphError)
    assert set(re.findall(r"\w+Error\b", generated.error_tree())) == names(HLGraphError)
    assert re.findall(r"^\| `(\d+)` \|", generated.exit_codes(), flags=re.MULTILINE) == [*"0123456", "130", "143"]


def test_the_queries_and_commands_are_all_there(generated: ModuleType) -> None:
    library = generated.cypher_library()
    assert re.findall(r"^### (\w+/\w+)$", library, flags=re.MULTILINE) == sorted(queries.names())
    assert re.findall(r"^### hlgraph (\w+)$", generated.cli(), flags=re.MULTILINE)[:4] == [
        "ingest",
        "watch",
        "delete",
        "search",
    ]
