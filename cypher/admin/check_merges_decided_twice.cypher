// Merged pairs of entities that also have another decision.
// params: -
// columns: wrong
MATCH (a:Entity)-[r:SAME_AS]->(b:Entity) WHERE EXISTS { (a)-[:JUDGED]-(b) } OR EXISTS { (b)-[:SAME_AS]->(a) }
RETURN count(r) AS wrong
