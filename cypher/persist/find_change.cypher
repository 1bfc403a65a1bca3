// The state of a change; no row if the journal does not have it.
// params: id
// columns: state, outcome
MATCH (c:Change {id: $id})
RETURN c.state AS state, c.outcome AS outcome
