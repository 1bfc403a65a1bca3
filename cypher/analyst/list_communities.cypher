// The communities of a corpus and their members, the largest of a level first. Members are shown by name, else by the beginning
// of their text, those that share a chunk with most entities first. No row if no community is stored. Reads every entity, chunk, statement
// and summary of the corpus.
// params: corpus, run, level, names, k
// columns: level, members, parent_id, names, community_id
// $corpus text = default: the corpus
// $run text = any: name of the run, such as entity_entity or hierarchy (see hlgraph communities build); any: all runs
// $level integer -1.. = -1: only this level; -1: all
// $names integer 0.. = 10: maximum number of names of each community
// $k integer 1.. = 25: maximum number of rows
// example: hlgraph cypher run list_communities --level 0
CALL () {
  MATCH (n:Entity)-[:MEMBER_OF]->(c:Community)
  USING INDEX n:Entity(corpus, id)
  WHERE n.corpus = $corpus AND n.id >= ''
  RETURN n, c, n.name AS name
UNION ALL
  MATCH (n:Chunk)-[:MEMBER_OF]->(c:Community)
  USING INDEX n:Chunk(corpus, id)
  WHERE n.corpus = $corpus AND n.id >= ''
  RETURN n, c, left(n.text, 60) AS name
UNION ALL
  MATCH (n:Statement)-[:MEMBER_OF]->(c:Community)
  USING INDEX n:Statement(corpus, id)
  WHERE n.corpus = $corpus AND n.id >= ''
  RETURN n, c, left(n.text, 60) AS name
UNION ALL
  MATCH (n:Summary)-[:MEMBER_OF]->(c:Community)
  USING INDEX n:Summary(corpus, id)
  WHERE n.corpus = $corpus AND n.id >= ''
  RETURN n, c, left(n.text, 60) AS name
}
WITH n, c, name
WHERE ($level = -1 OR c.level = $level)
  AND ($run = 'any' OR EXISTS { MATCH (r:Run {id: c.run}) WHERE r.name = $run })
WITH c, name, COUNT {
    MATCH (n)<-[q:MENTIONS]-(:Statement)
    UNWIND q.chunks AS chunk
    WITH DISTINCT n, chunk
    MATCH (:Chunk {id: chunk})<-[:IN_CHUNK]-(:Statement)-[r:MENTIONS]->(o:Entity)
    WHERE chunk IN r.chunks AND o <> n
    RETURN DISTINCT o
  } AS degree ORDER BY degree DESC, name
WITH c, count(*) AS members, collect(name)[..$names] AS names ORDER BY c.level, members DESC, c.id LIMIT $k
OPTIONAL MATCH (c)-[:PART_OF]->(p:Community)
RETURN c.level AS level, members AS members, p.id AS parent_id, names AS names, c.id AS community_id
ORDER BY level, members DESC, community_id
