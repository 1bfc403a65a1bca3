// Summaries of which something is gone that their words are from.
// params: -
// columns: wrong
MATCH (s:Summary) WHERE s.parts <> COUNT { (s)-[:RESTS_ON]->() }
RETURN count(s) AS wrong
