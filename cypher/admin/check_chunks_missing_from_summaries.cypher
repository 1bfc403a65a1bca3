// Chunks of summarised sources that the summary of their source does not cover.
// params: -
// columns: wrong
MATCH (s:Summary)-[:SUMMARISES]->(:Source)<-[:FROM_SOURCE]-(c:Chunk) WHERE NOT EXISTS { (s)-[:RESTS_ON]->(c) }
RETURN count(c) AS wrong
