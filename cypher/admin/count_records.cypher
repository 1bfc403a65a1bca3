// The number of records of each kind in a corpus.
// params: corpus
// columns: kind, number
CALL () {
  MATCH (n:Source) WHERE n.corpus = $corpus AND n.id >= ''
  RETURN 'source' AS kind, count(n) AS number
  UNION ALL
  MATCH (n:Chunk) WHERE n.corpus = $corpus AND n.id >= ''
  RETURN 'chunk' AS kind, count(n) AS number
  UNION ALL
  MATCH (n:Topic) WHERE n.corpus = $corpus AND n.id >= ''
  RETURN 'topic' AS kind, count(n) AS number
  UNION ALL
  MATCH (n:Statement) WHERE n.corpus = $corpus AND n.id >= ''
  RETURN 'statement' AS kind, count(n) AS number
  UNION ALL
  MATCH (n:Fact) WHERE n.corpus = $corpus AND n.id >= ''
  RETURN 'fact' AS kind, count(n) AS number
  UNION ALL
  MATCH (n:Entity) WHERE n.corpus = $corpus AND n.id >= ''
  RETURN 'entity' AS kind, count(n) AS number
}
RETURN kind, number
