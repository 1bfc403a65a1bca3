-- The scheme by which the ids of a corpus are made (hlgraph/ids.py). A corpus that is there already keeps its ids: in both halves
-- the name of the corpus is hashed.

ALTER TABLE corpus ADD COLUMN ids INTEGER NOT NULL DEFAULT 1;
