// The bytes of some parts of a change.
// params: ids
// columns: id, data
UNWIND $ids AS id
MATCH (p:ChangePart {id: id})
RETURN id, p.data AS data
