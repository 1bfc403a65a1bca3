// Removes NEXT between the chunks of some sources.
// params: source_ids
// columns: -
UNWIND $source_ids AS id
MATCH (:Chunk {source_id: id})-[r:NEXT]->(:Chunk)
DELETE r
