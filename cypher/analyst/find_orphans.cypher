// Sources, topics, facts and entities without connections. Sources without a statement, topics that no statement is about, facts
// that no statement supports, entities without a fact that share no chunk with another. Reads every one of the corpus.
// params: corpus, k
// columns: label, name, reason, id
// $corpus text = default: the corpus
// $k integer 1.. = 25: maximum number of rows
// example: hlgraph cypher run find_orphans --k 100
CALL () {
  MATCH (n:Source) WHERE n.corpus = $corpus AND n.id >= '' AND NOT EXISTS { (:Statement {source_id: n.id}) }
  RETURN 'Source' AS label, n.title AS name, 'no statement' AS reason, n.id AS id
UNION ALL
  MATCH (n:Topic) WHERE n.corpus = $corpus AND n.id >= '' AND NOT EXISTS { (n)<-[:ABOUT]-() }
  RETURN 'Topic' AS label, n.name AS name, 'no statement is about it' AS reason, n.id AS id
UNION ALL
  MATCH (n:Fact) WHERE n.corpus = $corpus AND n.id >= '' AND NOT EXISTS { (n)-[:SUPPORTS]->() }
  RETURN 'Fact' AS label, n.predicate + ' ' + n.complement AS name, 'no statement supports it' AS reason, n.id AS id
UNION ALL
  MATCH (n:Entity) WHERE n.corpus = $corpus AND n.id >= ''
    AND NOT EXISTS { (n)-[:SUBJECT|OBJECT]->() }
    AND NOT EXISTS {
      MATCH (n)<-[q:MENTIONS]-(:Statement)
      UNWIND q.chunks AS chunk
      MATCH (:Chunk {id: chunk})<-[:IN_CHUNK]-(:Statement)-[r:MENTIONS]->(o:Entity)
      WHERE chunk IN r.chunks AND o <> n
      RETURN o
    }
  RETURN 'Entity' AS label, n.name AS name, 'no fact, and no other entity beside it' AS reason, n.id AS id
}
RETURN label AS label, name AS name, reason AS reason, id AS id ORDER BY label, name, id LIMIT $k
