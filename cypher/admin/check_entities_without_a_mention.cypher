// Entities that nothing mentions and no fact joins.
// params: -
// columns: wrong
MATCH (n:Entity) WHERE NOT EXISTS { (n)<-[:MENTIONS]-(:Statement) } AND NOT EXISTS { (n)-[:SUBJECT|OBJECT]->(:Fact) }
RETURN count(n) AS wrong
