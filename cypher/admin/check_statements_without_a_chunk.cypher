// Statements that no chunk asserts.
// params: -
// columns: wrong
MATCH (n:Statement) WHERE NOT EXISTS { (n)-[:IN_CHUNK]->(:Chunk) }
RETURN count(n) AS wrong
