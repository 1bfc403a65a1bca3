// The indexes of hlgraph and of its constraints: what they are on, and their states.
// params: beginnings
// columns: name, state, type, on, keys, constraint
SHOW INDEXES YIELD name AS index, state AS condition, type AS kind, labelsOrTypes AS labels, properties AS properties,
  owningConstraint AS owner
WHERE any(beginning IN $beginnings WHERE index STARTS WITH beginning)
RETURN index AS name, condition AS state, kind AS type, labels AS on, properties AS keys, owner IS NOT NULL AS constraint
ORDER BY name
