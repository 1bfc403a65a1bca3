"""The query library: what the loader accepts, and everything that it refuses."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from hlgraph.errors import HLGraphError, InputError, UnknownNameError
from hlgraph.stores import migrate as resources
from hlgraph.stores import queries

GOOD = """\
// Statements that mention an entity,
// by ascending id.
// params: corpus, entity, k
// columns: id, text
MATCH (e:Entity {id: $entity})<-[:MENTIONS]-(s:Statement {corpus: $corpus})
RETURN s.id AS id, s.text AS text ORDER BY id LIMIT $k;
"""


def written(root: Path, name: str, text: str = GOOD) -> Path:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def parsed(body: str, *, params: str = "-", columns: str = "-") -> queries.Query:
    return queries.parse("admin/do_it", f"// Does it.\n// params: {params}\n// columns: {columns}\n{body}")


def test_a_query_is_its_file(tmp_path: Path) -> None:
    written(tmp_path, "retrieve/pull_statements.cypher")
    query = queries.load("retrieve/pull_statements", tmp_path)
    assert query.name == "retrieve/pull_statements"
    assert query.summary == "Statements that mention an entity, by ascending id."
    assert query.params == {"corpus", "entity", "k"}
    assert query.columns == ("id", "text")
    assert query.text == GOOD.strip().removesuffix(";")


def test_names_are_sorted_and_leave_out_what_is_no_query(tmp_path: Path) -> None:
    written(tmp_path, "retrieve/pull_statements.cypher")
    written(tmp_path, "admin/count_sources.cypher")
    written(tmp_path, "README.md", "about")
    written(tmp_path, "admin/.pull_x.cypher.swp", "an editor's")
    assert queries.names(tmp_path) == ("admin/count_sources", "retrieve/pull_statements")
    assert list(queries.load_all(tmp_path)) == ["admin/count_sources", "retrieve/pull_statements"]


@pytest.mark.parametrize(
    "name",
    [
        "pull_statements.cypher",
        "elsewhere/pull_statements.cypher",
        "retrieve/deep/pull_statements.cypher",
        "retrieve/pull.cypher",
        "retrieve/pullStatements.cypher",
        "retrieve/Pull_statements.cypher",
        "retrieve/pull-statements.cypher",
        "retrieve/pull_statements.cql",
        "retrieve/pull_statements.cypher.bak",
    ],
)
def test_a_misnamed_file_is_refused(tmp_path: Path, name: str) -> None:
    written(tmp_path, name)
    with pytest.raises(InputError, match="not the name of a query"):
        queries.names(tmp_path)


def test_an_unknown_name_is_answered_with_near_ones(tmp_path: Path) -> None:
    written(tmp_path, "retrieve/pull_statements.cypher")
    with pytest.raises(UnknownNameError, match="did you mean retrieve/pull_statements"):
        queries.load("retrieve/pull_statement", tmp_path)
    with pytest.raises(UnknownNameError):
        queries.load("../retrieve/pull_statements", tmp_path)


def test_an_edited_file_of_another_library_is_read_again(tmp_path: Path) -> None:
    written(tmp_path, "retrieve/pull_statements.cypher")
    before = queries.load("retrieve/pull_statements", tmp_path)
    written(tmp_path, "retrieve/pull_statements.cypher", GOOD.replace("by ascending", "by rising"))
    assert before.summary != queries.load("retrieve/pull_statements", tmp_path).summary


def test_windows_line_ends_make_the_same_query(tmp_path: Path) -> None:
    written(tmp_path, "retrieve/pull_statements.cypher").write_bytes(GOOD.replace("\n", "\r\n").encode())
    assert queries.load("retrieve/pull_statements", tmp_path) == queries.parse("retrieve/pull_statements", GOOD)


def test_a_file_that_is_not_utf8_is_refused(tmp_path: Path) -> None:
    written(tmp_path, "retrieve/pull_statements.cypher").write_bytes(b"// caf\xe9\n")
    with pytest.raises(InputError, match="not UTF-8"):
        queries.load("retrieve/pull_statements", tmp_path)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "MATCH (s:Source) RETURN count(s) AS n",
        "\n" + GOOD,
        "// params: -\n// columns: -\nRETURN 1 AS x",
        "// Does it.\n// columns: -\n// params: -\nCREATE (:A)",
        "// Does it.\n// params: -\nCREATE (:A)",
        "// Does it.\n\n// params: -\n// columns: -\nCREATE (:A)",
    ],
)
def test_a_file_without_header_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="no complete header"):
        queries.parse("admin/do_it", text)


@pytest.mark.parametrize("line", ["a, a", "a,", "$a", "a b", ""])
def test_a_header_lists_plain_names_once(line: str) -> None:
    with pytest.raises(InputError, match="list each of its params once"):
        parsed("CREATE (:A {a: $a})", params=line)


def test_declared_and_used_parameters_must_agree() -> None:
    with pytest.raises(InputError, match=r"uses \$b, contrary"):
        parsed("CREATE (:A {a: $a, b: $b})", params="a")
    with pytest.raises(InputError, match=r"does not use \$b, contrary"):
        parsed("CREATE (:A {a: $a})", params="a, b")
    with pytest.raises(InputError, match=r"uses \$b and does not use \$c, contrary"):
        parsed("CREATE (:A {b: $b})", params="c")


@pytest.mark.parametrize("parameter", ["$", "$1", "$`a b`", '$"a"'])
def test_a_parameter_has_a_plain_name(parameter: str) -> None:
    with pytest.raises(InputError, match=r"\$ that no plain name"):
        parsed(f"CREATE (:A {{a: {parameter}}})")


@pytest.mark.parametrize(
    "body",
    [
        "CREATE (:A {a: $a}) // and not $b; never",
        "/* $b; RETURN x */ CREATE (:A {a: $a})",
        "CREATE (:A {a: $a, b: 'it\\'s $b; \"$c'})",
        "CREATE (:A {a: $a, b: \"'$b' // ; \\\\\"})",
        "CREATE (:`$b; ``RETURN`` 'x` {a: $a})",
        "CREATE (:A {a: $a});  // the end",
        "CREATE (n:$($a))",
    ],
)
def test_comments_strings_and_quoted_names_are_not_code(body: str) -> None:
    query = parsed(body, params="a")
    assert query.params == {"a"}
    assert body.startswith(query.text.rpartition("\n")[2])


def test_two_statements_or_none_are_refused() -> None:
    with pytest.raises(InputError, match="two statements"):
        parsed("CREATE (:A); CREATE (:B);")
    with pytest.raises(InputError, match="two statements"):
        parsed("CREATE (:A);;")
    for nothing in ("", ";", "\n// only words", "/* ; */"):
        with pytest.raises(InputError, match="no statement"):
            parsed(nothing)


@pytest.mark.parametrize("body", ["RETURN 'x", 'RETURN "x', "RETURN `x", "RETURN 1 /* x"])
def test_what_is_not_closed_is_named_with_its_line(body: str) -> None:
    with pytest.raises(InputError, match=r"unclosed .* in line 5"):
        parsed("\n" + body)


@pytest.mark.parametrize("body", ["CREATE (:A", "CREATE :A)", "RETURN [1) AS x]]"])
def test_brackets_must_match(body: str) -> None:
    with pytest.raises(InputError, match="brackets"):
        parsed(body)


@pytest.mark.parametrize(
    ("body", "columns"),
    [
        ("MATCH (n:A) RETURN n", "n"),
        ("MATCH (n:A) return distinct n.x as x, count(*) AS many ORDER BY x SKIP 1 LIMIT 2", "x, many"),
        ("MATCH (n:A) RETURN n {.id, .text} AS n, [x IN n.xs WHERE x > 1 | x, 2] AS xs", "n, xs"),
        ("MATCH (n:A) RETURN n.limit AS limit_, CASE WHEN n.x THEN 'a, b' ELSE 1 END AS x", "limit_, x"),
        ("CALL (n) { MATCH (n)--(m:A) RETURN m.inner AS inner } RETURN inner, 1 AS one", "inner, one"),
        ("MATCH (n:A) RETURN 1 AS x UNION MATCH (n:B) RETURN 2 AS x", "x"),
        ("MATCH (n:A) SET n.return = 1", "-"),
        ("CALL { MATCH (n:A) RETURN n } CREATE (:B)", "-"),
    ],
)
def test_columns_are_those_of_the_last_return(body: str, columns: str) -> None:
    assert ", ".join(parsed(body, columns=columns).columns) == columns.replace("-", "")


@pytest.mark.parametrize(
    ("body", "columns", "reason"),
    [
        ("RETURN 1 AS x", "y", "returns x, but its header says y"),
        ("RETURN 1 AS x, 2 AS y", "y, x", "returns x, y, but its header says y, x"),
        ("RETURN 1 AS x", "-", "returns x, but its header says nothing"),
        ("CREATE (:A)", "x", "returns nothing, but its header says x"),
        ("MATCH (n:A) RETURN *", "n", "without a name"),
        ("MATCH (n:A) RETURN n.id", "id", "without a name"),
        ("MATCH (n:A) RETURN n.id AS `the id`", "id", "without a name"),
        ("MATCH (n:A) RETURN count(*)", "count", "without a name"),
    ],
)
def test_columns_that_differ_from_the_header_are_refused(body: str, columns: str, reason: str) -> None:
    with pytest.raises(InputError, match=reason):
        parsed(body, columns=columns)


def test_the_library_of_hlgraph_loads() -> None:
    library = queries.load_all()
    assert tuple(library) == queries.names()
    assert all(queries.load(name) is query for name, query in library.items())


def test_every_label_of_the_library_and_of_the_migrations_gets_a_prefix() -> None:
    texts = {name: query.text for name, query in queries.load_all().items()}
    texts |= {item.label: item.text for item in resources.discover("neo4j")}
    labels = {
        found for text in texts.values() for found in re.findall(r"Zz_([A-Z][a-zA-Z]+)", queries.prefixed(text, "Zz_"))
    }
    assert labels >= {"Source", "ChangePart", "HiddenSummary", "Lease", "Migration"}
    bare = re.compile(rf"[:|&!(\[ ]({'|'.join(sorted(labels))})\b")
    for name, text in texts.items():
        made = queries.prefixed(text, "Zz_")
        assert made.replace("Zz_", "") == text, name
        code = re.sub(r"//[^\n]*|'[^'\n]*'", "", made)
        assert not bare.search(code), f"{name}: {bare.search(code)}"
        indexes = re.findall(r"(?:INDEX|CONSTRAINT) (hlgraph_\w+)|'(hlgraph_\w+)", re.sub(r"//[^\n]*", "", made))
        assert {one or other for one, other in indexes} <= {"hlgraph_same_as_corpus", "hlgraph_judged_corpus"}, name


def test_the_example_of_the_readme_is_a_query() -> None:
    readme = (resources.folder("cypher") / "README.md").read_text(encoding="utf-8")
    example = readme.partition("    // Statements")[2].partition("\n\n")[0]
    text = "// Statements" + example.replace("\n    ", "\n")
    assert queries.parse("retrieve/pull_statements", text).columns == ("id", "text")


def test_an_incomplete_installation_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "site-packages" / "hlgraph"
    (tmp_path / "site-packages" / "migrations").mkdir(parents=True)  # somebody else's package
    monkeypatch.setattr(resources, "_PACKAGE", package)
    with pytest.raises(HLGraphError, match="install hlgraph again"):
        resources.folder("migrations")
    (package / "_migrations").mkdir(parents=True)
    assert resources.folder("migrations") == package / "_migrations"


CALLS = {"ask", "collect", "lists", "rows", "text", "text_of", "write"}


def code() -> Iterator[tuple[str, ast.Module]]:
    root = Path(__file__).parents[3] / "hlgraph/stores/neo4j"
    return ((path.name, ast.parse(path.read_bytes())) for path in sorted(root.glob("*.py")))


def literals(tree: ast.AST) -> set[str]:
    return {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)}


def composed(tree: ast.AST) -> list[str]:
    """Parts of query names, and names that a call of a query composes."""
    part = re.compile(rf"({'|'.join(queries.STAGES)})/\w*")
    parts = {text for text in literals(tree) if part.fullmatch(text)} - set(queries.names())
    calls = (node for node in ast.walk(tree) if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute))
    names = (node.args[0] for node in calls if node.func.attr in CALLS and node.args)
    return sorted({*parts, *(ast.unparse(name) for name in names if isinstance(name, ast.JoinedStr | ast.BinOp))})


def test_every_name_stands_where_it_is_used() -> None:
    """A search for a name finds its caller. Analysts' queries are called by the names that people type."""
    used = set[str]().union(*(literals(tree) for _, tree in code()))
    assert {name for name in queries.names() if not name.startswith("analyst/")} <= used


def test_no_name_is_composed() -> None:
    assert {name: found for name, tree in code() if (found := composed(tree))} == {}


@pytest.mark.parametrize(
    "call", ["f'retrieve/page_{kind}'", "'retrieve/' + kind", "f'{stage}/page_{kind}'", "'retrieve/page_' + kind"]
)
def test_composed_names_are_seen(call: str) -> None:
    assert composed(ast.parse(f"server.ask({call})"))
