// Removes a change from the journal; returns the number of its parts, which are removed next.
// params: id
// columns: parts
MATCH (c:Change {id: $id})
WITH c, c.parts AS parts
DELETE c
RETURN parts
