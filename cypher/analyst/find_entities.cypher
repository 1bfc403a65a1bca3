// Entities by name or alias, best match first (the full-text index hlgraph_entity_names). $name is a Lucene query: words,
// "a phrase", a prefix*, a misspelling~.
// params: corpus, name, where, kinds, k
// columns: id, name, kind, aliases, score
// $corpus text = default: the corpus
// $name text: words of the name, as a Lucene query
// $where filter = "": only entities that a source mentions which this filter of metadata admits, such as year >= 1900; empty: all
// $kinds kinds = "": only entities of these kinds, such as person, place; empty: all
// $k integer 1.. = 25: maximum number of rows
// example: hlgraph cypher run find_entities --name "halfmoon~ bridge"
CALL db.index.fulltext.queryNodes('hlgraph_entity_names', $name) YIELD node, score
WITH node AS e, score
WHERE e.corpus = $corpus AND (size($kinds) = 0 OR e.kind IN $kinds) AND ($where IS NULL OR EXISTS {
    MATCH (e)<-[:MENTIONS]-(s:Statement) WHERE (s.source_id IN $where.listed) = $where.admits
  })
RETURN e.id AS id, e.name AS name, e.kind AS kind, e.aliases AS aliases, score AS score ORDER BY score DESC, id LIMIT $k
