// Entities by id.
// params: ids
// columns: id, corpus, name, kind, aliases
UNWIND $ids AS id
MATCH (n:Entity {id: id})
RETURN id, n.corpus AS corpus, n.name AS name, n.kind AS kind, n.aliases AS aliases
