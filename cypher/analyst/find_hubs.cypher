// Hubs: entities that at least the share $share of all sources mention. Names so general that they are near everything blur
// retrieval; they are candidates for a stop list. Reads every mention of the corpus.
// params: corpus, share, where, kinds, k
// columns: id, name, kind, sources, share_of_sources, statements, degree
// $corpus text = default: the corpus
// $share number 0..1 = 0.1: minimum share of sources
// $where filter = "": only sources that this filter of metadata admits, such as year >= 1900; empty: all
// $kinds kinds = "": only entities of these kinds, such as person, place; empty: all
// $k integer 1.. = 25: maximum number of rows
// example: hlgraph cypher run find_hubs --share 0.2
MATCH (d:Source)
WHERE d.corpus = $corpus AND d.id >= '' AND ($where IS NULL OR (d.id IN $where.listed) = $where.admits)
WITH count(d) AS total WHERE total > 0
MATCH (e:Entity)
WHERE e.corpus = $corpus AND e.id >= '' AND (size($kinds) = 0 OR e.kind IN $kinds)
CALL (e) {
  MATCH (e)<-[:MENTIONS]-(s:Statement)
  WHERE ($where IS NULL OR (s.source_id IN $where.listed) = $where.admits)
  RETURN count(DISTINCT s.source_id) AS sources, count(s) AS statements
}
WITH e, sources, statements, 1.0 * sources / total AS share
WHERE share >= $share AND (statements > 0 OR $where IS NULL)
WITH e, sources, statements, share ORDER BY sources DESC, statements DESC, e.id LIMIT $k
RETURN e.id AS id, e.name AS name, e.kind AS kind, sources AS sources, round(share, 3) AS share_of_sources,
  statements AS statements, COUNT {
    MATCH (e)<-[q:MENTIONS]-(p:Statement)
    WHERE ($where IS NULL OR (p.source_id IN $where.listed) = $where.admits)
    UNWIND q.chunks AS chunk
    WITH DISTINCT e, chunk
    MATCH (:Chunk {id: chunk})<-[:IN_CHUNK]-(:Statement)-[r:MENTIONS]->(o:Entity)
    WHERE chunk IN r.chunks AND o <> e
    RETURN DISTINCT o
  } AS degree
ORDER BY sources DESC, statements DESC, id
