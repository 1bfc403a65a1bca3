// Summaries with a missing part: a deleted statement or chunk that they quote.
// params: -
// columns: wrong
MATCH (s:Summary) WHERE s.parts <> COUNT { (s)-[:RESTS_ON]->() }
RETURN count(s) AS wrong
