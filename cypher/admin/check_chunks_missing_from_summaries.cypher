// Chunks of sources whose summary does not know them.
// params: -
// columns: wrong
MATCH (s:Summary)-[:SUMMARISES]->(:Source)<-[:FROM_SOURCE]-(c:Chunk) WHERE NOT EXISTS { (s)-[:RESTS_ON]->(c) }
RETURN count(c) AS wrong
