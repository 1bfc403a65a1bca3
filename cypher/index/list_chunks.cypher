// The chunks that mention some entities.
// params: ids
// columns: id
UNWIND $ids AS entity
MATCH (:Entity {id: entity})<-[r:MENTIONS]-(:Statement)
UNWIND r.chunks AS chunk
RETURN DISTINCT chunk AS id
