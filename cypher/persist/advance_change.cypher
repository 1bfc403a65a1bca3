// The new state of a change, and what it did.
// params: id, state, outcome
// columns: -
MATCH (c:Change {id: $id})
SET c.state = $state, c.outcome = $outcome
