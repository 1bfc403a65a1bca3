// RELATES: counts the statements behind the facts between two entities again.
// params: fact_ids
// columns: -
UNWIND $fact_ids AS id
MATCH (a:Entity)-[:SUBJECT]->(f:Fact {id: id})<-[:OBJECT]-(b:Entity)
WITH a, b, f.predicate AS predicate, COUNT { (f)-[:SUPPORTS]->() } AS facts
MERGE (a)-[r:RELATES {predicate: predicate}]->(b)
SET r.facts = facts
