// The number of relationships of each kind in a corpus (IN_CHUNK: those of statements).
// params: corpus
// columns: relationship, number
CALL () {
  MATCH (n:Chunk)-[r:FROM_SOURCE]->(:Source) WHERE n.corpus = $corpus AND n.id >= ''
  RETURN 'from_source' AS relationship, count(r) AS number
  UNION ALL
  MATCH (n:Statement)-[r:IN_CHUNK]->(:Chunk) WHERE n.corpus = $corpus AND n.id >= ''
  RETURN 'in_chunk' AS relationship, count(r) AS number
  UNION ALL
  MATCH (n:Statement)-[r:ABOUT]->(:Topic) WHERE n.corpus = $corpus AND n.id >= ''
  RETURN 'about' AS relationship, count(r) AS number
  UNION ALL
  MATCH (n:Fact)-[r:SUPPORTS]->(:Statement) WHERE n.corpus = $corpus AND n.id >= ''
  RETURN 'supports' AS relationship, count(r) AS number
  UNION ALL
  MATCH (n:Entity)-[r:SUBJECT]->(:Fact) WHERE n.corpus = $corpus AND n.id >= ''
  RETURN 'subject' AS relationship, count(r) AS number
  UNION ALL
  MATCH (n:Entity)-[r:OBJECT]->(:Fact) WHERE n.corpus = $corpus AND n.id >= ''
  RETURN 'object' AS relationship, count(r) AS number
  UNION ALL
  MATCH (n:Statement)-[r:MENTIONS]->(:Entity) WHERE n.corpus = $corpus AND n.id >= ''
  RETURN 'mentions' AS relationship, count(r) AS number
  UNION ALL
  MATCH (n:Entity)-[r:RELATES]->(:Entity) WHERE n.corpus = $corpus AND n.id >= ''
  RETURN 'relates' AS relationship, count(r) AS number
  UNION ALL
  MATCH (n:Entity)-[r:SYNONYM]->(:Entity) WHERE n.corpus = $corpus AND n.id >= ''
  RETURN 'synonym' AS relationship, count(r) AS number
  UNION ALL
  MATCH (n:Entity)-[r:SAME_AS]->(:Entity) WHERE n.corpus = $corpus AND n.id >= ''
  RETURN 'same_as' AS relationship, count(r) AS number
}
RETURN relationship, number
