// The unfinished changes in the journal, oldest first.
// params: -
// columns: id, corpus, state, outcome, parts
MATCH (c:Change)
RETURN c.id AS id, c.corpus AS corpus, c.state AS state, c.outcome AS outcome, c.parts AS parts ORDER BY c.place, id
