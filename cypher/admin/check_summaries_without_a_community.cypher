// Summaries that are about nothing: no community, no source.
// params: -
// columns: wrong
MATCH (s:Summary) WHERE NOT EXISTS { (s)-[:SUMMARISES]->() }
RETURN count(s) AS wrong
