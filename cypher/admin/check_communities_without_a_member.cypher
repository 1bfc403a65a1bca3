// Communities without a member.
// params: -
// columns: wrong
MATCH (c:Community) WHERE NOT EXISTS { (c)<-[:MEMBER_OF]-() }
RETURN count(c) AS wrong
