// Topics that no chunk names.
// params: -
// columns: wrong
MATCH (n:Topic) WHERE NOT EXISTS { (n)-[:IN_CHUNK]->(:Chunk) }
RETURN count(n) AS wrong
