// Sources, topics, facts and entities without connections. Sources without a statement, topics that no statement is about, facts
// that no statement supports, entities without a fact that share no chunk with another. Reads every one of the corpus.
// params: corpus, where, kinds, k
// columns: label, name, reason, id
// $corpus text = default: the corpus
// $where filter = "": only those of sources that this filter of metadata admits, such as year >= 1900; empty: all
// $kinds kinds = "": only entities, and facts with an entity, of these kinds, such as person, place; empty: all
// $k integer 1.. = 25: maximum number of rows
// example: hlgraph cypher run find_orphans --k 100
CALL () {
  MATCH (n:Source) WHERE n.corpus = $corpus AND n.id >= '' AND size($kinds) = 0 AND ($where IS NULL OR (n.id IN $where.listed) = $where.admits)
    AND NOT EXISTS { (:Statement {source_id: n.id}) }
  RETURN 'Source' AS label, n.title AS name, 'no statement' AS reason, n.id AS id
UNION ALL
  MATCH (n:Topic) WHERE n.corpus = $corpus AND n.id >= '' AND size($kinds) = 0 AND ($where IS NULL OR (n.source_id IN $where.listed) = $where.admits)
    AND NOT EXISTS { (n)<-[:ABOUT]-() }
  RETURN 'Topic' AS label, n.name AS name, 'no statement is about it' AS reason, n.id AS id
UNION ALL
  MATCH (n:Fact) WHERE n.corpus = $corpus AND n.id >= '' AND $where IS NULL AND NOT EXISTS { (n)-[:SUPPORTS]->() }
    AND (size($kinds) = 0 OR EXISTS { MATCH (n)<-[:SUBJECT|OBJECT]-(kind:Entity) WHERE kind.kind IN $kinds })
  RETURN 'Fact' AS label, n.predicate + ' ' + n.complement AS name, 'no statement supports it' AS reason, n.id AS id
UNION ALL
  MATCH (n:Entity) WHERE n.corpus = $corpus AND n.id >= '' AND (size($kinds) = 0 OR n.kind IN $kinds)
    AND NOT EXISTS { (n)-[:SUBJECT|OBJECT]->() }
    AND NOT EXISTS {
      MATCH (n)<-[q:MENTIONS]-(:Statement)
      UNWIND q.chunks AS chunk
      MATCH (:Chunk {id: chunk})<-[:IN_CHUNK]-(:Statement)-[r:MENTIONS]->(o:Entity)
      WHERE chunk IN r.chunks AND o <> n
      RETURN o
    }
    AND ($where IS NULL OR EXISTS {
    MATCH (n)<-[:MENTIONS]-(s:Statement) WHERE (s.source_id IN $where.listed) = $where.admits
  })
  RETURN 'Entity' AS label, n.name AS name, 'no fact, and no other entity beside it' AS reason, n.id AS id
}
RETURN label AS label, name AS name, reason AS reason, id AS id ORDER BY label, name, id LIMIT $k
