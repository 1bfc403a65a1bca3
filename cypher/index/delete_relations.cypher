// Removes RELATES of the given facts that no statement supports any more.
// params: fact_ids
// columns: -
UNWIND $fact_ids AS id
MATCH (a:Entity)-[:SUBJECT]->(f:Fact {id: id})<-[:OBJECT]-(b:Entity)
MATCH (a)-[r:RELATES]->(b)
WHERE r.predicate = f.predicate AND r.facts = 0
DELETE r
