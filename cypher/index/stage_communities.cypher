// Writes hidden communities: they have another label until their run is complete.
// params: rows
// columns: -
UNWIND $rows AS row
MERGE (c:HiddenCommunity {id: row.id})
SET c.corpus = row.corpus, c.run = row.run, c.level = row.level, c.size = row.size
