// The unfinished changes of a corpus in the journal, oldest first; of all corpora where it is null.
// params: corpus
// columns: id, corpus, state, outcome, parts
MATCH (c:Change)
WHERE $corpus IS NULL OR c.corpus = $corpus
RETURN c.id AS id, c.corpus AS corpus, c.state AS state, c.outcome AS outcome, c.parts AS parts ORDER BY c.place, id
