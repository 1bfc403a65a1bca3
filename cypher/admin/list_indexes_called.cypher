// The indexes whose names end with a text: one for each label prefix under which hlgraph has written to the database.
// params: ending
// columns: name
SHOW INDEXES YIELD name AS index
WHERE index ENDS WITH $ending
RETURN index AS name ORDER BY name
