// Writes sources that the database does not have.
// params: rows
// columns: id, element
UNWIND $rows AS row
CREATE (n:Source)
SET n = row.properties
RETURN row.id AS id, elementId(n) AS element
