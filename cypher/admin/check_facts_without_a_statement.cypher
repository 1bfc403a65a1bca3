// Facts that no statement supports.
// params: -
// columns: wrong
MATCH (n:Fact) WHERE NOT EXISTS { (n)-[:SUPPORTS]->(:Statement) }
RETURN count(n) AS wrong
