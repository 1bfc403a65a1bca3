// Names topics as most of their chunks do, ties in alphabetical order.
// params: ids
// columns: -
UNWIND $ids AS id
MATCH (t:Topic {id: id})
CALL (t) {
  MATCH (t)-[r:IN_CHUNK]->(:Chunk)
  WHERE r.name <> ''
  RETURN r.name AS name, count(*) AS chunks ORDER BY chunks DESC, name LIMIT 1
}
SET t.name = name
