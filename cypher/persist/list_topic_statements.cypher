// The statements of some topics.
// params: ids
// columns: id, statement_ids
UNWIND $ids AS id
MATCH (t:Topic {id: id})
CALL (t) {
  MATCH (t)<-[:ABOUT]-(s:Statement)
  WITH s.id AS statement_id ORDER BY statement_id
  RETURN collect(statement_id) AS statement_ids
}
RETURN id, statement_ids
