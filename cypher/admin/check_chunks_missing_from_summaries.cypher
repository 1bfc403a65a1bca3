// Chunks of summarised sources that the summary of their whole source does not cover.
// params: -
// columns: wrong
MATCH (s:Summary)-[:SUMMARISES]->(:Source)<-[:FROM_SOURCE]-(c:Chunk)
WHERE s.level = -1 AND NOT EXISTS { (s)-[:RESTS_ON]->(c) }
RETURN count(c) AS wrong
