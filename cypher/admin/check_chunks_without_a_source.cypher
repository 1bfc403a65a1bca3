// Chunks without a source.
// params: -
// columns: wrong
MATCH (n:Chunk) WHERE NOT EXISTS { (n)-[:FROM_SOURCE]->(:Source) }
RETURN count(n) AS wrong
