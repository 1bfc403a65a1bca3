// Entities that no statement mentions and no fact refers to.
// params: -
// columns: wrong
MATCH (n:Entity) WHERE NOT EXISTS { (n)<-[:MENTIONS]-(:Statement) } AND NOT EXISTS { (n)-[:SUBJECT|OBJECT]->(:Fact) }
RETURN count(n) AS wrong
