// Removes parts of a change.
// params: ids
// columns: -
UNWIND $ids AS id
MATCH (p:ChangePart {id: id})
DELETE p
