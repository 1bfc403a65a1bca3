// The given facts that exist; columns as of create_chunks.
// params: ids
// columns: ids, numbers
UNWIND $ids AS id
MATCH (n:Fact {id: id})
RETURN collect(id) AS ids, collect(toInteger(split(elementId(n), ':')[2])) AS numbers
