// Which of some ids are nodes of a corpus, and whether a projection of some relationships holds them: it holds no node that
// none of these relationships joins.
// params: corpus, ids, relationships
// columns: id, is_projected
CALL () {
  UNWIND $ids AS id
  MATCH (n:Source {id: id})
  RETURN n
  UNION ALL
  UNWIND $ids AS id
  MATCH (n:Chunk {id: id})
  RETURN n
  UNION ALL
  UNWIND $ids AS id
  MATCH (n:Topic {id: id})
  RETURN n
  UNION ALL
  UNWIND $ids AS id
  MATCH (n:Statement {id: id})
  RETURN n
  UNION ALL
  UNWIND $ids AS id
  MATCH (n:Fact {id: id})
  RETURN n
  UNION ALL
  UNWIND $ids AS id
  MATCH (n:Entity {id: id})
  RETURN n
}
WITH n WHERE n.corpus = $corpus
RETURN n.id AS id,
  EXISTS { MATCH (n)-[r:FROM_SOURCE|NEXT|IN_CHUNK|ABOUT|SUPPORTS|SUBJECT|OBJECT|MENTIONS|RELATES|CO_OCCURS|SYNONYM]-() WHERE toLower(type(r)) IN $relationships } AS is_projected
ORDER BY id
