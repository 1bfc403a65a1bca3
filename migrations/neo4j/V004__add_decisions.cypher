// Decisions about pairs of entities, the merges (SAME_AS) and the others (JUDGED), found by their corpus. Every statement may
// run twice.

CREATE INDEX hlgraph_same_as_corpus IF NOT EXISTS FOR ()-[r:SAME_AS]-() ON (r.corpus);
CREATE INDEX hlgraph_judged_corpus IF NOT EXISTS FOR ()-[r:JUDGED]-() ON (r.corpus);
