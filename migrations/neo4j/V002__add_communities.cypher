// Communities: derived from the corpus as a whole, a run a name. Those of a run that is being written, and those of one that
// was replaced, are hidden: the label is another one until the run is complete. Every statement may run twice.

CREATE CONSTRAINT hlgraph_run_id IF NOT EXISTS FOR (n:Run) REQUIRE n.id IS UNIQUE;
CREATE CONSTRAINT hlgraph_community_id IF NOT EXISTS FOR (n:Community) REQUIRE n.id IS UNIQUE;
CREATE CONSTRAINT hlgraph_hidden_community_id IF NOT EXISTS FOR (n:HiddenCommunity) REQUIRE n.id IS UNIQUE;

CREATE INDEX hlgraph_run_corpus IF NOT EXISTS FOR (n:Run) ON (n.corpus, n.id);
CREATE INDEX hlgraph_community_corpus IF NOT EXISTS FOR (n:Community) ON (n.corpus, n.id);
CREATE INDEX hlgraph_community_run IF NOT EXISTS FOR (n:Community) ON (n.run, n.id);
CREATE INDEX hlgraph_hidden_community_corpus IF NOT EXISTS FOR (n:HiddenCommunity) ON (n.corpus, n.id);
