// Sets the hashes of summaries whose text is kept, though the sources that they rest on have changed elsewhere.
// params: rows
// columns: -
UNWIND $rows AS row
MATCH (s:Summary {id: row.id})
SET s.input_hash = row.input_hash
