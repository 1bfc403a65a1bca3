// The first members of some communities, by id.
// params: ids, most
// columns: community, id, kind
UNWIND $ids AS community
CALL (community) {
  MATCH (c:Community {id: community})<-[:MEMBER_OF]-(n)
  RETURN n ORDER BY n.id LIMIT $most
}
RETURN community AS community, n.id AS id,
  CASE WHEN n:Entity THEN 'entity' WHEN n:Chunk THEN 'chunk' WHEN n:Statement THEN 'statement'
    ELSE 'summary' END AS kind ORDER BY community, id
