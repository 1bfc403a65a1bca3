// The indexes of hlgraph and of its constraints: what they are on, and their states.
// params: -
// columns: name, state, type, on, keys, constraint
SHOW INDEXES YIELD name AS index, state AS condition, type AS kind, labelsOrTypes AS labels, properties AS properties,
  owningConstraint AS owner
WHERE index STARTS WITH 'hlgraph_'
RETURN index AS name, condition AS state, kind AS type, labels AS on, properties AS keys, owner IS NOT NULL AS constraint
ORDER BY name
