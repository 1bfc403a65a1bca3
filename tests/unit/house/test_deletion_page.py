"""The page on consistency names the Cypher files that deleting a source runs; tests/contract/test_neo4j.py checks their order."""

from deletion_page import deletion_queries

from hlgraph.stores import queries


def test_the_queries_of_a_deletion_exist_and_each_is_named_once() -> None:
    listed = deletion_queries()
    assert len(listed) == len(set(listed)) > 30
    assert sorted(set(listed) - set(queries.names())) == []
