-- What each of the last changes did to the graph of a corpus, as a list from which an image of the version before is patched. A
-- stamp names the state that a change made: no other state of any database has it.

ALTER TABLE corpus ADD COLUMN stamp TEXT NOT NULL DEFAULT '';
UPDATE corpus SET stamp = lower(hex(randomblob(16)));

CREATE TABLE image_change (
  c INTEGER NOT NULL REFERENCES corpus (c),
  version INTEGER NOT NULL,
  before TEXT NOT NULL,
  stamp TEXT NOT NULL,
  has_deleted INTEGER NOT NULL,
  list BLOB NOT NULL,
  PRIMARY KEY (c, version)
) STRICT;
