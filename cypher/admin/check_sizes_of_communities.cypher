// Communities whose size differs from the number of their members.
// params: -
// columns: wrong
MATCH (c:Community) WHERE c.size <> COUNT { (c)<-[:MEMBER_OF]-() }
RETURN count(c) AS wrong
