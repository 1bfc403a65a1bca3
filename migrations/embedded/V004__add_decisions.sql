-- Decisions about pairs of entities: which are one. They leave with the first of their two entities.

CREATE TABLE decision (
  id TEXT PRIMARY KEY,
  alias INTEGER NOT NULL,
  canonical INTEGER NOT NULL,
  verdict TEXT NOT NULL CHECK (verdict IN ('same', 'different', 'open')),
  decider TEXT NOT NULL,
  made_by TEXT NOT NULL,
  why TEXT NOT NULL,
  score REAL NOT NULL,
  at TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX decision_alias ON decision (alias);
CREATE INDEX decision_canonical ON decision (canonical);
