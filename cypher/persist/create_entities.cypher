// Writes entities that the database does not have, with their names and the counts behind them; columns as of create_chunks.
// params: rows, corpus
// columns: ids, numbers
UNWIND $rows AS row
CREATE (n:Entity {id: row.id, corpus: $corpus, name: coalesce(row.name, ''), kind: row.kind, aliases: row.aliases,
  name_surfaces: row.surfaces, name_kinds: row.kinds, name_counts: row.counts})
RETURN collect(row.id) AS ids, collect(toInteger(split(elementId(n), ':')[2])) AS numbers
