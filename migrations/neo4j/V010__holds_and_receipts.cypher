// Holds on sources, which refuse their deletion, and the last receipt of a deletion, by corpus. Both outlive their corpus. Every
// statement may run twice.

CREATE CONSTRAINT hlgraph_hold_id IF NOT EXISTS FOR (n:Hold) REQUIRE n.id IS UNIQUE;
CREATE INDEX hlgraph_hold_corpus IF NOT EXISTS FOR (n:Hold) ON (n.corpus);
CREATE CONSTRAINT hlgraph_receipt_corpus IF NOT EXISTS FOR (n:Receipt) REQUIRE n.corpus IS UNIQUE;
