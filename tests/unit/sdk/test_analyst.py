"""Queries for people: the library of hlgraph, folders of one's own, values and their defaults. No server."""

from __future__ import annotations

from pathlib import Path

import pytest

from hlgraph.errors import InputError, ReadError, UnknownNameError
from hlgraph.sdk import cypher as analyst
from hlgraph.stores.protocols import GraphStore
from hlgraph.where import field

GOOD = """\
// Sources by title.
// params: corpus, k
// columns: title
// $corpus text = default: the corpus
// $k integer 1.. = 5: rows at most
MATCH (d:Source) WHERE d.corpus = $corpus AND d.id >= '' RETURN d.title AS title ORDER BY title LIMIT $k
"""


def written(path: Path, text: str = GOOD) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


# The library


def test_there_are_at_least_fifteen() -> None:
    assert len(analyst.load_all()) >= 15


@pytest.mark.parametrize("name", analyst.load_all())
def test_analyst_queries_are_scoped_bounded_and_documented(name: str) -> None:
    query = analyst.load(name)
    assert "corpus" in query.params
    assert {"k", "hops"} & query.params
    assert "k" not in query.params or "LIMIT $k" in query.text
    assert query.parameters[0].name == "corpus"
    kinds = {parameter.name: parameter.kind for parameter in query.parameters}
    assert (kinds["where"], kinds["kinds"]) == ("filter", "kinds")
    assert 0 < len(query.summary.partition(". ")[0]) < 120  # what the list shows
    assert query.example.startswith(f"hlgraph cypher run {name}")


# Folders


def test_the_queries_of_a_folder(tmp_path: Path) -> None:
    written(tmp_path / "mine" / "b.cypher")
    written(tmp_path / "mine" / "a_b_c.cypher")
    written(tmp_path / "mine" / ".hidden.cypher", "nothing")
    written(tmp_path / "mine" / "notes.txt", "nothing")
    found = analyst.load_all(tmp_path / "mine")
    assert list(found) == ["a_b_c", "b"]
    assert analyst.load("b", str(tmp_path / "mine")) == found["b"]
    assert analyst.short_name(found["b"]) == "b"


def test_a_folder_may_have_the_layout_of_the_library(tmp_path: Path) -> None:
    written(tmp_path / "analyst" / "list_titles.cypher")
    written(tmp_path / "outside.cypher")
    assert list(analyst.load_all(tmp_path)) == ["list_titles"]


def test_a_folder_that_is_none_or_empty_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is no such folder"):
        analyst.load_all(tmp_path / "nowhere")
    with pytest.raises(InputError, match="the folder has no queries"):
        analyst.load_all(tmp_path)


def test_an_unknown_name_is_answered_with_near_ones(tmp_path: Path) -> None:
    with pytest.raises(UnknownNameError, match=r"no query 'what_conects'; did you mean what_connects\?"):
        analyst.load("what_conects")
    written(tmp_path / "b.cypher")
    with pytest.raises(UnknownNameError, match=r"no query 'zzz' in .*; hlgraph cypher list"):
        analyst.load("zzz", tmp_path)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (GOOD.replace("// $corpus text = default: the corpus\n", ""), "describes k, but takes corpus, k"),
        (
            GOOD.replace("// $corpus text = default: the corpus\n// $k integer 1.. = 5: rows at most\n", ""),
            "not describe",
        ),
        (GOOD.replace("k, ", "").replace("$k", "$limits").replace("corpus, k", "corpus, limits"), "which is an option"),
        (GOOD.replace("AS title", "AS other", 1), "returns other, but its header says title"),
        ("RETURN 1 AS x", "has no complete header"),
    ],
)
def test_a_query_that_breaks_a_rule_is_named_with_its_file(tmp_path: Path, text: str, says: str) -> None:
    written(tmp_path / "mine.cypher", text)
    with pytest.raises(InputError, match=says) as raised:
        analyst.load_all(tmp_path)
    assert str(raised.value).startswith(f"{tmp_path}/mine.cypher ")


def test_a_file_that_is_not_utf8_is_refused(tmp_path: Path) -> None:
    (tmp_path / "mine.cypher").write_bytes(b"// caf\xe9\n")
    with pytest.raises(ReadError, match=r"mine\.cypher: cannot be read as text .*; save it as UTF-8"):
        analyst.load_all(tmp_path)


