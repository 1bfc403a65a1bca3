// Summaries without a subject: neither a community nor a source.
// params: -
// columns: wrong
MATCH (s:Summary) WHERE NOT EXISTS { (s)-[:SUMMARISES]->() }
RETURN count(s) AS wrong
