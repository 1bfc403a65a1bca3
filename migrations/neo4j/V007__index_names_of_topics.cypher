// A topic is found by its name. Names are of any length, which a range index does not take.

CREATE FULLTEXT INDEX hlgraph_topic_names IF NOT EXISTS FOR (n:Topic) ON EACH [n.name];
