// The indexes of hlgraph, and their states.
// params: -
// columns: name, state
SHOW INDEXES YIELD name AS index, state AS condition
WHERE index STARTS WITH 'hlgraph_'
RETURN index AS name, condition AS state ORDER BY name
