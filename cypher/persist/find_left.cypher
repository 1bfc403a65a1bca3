// Whether anything of the given sources is stored; then they are not new to the graph.
// params: ids
// columns: left
UNWIND $ids AS id
RETURN EXISTS { MATCH (s:Source {id: id}) } OR EXISTS { MATCH (c:Chunk {source_id: id}) }
  OR EXISTS { MATCH (t:Topic {source_id: id}) } OR EXISTS { MATCH (s:Statement {source_id: id}) } AS left
