// Summaries that are about nothing.
// params: -
// columns: wrong
MATCH (s:Summary) WHERE NOT EXISTS { (s)-[:SUMMARISES]->(:Community) }
RETURN count(s) AS wrong
