// Writes new facts, each joined to the entity that is its subject.
// params: rows, corpus
// columns: -
UNWIND $rows AS row
MATCH (e:Entity {id: row.subject_id})
MERGE (n:Fact {id: row.id})
ON CREATE SET n.corpus = $corpus, n.predicate = row.predicate, n.complement = row.complement
MERGE (e)-[:SUBJECT]->(n)
