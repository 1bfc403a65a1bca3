// Sets the state and the outcome of a change.
// params: id, state, outcome
// columns: -
MATCH (c:Change {id: $id})
SET c.state = $state, c.outcome = $outcome
