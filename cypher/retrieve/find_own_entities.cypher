// The ids of the entities that some sources mention, and no others, in order.
// params: corpus, source_ids
// columns: id
UNWIND $source_ids AS source_id
MATCH (n:Statement {source_id: source_id})-[:MENTIONS]->(e:Entity)
WHERE n.corpus = $corpus
WITH DISTINCT e
WHERE NOT EXISTS { MATCH (e)<-[:MENTIONS]-(o:Statement) WHERE NOT o.source_id IN $source_ids }
RETURN e.id AS id ORDER BY id
