// Whether any source of a corpus names groups: every search asks. A source with groups has has_acl; meta_acl itself may be too long
// for an index.

MATCH (n:Source) WHERE 'acl' IN n.metadata_keys CALL (n) { SET n.has_acl = true } IN TRANSACTIONS OF 2000 ROWS;
CREATE INDEX hlgraph_source_acl IF NOT EXISTS FOR (n:Source) ON (n.corpus, n.has_acl);
