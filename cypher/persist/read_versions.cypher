// The stored versions of some sources.
// params: ids
// columns: id, version
UNWIND $ids AS id
MATCH (s:Source {id: id})
RETURN id, s.version AS version
