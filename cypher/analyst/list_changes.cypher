// What the last edits of a corpus added and removed. An ingest makes an edit for each batch of sources, a deletion one. Rows are new
// and edited sources, new statements, and the facts, topics and entities that only these statements support. Removed records are
// named by their ids alone, because their text is deleted with them. A row "unknown" counts changes of which no record is kept:
// those before the last 64, and very large ones.
// params: corpus, changes, where, kinds, k
// columns: change, label, name, title, id
// $corpus text = default: the corpus
// $changes changes 1..64 = 1: number of last edits
// $where filter = "": only what was added in sources that this filter of metadata admits, such as year >= 1900; empty: everything
// $kinds kinds = "": only additions that mention an entity of these kinds, such as person, place; empty: everything
// $k integer 1.. = 25: maximum number of rows
// example: hlgraph cypher run list_changes --changes 2
CALL () {
  UNWIND $changes.sources AS id
  MATCH (d:Source {id: id})
  WHERE d.corpus = $corpus AND size($kinds) = 0 AND ($where IS NULL OR (d.id IN $where.listed) = $where.admits)
  RETURN 1 AS place, CASE d.version WHEN 1 THEN 'added' ELSE 'edited' END AS change, 'Source' AS label, d.uri AS name, d.title AS title,
    d.id AS id
UNION ALL
  UNWIND $changes.statements AS id
  MATCH (s:Statement {id: id})
  WHERE s.corpus = $corpus AND ($where IS NULL OR (s.source_id IN $where.listed) = $where.admits)
    AND (size($kinds) = 0 OR EXISTS { MATCH (s)-[:MENTIONS]->(kind:Entity) WHERE kind.kind IN $kinds })
  CALL (s) {
    MATCH (d:Source {id: s.source_id})
    RETURN d.title AS title
  }
  RETURN 2 AS place, 'added' AS change, 'Statement' AS label, s.text AS name, title, s.id AS id
UNION ALL
  UNWIND $changes.statements AS id
  MATCH (s:Statement {id: id})<-[:SUPPORTS]-(f:Fact)
  WHERE ($where IS NULL OR (s.source_id IN $where.listed) = $where.admits)
  WITH DISTINCT f
  WHERE NOT EXISTS { MATCH (f)-[:SUPPORTS]->(o:Statement) WHERE NOT o.id IN $changes.statements }
    AND (size($kinds) = 0 OR EXISTS { MATCH (f)<-[:SUBJECT|OBJECT]-(kind:Entity) WHERE kind.kind IN $kinds })
  MATCH (e:Entity)-[:SUBJECT]->(f)
  OPTIONAL MATCH (o:Entity)-[:OBJECT]->(f)
  RETURN 3 AS place, 'added' AS change, 'Fact' AS label, e.name + ' ' + f.predicate + ' ' + coalesce(o.name, f.complement) AS name,
    null AS title, f.id AS id
UNION ALL
  UNWIND $changes.statements AS id
  MATCH (s:Statement {id: id})-[:ABOUT]->(t:Topic)
  WHERE size($kinds) = 0 AND ($where IS NULL OR (s.source_id IN $where.listed) = $where.admits)
  WITH DISTINCT t
  WHERE NOT EXISTS { MATCH (t)<-[:ABOUT]-(o:Statement) WHERE NOT o.id IN $changes.statements }
  CALL (t) {
    MATCH (d:Source {id: t.source_id})
    RETURN d.title AS title
  }
  RETURN 4 AS place, 'added' AS change, 'Topic' AS label, t.name AS name, title, t.id AS id
UNION ALL
  UNWIND $changes.statements AS id
  MATCH (s:Statement {id: id})-[:MENTIONS]->(e:Entity)
  WHERE ($where IS NULL OR (s.source_id IN $where.listed) = $where.admits)
  WITH DISTINCT e
  WHERE (size($kinds) = 0 OR e.kind IN $kinds) AND NOT EXISTS { MATCH (e)<-[:MENTIONS]-(o:Statement) WHERE NOT o.id IN $changes.statements }
  RETURN 5 AS place, 'added' AS change, 'Entity' AS label, e.name AS name, null AS title, e.id AS id
UNION ALL
  UNWIND $changes.removed AS gone
  WITH gone WHERE $where IS NULL AND size($kinds) = 0 AND gone[0] <> 'Chunk'
  RETURN 6 AS place, 'removed' AS change, gone[0] AS label, null AS name, null AS title, gone[1] AS id
UNION ALL
  WITH $changes.unknown AS unknown WHERE unknown > 0
  RETURN 7 AS place, 'unknown' AS change, 'Change' AS label, toString(unknown) AS name, null AS title, '' AS id
}
RETURN change AS change, label AS label, name AS name, title AS title, id AS id ORDER BY place, label, title, name, id LIMIT $k
