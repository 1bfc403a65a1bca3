-- Communities: derived from the corpus as a whole, a run a name. A run is put in the place of the old one in one transaction.

CREATE TABLE run (
  r INTEGER PRIMARY KEY AUTOINCREMENT,
  c INTEGER NOT NULL REFERENCES corpus (c),
  name TEXT NOT NULL,
  version INTEGER NOT NULL,
  parameters TEXT NOT NULL,
  levels INTEGER NOT NULL,
  made_by TEXT NOT NULL,
  UNIQUE (c, name)
) STRICT;

CREATE TABLE community (
  m INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL UNIQUE,
  r INTEGER NOT NULL REFERENCES run (r),
  level INTEGER NOT NULL,
  size INTEGER NOT NULL,
  parent INTEGER
) STRICT;
CREATE INDEX community_run ON community (r, level, size);

CREATE TABLE member_of (
  community INTEGER NOT NULL,
  node INTEGER NOT NULL,
  PRIMARY KEY (community, node)
) STRICT, WITHOUT ROWID;
CREATE INDEX member_of_node ON member_of (node);