# Values


def test_explicit_values_override_defaults() -> None:
    query = analyst.load("what_connects")
    given = {"source": "a", "target": "b"}
    whole = {"where": "", "kinds": ""}
    assert analyst.bind(query, given, corpus="mine") == {"corpus": "mine", **given, "hops": 4, **whole}
    both = {**given, "hops": 2, "corpus": "other", "where": "year >= 1900", "kinds": "person"}
    assert analyst.bind(query, both, corpus="mine") == both
    assert analyst.bind(query, {**given, "hops": None}, corpus="mine")["hops"] == 4


def test_values_that_are_missing_unknown_or_wrong_are_named() -> None:
    query = analyst.load("what_connects")
    with pytest.raises(
        InputError, match=r"needs source \(where the path begins\) and target \(where it ends\); give --source"
    ):
        analyst.bind(query, {}, corpus="mine")
    with pytest.raises(InputError, match=r"no parameter 'tagret'; did you mean target\?"):
        analyst.bind(query, {"tagret": "x"}, corpus="mine")
    with pytest.raises(InputError, match=r"hops is 9; choose a whole number in 1\.\.6"):
        analyst.bind(query, {"source": "a", "target": "b", "hops": 9}, corpus="mine")
    with pytest.raises(InputError, match="hops is 'x'; give a whole number"):
        analyst.read_texts(query, {"hops": "x"})
    assert analyst.read_texts(query, {"hops": "3", "source": "3"}) == {"hops": 3, "source": "3"}


@pytest.mark.parametrize(
    "where",
    ['year >= 1900 and tags = "a"', (field("year") >= 1900) & (field("tags") == "a"), {"year": 1900, "tags": "a"}],
)
def test_a_filter_may_be_a_text_data_or_a_mapping(where: object) -> None:
    bound = analyst.bind(analyst.load("rank_entities"), {"where": where}, corpus="mine")
    assert bound["where"] == f'year {"=" if isinstance(where, dict) else ">="} 1900 and tags = "a"'


@pytest.mark.parametrize(
    "where", ["year >=", "year", 'year >= "', "(year = 1", 7, True, {"year": {"gte": 1}}, {}, ["a"]]
)
def test_a_filter_that_is_none_is_refused_before_a_store_is_asked_for(where: object) -> None:
    with pytest.raises(InputError):
        analyst.run(analyst.load("rank_entities"), {"where": where}, graph=_EMBEDDED, corpus="mine")


def test_kinds_may_be_a_text_or_a_list() -> None:
    query = analyst.load("rank_entities")
    for kinds in ("person, place", ["person", "place"], ("person", "place"), {"place", "person"}):
        assert analyst.bind(query, {"kinds": kinds}, corpus="mine")["kinds"] == "person, place"
    with pytest.raises(InputError, match="kinds is 7; give kinds of entities, such as person, place"):
        analyst.bind(query, {"kinds": 7}, corpus="mine")


class _Embedded(GraphStore):
    name = "the embedded store"


_EMBEDDED = _Embedded()


def test_bad_values_are_refused_before_a_store_is_asked_for() -> None:
    with pytest.raises(InputError, match="k is 0"):
        analyst.run(analyst.load("rank_entities"), {"k": 0}, graph=_EMBEDDED, corpus="mine")
    with pytest.raises(InputError, match="the embedded store has no Cypher"):
        analyst.run(analyst.load("rank_entities"), {}, graph=_EMBEDDED, corpus="mine")


def test_lines_for_the_browser() -> None:
    assert analyst.browser_lines(analyst.load("find_hubs"), corpus="it's \\ a\nname") == [
        r":param corpus => 'it\'s \\ a\nname'",
        ":param share => 0.1",
        ":param where => null",
        ":param kinds => []",
        ":param k => 25",
    ]
    assert analyst.browser_lines(analyst.load("trace_fact"), corpus="c")[1] == ":param fact => 'FACT'"
    assert analyst.browser_lines(analyst.load("find_contradictions"), corpus="c")[1] == ":param predicate => ''"
