// Records a change at the end of the journal; its parts are stored separately.
// params: id, corpus, state, outcome, parts
// columns: -
MATCH (l:Lease {id: 'writer'})
SET l.changes = coalesce(l.changes, 0) + 1
MERGE (c:Change {id: $id})
SET c.corpus = $corpus, c.state = $state, c.outcome = $outcome, c.place = l.changes, c.parts = $parts
