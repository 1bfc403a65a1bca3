// CO_OCCURS is counted from MENTIONS when it is needed; it is stored only for a corpus for which "hlgraph materialise" is run.
// Removed in batches, since a corpus may have millions. The statement may run twice.

MATCH (:Entity)-[r:CO_OCCURS]->(:Entity) CALL (r) { DELETE r } IN TRANSACTIONS OF 10000 ROWS;
