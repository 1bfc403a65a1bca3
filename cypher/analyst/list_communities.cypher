// The communities of a corpus and their members, the largest of a level first. Entities are shown by name, the most mentioned
// first; chunks and summaries by their source and heading; statements by the beginning of their text. No row if no community is
// stored. Reads every entity, chunk, statement and summary of the corpus.
// params: corpus, run, level, names, where, kinds, k
// columns: level, members, parent_id, names, community_id
// $corpus text = default: the corpus
// $run text = any: name of the run, such as entity_entity or hierarchy (see hlgraph communities build); any: all runs
// $level integer -1.. = -1: only this level; -1: all
// $names integer 0.. = 10: maximum number of names of each community
// $where filter = "": only members of sources that this filter of metadata admits, such as year >= 1900; empty: all
// $kinds kinds = "": only members that are entities of these kinds, such as person, place; empty: all
// $k integer 1.. = 25: maximum number of rows
// example: hlgraph cypher run list_communities --level 0
CALL () {
  MATCH (n:Entity)-[:MEMBER_OF]->(c:Community)
  USING INDEX n:Entity(corpus, id)
  WHERE n.corpus = $corpus AND n.id >= '' AND (size($kinds) = 0 OR n.kind IN $kinds) AND ($where IS NULL OR EXISTS {
    MATCH (n)<-[:MENTIONS]-(s:Statement) WHERE (s.source_id IN $where.listed) = $where.admits
  })
  RETURN c, n.name AS name, COUNT { (n)<-[:MENTIONS]-() } AS mentions
UNION ALL
  MATCH (n:Chunk)-[:MEMBER_OF]->(c:Community)
  USING INDEX n:Chunk(corpus, id)
  WHERE n.corpus = $corpus AND n.id >= '' AND size($kinds) = 0 AND ($where IS NULL OR (n.source_id IN $where.listed) = $where.admits)
  CALL (n) {
    MATCH (d:Source {id: n.source_id})
    RETURN d.title AS title
  }
  WITH c, n, title, last(n.headings) AS heading
  RETURN c, title + CASE WHEN heading IS NULL OR heading = title THEN '' ELSE ': ' + heading END AS name,
    COUNT { (n)<-[:IN_CHUNK]-() } AS mentions
UNION ALL
  MATCH (n:Statement)-[:MEMBER_OF]->(c:Community)
  USING INDEX n:Statement(corpus, id)
  WHERE n.corpus = $corpus AND n.id >= '' AND size($kinds) = 0 AND ($where IS NULL OR (n.source_id IN $where.listed) = $where.admits)
  RETURN c, left(n.text, 60) + CASE WHEN size(n.text) > 60 THEN '…' ELSE '' END AS name,
    COUNT { (n)-[:MENTIONS]->() } AS mentions
UNION ALL
  MATCH (n:Summary)-[:MEMBER_OF]->(c:Community)
  USING INDEX n:Summary(corpus, id)
  WHERE n.corpus = $corpus AND n.id >= '' AND size($kinds) = 0 AND ($where IS NULL OR (n.source_id IN $where.listed) = $where.admits)
  CALL (n) {
    OPTIONAL MATCH (d:Source {id: n.source_id})
    RETURN d.title AS title
  }
  RETURN c, coalesce(title, left(n.text, 60) + CASE WHEN size(n.text) > 60 THEN '…' ELSE '' END) AS name,
    COUNT { (n)-[:RESTS_ON]->() } AS mentions
}
WITH c, name, mentions
WHERE ($level = -1 OR c.level = $level)
  AND ($run = 'any' OR EXISTS { MATCH (r:Run {id: c.run}) WHERE r.name = $run })
WITH c, name, sum(mentions) AS mentions, count(*) AS same ORDER BY mentions DESC, name
WITH c, sum(same) AS members, collect(name)[..$names] AS names ORDER BY c.level, members DESC, c.id LIMIT $k
OPTIONAL MATCH (c)-[:PART_OF]->(p:Community)
RETURN c.level AS level, members AS members, p.id AS parent_id, names AS names, c.id AS community_id
ORDER BY level, members DESC, community_id
