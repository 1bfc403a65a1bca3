// Summaries of communities; hidden, as communities are, until their run is complete. Every statement may run twice.

CREATE CONSTRAINT hlgraph_summary_id IF NOT EXISTS FOR (n:Summary) REQUIRE n.id IS UNIQUE;
CREATE CONSTRAINT hlgraph_hidden_summary_id IF NOT EXISTS FOR (n:HiddenSummary) REQUIRE n.id IS UNIQUE;

CREATE INDEX hlgraph_summary_corpus IF NOT EXISTS FOR (n:Summary) ON (n.corpus, n.id);
CREATE INDEX hlgraph_summary_run IF NOT EXISTS FOR (n:Summary) ON (n.run, n.id);
CREATE INDEX hlgraph_hidden_summary_corpus IF NOT EXISTS FOR (n:HiddenSummary) ON (n.corpus, n.id);
