// The indexes whose names end like this: one for each prefix of labels under which hlgraph has written to the database.
// params: ending
// columns: name
SHOW INDEXES YIELD name AS index
WHERE index ENDS WITH $ending
RETURN index AS name ORDER BY name
