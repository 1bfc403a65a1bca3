// How often the mentions in some sources call each of some entities by a name and a kind. Sources: the listed ones, or all but these.
// params: lists, admits
// columns: id, surface, kind, mentions
UNWIND $lists.ids AS id
MATCH (e:Entity {id: id})<-[r:MENTIONS]-(:Statement)
UNWIND range(0, size(r.chunks) - 1) AS i
MATCH (c:Chunk {id: r.chunks[i]})-[:FROM_SOURCE]->(s:Source)
WHERE (s.id IN $lists.sources) = $admits
RETURN id, r.surfaces[i] AS surface, r.kinds[i] AS kind, count(*) AS mentions
ORDER BY id, surface, kind
