// Entities by name or alias, best match first (the full-text index hlgraph_entity_names). $name is a Lucene query: words,
// "a phrase", a prefix*, a misspelling~.
// params: corpus, name, k
// columns: id, name, kind, aliases, score
// $corpus text = default: the corpus
// $name text: words of the name, as a Lucene query
// $k integer 1.. = 25: maximum number of rows
// example: hlgraph cypher run find_entities --name "halfmoon~ bridge"
CALL db.index.fulltext.queryNodes('hlgraph_entity_names', $name) YIELD node, score
WITH node AS e, score WHERE e.corpus = $corpus
RETURN e.id AS id, e.name AS name, e.kind AS kind, e.aliases AS aliases, score AS score ORDER BY score DESC, id LIMIT $k
