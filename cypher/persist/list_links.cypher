// The ids of the topics, entities and facts of some statements, from all their chunks.
// params: ids
// columns: id, topic_ids, entity_ids, fact_ids
UNWIND $ids AS id
MATCH (s:Statement {id: id})
RETURN id, COLLECT { MATCH (s)-[:ABOUT]->(t:Topic) RETURN t.id } AS topic_ids,
  COLLECT { MATCH (s)-[:MENTIONS]->(e:Entity) RETURN e.id } AS entity_ids,
  COLLECT { MATCH (s)<-[:SUPPORTS]-(f:Fact) RETURN f.id } AS fact_ids
