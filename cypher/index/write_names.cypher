// Writes the names of entities: name and kind by majority, and the counts behind them (three lists of one length).
// params: rows
// columns: -
UNWIND $rows AS row
MATCH (n:Entity {id: row.id})
SET n.name = coalesce(row.name, n.name), n.kind = row.kind, n.aliases = row.aliases, n.name_surfaces = row.surfaces,
    n.name_kinds = row.kinds, n.name_counts = row.counts
