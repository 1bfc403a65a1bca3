-- Tables that hold one change while it is published; they live in memory and belong to the writing connection.
-- Ids are as hlgraph_key gives them, in columns without a type; those of t_dead are texts.
CREATE TEMP TABLE IF NOT EXISTS t_source (id PRIMARY KEY, uri TEXT, title TEXT, checksum TEXT, metadata TEXT, version INTEGER, valid_from TEXT, valid_to TEXT);
CREATE TEMP TABLE IF NOT EXISTS t_removed_source (id PRIMARY KEY);
CREATE TEMP TABLE IF NOT EXISTS t_removed_chunk (id PRIMARY KEY);
CREATE TEMP TABLE IF NOT EXISTS t_chunk (id PRIMARY KEY, source, text TEXT, start INTEGER, "end" INTEGER, position INTEGER, tokens INTEGER, headings TEXT, page INTEGER, fingerprint TEXT);
CREATE TEMP TABLE IF NOT EXISTS t_move (id PRIMARY KEY, start INTEGER, "end" INTEGER, position INTEGER, page INTEGER);
CREATE TEMP TABLE IF NOT EXISTS t_topic (id PRIMARY KEY, source, name TEXT);
CREATE TEMP TABLE IF NOT EXISTS t_statement (id PRIMARY KEY, source, text TEXT);
CREATE TEMP TABLE IF NOT EXISTS t_entity (id PRIMARY KEY);
CREATE TEMP TABLE IF NOT EXISTS t_fact (id PRIMARY KEY, subject, predicate TEXT, object, complement TEXT);
CREATE TEMP TABLE IF NOT EXISTS t_placement (chunk, statement, ordinal INTEGER, start INTEGER, "end" INTEGER, details TEXT);
CREATE TEMP TABLE IF NOT EXISTS t_about (chunk, statement, topic, name TEXT);
CREATE TEMP TABLE IF NOT EXISTS t_mention (chunk, statement, entity, surface TEXT, kind TEXT);
CREATE TEMP TABLE IF NOT EXISTS t_support (chunk, statement, fact);
CREATE TEMP TABLE IF NOT EXISTS t_synonym (a, b, similarity REAL);
CREATE TEMP TABLE IF NOT EXISTS t_old (n INTEGER PRIMARY KEY);
CREATE TEMP TABLE IF NOT EXISTS t_new (n INTEGER PRIMARY KEY);
CREATE TEMP TABLE IF NOT EXISTS t_gone (n INTEGER PRIMARY KEY);
CREATE TEMP TABLE IF NOT EXISTS t_dirty (n INTEGER PRIMARY KEY);
CREATE TEMP TABLE IF NOT EXISTS t_alias (entity INTEGER, surface TEXT, kind TEXT, d INTEGER);
CREATE TEMP TABLE IF NOT EXISTS t_named (entity INTEGER PRIMARY KEY);
CREATE TEMP TABLE IF NOT EXISTS t_added (kind INTEGER PRIMARY KEY, count INTEGER);
CREATE TEMP TABLE IF NOT EXISTS t_dead (n INTEGER PRIMARY KEY, id TEXT, kind INTEGER);
CREATE TEMP TABLE IF NOT EXISTS t_recounted (id PRIMARY KEY);
CREATE TEMP TABLE IF NOT EXISTS t_left (m INTEGER PRIMARY KEY);
CREATE TEMP TABLE IF NOT EXISTS t_untrue (s INTEGER PRIMARY KEY);
