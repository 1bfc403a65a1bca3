// RELATES whose count differs from the number of statements behind its facts, and facts that lack their RELATES.
// params: -
// columns: wrong
MATCH (a:Entity)-[:SUBJECT]->(f:Fact)<-[:OBJECT]-(b:Entity)
WITH a, b, f, COUNT { (f)-[:SUPPORTS]->(:Statement) } AS facts
WHERE NOT EXISTS { MATCH (a)-[r:RELATES]->(b) WHERE r.predicate = f.predicate AND r.facts = facts }
RETURN count(f) AS wrong
