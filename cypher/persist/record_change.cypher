// Records a change at the end of the journal of its corpus, which its lease counts; its parts are stored separately.
// params: id, lease, corpus, state, outcome, parts
// columns: -
MERGE (l:Lease {id: $lease})
SET l.changes = coalesce(l.changes, 0) + 1
MERGE (c:Change {id: $id})
SET c.corpus = $corpus, c.state = $state, c.outcome = $outcome, c.place = l.changes, c.parts = $parts
