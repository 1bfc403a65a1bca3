-- What a corpus is about, as the prompts of an extraction by a chat model name it. It is there before the corpus is.

CREATE TABLE domain (
  corpus TEXT PRIMARY KEY,
  kinds TEXT NOT NULL,
  topics TEXT NOT NULL,
  made_by TEXT NOT NULL
) STRICT, WITHOUT ROWID;
